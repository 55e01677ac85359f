//! JSON text for people and for pipes. Values are not parsed: numbers and strings stay as they were received.

use std::borrow::Cow;

use sabir_proto::{Cursor, Token, TokenKind};
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
