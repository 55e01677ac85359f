//! A row with everything that belongs to it.

use sabir_model::calls::Kind;
use sabir_proto::{JsonKind, RawJson};
use serde::Serialize;

use super::copy;
use super::row::{Known, Row};
use crate::view::capture::{AllContents, Captures, State, answer_of, trace_of};

/// Bytes of a message that are shown unless all of it is asked for.
const SHOWN: usize = 1 << 20;

/// Rows around a call that are looked at for what belongs to it, and that are named.
const AROUND: u32 = 4000;
const NAMED: usize = 100;

#[derive(Serialize)]
pub(super) struct Detail {
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<Part>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Part>,
    /// Answers of HTTP on its connection while it was open.
    http: Vec<Part>,
    progress: Vec<Row>,
    related: Vec<Related>,
    /// What it can be copied as.
    copies: Vec<&'static str>,
}

#[derive(Serialize)]
struct Part {
    row: Row,
    text: String,
    /// There is more.
    cut: bool,
    json: bool,
}

#[derive(Serialize)]
struct Related {
    why: &'static str,
    rows: Vec<Row>,
}

/// What ties messages together beyond their ids: what to call it, and where it can be.
const TIES: &[(&str, &[&[&str]])] = &[
    ("same request state", &[&["params", "requestState"], &["result", "requestState"]]),
    (
        "same task",
        &[
            &["params", "taskId"],
            &["params", "task", "taskId"],
            &["params", "_meta", "io.modelcontextprotocol/related-task", "taskId"],
            &["result", "taskId"],
            &["result", "task", "taskId"],
        ],
    ),
    (
        "same subscription",
        &[
            &["params", "subscription"],
            &["params", "_meta", "io.modelcontextprotocol/subscriptionId"],
            &["params", "uri"],
        ],
    ),
];

const TOKENS: &[&[&str]] = &[&["params", "_meta", "progressToken"], &["params", "workDoneToken"]];

/// `None` if there is no such row.
pub(super) fn of(captures: &Captures, row: u32, whole: bool) -> Option<Detail> {
    let mut contents = captures.more_contents();
    let state = captures.state();
    // A call is shown as one, whichever half was asked for.
    let call = state.rows.shown_as(row);
    let first = Known::record(&state, call)?;
    let entry = first.entry;
    let answer = answer_of(&entry).and_then(|answer| Known::record(&state, answer));
    let near = near(&state, call, entry.connection);
    let source = state.sources.get(usize::from(first.place.0));
    let copies = source.map_or(Vec::new(), |source| copy::names(&first, &source.header));
    drop(state);
    let is_lone_answer = matches!(entry.kind, Kind::Result | Kind::Error);
    let first = part(first, &mut contents, whole);
    let answer = answer.map(|answer| part(answer, &mut contents, whole));
    let texts: Vec<&str> = std::iter::once(&first).chain(&answer).map(|part| part.text.as_str()).collect();
    let end = answer.as_ref().map_or(u32::MAX, |answer| answer.row.row - 1);
    let token = TOKENS.iter().find_map(|path| value(texts[0], path));
    let progress = token.map_or(Vec::new(), |token| {
        let is_one = |known: &Known, text: &[u8]| {
            matches!(known.method(), Some("notifications/progress" | "$/progress"))
                && (call..=end).contains(&known.row)
                && has(text, &token)
        };
        found(captures, &near, &mut contents, is_one)
    });
    let mut related: Vec<Related> = Vec::new();
    if let Some(trace) = texts.iter().find_map(|text| trace_of(text.as_bytes())) {
        let state = captures.state();
        let rows = state.rows_of_trace(&trace).iter().filter(|&&row| row != call);
        let rows: Vec<Known> = rows.filter_map(|&row| Known::call(&state, row)).take(NAMED).collect();
        drop(state);
        let rows = rows.into_iter().map(|known| known.read(&mut contents)).collect();
        related.push(Related { why: "same trace", rows });
    }
    for (why, paths) in TIES {
        let tie = texts.iter().find_map(|text| paths.iter().find_map(|path| value(text, path)));
        let Some(tie) = tie else { continue };
        let is_one = |known: &Known, text: &[u8]| known.entry.kind.is_message() && has(text, &tie);
        let rows = found(captures, &near, &mut contents, is_one);
        related.push(Related { why, rows });
    }
    related.retain(|related| !related.rows.is_empty());
    let http = http(captures, &near, call, end, &mut contents);
    let (request, answer) = if is_lone_answer { (None, Some(first)) } else { (Some(first), answer) };
    Some(Detail { request, answer, http, progress, related, copies })
}

fn part(known: Known, contents: &mut AllContents, whole: bool) -> Part {
    let json = known.entry.kind.is_message();
    let (source, place) = known.place;
    let content = contents.at(source, place).map(std::borrow::Cow::into_owned).unwrap_or_default();
    let cut = !whole && content.len() > SHOWN;
    let text = String::from_utf8_lossy(if cut { &content[..SHOWN] } else { &content }).into_owned();
    Part { row: known.read(contents), text, cut, json }
}

/// The rows of the list around a row, on the same connection, without itself.
fn near(state: &State, row: u32, connection: u64) -> Vec<u32> {
    let listed = &state.rows.listed;
    let place = listed.partition_point(|&other| other < row);
    let from = place.saturating_sub(AROUND as usize);
    listed[from..]
        .iter()
        .take(2 * AROUND as usize)
        .copied()
        .filter(|&other| other != row)
        .filter(|&other| state.rows.index.entry(other).is_some_and(|entry| entry.connection == connection))
        .collect()
}

/// Those for which something is true.
fn found(
    captures: &Captures,
    near: &[u32],
    contents: &mut AllContents,
    is_one: impl Fn(&Known, &[u8]) -> bool,
) -> Vec<Row> {
    let mut rows = Vec::new();
    // The state is not locked while files are read.
    for part in near.chunks(256) {
        let state = captures.state();
        let known: Vec<Known> = part.iter().filter_map(|&row| Known::call(&state, row)).collect();
        drop(state);
        for known in known {
            let (source, place) = known.place;
            if contents.at(source, place).is_ok_and(|text| is_one(&known, &text)) {
                rows.push(known.read(contents));
                if rows.len() >= NAMED {
                    return rows;
                }
            }
        }
    }
    rows
}

/// Answers of HTTP between a call and its answer: what is less, or more, than a message.
fn http(captures: &Captures, near: &[u32], call: u32, end: u32, contents: &mut AllContents) -> Vec<Part> {
    let state = captures.state();
    let rows = near.iter().filter(|&&row| row > call && row <= end);
    let known: Vec<Known> = rows
        .take(256)
        .filter_map(|&row| Known::record(&state, row).filter(|known| known.entry.kind == Kind::Http))
        .take(4)
        .collect();
    drop(state);
    known.into_iter().map(|known| part(known, contents, false)).collect()
}

fn has(text: &[u8], part: &str) -> bool {
    !part.is_empty() && memchr::memmem::find(text, part.as_bytes()).is_some()
}

/// A string or a number in a message, as it is written.
fn value(text: &str, path: &[&str]) -> Option<String> {
    let mut at = RawJson::from_bytes(text.as_bytes()).ok()?.into_owned();
    for name in path {
        at = at.get(name)?.into_owned();
    }
    matches!(at.kind(), JsonKind::String | JsonKind::Number).then(|| at.as_str().to_owned())
}
