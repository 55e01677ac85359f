//! Finds the next byte that matters inside a JSON string: the only loop that touches every byte of a
//! long message, so the only one written for the machine.
//!
//! Two implementations give identical answers: sixteen bytes at a time with SSE2, which every x86-64
//! has (so there is nothing to detect), and eight at a time in a plain `u64` everywhere else.

/// Index of the first `"`, `\` or control byte at or after `from`, or the length of `bytes`.
#[inline(always)]
pub(crate) fn string_stop(bytes: &[u8], from: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    return vector::string_stop(bytes, from);
    #[cfg(not(target_arch = "x86_64"))]
    return portable::string_stop(bytes, from);
}

#[inline(always)]
fn chunk<const N: usize>(bytes: &[u8], at: usize) -> Option<&[u8; N]> {
    bytes.get(at..)?.first_chunk::<N>()
}

/// Sixteen bytes at a time; the end of the text is left to the portable code.
#[cfg(target_arch = "x86_64")]
mod vector {
    use super::{chunk, portable};
    use crate::sse2::{any_stop, stops};

    #[inline(always)]
    pub(super) fn string_stop(bytes: &[u8], from: usize) -> usize {
        let Some(first) = chunk(bytes, from) else { return portable::string_stop(bytes, from) };
        let mask = stops(first);
        if mask != 0 {
            return from + mask.trailing_zeros() as usize;
        }
        long(bytes, from + 16)
    }

    /// Most strings end before this: kept out of line so that the common case stays small.
    #[inline(never)]
    fn long(bytes: &[u8], mut at: usize) -> usize {
        while let Some(block) = chunk(bytes, at) {
            if any_stop(block) {
                break;
            }
            at += block.len();
        }
        while let Some(next) = chunk(bytes, at) {
            let mask = stops(next);
            if mask != 0 {
                return at + mask.trailing_zeros() as usize;
            }
            at += next.len();
        }
        portable::string_stop(bytes, at)
    }
}

mod portable {
    use super::chunk;

    const ONES: u64 = 0x0101_0101_0101_0101;

    #[inline(always)]
    pub(super) fn string_stop(bytes: &[u8], mut at: usize) -> usize {
        while let Some(word) = chunk(bytes, at) {
            let mask = stops(u64::from_le_bytes(*word));
            if mask != 0 {
                return at + (mask.trailing_zeros() / 8) as usize;
            }
            at += 8;
        }
        while at < bytes.len() && !matches!(bytes[at], b'"' | b'\\' | 0..0x20) {
            at += 1;
        }
        at
    }

    /// The high bit of every byte that stops a string. A borrow can set bits above the first true hit,
    /// never below it, so the lowest set bit is exact.
    #[inline(always)]
    fn stops(x: u64) -> u64 {
        let quote = x ^ (ONES * b'"' as u64);
        let backslash = x ^ (ONES * b'\\' as u64);
        let below = |v: u64, n: u64| v.wrapping_sub(ONES * n) & !v;
        (below(x, 0x20) | below(quote, 1) | below(backslash, 1)) & (ONES << 7)
    }
}

#[cfg(test)]
mod tests {
    fn naive(bytes: &[u8], from: usize) -> usize {
        (from..bytes.len()).find(|&i| matches!(bytes[i], b'"' | b'\\' | 0..0x20)).unwrap_or(bytes.len())
    }

    fn check(bytes: &[u8], from: usize) {
        let want = naive(bytes, from);
        assert_eq!(super::string_stop(bytes, from), want, "native, from {from} in {bytes:?}");
        assert_eq!(super::portable::string_stop(bytes, from), want, "portable, from {from} in {bytes:?}");
    }

    #[test]
    fn every_byte_at_every_distance() {
        for filler in [b'a', 0x7f, 0x80, 0xff, b'!', b'#', b'[', b']', b' '] {
            for len in 0..150 {
                let mut bytes = vec![filler; len];
                check(&bytes, 0);
                if len > 0 {
                    for byte in 0..=255 {
                        bytes[len - 1] = byte;
                        check(&bytes, 0);
                        check(&bytes, len / 2);
                    }
                }
            }
        }
    }

    #[test]
    fn two_hits_near_each_other() {
        for first in 0..40 {
            for second in 0..40 {
                let mut bytes = vec![b'!'; 80];
                bytes[first] = b'"';
                bytes[second] = 0x1f;
                check(&bytes, 0);
                check(&bytes, first.min(second) + 1);
            }
        }
    }
}
