//! Makes a peer's text safe for a log or a terminal.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a terminal obeys this character instead of showing it, or shows what follows it in another place:
/// control characters of both sets and DEL, separators of lines and paragraphs, whatever changes the direction of
/// text, and what takes no space or shows nothing: fillers of Hangul, the empty cell of Braille, and variation selectors.
/// Joiners and the selectors of emoji (U+FE0E, U+FE0F), which some scripts and most messages with emoji need, are kept.
#[inline]
pub fn is_terminal_control(c: char) -> bool {
    // Most text is before all of them.
    match c {
        ' '..='~' => false,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' => true,
        '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180d}'
        | '\u{180f}' => true,
        '\u{2800}' | '\u{3164}' | '\u{ffa0}' | '\u{fe00}'..='\u{fe0d}' => true,
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        _ => c.is_control(),
    }
}

/// The text with `\u` escapes for everything that [a terminal obeys](is_terminal_control). A string literal of JSON
/// means the same afterwards.
///
/// ```
/// assert_eq!(sabir_proto::escape_controls("\u{1b}[31mred\u{202e}"), "\\u001b[31mred\\u202e");
/// ```
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    if !text.contains(is_terminal_control) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    push_escaped(&mut out, text);
    Cow::Owned(out)
}

/// Appends what [`escape_controls`] gives.
pub fn push_escaped(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some((at, c)) = rest.char_indices().find(|(_, c)| is_terminal_control(*c)) {
        out.push_str(&rest[..at]);
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
        rest = &rest[at + c.len_utf8()..];
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown() {
        for (text, want) in [
            ("", ""),
            ("plain é😀 \"\\", "plain é😀 \"\\"),
            ("\0\t\n\r\u{1b}[2J", "\\u0000\\u0009\\u000a\\u000d\\u001b[2J"),
            ("\u{7f}\u{80}\u{9b}31m\u{9f}\u{a0}", "\\u007f\\u0080\\u009b31m\\u009f\u{a0}"),
            ("\u{61c}\u{200d}\u{200e}\u{200f}", "\\u061c\u{200d}\\u200e\\u200f"),
            (
                "\u{2027}\u{2028}\u{2029}\u{202a}\u{202e}\u{202f}",
                "\u{2027}\\u2028\\u2029\\u202a\\u202e\u{202f}",
            ),
            ("\u{205f}\u{2066}\u{206f}\u{2070}\u{e0041}", "\u{205f}\\u2066\\u206f\u{2070}\\udb40\\udc41"),
            ("a\u{34f}\u{115f}\u{1160}b", "a\\u034f\\u115f\\u1160b"),
            ("\u{2800}\u{3164}\u{ffa0}\u{2801}", "\\u2800\\u3164\\uffa0\u{2801}"),
            ("\u{fe00}\u{fe0d}\u{e0100}\u{e01ef}", "\\ufe00\\ufe0d\\udb40\\udd00\\udb40\\uddef"),
            ("\u{2764}\u{fe0f}", "\u{2764}\u{fe0f}"),
        ] {
            assert_eq!(escape_controls(text), want);
            let plain = !text.chars().any(is_terminal_control);
            assert_eq!(matches!(escape_controls(text), Cow::Borrowed(_)), plain, "{text:?}");
        }
    }
}
