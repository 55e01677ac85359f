//! The vector instructions behind [`find`](crate::find), and all the `unsafe` of this crate.
//!
//! It is `unsafe` only because the compiler asks that a caller of an intrinsic has its CPU feature. SSE2
//! is part of every x86-64 there is, and this module exists on no other machine. No pointer is touched.

#![allow(unsafe_code)]

use core::arch::x86_64::{
    __m128i, _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
    _mm_xor_si128,
};

/// A bit for each byte that stops a JSON string: `"`, `\\` or a control byte.
#[inline(always)]
pub(crate) fn stops_16(bytes: &[u8; 16]) -> u32 {
    // SAFETY: SSE2 is there, see above.
    unsafe {
        let x = load(bytes);
        mask(_mm_or_si128(backslashes(x), low(quotes_low(x))))
    }
}

/// The same for 64 bytes.
#[inline(always)]
pub(crate) fn stops_64(bytes: &[u8; 64]) -> u64 {
    let (quarters, _) = bytes.as_chunks();
    let [a, b, c, d] = quarters else { unreachable!() };
    let [a, b, c, d] = [a, b, c, d].map(|quarter| stops_16(quarter) as u64);
    a | b << 16 | c << 32 | d << 48
}

/// The text of `bytes` if there are sixteen or more, all of them ASCII.
#[inline(always)]
pub(crate) fn ascii(bytes: &[u8]) -> Option<&str> {
    let last = bytes.last_chunk()?;
    // SAFETY: SSE2 is there, see above; and ASCII is UTF-8.
    unsafe {
        let sixteens = bytes.as_chunks().0.iter().map(|sixteen| load(sixteen));
        let all = sixteens.fold(load(last), |all, next| _mm_or_si128(all, next));
        (mask(all) == 0).then(|| str::from_utf8_unchecked(bytes))
    }
}

/// Whether any of the bytes stops a JSON string: half the work of telling which.
#[inline(always)]
pub(crate) fn any_stop(bytes: &[u8; 64]) -> bool {
    let (quarters, _) = bytes.as_chunks();
    let [a, b, c, d] = quarters else { unreachable!() };
    // SAFETY: SSE2 is there, see above.
    unsafe {
        let [a, b, c, d] = [load(a), load(b), load(c), load(d)];
        let backslash = _mm_or_si128(
            _mm_or_si128(backslashes(a), backslashes(b)),
            _mm_or_si128(backslashes(c), backslashes(d)),
        );
        let lowest = _mm_min_epu8(
            _mm_min_epu8(quotes_low(a), quotes_low(b)),
            _mm_min_epu8(quotes_low(c), quotes_low(d)),
        );
        mask(_mm_or_si128(backslash, low(lowest))) != 0
    }
}

#[inline]
#[target_feature(enable = "sse2")]
fn load(bytes: &[u8; 16]) -> __m128i {
    // Two neighbouring words: the compiler makes this one load.
    let both = u128::from_le_bytes(*bytes);
    _mm_set_epi64x((both >> 64) as i64, both as i64)
}

#[inline]
#[target_feature(enable = "sse2")]
fn mask(bytes: __m128i) -> u32 {
    _mm_movemask_epi8(bytes) as u32
}

#[inline]
#[target_feature(enable = "sse2")]
fn backslashes(x: __m128i) -> __m128i {
    _mm_cmpeq_epi8(x, _mm_set1_epi8(b'\\' as i8))
}

/// Moves `"` from 0x22 to 0x20, right above the control bytes, and what was there out of the way: one
/// comparison then finds both.
#[inline]
#[target_feature(enable = "sse2")]
fn quotes_low(x: __m128i) -> __m128i {
    _mm_xor_si128(x, _mm_set1_epi8(0x02))
}

/// The bytes that are 0x20 at most.
#[inline]
#[target_feature(enable = "sse2")]
fn low(x: __m128i) -> __m128i {
    _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(0x20)), x)
}
