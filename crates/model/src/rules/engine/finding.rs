//! What was found: which rule, where, and what exactly.

use std::fmt::{self, Write};
use std::ops::Range;

use sabir_proto::push_escaped;

use crate::capture::{Direction, Record, What};
use crate::rules::table::{Rule, Severity};

/// Characters of a message that are shown around what is wrong in it.
const SHOWN: usize = 100;

/// A violation of a rule.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Finding {
    /// Which rule.
    pub rule: &'static Rule,
    /// How bad it is here.
    pub severity: Severity,
    /// What exactly is wrong, in one sentence.
    pub what: String,
    /// Number of the record that it is in, from 1.
    pub number: u64,
    /// Line of the file, from 1.
    pub line: u64,
    /// Character of the line, from 1.
    pub column: u64,
    /// Byte of the file, from 0.
    pub offset: u64,
    /// Which way the message went, where that is known.
    pub direction: Option<Direction>,
    /// The message around it.
    pub excerpt: Excerpt,
    /// Another place that has to do with it: a line of the file, and what is there.
    pub related: Option<(u64, String)>,
}

/// A part of a message. Nothing in it is obeyed by a terminal: control characters are shown as escapes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Excerpt {
    /// One line.
    pub text: String,
    /// Characters before what is wrong.
    pub before: usize,
    /// Characters of what is wrong, as far as they are shown: 1 at least.
    pub width: usize,
}

impl Finding {
    /// A violation by a whole record, found by a caller that knows more than the traffic shows.
    pub fn new(rule: &'static Rule, record: &Record<'_>, what: impl Into<String>) -> Self {
        let text = match &record.what {
            What::Message(text) | What::Noise(text) => &**text,
            _ => b"",
        };
        let Record { number, line, column, offset, direction, .. } = *record;
        let (severity, excerpt) = (rule.severity, excerpt(text, 0..text.len()));
        let related = None;
        Finding {
            rule,
            severity,
            what: what.into(),
            number,
            line,
            column,
            offset,
            direction,
            excerpt,
            related,
        }
    }
}

/// A line: `2:3 error[RPC001]: …`.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} {}[{}]: {}", self.line, self.column, self.severity, self.rule.id, self.what)
    }
}

/// The message that is looked at.
#[derive(Clone, Copy)]
pub(crate) struct Location<'r> {
    pub(crate) record: &'r Record<'r>,
    pub(crate) text: &'r [u8],
}

impl Location<'_> {
    /// Where a part of the text is. What is not a part of it counts as its beginning.
    pub(crate) fn span(&self, part: &str) -> Range<usize> {
        let start = part.as_ptr().addr().wrapping_sub(self.text.as_ptr().addr());
        if start <= self.text.len() && start + part.len() <= self.text.len() {
            start..start + part.len()
        } else {
            0..1
        }
    }
}

/// Where findings gather, with what was said about rules.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) findings: Vec<Finding>,
    pub(crate) allowed: Vec<&'static str>,
    pub(crate) denied: Vec<&'static str>,
}

impl Report {
    /// Adds a finding at a part of the message.
    pub(crate) fn add(
        &mut self,
        rule: &'static Rule,
        location: &Location<'_>,
        part: &str,
        what: impl Into<String>,
    ) {
        self.add_at(rule, rule.severity, location, location.span(part), what.into());
    }

    /// The same with a severity that is not the rule's usual one.
    pub(crate) fn add_as(
        &mut self,
        rule: &'static Rule,
        severity: Severity,
        location: &Location<'_>,
        part: &str,
        what: impl Into<String>,
    ) {
        self.add_at(rule, severity, location, location.span(part), what.into());
    }

    pub(crate) fn add_at(
        &mut self,
        rule: &'static Rule,
        severity: Severity,
        location: &Location<'_>,
        span: Range<usize>,
        what: String,
    ) {
        let Record { number, mut line, mut column, mut offset, verbatim, direction, .. } = *location.record;
        if verbatim {
            let before = &location.text[..span.start.min(location.text.len())];
            offset += before.len() as u64;
            let last = memchr::memrchr(b'\n', before);
            let passed =
                String::from_utf8_lossy(&before[last.map_or(0, |at| at + 1)..]).chars().count() as u64;
            match last {
                Some(_) => {
                    line += memchr::memchr_iter(b'\n', before).count() as u64;
                    column = passed + 1;
                }
                None => column += passed,
            }
        }
        let excerpt = excerpt(location.text, span);
        let related = None;
        self.push(Finding {
            rule,
            severity,
            what,
            number,
            line,
            column,
            offset,
            direction,
            excerpt,
            related,
        });
    }

    /// Adds a finding, unless its rule is allowed.
    pub(crate) fn push(&mut self, mut finding: Finding) {
        if self.allowed.contains(&finding.rule.id) {
            return;
        }
        if self.denied.contains(&finding.rule.id) {
            finding.severity = Severity::Error;
        }
        self.findings.push(finding);
    }

    /// Names another place for the finding that was just added.
    pub(crate) fn related(&mut self, rule: &'static Rule, line: u64, what: impl Into<String>) {
        if let Some(last) = self.findings.last_mut().filter(|last| last.rule.id == rule.id) {
            last.related = Some((line, what.into()));
        }
    }
}

/// The line around `span`, cut to what can be shown.
pub(crate) fn excerpt(text: &[u8], span: Range<usize>) -> Excerpt {
    let at = span.start.min(text.len());
    let line_start = memchr::memrchr(b'\n', &text[..at]).map_or(0, |found| found + 1);
    let line_end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |found| at + found);
    let boundary = |mut at: usize| {
        while at < text.len() && text[at] & 0xC0 == 0x80 {
            at += 1;
        }
        at
    };
    let start = match at - line_start {
        near if near <= SHOWN / 2 || line_end - line_start <= SHOWN => line_start,
        _ => boundary(at - SHOWN / 3),
    };
    let end = boundary((start + SHOWN).min(line_end)).clamp(at, line_end);
    let mut shown = Excerpt::default();
    if start > line_start {
        shown.text.push('…');
    }
    push_harmless(&mut shown.text, &text[start..at]);
    shown.before = shown.text.chars().count();
    let stop = span.end.clamp(at, end);
    push_harmless(&mut shown.text, &text[at..stop]);
    shown.width = (shown.text.chars().count() - shown.before).max(1);
    push_harmless(&mut shown.text, &text[stop..end]);
    if end < line_end {
        shown.text.push('…');
    }
    shown
}

/// Appends text with everything escaped that a terminal would obey. Bytes that are not UTF-8 are shown in
/// hexadecimal.
fn push_harmless(out: &mut String, text: &[u8]) {
    for chunk in text.utf8_chunks() {
        push_escaped(out, chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
}

/// Text of a peer's for a sentence: harmless, and not too long.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("`");
    let end = text.char_indices().nth(60).map_or(text.len(), |(at, _)| at);
    push_harmless(&mut out, &text.as_bytes()[..end]);
    if end < text.len() {
        out.push('…');
    }
    out.push('`');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_show_what_is_wrong_and_a_little_around_it() {
        let long = format!("{{\"{}\":1,\"é\":2}}", "x".repeat(300));
        for (text, span, want) in [
            ("{\"a\":1}", 5..6, "{\"a\":1}\n     ^"),
            ("{\n\"a\":\u{1b}1}", 6..9, "\"a\":\\u001b1}\n    ^^^^^^^^"),
            ("", 0..1, "\n^"),
            (
                long.as_str(),
                306..310,
                "…xxxxxxxxxxxxxxxxxxxxxxxxxxxxx\":1,\"é\":2}\n                                  ^^^",
            ),
        ] {
            let shown = excerpt(text.as_bytes(), span);
            let caret = format!("{}{}", " ".repeat(shown.before), "^".repeat(shown.width));
            assert_eq!(format!("{}\n{caret}", shown.text), want);
        }
        assert_eq!(excerpt(b"a\xffb", 1..2).text, "a\\xffb");
        let start = excerpt(long.as_bytes(), 0..308);
        assert_eq!((start.before, start.width, start.text.chars().count()), (0, 100, 101));
    }
}
