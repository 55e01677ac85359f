//! Walks JSON text that may be cut off, or may not be JSON at all: the one place that does.

use crate::json::find::string_stop;

/// How many bytes the value takes with which a text begins. `None` if the text ends before the value does, or begins
/// with something else: white space, a colon, a comma or a closing bracket.
///
/// Brackets are counted, not matched, and what is between them is not checked: the value may turn out to be invalid.
/// A number or a literal ends where something else begins, so it needs a byte behind it.
///
/// ```
/// use sabir_proto::partial_value_len;
///
/// assert_eq!(partial_value_len(br#"{"a": ["}"]}, "b"#), Some(12));
/// assert_eq!(partial_value_len(br#"{"a": ["}"#), None);
/// assert_eq!(partial_value_len(b"12, 3"), Some(2));
/// assert_eq!(partial_value_len(b"12"), None);
/// ```
pub fn partial_value_len(text: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (0usize, 0usize);
    loop {
        match *text.get(at)? {
            b'"' => at = string_end(text, at)?,
            b'{' | b'[' => (at, depth) = (at + 1, depth + 1),
            b'}' | b']' => (at, depth) = (at + 1, depth.checked_sub(1)?),
            _ if depth > 0 => at += 1,
            _ => return text.iter().position(ends_scalar).filter(|length| *length > 0),
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

fn ends_scalar(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',' | b':' | b'"' | b'[' | b']' | b'{' | b'}')
}

/// Where the string ends that starts at `start`.
fn string_end(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at = string_stop(text, at.min(text.len()));
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            // A control character, which valid JSON has escaped.
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_end_where_they_do() {
        for (text, want) in [
            ("", None),
            (" 1", None),
            (",", None),
            ("}", None),
            ("1", None),
            ("1 ", Some(1)),
            ("true]", Some(4)),
            ("\"", None),
            ("\"\"", Some(2)),
            (r#""a\"b" x"#, Some(6)),
            (r#""\"#, None),
            ("\"\u{1}\n\"", Some(4)),
            ("{}", Some(2)),
            ("[1,{\"]\":[]}]]", Some(12)),
            ("[1,{\"]\":[]}", None),
            ("[}", Some(2)),
        ] {
            assert_eq!(partial_value_len(text.as_bytes()), want, "{text}");
        }
    }
}
