//! A row with everything that belongs to it.

use sabir_model::calls::Kind;
use serde::Serialize;

use super::related::{self, Near, Related};
use super::row::{Known, Row};
use super::{copy, exchange};
use crate::view::capture::{AllContents, Captures, answer_of};

/// Bytes of a message that are shown unless all of it is asked for.
const SHOWN: usize = 1 << 20;

#[derive(Serialize)]
pub(super) struct Detail {
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<Part>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Part>,
    /// Rows of the response of HTTP.
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
    /// The method or the status of HTTP, and the headers.
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<String>,
}

/// `None` if there is no such row.
pub(super) fn of(captures: &Captures, row: u32, whole: bool) -> Option<Detail> {
    let mut contents = captures.more_contents();
    let state = captures.state();
    // A call is shown as one, whichever half was asked for.
    let call = state.rows.shown_as(row);
    let first = Known::record(&state, call)?;
    let entry = first.entry;
    let answer = answer_of(&entry).and_then(|answer| Known::record(&state, answer));
    let near = related::near(&state, call, entry.connection);
    let source = state.sources.get(usize::from(first.place.0));
    let copies = source.map_or(Vec::new(), |source| copy::names(&first, &source.header));
    drop(state);
    let end = answer.as_ref().map_or(u32::MAX, |answer| answer.row);
    let number = contents.exchange(first.place.0, first.place.1).map(|exchange| exchange.number);
    let (http, head) = match number.filter(|_| entry.kind != Kind::Http) {
        None => (http(captures, &near, call, end), None),
        Some(number) => match exchange::response(captures, &first, number, &mut contents) {
            Some((row, _)) if row.entry.kind == Kind::Http => (vec![row], None),
            found => (Vec::new(), found.map(|(_, head)| head)),
        },
    };
    let http = http.into_iter().map(|known| part(known, &mut contents, false)).collect();
    let methods = [first.method().map(str::to_owned), None];
    let is_lone_answer = matches!(entry.kind, Kind::Result | Kind::Error);
    let first = part(first, &mut contents, whole);
    let mut answer = answer.map(|answer| part(answer, &mut contents, whole));
    if let Some(answer) = &mut answer {
        answer.head = answer.head.take().or(head);
    }
    let parts = std::iter::once(&first).chain(&answer);
    let texts: Vec<(Option<&str>, &str)> =
        methods.iter().zip(parts).map(|(method, part)| (method.as_deref(), part.text.as_str())).collect();
    let (progress, related) = related::of(captures, &first.row, end, &texts, &near, &mut contents);
    let (request, answer) = if is_lone_answer { (None, Some(first)) } else { (Some(first), answer) };
    Some(Detail { request, answer, http, progress, related, copies })
}

fn part(known: Known, contents: &mut AllContents, whole: bool) -> Part {
    let json = known.entry.kind.is_message();
    let (source, place) = known.place;
    let head = contents.exchange(source, place).and_then(|exchange| Some(exchange.head?.into_owned()));
    let content = contents.at(source, place).map(std::borrow::Cow::into_owned).unwrap_or_default();
    let cut = !whole && content.len() > SHOWN;
    let text = String::from_utf8_lossy(if cut { &content[..SHOWN] } else { &content }).into_owned();
    Part { row: known.read(contents), text, cut, json, head }
}

/// Answers of HTTP between a call and its answer, where nothing says which exchange they are of.
fn http(captures: &Captures, near: &[Near], call: u32, end: u32) -> Vec<Known> {
    let state = captures.state();
    let rows = near.iter().filter(|near| near.is_on_the_connection && near.row > call && near.row <= end);
    rows.take(256)
        .filter_map(|near| Known::record(&state, near.row).filter(|known| known.entry.kind == Kind::Http))
        .take(4)
        .collect()
}
