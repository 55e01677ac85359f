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

/// The text over many lines, indented by two spaces for each level, with control characters escaped.
pub(crate) fn pretty(text: &str, painter: Painter) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut depth = 0usize;
    let mut opened = false;
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        (0..depth).for_each(|_| out.push_str("  "));
    };
    let mut cursor = Cursor::trusted(text);
    while let Some(token) = cursor.token() {
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
    out
}

/// Strings in base64 that are longer are binary content, and nothing to look at.
const LONGEST_BASE64: usize = 200;

/// The text with binary content replaced by its type and size, for people. `text` is valid JSON, and so is the result.
pub(crate) fn abridged(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST_BASE64 {
        return Cow::Borrowed(text);
    }
    let all: Vec<Token<'_>> = tokens(text).collect();
    let mut out = String::new();
    for (i, token) in all.iter().enumerate() {
        match size_of_base64(token) {
            Some(bytes) => {
                let kind = sibling(&all, i, "\"mimeType\"").unwrap_or("base64").trim_matches('"');
                out.push_str(&format!("\"<{kind}, {}>\"", ByteSize(bytes)));
            }
            None => out.push_str(token.text()),
        }
    }
    Cow::Owned(out)
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

/// The string that a member of the same object has.
fn sibling<'t>(all: &[Token<'t>], at: usize, name: &str) -> Option<&'t str> {
    let level = |token: &Token<'_>| match token.kind {
        TokenKind::ObjectStart | TokenKind::ArrayStart => 1,
        TokenKind::ObjectEnd | TokenKind::ArrayEnd => -1,
        _ => 0,
    };
    let mut depth = 0;
    let start = all[..at].iter().rposition(|token| {
        depth += level(token);
        depth > 0
    })?;
    let mut depth = 0;
    for (i, token) in all.iter().enumerate().skip(start) {
        depth += level(token);
        if depth == 0 {
            return None;
        }
        if depth == 1 && token.text() == name && matches!(all.get(i + 1)?.kind, TokenKind::Colon) {
            return Some(all.get(i + 2)?.text());
        }
    }
    None
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
    }
}
