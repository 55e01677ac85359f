//! A row as the page gets it.

use std::time::Duration;

use sabir_model::calls::{Entry, Kind};
use sabir_model::index::Place;
use sabir_proto::{Incoming, LENIENT, Limits, Message, RawJson, decode};
use serde::Serialize;

use crate::view::capture::{AllContents, Found, State, answer_of};

/// Characters of a content that the list shows.
const PREVIEW: usize = 160;

/// Bytes of a content that are read as JSON for the list.
const LOOKED_AT: usize = 256 << 10;

#[derive(Debug, Clone, Serialize)]
pub(super) struct Row {
    /// Its number, from 1, as everywhere outside of the index.
    pub(super) row: u32,
    /// Nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    t: Option<u64>,
    c: u64,
    /// The capture that it is of, from 0.
    source: u16,
    d: &'static str,
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ms: Option<f64>,
    /// Where a call takes several requests: since the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<f64>,
    /// How long a call without an answer has taken so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    age: Option<f64>,
    /// Of the request and the answer.
    bytes: u64,
    /// The row of the other half.
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<u64>,
    preview: String,
    /// What the answer says.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) findings: Vec<Found>,
    /// It is what is searched for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) hit: bool,
}

/// What is known of a row without its content: all that the state has to be locked for.
pub(super) struct Known {
    pub(super) row: u32,
    pub(super) entry: Entry,
    pub(super) place: (u16, Place),
    method: Option<String>,
    tool: Option<String>,
    pub(super) answer: Option<(Entry, (u16, Place))>,
    findings: Vec<Found>,
    age: Option<Duration>,
}

impl Known {
    /// With its answer, where it is a call.
    pub(super) fn call(state: &State, row: u32) -> Option<Known> {
        let mut known = Known::record(state, row)?;
        known.answer = answer_of(&known.entry)
            .and_then(|answer| Some((state.rows.index.entry(answer)?, state.rows.place(answer)?)));
        known.findings = state.findings_of_call(&known.entry);
        Some(known)
    }

    /// By itself.
    pub(super) fn record(state: &State, row: u32) -> Option<Known> {
        let entry = state.rows.index.entry(row)?;
        let names = state.rows.index.names();
        Some(Known {
            row,
            entry,
            place: state.rows.place(row)?,
            method: names.method(entry.name).map(str::to_owned),
            tool: names.tool(entry.name).map(str::to_owned),
            answer: None,
            findings: state.findings(row).to_vec(),
            age: entry.age(state.now),
        })
    }

    pub(super) fn method(&self) -> Option<&str> {
        self.method.as_deref()
    }

    /// With its content.
    pub(super) fn read(self, contents: &mut AllContents) -> Row {
        let (id, preview) = match contents.at(self.place.0, self.place.1) {
            Ok(text) => shown(&self.entry, self.tool.is_some(), &text),
            Err(error) => (None, format!("cannot be read: {error}")),
        };
        let result = self.answer.as_ref().and_then(|(entry, (source, place))| {
            contents.at(*source, *place).ok().map(|text| shown(entry, false, &text).1)
        });
        let Known { row, entry, age, .. } = self;
        let millis = |time: Option<Duration>| time.map(|time| time.as_nanos() as f64 / 1e6);
        let total = self.answer.as_ref().and_then(|(answer, _)| answer.total).or(entry.total);
        Row {
            row: row + 1,
            t: entry.time.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
            c: entry.connection,
            source: self.place.0,
            d: match entry.direction.map(|direction| direction.sign()) {
                Some('>') => ">",
                Some(_) => "<",
                None => "",
            },
            kind: entry.kind.name(),
            status: entry.status.map(|status| status.name()),
            id,
            method: self.method,
            tool: self.tool,
            code: entry.code,
            ms: millis(entry.took),
            total: millis(total),
            age: millis(age),
            bytes: entry.bytes + self.answer.as_ref().map_or(0, |(answer, _)| answer.bytes),
            other: entry.other,
            preview,
            result,
            findings: self.findings,
            hit: false,
        }
    }
}

/// The id, and what of the content is worth a look: the params, the result, the error's message, or the beginning. Of a tool,
/// whose name has a place of its own, the arguments.
fn shown(entry: &Entry, is_tool: bool, content: &[u8]) -> (Option<String>, String) {
    let start = || cut(&String::from_utf8_lossy(&content[..content.len().min(PREVIEW * 4)]));
    if entry.kind == Kind::Start {
        return (None, header(content).unwrap_or_else(start));
    }
    if content.len() > LOOKED_AT || !entry.kind.is_message() {
        return (None, start());
    }
    let text = |json: Option<&RawJson<'_>>| json.map_or(String::new(), |json| cut(json.as_str()));
    match decode(content, &LENIENT, &Limits::default()) {
        Ok(Incoming::One(Ok(Message::Request(request)))) => {
            let arguments =
                request.params.as_ref().filter(|_| is_tool).and_then(|params| params.get("arguments"));
            (Some(cut(&request.id.to_string())), text(arguments.as_ref().or(request.params.as_ref())))
        }
        Ok(Incoming::One(Ok(Message::Notification(note)))) => (None, text(note.params.as_ref())),
        Ok(Incoming::One(Ok(Message::Response(response)))) => {
            let said = match &response.outcome {
                Ok(result) => cut(result.as_str()),
                Err(error) => cut(&error.message),
            };
            (Some(cut(&response.id.to_string())), said)
        }
        _ => (None, start()),
    }
}

/// Of the header of a capture, what was recorded.
fn header(content: &[u8]) -> Option<String> {
    let header: sabir_model::capture::Header = serde_json::from_slice(content).ok()?;
    let parts = [header.tool, header.transport, header.profile, header.at];
    let command = (!header.cmd.is_empty()).then(|| crate::platform::join(&header.cmd));
    let parts: Vec<String> = parts.into_iter().flatten().chain(command).collect();
    Some(cut(&parts.join("  ")))
}

/// The first characters.
fn cut(text: &str) -> String {
    match text.char_indices().nth(PREVIEW) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
