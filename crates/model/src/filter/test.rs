//! Whether a record passes one word of a filter.

use std::time::Duration;

use regex::bytes::Regex;
use sabir_proto::{Id, Incoming, JsonKind, LENIENT, Limits, Message, RawJson, Request, decode};

use super::path::JsonPath;
use super::pattern::{Expected, Operator, Pattern};
use crate::calls::{Entry, Kind, Name, Names, Status, id_hash};
use crate::capture::Direction;
use crate::json_path::{elements, kind, text_at};

#[derive(Debug, Clone)]
pub(super) enum Test {
    Text(Regex),
    Regex(Regex),
    Method(Vec<Pattern>),
    Tool(Vec<Pattern>),
    Ids(Vec<Id<'static>>),
    Task(Vec<Pattern>),
    Direction(Direction),
    Kinds(Vec<Kind>),
    Status(Vec<Status>, Vec<i64>),
    Codes(Vec<i64>),
    Connections(Vec<u64>),
    Millis(Operator, f64),
    Bytes(Operator, f64),
    Path(JsonPath, Expected),
}

/// Where messages name their task.
const TASKS: [&[&str]; 6] = [
    &["params", "taskId"],
    &["params", "task", "taskId"],
    &["params", "_meta", "io.modelcontextprotocol/related-task", "taskId"],
    &["result", "taskId"],
    &["result", "task", "taskId"],
    &["result", "_meta", "io.modelcontextprotocol/related-task", "taskId"],
];

impl Test {
    pub(super) fn is_direction(&self) -> bool {
        matches!(self, Test::Direction(_))
    }

    /// What can be told without the content. A call without an answer has taken until `now`.
    pub(super) fn glance(&self, entry: &Entry, names: &Names, now: Option<Duration>) -> Option<bool> {
        // A batch has many methods, ids and codes.
        let is_batch = entry.kind == Kind::Batch;
        let named = |name: Option<&str>, patterns: &[Pattern]| match name {
            Some(name) => Some(patterns.iter().any(|pattern| pattern.matches(name))),
            None => (entry.name != Name::UNKNOWN && !is_batch).then_some(false),
        };
        match self {
            Test::Text(regex) => {
                let is_in = |name: Option<&str>| name.is_some_and(|name| regex.is_match(name.as_bytes()));
                (is_in(names.method(entry.name)) || is_in(names.tool(entry.name))).then_some(true)
            }
            Test::Regex(_) => None,
            Test::Path(..) | Test::Task(_) => (!entry.kind.is_message()).then_some(false),
            Test::Method(patterns) => named(names.method(entry.name), patterns),
            Test::Tool(patterns) => named(names.tool(entry.name), patterns),
            Test::Ids(ids) if !is_batch => {
                // Equal hashes may be of different ids.
                (entry.id == 0 || ids.iter().all(|id| id_hash(id) != entry.id)).then_some(false)
            }
            Test::Codes(codes) if !is_batch => {
                let is_error = entry.kind != Kind::Http;
                Some(is_error && entry.code.is_some_and(|code| codes.contains(&code)))
            }
            Test::Ids(_) | Test::Codes(_) => None,
            Test::Direction(direction) => Some(entry.direction == Some(*direction)),
            Test::Kinds(kinds) => Some(kinds.contains(&entry.kind)),
            Test::Status(statuses, of_http) => Some(
                entry.status.is_some_and(|status| statuses.contains(&status))
                    || entry.kind == Kind::Http && entry.code.is_some_and(|code| of_http.contains(&code)),
            ),
            Test::Connections(connections) => Some(connections.contains(&entry.connection)),
            Test::Millis(operator, number) => Some(
                entry
                    .total
                    .or(entry.took)
                    .or_else(|| entry.age(now?))
                    .is_some_and(|took| operator.holds(took.as_secs_f64() * 1e3, *number)),
            ),
            Test::Bytes(operator, number) => Some(operator.holds(entry.bytes as f64, *number)),
        }
    }

    /// What the content says.
    pub(super) fn look(&self, entry: &Entry, content: &[u8]) -> bool {
        match self {
            Test::Text(regex) | Test::Regex(regex) => regex.is_match(content),
            Test::Path(path, expected) => {
                json(content).is_some_and(|text| path.any(text, &mut |value| expected.is(value)))
            }
            Test::Task(patterns) => json(content).is_some_and(|text| {
                let has = |message: &str| {
                    TASKS
                        .iter()
                        .filter_map(|path| text_at(message, path))
                        .any(|task| patterns.iter().any(|pattern| pattern.matches(&task)))
                };
                match kind(text) {
                    JsonKind::Array => elements(text).any(has),
                    _ => has(text),
                }
            }),
            Test::Method(patterns) => messages(content, |message| match message {
                Message::Request(Request { method, .. }) => {
                    patterns.iter().any(|pattern| pattern.matches(method))
                }
                Message::Notification(note) => patterns.iter().any(|pattern| pattern.matches(&note.method)),
                Message::Response(_) => false,
            }),
            Test::Tool(patterns) => messages(content, |message| match message {
                Message::Request(Request { params: Some(params), .. }) => text_at(params.as_str(), &["name"])
                    .is_some_and(|name| patterns.iter().any(|pattern| pattern.matches(&name))),
                _ => false,
            }),
            Test::Ids(ids) => {
                let cancelled = (entry.kind == Kind::Notification).then(|| json(content)).flatten();
                let of_cancel = |member| {
                    let id = crate::json_path::member(cancelled?, &["params", member])?;
                    Id::from_json(RawJson::new(id).ok()?)
                };
                messages(content, |message| match message {
                    Message::Request(Request { id, .. }) => ids.contains(id),
                    Message::Response(response) => ids.contains(&response.id),
                    Message::Notification(_) => false,
                }) || ["requestId", "id"].into_iter().filter_map(of_cancel).any(|id| ids.contains(&id))
            }
            Test::Codes(codes) => messages(content, |message| match message {
                Message::Response(response) => {
                    response.outcome.as_ref().is_err_and(|error| codes.contains(&error.code.0))
                }
                _ => false,
            }),
            _ => false,
        }
    }
}

fn json(content: &[u8]) -> Option<&str> {
    RawJson::from_bytes(content).ok()?;
    std::str::from_utf8(content.trim_ascii()).ok()
}

/// Whether any message of the content passes.
fn messages(content: &[u8], mut test: impl FnMut(&Message<'_>) -> bool) -> bool {
    match decode(content, &LENIENT, &Limits::default()) {
        Ok(Incoming::One(Ok(message))) => test(&message),
        Ok(Incoming::Batch(entries)) => entries.iter().flatten().any(test),
        _ => false,
    }
}
