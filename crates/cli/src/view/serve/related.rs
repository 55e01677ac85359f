//! What belongs to a row beyond its answer: its progress, and what is of the same trace, request state, task, subscription or
//! token.

use memchr::memmem;
use sabir_proto::{JsonKind, RawJson};
use serde::Serialize;

use super::row::{Known, Row};
use crate::view::capture::{AllContents, Captures, State, trace_of};

/// Rows around a call that are looked at for what belongs to it, and that are named.
const AROUND: u32 = 4000;
const NAMED: usize = 100;

#[derive(Serialize)]
pub(super) struct Related {
    why: &'static str,
    rows: Vec<Row>,
}

/// What ties messages together: what to call it, whether also on other connections, and where it can be. Calls of HTTP are
/// made on any connection, and names that are unique in the world mean the same on all of them.
struct Tie {
    why: &'static str,
    everywhere: bool,
    paths: &'static [&'static [&'static str]],
}

const SUBSCRIPTION: usize = 2;
const TOKEN: usize = 3;

const TIES: [Tie; 4] = [
    Tie {
        why: "same request state",
        everywhere: true,
        paths: &[&["params", "requestState"], &["result", "requestState"]],
    },
    Tie {
        why: "same task",
        everywhere: true,
        paths: &[
            &["params", "taskId"],
            &["params", "task", "taskId"],
            &["params", "_meta", "io.modelcontextprotocol/related-task", "taskId"],
            &["result", "taskId"],
            &["result", "task", "taskId"],
            &["result", "_meta", "io.modelcontextprotocol/related-task", "taskId"],
        ],
    },
    Tie {
        why: "same subscription",
        everywhere: false,
        paths: &[
            &["params", "subscription"],
            &["params", "_meta", "io.modelcontextprotocol/subscriptionId"],
            &["params", "uri"],
        ],
    },
    Tie {
        why: "same token",
        everywhere: false,
        paths: &[
            &["params", "_meta", "progressToken"],
            &["params", "workDoneToken"],
            &["params", "partialResultToken"],
            &["params", "progressToken"],
            &["params", "token"],
        ],
    },
];

/// A value that ties a message to others, as it is written.
#[derive(Debug, Clone, PartialEq)]
struct Tied {
    tie: usize,
    value: String,
    /// It is a whole result, which may be anything: only what names a subscription shows that it is one.
    is_bare: bool,
}

impl Tied {
    fn fits(&self, other: &Tied) -> bool {
        self.tie == other.tie && self.value == other.value && !(self.is_bare && other.is_bare)
    }
}

/// All that ties a message to others.
fn ties(method: Option<&str>, text: &[u8]) -> Vec<Tied> {
    let Ok(json) = RawJson::from_bytes(text) else { return Vec::new() };
    let mut found: Vec<Tied> = Vec::new();
    let mut add = |tie, value: Option<String>, is_bare| {
        found.extend(value.map(|value| Tied { tie, value, is_bare }));
    };
    for (tie, Tie { paths, .. }) in TIES.iter().enumerate() {
        paths.iter().for_each(|path| add(tie, at(&json, path), false));
    }
    add(SUBSCRIPTION, at(&json, &["result"]), true);
    match method {
        // Its notifications have the id of the request.
        Some("subscriptions/listen") => add(SUBSCRIPTION, at(&json, &["id"]), false),
        Some(method) if method.to_ascii_lowercase().contains("unsubscribe") => {
            let first =
                json.get("params").and_then(|params| params.elements().next().as_ref().and_then(scalar));
            add(SUBSCRIPTION, first, false);
        }
        _ => {}
    }
    found
}

/// A string or a number, as it is written.
fn scalar(json: &RawJson<'_>) -> Option<String> {
    matches!(json.kind(), JsonKind::String | JsonKind::Number).then(|| json.as_str().to_owned())
}

fn at(json: &RawJson<'_>, path: &[&str]) -> Option<String> {
    match path {
        [] => scalar(json),
        [name, rest @ ..] => at(&json.get(name)?, rest),
    }
}

/// A row around the one that is looked at.
pub(super) struct Near {
    pub(super) row: u32,
    pub(super) is_on_the_connection: bool,
}

/// The rows of the list around a row, of the same capture, without itself.
pub(super) fn near(state: &State, row: u32, connection: u64) -> Vec<Near> {
    let Some((source, _)) = state.rows.place(row) else { return Vec::new() };
    let listed = &state.rows.listed;
    let place = listed.partition_point(|&other| other < row);
    let from = place.saturating_sub(AROUND as usize);
    let known = |&other: &u32| {
        let of = state.rows.index.entry(other)?.connection;
        let is_near = other != row && state.rows.connections.source(of) == source;
        is_near.then_some(Near { row: other, is_on_the_connection: of == connection })
    };
    listed[from..].iter().take(2 * AROUND as usize).filter_map(known).collect()
}

/// Of a row, its request and its answer: what they are called, and what they say.
pub(super) type Texts<'t> = [(Option<&'t str>, &'t str)];

/// The progress of a call up to the row `end`, and what else belongs to it.
pub(super) fn of(
    captures: &Captures,
    call: &Row,
    end: u32,
    texts: &Texts<'_>,
    near: &[Near],
    contents: &mut AllContents,
) -> (Vec<Row>, Vec<Related>) {
    let own: Vec<Tied> = texts.iter().flat_map(|(method, text)| ties(*method, text.as_bytes())).collect();
    let all: Vec<&Tied> = own.iter().collect();
    let everywhere: Vec<&Tied> = own.iter().filter(|tied| TIES[tied.tie].everywhere).collect();
    let mut progress = Vec::new();
    let mut tied: [Vec<Row>; TIES.len()] = Default::default();
    // The state is not locked while files are read.
    for part in near.chunks(256).filter(|_| !own.is_empty()) {
        let state = captures.state();
        let known: Vec<(Known, bool)> = part
            .iter()
            .filter_map(|near| Some((Known::call(&state, near.row)?, near.is_on_the_connection)))
            .collect();
        drop(state);
        for (known, is_on_the_connection) in known {
            let own = if is_on_the_connection { &all } else { &everywhere };
            let fitting = fitting(&known, own, contents);
            if fitting.is_empty() {
                continue;
            }
            let is_progress = matches!(known.method(), Some("notifications/progress" | "$/progress"))
                && matches!(call.kind, "req" | "batch")
                && (call.row - 1..=end).contains(&known.row);
            let row = known.read(contents);
            for tie in fitting {
                let rows = if tie == TOKEN && is_progress { &mut progress } else { &mut tied[tie] };
                if rows.len() < NAMED {
                    rows.push(row.clone());
                }
            }
        }
    }
    let trace = texts.iter().find_map(|(_, text)| trace_of(text.as_bytes()));
    let mut related = vec![Related {
        why: "same trace",
        rows: trace.map_or(Vec::new(), |trace| of_trace(captures, &trace, call.row - 1, contents)),
    }];
    related.extend(TIES.iter().zip(tied).map(|(Tie { why, .. }, rows)| Related { why, rows }));
    related.retain(|related| !related.rows.is_empty());
    (progress, related)
}

/// The ties of a call, in its request or in its answer, that are among these.
fn fitting(known: &Known, own: &[&Tied], contents: &mut AllContents) -> Vec<usize> {
    let mut found = Vec::new();
    if !known.entry.kind.is_message() {
        return found;
    }
    let halves = [Some((known.place, known.method())), known.answer.map(|(_, place)| (place, None))];
    for ((source, place), method) in halves.into_iter().flatten() {
        let Ok(text) = contents.at(source, place) else { continue };
        // Most have nothing of it: a search is faster than a parser.
        if !own.iter().any(|own| memmem::find(&text, own.value.as_bytes()).is_some()) {
            continue;
        }
        let other = ties(method, &text);
        found.extend(own.iter().filter(|own| other.iter().any(|other| own.fits(other))).map(|own| own.tie));
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn of_trace(captures: &Captures, trace: &str, call: u32, contents: &mut AllContents) -> Vec<Row> {
    let state = captures.state();
    let rows = state.rows_of_trace(trace).iter().filter(|&&row| row != call);
    let rows: Vec<Known> = rows.filter_map(|&row| Known::call(&state, row)).take(NAMED).collect();
    drop(state);
    rows.into_iter().map(|known| known.read(contents)).collect()
}
