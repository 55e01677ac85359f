//! Escapes text of a document for generated code: one function for each language and position. All text of a document
//! goes through here, or as an identifier through [`names`](super::names).
//!
//! A comment must not end early, a string must not end early, documentation must not be run as a test or as a page's
//! script, and nothing may look like something else.

use std::fmt::Write;

use crate::json::{escape_controls, is_terminal_control};

/// Text on one line: white space becomes one space, and invisible characters are escaped as `\u202e`.
fn line(text: &str) -> String {
    let words: Vec<_> = text.split(|c: char| c.is_whitespace() && !is_separator(c)).collect();
    let text = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    escape_controls(&text).into_owned()
}

/// White space that is not visible as such.
fn is_separator(c: char) -> bool {
    matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1f}')
}

/// The lines of a text of many, without empty ones at its ends.
fn lines(text: &str) -> impl Iterator<Item = String> {
    text.trim().lines().map(line)
}

/// Text in quotes. `escape` writes invisible characters.
fn quoted(text: &str, quote: char, escape: impl Fn(&mut String, char)) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for c in text.chars() {
        match c {
            c if c == quote => out.extend(['\\', c]),
            '\\' => out.push_str("\\\\"),
            c if is_terminal_control(c) => escape(&mut out, c),
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

/// Double quotes, unless single ones need fewer escapes: as formatters choose them.
fn best_quote(text: &str) -> char {
    let count = |quote: char| text.chars().filter(|c| *c == quote).count();
    if count('"') > count('\'') { '\'' } else { '"' }
}

pub(super) mod rust {
    use super::*;

    /// Behind `//`.
    pub(in super::super) fn comment(text: &str) -> String {
        line(text)
    }

    /// Each after `///`. Code in it is not a test, HTML is not markup and brackets are not links. Indentation, which
    /// would make code, is removed with all other white space.
    pub(in super::super) fn doc(text: &str) -> impl Iterator<Item = String> {
        lines(text).map(|text| {
            let mut out = String::with_capacity(text.len());
            let mut rest = text.as_str();
            while let Some(c) = rest.chars().next() {
                let run = rest.len() - rest.trim_start_matches(c).len();
                let (same, after) = rest.split_at(run);
                match c {
                    // Three begin a block of code, at the start of a line or of a list's item.
                    '`' | '~' if run >= 3 => same.chars().for_each(|c| out.extend(['\\', c])),
                    '<' | '[' => same.chars().for_each(|c| out.extend(['\\', c])),
                    // Those that are part of an escape of ours stay as they are seen.
                    '\\' => out.push_str(&same.repeat(2)),
                    _ => out.push_str(same),
                }
                rest = after;
            }
            out
        })
    }

    /// A string, with its quotes.
    pub(in super::super) fn string(text: &str) -> String {
        quoted(text, '"', |out, c| {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        })
    }
}

pub(super) mod typescript {
    use super::*;

    /// Behind `//`, but not as the first thing: compilers read directives there.
    pub(in super::super) fn comment(text: &str) -> String {
        line(text)
    }

    /// Each inside `/** */`, where an `@` begins a tag.
    pub(in super::super) fn doc(text: &str) -> impl Iterator<Item = String> {
        lines(text).map(|text| {
            let text = text.replace("*/", "* /");
            if text.starts_with(['@', '/', '*']) { format!("\\{text}") } else { text }
        })
    }

    /// A string, with its quotes.
    pub(in super::super) fn string(text: &str) -> String {
        quoted(text, best_quote(text), |out, c| {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        })
    }

    /// The name of a member in an object. `"__proto__": x` would set the prototype instead.
    pub(in super::super) fn key(name: &str) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        match name {
            "__proto__" => "[\"__proto__\"]".to_owned(),
            _ if name.chars().all(plain)
                && !name.starts_with(|c: char| c.is_ascii_digit())
                && !name.is_empty() =>
            {
                name.to_owned()
            }
            _ => string(name),
        }
    }
}

pub(super) mod python {
    use super::*;

    /// Each inside `"""`, where `>>>` begins a test.
    pub(in super::super) fn doc(text: &str) -> impl Iterator<Item = String> {
        lines(text).map(|text| {
            let text = text.replace('\\', "\\\\").replace('"', "'");
            match text.strip_prefix(">>>") {
                Some(rest) => format!("> > >{rest}"),
                None => text,
            }
        })
    }

    /// A string, with its quotes.
    pub(in super::super) fn string(text: &str) -> String {
        quoted(text, best_quote(text), |out, c| {
            let _ = write!(out, "\\U{:08x}", u32::from(c));
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(lines: impl Iterator<Item = String>) -> String {
        lines.collect::<Vec<_>>().join("|")
    }

    #[test]
    fn comments_stay_on_their_line() {
        for (text, want) in [
            ("plain é", "plain é"),
            (" a \t b ", "a b"),
            ("a\r\nb\u{b}c", "a b\\u000bc"),
            ("a\u{2028}b\u{2029}c\u{85}d", "a\\u2028b\\u2029c\\u0085d"),
            ("\u{202e}\u{0}\u{7f}\u{feff}\u{e0041}", "\\u202e\\u0000\\u007f\\ufeff\\udb40\\udc41"),
        ] {
            assert_eq!(rust::comment(text), want);
            assert_eq!(typescript::comment(text), want);
        }
    }

    #[test]
    fn documentation_is_neither_code_nor_markup() {
        for (text, rust, typescript, python) in [
            ("a `b` c", "a `b` c", "a `b` c", "a `b` c"),
            ("a\n\n\tb\n", "a||b", "a||b", "a||b"),
            ("```\nx()\n```", "\\`\\`\\`|x()|\\`\\`\\`", "```|x()|```", "```|x()|```"),
            ("- ~~~rust", "- \\~\\~\\~rust", "- ~~~rust", "- ~~~rust"),
            ("<b>[x](y)", "\\<b>\\[x](y)", "<b>[x](y)", "<b>[x](y)"),
            ("\\<b>", "\\\\\\<b>", "\\<b>", "\\\\<b>"),
            ("a */ b", "a */ b", "a * / b", "a */ b"),
            ("@ts-ignore", "@ts-ignore", "\\@ts-ignore", "@ts-ignore"),
            (">>> x()", ">>> x()", ">>> x()", "> > > x()"),
            ("\"\"\"\\", "\"\"\"\\\\", "\"\"\"\\", "'''\\\\"),
        ] {
            assert_eq!(joined(rust::doc(text)), rust);
            assert_eq!(joined(typescript::doc(text)), typescript);
            assert_eq!(joined(python::doc(text)), python);
        }
    }

    #[test]
    fn strings_end_where_they_should() {
        for (text, rust, typescript, python) in [
            ("é", "\"é\"", "\"é\"", "\"é\""),
            ("\"\\'`${x}", "\"\\\"\\\\'`${x}\"", "\"\\\"\\\\'`${x}\"", "\"\\\"\\\\'`${x}\""),
            ("\n\u{2028}", "\"\\u{a}\\u{2028}\"", "\"\\u{a}\\u{2028}\"", "\"\\U0000000a\\U00002028\""),
        ] {
            assert_eq!(rust::string(text), rust);
            assert_eq!(typescript::string(text), typescript);
            assert_eq!(python::string(text), python);
        }
    }
}
