//! What the rules find, row by row, behind the reader.

use std::borrow::Cow;
use std::collections::HashMap;
use std::thread;

use sabir_model::calls::{Entry, Kind};
use sabir_model::capture::{Event, Exchange, Record, What};
use sabir_model::rules::{Checker, Finding, Profile};
use serde::Serialize;

use super::contents::AllContents;
use super::state::{Source, State};
use super::{Captures, PAUSE};

/// Rows that are checked before what was found is told.
const PART: u32 = 64;

/// What breaks a rule.
#[derive(Debug, Clone, Serialize)]
pub(in crate::view) struct Found {
    pub(in crate::view) rule: &'static str,
    pub(in crate::view) level: &'static str,
    pub(in crate::view) text: String,
    title: &'static str,
    why: &'static str,
    fix: &'static str,
    source: &'static str,
}

impl From<Finding> for Found {
    fn from(finding: Finding) -> Self {
        use sabir_model::rules::Severity;
        let level = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let rule = finding.rule;
        let (title, why, fix, source) = (rule.title, rule.why, rule.fix, rule.source);
        Found { rule: rule.id, level, text: finding.what, title, why, fix, source }
    }
}

/// Checks all rows, and those that come.
pub(super) fn run(captures: &Captures) {
    let mut contents = captures.more_contents();
    let mut checkers: HashMap<u16, Checker> = HashMap::new();
    let mut next = 0;
    let mut part = Vec::new();
    while !captures.has_ended() {
        let state = captures.state_for_work();
        let end = state.rows.index.len().min(next + PART);
        // Whoever looks for a row waits for it; nobody waits for this.
        if next == end || !state.is_read || state.is_filtering() {
            drop(state);
            thread::sleep(PAUSE);
            continue;
        }
        for row in next..end {
            part.extend(owned(&state, row, &mut contents));
        }
        let profiles: Vec<Option<Profile>> =
            state.sources.iter().map(|source| source.header.profile.as_deref()?.parse().ok()).collect();
        drop(state);
        next = end;
        let mut found = Vec::new();
        for (source, record) in part.drain(..) {
            let profile = profiles.get(usize::from(source)).copied().flatten();
            let checker =
                checkers.entry(source).or_insert_with(|| Checker::new(profile.unwrap_or(Profile::JsonRpc)));
            found.extend(checker.check(&record));
        }
        let mut state = captures.state_for_work();
        for finding in found {
            let row = u32::try_from(finding.number.saturating_sub(1)).unwrap_or(u32::MAX);
            state.find(row, finding.into());
        }
        state.checked = end;
    }
}

/// A row as the record that it was, and the capture that it is of.
fn owned(state: &State, row: u32, contents: &mut AllContents) -> Option<(u16, Record<'static>)> {
    let entry = state.rows.index.entry(row)?;
    let (source, place) = state.rows.place(row)?;
    let is_http = state.sources.get(usize::from(source)).is_some_and(Source::is_http);
    let exchange = if is_http && entry.kind.is_message() { contents.exchange(source, place) } else { None };
    let text = contents.at(source, place).ok()?.into_owned();
    Some((source, record(&entry, text, exchange)?))
}

fn record(entry: &Entry, text: Vec<u8>, exchange: Option<Exchange<'static>>) -> Option<Record<'static>> {
    let event = |event| {
        let text = String::from_utf8_lossy(&text).into_owned();
        What::Event(event, Cow::Owned(text))
    };
    let what = match entry.kind {
        Kind::Noise => What::Noise(Cow::Owned(text)),
        Kind::Stderr => What::Stderr(Cow::Owned(text)),
        Kind::Open => event(Event::Open),
        Kind::Close => event(Event::Close),
        Kind::Exit => event(Event::Exit),
        Kind::Gap => event(Event::Gap),
        Kind::Mark => event(Event::Mark),
        Kind::Http => event(Event::Http),
        Kind::Start => What::Start(serde_json::from_slice(&text).ok()?),
        Kind::Damage => return None,
        _ => What::Message(Cow::Owned(text)),
    };
    Some(Record {
        number: entry.number,
        line: entry.number,
        column: 1,
        offset: 0,
        length: entry.bytes,
        verbatim: true,
        time: entry.time,
        direction: entry.direction,
        connection: entry.connection,
        exchange,
        what,
    })
}
