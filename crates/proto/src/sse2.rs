//! The vector instructions behind [`find`](crate::find), and all the `unsafe` of this crate.
//!
//! It is `unsafe` only because the compiler asks that a caller of an intrinsic has its CPU feature. SSE2
//! is part of every x86-64 there is, and this module exists on no other machine. No pointer is touched.

#![allow(unsafe_code)]

use core::arch::x86_64::{
    __m128i, _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
};

/// A bit for each byte that stops a JSON string: `"`, `\\` or a control byte.
#[inline(always)]
pub(crate) fn stops(bytes: &[u8; 16]) -> u32 {
    // SAFETY: SSE2 is there, see above.
    unsafe { mask(stop_bytes(bytes)) }
}

/// Whether any byte stops a JSON string.
#[inline(always)]
pub(crate) fn any_stop(bytes: &[u8; 64]) -> bool {
    let (quarters, _) = bytes.as_chunks();
    let [a, b, c, d] = quarters else { return true };
    // SAFETY: SSE2 is there, see above.
    unsafe {
        let any = _mm_or_si128(
            _mm_or_si128(stop_bytes(a), stop_bytes(b)),
            _mm_or_si128(stop_bytes(c), stop_bytes(d)),
        );
        mask(any) != 0
    }
}

#[inline]
#[target_feature(enable = "sse2")]
fn mask(bytes: __m128i) -> u32 {
    _mm_movemask_epi8(bytes) as u32
}

#[inline]
#[target_feature(enable = "sse2")]
fn stop_bytes(bytes: &[u8; 16]) -> __m128i {
    // Two neighbouring words: the compiler makes this one load.
    let both = u128::from_le_bytes(*bytes);
    let x = _mm_set_epi64x((both >> 64) as i64, both as i64);
    let quote = _mm_cmpeq_epi8(x, _mm_set1_epi8(b'"' as i8));
    let backslash = _mm_cmpeq_epi8(x, _mm_set1_epi8(b'\\' as i8));
    let control = _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(0x1f)), x);
    _mm_or_si128(_mm_or_si128(quote, backslash), control)
}
