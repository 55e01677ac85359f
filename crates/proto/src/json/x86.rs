//! The vector instructions behind [`find`](crate::json::find), and all the `unsafe` of this crate.
//!
//! Most of it is `unsafe` only because the compiler asks that a caller of an intrinsic has its CPU feature.
//! SSE2 is part of every x86-64 there is, and this module exists on no other machine; AVX2 is looked for
//! where it is used. No pointer is touched.

#![allow(unsafe_code)]

use core::arch::x86_64::{
    __m128i, __m256i, _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x,
    _mm_set1_epi8, _mm_xor_si128, _mm256_cmpeq_epi8, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_or_si256,
    _mm256_set_m128i, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_xor_si256,
};

use crate::json::find::chunk;

/// A bit for each byte that stops a JSON string: `"`, `\\` or a control byte.
#[inline]
pub(crate) fn stops_16(bytes: &[u8; 16]) -> u32 {
    // SAFETY: SSE2 is there, see above.
    unsafe {
        let x = load(bytes);
        mask(_mm_or_si128(backslashes(x), low(quotes_low(x))))
    }
}

/// The same for 64 bytes.
#[inline]
pub(crate) fn stops_64(bytes: &[u8; 64]) -> u64 {
    let (quarters, _) = bytes.as_chunks();
    let [a, b, c, d] = quarters else { unreachable!() };
    let [a, b, c, d] = [a, b, c, d].map(|quarter| stops_16(quarter) as u64);
    a | b << 16 | c << 32 | d << 48
}

/// A bit for each line feed.
#[inline(always)]
pub(crate) fn line_feeds_64(bytes: &[u8; 64]) -> u64 {
    let (quarters, _) = bytes.as_chunks();
    let [a, b, c, d] = quarters else { unreachable!() };
    // SAFETY: SSE2 is there, see above.
    let [a, b, c, d] = [a, b, c, d].map(|quarter| unsafe { mask(equal(load(quarter), b'\n')) } as u64);
    a | b << 16 | c << 32 | d << 48
}

/// Whether a small message has a line break in it; `None` for others.
#[inline]
pub(crate) fn small_has_line_break(bytes: &[u8]) -> Option<bool> {
    if bytes.len() > 64 {
        return None;
    }
    let mut any = line_breaks(bytes.last_chunk()?);
    // Overlapping sixteens instead of a loop.
    for at in [0, 16, 32] {
        any |= chunk(bytes, at).map_or(0, line_breaks);
    }
    Some(any != 0)
}

#[inline]
fn line_breaks(bytes: &[u8; 16]) -> u32 {
    // SAFETY: SSE2 is there, see above.
    unsafe {
        let x = load(bytes);
        mask(_mm_or_si128(equal(x, b'\n'), equal(x, b'\r')))
    }
}

/// The text of a small message, if all of it is ASCII.
#[inline]
pub(crate) fn small_ascii(bytes: &[u8]) -> Option<&str> {
    if bytes.len() > 512 {
        return None;
    }
    let last: &[u8; 16] = bytes.last_chunk()?;
    let mut any = high_bits(last);
    if let Some(last) = bytes.last_chunk() {
        any |= bytes.as_chunks().0.iter().fold(high_bits_64(last), |any, block| any | high_bits_64(block));
    } else {
        // Overlapping sixteens instead of a loop.
        for at in [0, 16, 32] {
            any |= chunk(bytes, at).map_or(0, high_bits);
        }
    }
    // SAFETY: ASCII is UTF-8.
    (any == 0).then(|| unsafe { str::from_utf8_unchecked(bytes) })
}

#[inline]
fn high_bits(bytes: &[u8; 16]) -> u32 {
    // SAFETY: SSE2 is there, see above.
    unsafe { mask(load(bytes)) }
}

#[inline]
fn high_bits_64(bytes: &[u8; 64]) -> u32 {
    let (quarters, _) = bytes.as_chunks();
    let [a, b, c, d] = quarters else { unreachable!() };
    // SAFETY: SSE2 is there, see above.
    unsafe { mask(_mm_or_si128(_mm_or_si128(load(a), load(b)), _mm_or_si128(load(c), load(d)))) }
}

/// Skips blocks of 64 from `from` on that have no stop. Returns the index of the first that has one, or
/// that is not whole.
#[inline]
pub(crate) fn skip_plain(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    if is_x86_feature_detected!("avx2") {
        // SAFETY: AVX2 is there.
        at = unsafe { skip_plain_avx2(bytes, from) };
    }
    while let Some(block) = chunk(bytes, at) {
        if any_stop(block) {
            break;
        }
        at += block.len();
    }
    at
}

/// The same in steps of 128. Strings of many kilobytes are read at twice the speed.
#[target_feature(enable = "avx2")]
fn skip_plain_avx2(bytes: &[u8], mut at: usize) -> usize {
    let backslash = _mm256_set1_epi8(b'\\' as i8);
    let flip = _mm256_set1_epi8(0x02);
    let limit = _mm256_set1_epi8(0x20);
    while let Some(block) = chunk::<128>(bytes, at) {
        let mut backslashes = _mm256_setzero_si256();
        let mut lowest = _mm256_set1_epi8(-1);
        for half in block.as_chunks().0 {
            let x = load_32(half);
            backslashes = _mm256_or_si256(backslashes, _mm256_cmpeq_epi8(x, backslash));
            lowest = _mm256_min_epu8(lowest, _mm256_xor_si256(x, flip));
        }
        // See `quotes_low`.
        let low = _mm256_cmpeq_epi8(_mm256_min_epu8(lowest, limit), lowest);
        if _mm256_movemask_epi8(_mm256_or_si256(backslashes, low)) != 0 {
            break;
        }
        at += block.len();
    }
    at
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_32(bytes: &[u8; 32]) -> __m256i {
    let (halves, _) = bytes.as_chunks();
    _mm256_set_m128i(load(&halves[1]), load(&halves[0]))
}

/// Whether any of the bytes stops a JSON string: half the work of telling which.
#[inline]
fn any_stop(bytes: &[u8; 64]) -> bool {
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
fn equal(x: __m128i, byte: u8) -> __m128i {
    _mm_cmpeq_epi8(x, _mm_set1_epi8(byte as i8))
}

#[inline]
#[target_feature(enable = "sse2")]
fn backslashes(x: __m128i) -> __m128i {
    equal(x, b'\\')
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
