//! A row with everything that belongs to it.

use sabir_model::calls::{Entry, Kind};
use sabir_model::index::Contents;
use sabir_proto::{JsonKind, RawJson};
use serde::Serialize;

use super::capture::{Capture, State, answer_of};
use super::row::Row;

/// Bytes of a message that are shown unless all of it is asked for.
const SHOWN: usize = 1 << 20;
/// Rows around a call that are looked at for what belongs to it.
const AROUND: u32 = 20_000;
/// Rows of one kind that are named.
const NAMED: usize = 50;

#[derive(Serialize)]
pub(super) struct Detail<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<Part<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Part<'a>>,
    progress: Vec<Row<'a>>,
    related: Vec<Related<'a>>,
}

#[derive(Serialize)]
struct Part<'a> {
    row: Row<'a>,
    text: String,
    cut: bool,
    json: bool,
}

#[derive(Serialize)]
struct Related<'a> {
    why: &'static str,
    rows: Vec<Row<'a>>,
}

/// What ties messages together beyond their ids: where it is in the params or the result, and what to call it.
const TIES: &[(&str, &[&str])] = &[
    ("same trace", &["params", "_meta", "traceparent"]),
    ("same request state", &["params", "requestState"]),
    ("same request state", &["result", "requestState"]),
    ("same task", &["params", "taskId"]),
    ("same task", &["result", "taskId"]),
    ("same subscription", &["params", "subscription"]),
];

/// As JSON; `None` if there is no such row.
pub(super) fn of(capture: &Capture, row: u32, whole: bool) -> Option<serde_json::Value> {
    let mut contents = capture.contents();
    let state = capture.state();
    let entry = state.index.entry(row)?;
    // A call is shown as one, whichever half was asked for.
    let is_answer = matches!(entry.kind, Kind::Result | Kind::Error);
    let call = if is_answer { entry.other.map_or(row, |number| (number - 1) as u32) } else { row };
    let entry = state.index.entry(call)?;
    let first = part(&state, &mut contents, call, whole)?;
    let answer = answer_of(&entry).and_then(|answer| part(&state, &mut contents, answer, whole));
    let (request, answer) = if matches!(entry.kind, Kind::Result | Kind::Error) { (None, Some(first)) } else { (Some(first), answer) };
    let texts: Vec<&str> = [&request, &answer].into_iter().flatten().map(|part| part.text.as_str()).collect();
    let progress = texts.first().and_then(|text| value(text, &["params", "_meta", "progressToken"]).or_else(|| value(text, &["params", "workDoneToken"])));
    let progress = progress.map_or(Vec::new(), |token| progress_of(&state, &mut contents, &entry, call, &token));
    let mut related: Vec<Related<'_>> = Vec::new();
    for &(why, path) in TIES {
        let Some(tie) = texts.iter().find_map(|text| value(text, path)) else { continue };
        // Of a traceparent, the trace id.
        let tie = if why == "same trace" { tie.get(4..36).unwrap_or(&tie).to_owned() } else { tie };
        let rows = around(&state, &mut contents, call, |entry, text| entry.kind.is_message() && contains(text, &tie));
        if !rows.is_empty() && related.iter().all(|known| known.why != why) {
            related.push(Related { why, rows });
        }
    }
    serde_json::to_value(Detail { request, answer, progress, related }).ok()
}

fn part<'a>(state: &'a State, contents: &mut Contents, row: u32, whole: bool) -> Option<Part<'a>> {
    let entry = state.index.entry(row)?;
    let content = contents.read(&state.index, row).unwrap_or_default();
    let cut = !whole && content.len() > SHOWN;
    let shown = if cut { &content[..SHOWN] } else { &content };
    Some(Part {
        row: Row::new(&entry, state.index.names(), &content, state.findings_of(&entry)),
        text: String::from_utf8_lossy(shown).into_owned(),
        cut,
        json: entry.kind.is_message(),
    })
}

/// The notifications of progress of a call: those between it and its answer that have its token.
fn progress_of<'a>(state: &'a State, contents: &mut Contents, entry: &Entry, call: u32, token: &str) -> Vec<Row<'a>> {
    let end = answer_of(entry).unwrap_or(u32::MAX);
    around(state, contents, call, |other, text| {
        let row = (other.number - 1) as u32;
        let is_progress = matches!(state.index.names().method(other.name), Some("notifications/progress" | "$/progress"));
        is_progress && row > call && row <= end && contains(text, token)
    })
}

/// The rows of the list near a row for which something is true, without itself.
fn around<'a>(state: &'a State, contents: &mut Contents, row: u32, mut is_one: impl FnMut(&Entry, &[u8]) -> bool) -> Vec<Row<'a>> {
    let place = state.listed.partition_point(|&listed| listed < row) as u32;
    let from = place.saturating_sub(AROUND) as usize;
    let near = state.listed[from..].iter().take(2 * AROUND as usize).filter(|&&other| other != row);
    let mut found = Vec::new();
    for &other in near {
        let Some(entry) = state.index.entry(other) else { continue };
        let Ok(text) = contents.read(&state.index, other) else { continue };
        if is_one(&entry, &text) {
            found.push(Row::new(&entry, state.index.names(), &text, state.findings_of(&entry)));
            if found.len() >= NAMED {
                break;
            }
        }
    }
    found
}

fn contains(text: &[u8], part: &str) -> bool {
    !part.is_empty() && memchr::memmem::find(text, part.as_bytes()).is_some()
}

/// A string or a number in a message.
fn value(text: &str, path: &[&str]) -> Option<String> {
    let mut at = RawJson::from_bytes(text.as_bytes()).ok()?;
    for name in path {
        if at.kind() != JsonKind::Object {
            return None;
        }
        let (_, found) = at.members().find(|(key, _)| key == name)?;
        at = found;
    }
    let text = at.as_str();
    match at.kind() {
        JsonKind::String => Some(text.trim_matches('"').to_owned()),
        JsonKind::Number => Some(text.to_owned()),
        _ => None,
    }
}
