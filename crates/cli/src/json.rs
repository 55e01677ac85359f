//! JSON text for people and for pipes. Values are not parsed: numbers and strings stay as they were received.

use std::borrow::Cow;

use sabir_proto::{ByteSize, Cursor, Token, TokenKind};
pub(crate) use sabir_proto::{escape_controls, is_terminal_control};

use crate::paint::{Paint, Painter};

/// The text on one line, without white space between its tokens, and with control characters escaped. `text` is valid
/// JSON, and the result has the same value.
pub(crate) fn compact(text: &str) -> Cow<'_, str> {
    let parts = || tokens(text).map(|token| token.text());
    if parts().map(str::len).sum::<usize>() == text.len() {
        return escape_controls(text);
    }
    let joined: String = parts().collect();
    match escape_controls(&joined) {
        Cow::Owned(escaped) => Cow::Owned(escaped),
        Cow::Borrowed(_) => Cow::Owned(joined),
    }
}

fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut cursor = Cursor::trusted(text);
    std::iter::from_fn(move || cursor.token())
}

/// Bytes of a text over many lines. With colours and indents, it can be a hundred times as long as what was received.
const LONGEST_PRETTY: usize = 64 << 20;

/// The text over many lines, indented by two spaces for each level, with control characters escaped. A text that would be
/// too long for that stays on one line.
pub(crate) fn pretty(text: &str, painter: Painter) -> String {
    indented(text, painter, LONGEST_PRETTY).unwrap_or_else(|| compact(text).into_owned())
}

fn indented(text: &str, painter: Painter, longest: usize) -> Option<String> {
    let mut out = String::new();
    let mut depth = 0usize;
    let mut opened = false;
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        (0..depth).for_each(|_| out.push_str("  "));
    };
    let mut cursor = Cursor::trusted(text);
    while let Some(token) = cursor.token() {
        if out.len() > longest {
            return None;
        }
        let opens = matches!(token.kind, TokenKind::ObjectStart | TokenKind::ArrayStart);
        let closes = matches!(token.kind, TokenKind::ObjectEnd | TokenKind::ArrayEnd);
        depth = depth.saturating_sub(usize::from(closes));
        if opened != closes {
            line(&mut out, depth);
        }
        opened = opens;
        depth += usize::from(opens);
        let paint = match token.kind {
            TokenKind::Comma => {
                out.push(',');
                line(&mut out, depth);
                continue;
            }
            TokenKind::Colon => {
                out.push_str(": ");
                continue;
            }
            _ if opens || closes => {
                out.push_str(token.text());
                continue;
            }
            TokenKind::String { .. } if cursor.peek() == b':' => Paint::Key,
            TokenKind::String { .. } => Paint::String,
            TokenKind::Number => Paint::Number,
            _ => Paint::Word,
        };
        painter.paint(&mut out, paint, &escape_controls(token.text()));
    }
    Some(out)
}

/// Strings in base64 that are longer are binary content, and nothing to look at.
const LONGEST_BASE64: usize = 200;

/// A type that is longer is not shown.
const LONGEST_TYPE: usize = 100;

/// The text with binary content replaced by its type and size, for people. `text` is valid JSON, and so is the result.
/// One pass: only long strings in base64 are remembered, and what contains them.
pub(crate) fn abridged(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST_BASE64 {
        return Cow::Borrowed(text);
    }
    let binary = binary_parts(text);
    if binary.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    let mut end = 0;
    for part in &binary {
        out.push_str(&text[end..part.start]);
        let kind = part.kind.unwrap_or("base64");
        out.push_str(&format!("\"<{kind}, {}>\"", ByteSize(part.bytes)));
        end = part.end;
    }
    out.push_str(&text[end..]);
    Cow::Owned(out)
}

/// A string in base64: where it is, with its quotes, and what it stands for.
struct BinaryPart<'t> {
    start: usize,
    end: usize,
    bytes: usize,
    kind: Option<&'t str>,
}

/// What is open around a token.
#[derive(Default)]
struct Container<'t> {
    kind: Option<&'t str>,
    /// Those that it contains itself.
    parts: Vec<usize>,
}

fn binary_parts(text: &str) -> Vec<BinaryPart<'_>> {
    let mut parts: Vec<BinaryPart<'_>> = Vec::new();
    let mut open = vec![Container::default()];
    let mut cursor = Cursor::trusted(text);
    let mut key = None;
    while let Some(token) = cursor.token() {
        match token.kind {
            TokenKind::ObjectStart | TokenKind::ArrayStart => open.push(Container::default()),
            TokenKind::ObjectEnd | TokenKind::ArrayEnd => {
                let Some(closed) = open.pop() else { break };
                closed.parts.into_iter().for_each(|part| parts[part].kind = closed.kind);
            }
            TokenKind::String { .. } if cursor.peek() == b':' => {
                key = Some(token.text());
                continue;
            }
            TokenKind::String { .. } => {
                let Some(around) = open.last_mut() else { break };
                let inside = token.text().trim_matches('"');
                if let Some(bytes) = size_of_base64(&token) {
                    let end = cursor.offset();
                    around.parts.push(parts.len());
                    parts.push(BinaryPart { start: end - token.text().len(), end, bytes, kind: None });
                } else if key == Some("\"mimeType\"")
                    && inside.len() <= LONGEST_TYPE
                    && !inside.contains('\\')
                {
                    around.kind.get_or_insert(inside);
                }
            }
            TokenKind::Colon => continue,
            _ => {}
        }
        key = None;
    }
    parts
}

/// How many bytes a long string in base64 stands for.
fn size_of_base64(token: &Token<'_>) -> Option<usize> {
    let TokenKind::String { .. } = token.kind else { return None };
    let inside = token.text().trim_matches('"');
    let digits = inside.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte);
    (digits.len() > LONGEST_BASE64 && inside.len() - digits.len() <= 2 && digits.bytes().all(is_digit))
        .then(|| digits.len() / 4 * 3 + (digits.len() % 4).saturating_sub(1))
}

/// Values that a text may have if it is read as a tree: a tree takes up to fifty times the memory of its text.
pub(crate) const MOST_VALUES: usize = 250_000;

/// Whether a text has more values than this. `text` is JSON, with comments perhaps; it need not be valid.
pub(crate) fn has_more_values(text: &str, most: usize) -> bool {
    let (mut count, mut in_string, mut escaped) = (1, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            // Behind each of them stands at most one more value.
            b',' | b'[' | b'{' if !in_string => count += 1,
            _ => {}
        }
    }
    count > most
}

/// The text with control characters escaped that its strings have. `text` is valid JSON, and the result has the same
/// value and the same white space.
pub(crate) fn escape_strings(text: &str) -> String {
    let is_space = |c: char| matches!(c, '\n' | '\r' | '\t');
    // Where white space is, there is no string: strings of valid JSON have none but blanks.
    text.split_inclusive(is_space)
        .flat_map(|part| {
            let end = part.trim_end_matches(is_space).len();
            [escape_controls(&part[..end]), Cow::Borrowed(&part[end..])]
        })
        .collect()
}

/// The text with control characters escaped, except for line ends.
pub(crate) fn escape_lines(text: &str) -> String {
    text.split('\n').map(escape_controls).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compact_text_is_one_line_and_otherwise_as_it_came() {
        for (text, want) in [
            ("1.0", "1.0"),
            (" [ 1 ,\n 9007199254740993.0 ] ", "[1,9007199254740993.0]"),
            ("{ \"a \\\" b\" : \"\\n, \\\\\" }", "{\"a \\\" b\":\"\\n, \\\\\"}"),
            ("\"\u{9b}31m\"", "\"\\u009b31m\""),
            ("[ \"\u{7f}\u{202e}\u{2028}\u{e0041}\" ]", "[\"\\u007f\\u202e\\u2028\\udb40\\udc41\"]"),
        ] {
            assert_eq!(compact(text), want);
        }
    }

    #[test]
    fn strings_are_escaped_and_white_space_stays() {
        for (text, want) in [
            ("[\n\t1,\r\n\n \"a\u{9b}\"\n]", "[\n\t1,\r\n\n \"a\\u009b\"\n]"),
            ("\"\u{7f}\u{202e}\"", "\"\\u007f\\u202e\""),
            ("", ""),
        ] {
            assert_eq!(escape_strings(text), want);
        }
    }

    #[test]
    fn binary_content_is_named() {
        let data = "A".repeat(400);
        for (text, want) in [
            (format!("[\"{data}==\"]"), "[\"<base64, 300 bytes>\"]"),
            (
                format!("{{\"x\":{{\"mimeType\":1}},\"data\":\"{data}\",\"mimeType\":\"image/png\"}}"),
                "{\"x\":{\"mimeType\":1},\"data\":\"<image/png, 300 bytes>\",\"mimeType\":\"image/png\"}",
            ),
        ] {
            assert_eq!(abridged(&text), want);
        }
        // The type is that of the same object, wherever it stands, and of none around it.
        let nested = format!("{{\"mimeType\":\"a/b\",\"x\":[{{\"d\":\"{data}\"}}],\"d\":\"{data}\"}}");
        let want =
            "{\"mimeType\":\"a/b\",\"x\":[{\"d\":\"<base64, 300 bytes>\"}],\"d\":\"<a/b, 300 bytes>\"}";
        assert_eq!(abridged(&nested), want);
        let words = format!("[\"{}\"]", "two words ".repeat(100));
        assert_eq!(abridged(&words), words);
        assert_eq!(abridged("\"AAAA\""), "\"AAAA\"");
    }

    #[test]
    fn pretty_text_has_a_line_for_each_part() {
        for (text, want) in [
            ("5", "5"),
            ("[]", "[]"),
            ("{ }", "{}"),
            ("[[],{}]", "[\n  [],\n  {}\n]"),
            ("{\"a\":[1,2.0],\"b\":null}", "{\n  \"a\": [\n    1,\n    2.0\n  ],\n  \"b\": null\n}"),
            ("\"\u{9b}31m\u{7f}\u{202e}\"", "\"\\u009b31m\\u007f\\u202e\""),
        ] {
            assert_eq!(pretty(text, Painter::PLAIN), want);
        }
        assert_eq!(indented("[1,2,3,4]", Painter::PLAIN, 8), None);
    }

    #[test]
    fn values_are_counted() {
        for (text, count) in [("1", 1), ("[]", 2), ("[1,2]", 3), (r#"{"a,[":"\",","b":[]}"#, 4)] {
            assert!(!has_more_values(text, count), "{text}");
            assert!(has_more_values(text, count - 1), "{text}");
        }
    }
}
