//! Text inside quotes.

use std::fmt::Write;

use sabir_proto::is_terminal_control;

/// Appends `text` in quotes, with escapes that N-Triples, Turtle and JSON share. What a terminal would obey is
/// escaped too: control characters, and those that change the direction of what follows.
pub(crate) fn quoted(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.find(needs_escape) {
        let (plain, tail) = rest.split_at(at);
        out.push_str(plain);
        let mut chars = tail.chars();
        match chars.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some(c) => drop(write!(out, "\\u{:04X}", u32::from(c))),
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

fn needs_escape(c: char) -> bool {
    matches!(c, '"' | '\\') || is_terminal_control(c)
}
