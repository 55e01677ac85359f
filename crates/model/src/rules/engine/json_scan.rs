//! Passes over the parts of valid JSON without looking into them.

const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
const QUOTES: u64 = u64::from_ne_bytes([b'"'; 8]);
const BACKSLASHES: u64 = u64::from_ne_bytes([b'\\'; 8]);

/// Bytes of a string that are looked at eight by eight, before it counts as long.
const SHORT: usize = 64;

/// Where a string ends whose content begins at `at`, and whether it holds escapes.
#[inline]
pub(crate) fn string(bytes: &[u8], mut at: usize) -> (usize, bool) {
    let mut escaped = false;
    let long = at + SHORT;
    loop {
        match bytes.get(at..).and_then(<[u8]>::first_chunk) {
            Some(&chunk) if at < long => match specials(u64::from_le_bytes(chunk)) {
                0 => {
                    at += 8;
                    continue;
                }
                found => at += found.trailing_zeros() as usize / 8,
            },
            _ => match bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
                Some(found) => at += found,
                None => return (bytes.len(), escaped),
            },
        }
        if bytes[at] == b'"' {
            return (at + 1, escaped);
        }
        escaped = true;
        at += 2;
    }
}

/// The high bit of the first byte that is a quote or a backslash, and perhaps of bytes after it.
#[inline]
fn specials(word: u64) -> u64 {
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    zeros(word ^ QUOTES) | zeros(word ^ BACKSLASHES)
}

/// Where a value ends that begins at `at`.
pub(crate) fn value(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at) {
        Some(b'"') => string(bytes, at + 1).0,
        Some(b'{' | b'[') => container(bytes, at),
        _ => bytes[at.min(bytes.len())..]
            .iter()
            .position(|byte| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n'))
            .map_or(bytes.len(), |length| at + length),
    }
}

fn container(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => at = string(bytes, at).0,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    bytes.len()
}

/// The next byte that is no white space.
#[inline]
pub(crate) fn space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\r' | b'\n') = bytes.get(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_end_at_their_quote() {
        for (content, escaped) in [
            ("", false),
            ("a", false),
            ("0123456", false),
            ("01234567", false),
            (r#"\""#, true),
            (r#"0123456\""#, true),
            (r#"01234567\\"#, true),
            ("é€😀é€😀é€😀", false),
        ] {
            for length in [0, 1, 7, 8, 9, 63, 64, 65, 200] {
                for tail in ["", "x", ":1}", ",\"another string\"]"] {
                    let text = format!("\"{}{content}\"{tail}", "-".repeat(length));
                    let end = text.len() - tail.len();
                    assert_eq!(string(text.as_bytes(), 1), (end, escaped), "{text}");
                }
            }
        }
        assert_eq!(string(b"\"never ends", 1), (11, false));
        assert_eq!(string(b"\"\\", 1), (2, true));
    }

    #[test]
    fn values_end_where_they_do() {
        for (text, want) in [
            ("1,2", "1"),
            ("-1.5e3}", "-1.5e3"),
            ("true ]", "true"),
            ("null", "null"),
            (r#""a}"]"#, r#""a}""#),
            (r#"{"a":[1,{"}":"]"}]},"#, r#"{"a":[1,{"}":"]"}]}"#),
            ("[[],[]]]", "[[],[]]"),
        ] {
            assert_eq!(&text[..value(text.as_bytes(), 0)], want);
        }
    }
}
