//! JSON text for people and for pipes. Values are never parsed: numbers and strings stay as they came.

use std::borrow::Cow;
use std::fmt::Write;

use crate::paint::{Paint, Painter};

/// The text without white space between its parts: one line, and nothing in it that a terminal would obey. `text` is
/// valid JSON, and the result means the same.
pub(crate) fn compact(text: &str) -> Cow<'_, str> {
    let spaces = |text: &str| tokens(text).map(str::len).sum::<usize>() != text.len();
    if !spaces(text) {
        return harmless(text);
    }
    let joined: String = tokens(text).collect();
    match harmless(&joined) {
        Cow::Owned(escaped) => Cow::Owned(escaped),
        Cow::Borrowed(_) => Cow::Owned(joined),
    }
}

/// The text over many lines, with two spaces for each level, and nothing in it that a terminal would obey.
pub(crate) fn pretty(text: &str, painter: Painter) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut depth = 0;
    let mut opened = false;
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        (0..depth).for_each(|_| out.push_str("  "));
    };
    let mut tokens = tokens(text).peekable();
    while let Some(token) = tokens.next() {
        let closes = matches!(token, "}" | "]");
        if closes {
            depth -= 1;
        }
        if opened != closes {
            line(&mut out, depth);
        }
        opened = matches!(token, "{" | "[");
        match token {
            "{" | "[" => {
                depth += 1;
                out.push_str(token);
            }
            "}" | "]" => out.push_str(token),
            "," => {
                out.push(',');
                line(&mut out, depth);
            }
            ":" => out.push_str(": "),
            _ => {
                let paint = match token.as_bytes()[0] {
                    b'"' if tokens.peek() == Some(&":") => Paint::Key,
                    b'"' => Paint::String,
                    b't' | b'f' | b'n' => Paint::Word,
                    _ => Paint::Number,
                };
                painter.paint(&mut out, paint, &harmless(token));
            }
        }
    }
    out
}

/// The text with everything escaped that a terminal would obey or that nobody would see. In JSON the result means the
/// same.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_hidden(c) {
            true => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                let _ = write!(out, "\\u{unit:04x}");
            }),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// The same over many lines, which stay lines.
pub(crate) fn harmless_lines(text: &str) -> String {
    text.split('\n').map(harmless).collect::<Vec<_>>().join("\n")
}

/// Whether a character is not shown as itself: control characters (C0, DEL, C1), separators of lines, marks that change
/// the direction of what follows, and those that take no space. Joiners, which some scripts and emoji need, are shown.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// The parts of valid JSON: brackets, commas, colons, strings, and whatever else has no space in it.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let bytes = rest.as_bytes();
        let len = match bytes.first()? {
            b'{' | b'}' | b'[' | b']' | b',' | b':' => 1,
            b'"' => string_len(bytes),
            _ => bytes.iter().position(|b| b" \t\r\n,:]}".contains(b)).unwrap_or(bytes.len()),
        };
        let (token, after) = rest.split_at(len);
        rest = after;
        Some(token)
    })
}

/// The length of the string that begins `bytes`, with its quotes.
fn string_len(bytes: &[u8]) -> usize {
    let mut i = 1;
    while i < bytes.len() {
        match bytes[i] {
            b'"' => return i + 1,
            b'\\' => i += 2,
            _ => i += 1,
        }
    }
    bytes.len()
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
