//! Finds the next byte that matters inside a JSON string: the only loop that touches every byte of a
//! long message, so the only one written for the machine.
//!
//! Two implementations give identical answers: sixteen bytes at a time with SSE2, which every x86-64
//! has (so there is nothing to detect), and eight at a time in a plain `u64` everywhere else.

/// Index of the first `"`, `\` or control byte at or after `from`, or the length of `bytes`.
#[inline]
pub(crate) fn string_stop(bytes: &[u8], from: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    return vector::string_stop(bytes, from);
    #[cfg(not(target_arch = "x86_64"))]
    return portable::string_stop(bytes, from);
}

/// Index of the first line feed at or after `from`.
#[inline(always)]
pub(crate) fn line_feed(bytes: &[u8], from: usize) -> Option<usize> {
    // Most lines are so short that a call costs more than the search.
    #[cfg(target_arch = "x86_64")]
    if let Some(feeds) = chunk(bytes, from).map(crate::json::x86::line_feeds_64)
        && feeds != 0
    {
        return Some(from + feeds.trailing_zeros() as usize);
    }
    memchr::memchr(b'\n', &bytes[from..]).map(|found| from + found)
}

/// Whether a text holds a line feed or a carriage return.
#[inline]
pub(crate) fn has_line_break(bytes: &[u8]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if let Some(has) = crate::json::x86::small_has_line_break(bytes) {
        return has;
    }
    memchr::memchr2(b'\n', b'\r', bytes).is_some()
}

/// How many of the bytes are digits, up to the first that is none.
#[inline]
pub(crate) fn leading_digits(bytes: [u8; 8]) -> usize {
    let low = u64::from_le_bytes(bytes) ^ 0x3030_3030_3030_3030;
    // A byte above 9 has a bit of the upper half, or gets one from the addition.
    let others = (low | low.wrapping_add(0x0606_0606_0606_0606)) & 0xF0F0_F0F0_F0F0_F0F0;
    others.trailing_zeros() as usize / 8
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use portable::Stops;
#[cfg(target_arch = "x86_64")]
pub(crate) use vector::Stops;

#[inline(always)]
pub(crate) fn chunk<const N: usize>(bytes: &[u8], at: usize) -> Option<&[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.first_chunk()
}

#[cfg(target_arch = "x86_64")]
mod vector {
    use super::{chunk, portable};
    use crate::json::x86::{skip_plain, stops_16, stops_64};

    #[inline]
    pub(crate) fn string_stop(bytes: &[u8], from: usize) -> usize {
        match chunk(bytes, from).map(stops_16) {
            Some(mask) if mask != 0 => from + mask.trailing_zeros() as usize,
            Some(_) => farther(bytes, from + 16),
            None => near_the_end(bytes, from),
        }
    }

    /// The same behind the first sixteen bytes: in sixteens up to where a string counts as long.
    #[inline(never)]
    fn farther(bytes: &[u8], from: usize) -> usize {
        for at in [from, from + 16, from + 32] {
            match chunk(bytes, at).map(stops_16) {
                Some(0) => {}
                Some(mask) => return at + mask.trailing_zeros() as usize,
                None => return near_the_end(bytes, at),
            }
        }
        Stops::new(from + 48).next(bytes, from + 48)
    }

    /// The same where less than sixteen bytes are left: the last sixteen overlap what was passed.
    #[inline(never)]
    fn near_the_end(bytes: &[u8], from: usize) -> usize {
        let len = bytes.len();
        match bytes.last_chunk::<16>() {
            Some(last) if from <= len => {
                let ahead = (stops_16(last) | 1 << 16) >> (from + 16 - len);
                from + ahead.trailing_zeros() as usize
            }
            // The strings of so short a text are short, too.
            _ => {
                let plain = |c: &&u8| !matches!(c, b'"' | b'\\' | 0..0x20);
                from + bytes.iter().skip(from).take_while(plain).count()
            }
        }
    }

    /// The stops of a text from front to back. It looks at 64 bytes at a time and remembers what it saw:
    /// where a string ends is then known without waiting to know where it starts, which lets the machine
    /// work on many strings at once.
    #[derive(Clone, Copy)]
    pub(crate) struct Stops {
        /// The stops in the last block that the scan has not passed yet, lowest bit first.
        ahead: u64,
        /// Index of that block.
        block: usize,
    }

    impl Stops {
        /// Knows nothing yet, and will be asked for nothing before `start`.
        #[inline]
        pub(crate) fn new(start: usize) -> Stops {
            Stops { ahead: 0, block: start.wrapping_sub(64) }
        }

        /// Passes the next stop, which the scan has found on its own. If it is not in the last block, then
        /// nothing is ahead in that.
        #[inline]
        pub(crate) fn pass(&mut self) {
            self.ahead &= self.ahead.wrapping_sub(1);
        }

        /// Index of the next stop, which is passed, or the length of `bytes`. The stops before `from` have
        /// been passed, and no others.
        #[inline]
        pub(crate) fn next(&mut self, bytes: &[u8], from: usize) -> usize {
            if self.ahead == 0 {
                *self = refill(bytes, self.block.wrapping_add(64), from);
            }
            let stop = self.block + self.ahead.trailing_zeros() as usize;
            self.pass();
            stop
        }

        /// Passes everything before `from`.
        #[must_use]
        pub(crate) fn seek(self, from: usize) -> Stops {
            let passed = from.wrapping_sub(self.block) as u32;
            Stops { ahead: self.ahead & u64::MAX.checked_shl(passed).unwrap_or(0), ..self }
        }
    }

    /// The first block that has a stop at or after `from`. Blocks lie in a row, whatever `from` is: the
    /// machine can start on one before it knows where the scan will be.
    #[inline(never)]
    fn refill(bytes: &[u8], next: usize, from: usize) -> Stops {
        let start = if from < next + 64 { next } else { from };
        let Some(block) = chunk(bytes, start) else { return tail(bytes, from) };
        let ahead = stops_64(block) & (u64::MAX << (from.saturating_sub(start) % 64));
        if ahead != 0 { Stops { ahead, block: start } } else { far(bytes, start + 64) }
    }

    /// The same, for a long string that goes on at `from`.
    #[inline(never)]
    fn far(bytes: &[u8], from: usize) -> Stops {
        let start = skip_plain(bytes, from);
        match chunk(bytes, start) {
            Some(block) => Stops { ahead: stops_64(block), block: start },
            None => tail(bytes, start),
        }
    }

    /// The same where less than a block is left: it overlaps what is known. The end counts as a stop.
    #[inline(never)]
    fn tail(bytes: &[u8], from: usize) -> Stops {
        let len = bytes.len();
        let Some(block) = bytes.last_chunk() else { return short(bytes, from) };
        let passed = from.saturating_sub(len - 64);
        let ahead = stops_64(block) & u64::MAX.checked_shl(passed as u32).unwrap_or(0);
        if ahead != 0 { Stops { ahead, block: len - 64 } } else { Stops { ahead: 1, block: len } }
    }

    /// The same for a text that is smaller than a block: in sixteens, of which the last may overlap.
    #[inline]
    fn short(bytes: &[u8], from: usize) -> Stops {
        let len = bytes.len();
        let Some(last) = bytes.last_chunk() else {
            return Stops { ahead: 1, block: portable::string_stop(bytes, from) };
        };
        let mut ahead = 1 << len | (stops_16(last) as u64) << (len - 16);
        for (i, sixteen) in bytes.as_chunks().0.iter().enumerate() {
            ahead |= (stops_16(sixteen) as u64) << (16 * i);
        }
        Stops { ahead: ahead & (u64::MAX << from), block: 0 }
    }
}

mod portable {
    use super::chunk;

    /// The portable version: it keeps no state.
    #[derive(Clone, Copy)]
    #[cfg_attr(target_arch = "x86_64", allow(dead_code))]
    pub(crate) struct Stops;

    #[cfg_attr(target_arch = "x86_64", allow(dead_code))]
    impl Stops {
        #[inline]
        pub(crate) fn new(_start: usize) -> Stops {
            Stops
        }

        #[inline]
        pub(crate) fn pass(&mut self) {}

        #[inline]
        pub(crate) fn next(&mut self, bytes: &[u8], from: usize) -> usize {
            string_stop(bytes, from)
        }

        #[inline]
        pub(crate) fn seek(self, _from: usize) -> Stops {
            self
        }
    }

    const ONES: u64 = 0x0101_0101_0101_0101;

    #[inline]
    pub(crate) fn string_stop(bytes: &[u8], mut at: usize) -> usize {
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
    #[inline]
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

    /// All stops one after the other, then with leaps between them.
    fn check_row(bytes: &[u8], start: usize) {
        let (mut native, mut portable) = (super::Stops::new(start), super::portable::Stops::new(start));
        let mut from = start;
        while from <= bytes.len() {
            let want = naive(bytes, from);
            assert_eq!(native.next(bytes, from), want, "native, from {from} in {bytes:?}");
            assert_eq!(portable.next(bytes, from), want, "portable, from {from} in {bytes:?}");
            from = want + 1;
        }
        for leap in [1, 7, 63, 64, 65] {
            let mut stops = super::Stops::new(start);
            let mut from = start;
            while from <= bytes.len() {
                let want = naive(bytes, from);
                stops = stops.seek(from);
                assert_eq!(stops.next(bytes, from), want, "sought {from} in {bytes:?}");
                from = want + leap;
            }
        }
    }

    #[test]
    fn stops_in_a_row() {
        for distance in 1..=140 {
            for len in (0..300).step_by(11) {
                let bytes: Vec<u8> = (1..=len).map(|i| if i % distance == 0 { b'"' } else { b'a' }).collect();
                for start in [0, 1, 17, 64, 100] {
                    check_row(&bytes, start.min(len));
                }
            }
        }
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
