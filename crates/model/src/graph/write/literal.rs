//! Literals: text inside quotes, with and without a datatype.

use std::fmt::Write;

use sabir_proto::{RawJson, is_terminal_control};

use crate::graph::canonical::canonical;
use crate::graph::terms::{JSON, Term};

/// Appends `text` in quotes, with the escapes of N-Triples and Turtle. What a terminal would obey is escaped too:
/// control characters, and those that change the direction of what follows.
pub(crate) fn quoted(out: &mut String, text: &str) {
    quoted_with(out, text, |out, c| {
        let _ = match u32::from(c) {
            code @ ..=0xffff => write!(out, "\\u{code:04X}"),
            code => write!(out, "\\U{code:08X}"),
        };
    });
}

/// The same with the escapes of JSON, which has surrogate pairs where the others have `\U`.
pub(crate) fn quoted_json(out: &mut String, text: &str) {
    quoted_with(out, text, |out, c| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04X}");
        }
    });
}

fn quoted_with(out: &mut String, text: &str, escape: impl Fn(&mut String, char)) {
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
            Some(c) => escape(out, c),
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// Appends a literal with its datatype, which `term` writes as the syntax does.
pub(crate) fn typed(out: &mut String, text: &str, datatype: Term, term: fn(&mut String, Term)) {
    quoted(out, text);
    out.push_str("^^");
    term(out, datatype);
}

/// Appends a literal of the datatype `rdf:JSON`, in its canonical form.
pub(crate) fn typed_json(out: &mut String, json: &RawJson<'_>, term: fn(&mut String, Term)) {
    let mut text = String::with_capacity(json.as_str().len());
    canonical(json, &mut text);
    typed(out, &text, JSON, term);
}

fn needs_escape(c: char) -> bool {
    matches!(c, '"' | '\\') || is_terminal_control(c)
}
