//! What the page asks for.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{Response, StatusCode};
use sabir_model::capture::{RedactError, RedactRule, Redactor, date_time};
use sabir_model::filter::{Filter, FilterError};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::copy::{self, Form};
use super::detail;
use super::export::{Export, Format};
use super::feed::{Feed, Following, scan_news};
use super::query::Query;
use super::row::{Known, Row};
use super::server::{Body, Sender, refused, respond};
use crate::view::capture::{Captures, Chosen, State, Stats, Wanted, answer_of, is_problem};

/// Rows that are given at once, and names of methods.
const MOST: usize = 1000;

/// Rows that are counted before others have a turn.
const COUNTED: usize = 1 << 14;

/// Rows that can be named for an export.
const NAMED: usize = 100_000;

pub(super) struct Api {
    pub(super) captures: Arc<Captures>,
    pub(super) following: Following,
    pub(super) send: Option<Sender>,
    /// The file that a tap was told to record to, for whoever wants to look at it later.
    pub(super) record: Option<String>,
}

/// A refusal: the status, and why.
type Refusal = (StatusCode, String);

fn bad(why: impl Into<String>) -> Refusal {
    (StatusCode::BAD_REQUEST, why.into())
}

fn gone(what: &str) -> Refusal {
    (StatusCode::NOT_FOUND, format!("there is no such {what}"))
}

/// A row, by the number that is shown.
fn numbered(number: &str) -> Result<u32, Refusal> {
    number.parse::<u32>().ok().and_then(|number| number.checked_sub(1)).ok_or_else(|| gone("row"))
}

fn answer(value: &impl Serialize) -> Response<Body> {
    match serde_json::to_vec(value) {
        Ok(text) => respond(StatusCode::OK, "application/json", Full::new(Bytes::from(text)).boxed()),
        Err(error) => refused(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

/// Whether places are of calls, as in the list, or of records, as in the sequence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    Calls,
    Records,
}

impl View {
    fn of(query: &Query<'_>) -> View {
        if query.text("view") == Some("records") { View::Records } else { View::Calls }
    }

    fn len(self, state: &State) -> u32 {
        match self {
            View::Calls => state.rows.listed.len() as u32,
            View::Records => state.rows.index.len(),
        }
    }

    /// The row at a place of all.
    fn row(self, state: &State, place: u32) -> u32 {
        match self {
            View::Calls => state.rows.listed.get(place as usize).copied().unwrap_or(u32::MAX),
            View::Records => place,
        }
    }

    /// The place of a row among all.
    fn place(self, state: &State, row: u32) -> u32 {
        match self {
            View::Calls => {
                let shown = state.rows.shown_as(row);
                state.rows.listed.partition_point(|&listed| listed < shown) as u32
            }
            View::Records => row,
        }
    }

    /// What a filter has found.
    fn chosen(self, state: &State, id: Option<u32>) -> Result<Option<&Chosen>, Refusal> {
        let Some(id) = id else { return Ok(None) };
        let scan = state.scan(id).ok_or_else(|| gone("filter"))?;
        Ok(Some(if self == View::Calls { &scan.calls } else { &scan.records }))
    }
}

impl Api {
    pub(super) async fn get(&self, path: &str, query: &str) -> Response<Body> {
        let query = Query(query);
        let (name, rest) = path.split_once('/').unwrap_or((path, ""));
        let found = match name {
            "about" => Ok(self.about()),
            "feed" => {
                let feed = Feed::new(self.captures.clone(), self.following.clone());
                Ok(respond(StatusCode::OK, "application/x-ndjson", feed.boxed()))
            }
            "rows" => self.rows(&query),
            "row" => self.row(rest, &query),
            "place" => self.place(rest, &query),
            "next" => self.next(&query),
            "stats" => self.stats(query.number("filter")).await,
            "timeline" => {
                let buckets = self.captures.state().timeline.buckets(query.number("parts").unwrap_or(240));
                Ok(answer(&buckets))
            }
            "copy" => self.copy(rest, &query),
            _ => Err(gone("page")),
        };
        found.unwrap_or_else(|(status, why)| refused(status, why))
    }

    pub(super) async fn post(&self, path: &str, body: &[u8]) -> Response<Body> {
        let made = match path {
            "filter" => self.filter(body),
            "export" => self.export(body),
            "send" => self.send(body).await,
            _ => Err(gone("page")),
        };
        made.unwrap_or_else(|(status, why)| refused(status, why))
    }

    fn about(&self) -> Response<Body> {
        let state = self.captures.state();
        let names = state.rows.index.names();
        let mut methods: Vec<&str> =
            names.all().take(MOST * 4).filter_map(|name| names.method(name)).collect();
        let mut tools: Vec<&str> = names.all().take(MOST * 4).filter_map(|name| names.tool(name)).collect();
        for list in [&mut methods, &mut tools] {
            list.sort_unstable();
            list.dedup();
            list.truncate(MOST);
        }
        let labels = state.labels();
        answer(&json!({
            "names": state.sources.iter().map(|source| &source.name).collect::<Vec<_>>(),
            "start": state.start.map(date_time),
            "methods": methods,
            "tools": tools,
            "lifelines": state.rows.connections.lifelines(&labels),
            "send": self.send.is_some(),
            "record": self.record,
        }))
    }

    /// Of all, or of what a filter has found so far.
    async fn stats(&self, filter: Option<u32>) -> Result<Response<Body>, Refusal> {
        let Some(id) = filter else {
            let state = self.captures.state();
            let table = state.stats.table(state.rows.index.names());
            drop(state);
            return Ok(answer(&table));
        };
        let rows: Vec<u32> = {
            let state = self.captures.state();
            state.scan(id).ok_or_else(|| gone("filter"))?.records.from(0).collect()
        };
        let mut stats = Stats::default();
        // Others get their turn with the state, and with the thread.
        for part in rows.chunks(COUNTED) {
            {
                let state = self.captures.state();
                part.iter()
                    .filter_map(|&row| state.rows.index.entry(row))
                    .for_each(|entry| stats.add(&entry));
            }
            tokio::task::yield_now().await;
        }
        Ok(answer(&stats.table(self.captures.state().rows.index.names())))
    }

    fn filter(&self, body: &[u8]) -> Result<Response<Body>, Refusal> {
        #[derive(Deserialize)]
        struct Asked {
            filter: String,
            #[serde(default)]
            problems: bool,
            /// Nanoseconds.
            range: Option<(u64, u64)>,
            /// Rows up to this number: what came while the page is paused is left out.
            until: Option<u32>,
            /// Filters that are no longer needed.
            #[serde(default)]
            instead: Vec<u32>,
            /// Whom it is for, as the feed says.
            page: Option<u32>,
        }
        let asked: Asked = serde_json::from_slice(body).map_err(|error| bad(error.to_string()))?;
        let filter: Filter = match asked.filter.parse() {
            Ok(filter) => filter,
            // Half a word is nothing that went wrong.
            Err(error) => {
                let FilterError { span, .. } = &error;
                return Ok(answer(
                    &json!({ "problem": error.to_string(), "from": span.start, "to": span.end }),
                ));
            }
        };
        let range = asked.range.map(|(from, to)| (Duration::from_nanos(from), Duration::from_nanos(to)));
        let mut state = self.captures.state();
        asked.instead.iter().for_each(|&old| state.forget_filter(old));
        if filter.is_empty() && range.is_none() && !asked.problems && asked.until.is_none() {
            return Ok(answer(&serde_json::Value::Null));
        }
        let wanted = Wanted { filter, problems: asked.problems, range, until: asked.until };
        let id = state.filter(wanted, asked.page);
        let scan = state.scan(id).ok_or_else(|| gone("filter"))?;
        Ok(answer(&scan_news(&state, scan)))
    }

    /// Rows from a place on, of all or of those that match.
    fn rows(&self, query: &Query<'_>) -> Result<Response<Body>, Refusal> {
        let from = query.number("from").unwrap_or(0);
        let count: usize = query.number("count").unwrap_or(100).min(MOST);
        let view = View::of(query);
        let state = self.captures.state();
        let places: Vec<u32> = match view.chosen(&state, query.number("filter"))? {
            None => (from..view.len(&state)).take(count).collect(),
            Some(chosen) => chosen.from(from).take(count).collect(),
        };
        let hits = view.chosen(&state, query.number("find"))?;
        let known: Vec<(Known, bool)> = places
            .into_iter()
            .filter_map(|place| {
                let row = view.row(&state, place);
                let known = match view {
                    View::Calls => Known::call(&state, row),
                    View::Records => Known::record(&state, row),
                };
                Some((known?, hits.is_some_and(|hits| hits.contains(place))))
            })
            .collect();
        drop(state);
        let mut contents = self.captures.contents();
        let mut rows: Vec<Row> = Vec::with_capacity(known.len());
        for (known, hit) in known {
            let mut row = known.read(&mut contents);
            row.hit = hit;
            rows.push(row);
        }
        drop(contents);
        Ok(answer(&rows))
    }

    fn row(&self, row: &str, query: &Query<'_>) -> Result<Response<Body>, Refusal> {
        let row = numbered(row)?;
        let whole = query.text("whole").is_some();
        detail::of(&self.captures, row, whole).map(|detail| answer(&detail)).ok_or_else(|| gone("row"))
    }

    /// Where a row is, among all or among those that match; where it would be, if it is not; and whether that is sure,
    /// since the row was read and the filter has looked at it.
    fn place(&self, row: &str, query: &Query<'_>) -> Result<Response<Body>, Refusal> {
        let row = numbered(row)?;
        let view = View::of(query);
        let state = self.captures.state();
        if row >= state.rows.index.len() {
            if state.is_read {
                return Err(gone("row"));
            }
            return Ok(answer(&json!({ "place": 0, "there": false, "sure": false })));
        }
        let all = view.place(&state, row);
        let filter: Option<u32> = query.number("filter");
        let (place, is_there) = match view.chosen(&state, filter)? {
            None => (all, true),
            Some(chosen) => (chosen.before(all), chosen.contains(all)),
        };
        let scan = filter.and_then(|id| state.scan(id));
        let is_sure = state.is_read && scan.is_none_or(|scan| !scan.is_behind(state.rows.listed.len()));
        Ok(answer(&json!({ "place": place, "there": is_there, "sure": is_sure })))
    }

    /// The next row, before or behind a place, that went wrong or that is searched for.
    fn next(&self, query: &Query<'_>) -> Result<Response<Body>, Refusal> {
        let view = View::of(query);
        let state = self.captures.state();
        let filter = view.chosen(&state, query.number("filter"))?;
        let find = view.chosen(&state, query.number("find"))?;
        let from: i64 = query.number("from").unwrap_or(-1);
        let step: i64 = if query.number("step") == Some(-1) { -1 } else { 1 };
        let len = filter.map_or(view.len(&state), Chosen::len);
        // From a place among those that match to one among all.
        let all_of = |place: i64| match (u32::try_from(place), filter) {
            (Ok(place), Some(chosen)) => chosen.from(place).next().map_or(i64::from(u32::MAX), i64::from),
            _ => place,
        };
        let is_there = |place: u32| filter.is_none_or(|chosen| chosen.contains(place));
        let start = if from >= i64::from(len) { i64::from(view.len(&state)) } else { all_of(from) };
        let found = match find {
            Some(find) => find.beyond(start, step, is_there),
            None => {
                let is_one = |place: u32| {
                    is_there(place)
                        && state
                            .rows
                            .index
                            .entry(view.row(&state, place))
                            .is_some_and(|entry| is_problem(&entry))
                };
                match step {
                    1 => ((start + 1).max(0) as u32..view.len(&state)).find(|&place| is_one(place)),
                    _ => {
                        (0..start.clamp(0, view.len(&state).into()) as u32).rev().find(|&place| is_one(place))
                    }
                }
            }
        };
        let place = found.map(|place| filter.map_or(place, |chosen| chosen.before(place)));
        let nth = found.and_then(|place| Some(find?.before(place) + 1));
        Ok(answer(&json!({ "place": place, "nth": nth, "of": find.map(Chosen::len) })))
    }

    fn copy(&self, row: &str, query: &Query<'_>) -> Result<Response<Body>, Refusal> {
        let row = numbered(row)?;
        let form = query.text("as").and_then(Form::named).ok_or_else(|| bad("copy as what?"))?;
        let text = copy::of(&self.captures, row, form).ok_or_else(|| bad(form.refusal()))?;
        Ok(respond(StatusCode::OK, "text/plain; charset=utf-8", Full::new(Bytes::from(text)).boxed()))
    }

    fn export(&self, body: &[u8]) -> Result<Response<Body>, Refusal> {
        #[derive(Deserialize)]
        struct Asked {
            format: String,
            /// These rows, with their answers.
            rows: Option<Vec<u32>>,
            /// What this filter has found.
            filter: Option<u32>,
            /// What is a secret.
            #[serde(default)]
            redact: Vec<String>,
        }
        let asked: Asked = serde_json::from_slice(body).map_err(|error| bad(error.to_string()))?;
        let rule =
            |text: &String| text.parse().map_err(|error: RedactError| bad(format!("`{text}`: {error}")));
        let rules: Vec<RedactRule> = asked.redact.iter().map(rule).collect::<Result<_, _>>()?;
        let format = Format::named(&asked.format).ok_or_else(|| bad("there is no such format"))?;
        let state = self.captures.state();
        let rows: Vec<u32> = match (asked.rows, asked.filter) {
            (Some(rows), _) => {
                if rows.len() > NAMED {
                    return Err(bad("too many rows"));
                }
                let with_answer = |number: u32| {
                    let row = number.saturating_sub(1);
                    let answer = state.rows.index.entry(row).and_then(|entry| answer_of(&entry));
                    std::iter::once(row).chain(answer)
                };
                let mut rows: Vec<u32> = rows.into_iter().flat_map(with_answer).collect();
                rows.sort_unstable();
                rows.dedup();
                rows
            }
            (None, Some(id)) => state.scan(id).ok_or_else(|| gone("filter"))?.records.from(0).collect(),
            (None, None) => (0..state.rows.index.len()).collect(),
        };
        drop(state);
        let export = Export::new(self.captures.clone(), rows, format, Redactor::new(rules));
        Ok(respond(StatusCode::OK, format.media_type(), export.boxed()))
    }

    async fn send(&self, body: &[u8]) -> Result<Response<Body>, Refusal> {
        #[derive(Deserialize)]
        struct Asked {
            row: u32,
            message: String,
        }
        let Some(send) = &self.send else {
            return Err((StatusCode::FORBIDDEN, "sabir was started without --allow-send".to_owned()));
        };
        let asked: Asked = serde_json::from_slice(body).map_err(|error| bad(error.to_string()))?;
        let connection = {
            let state = self.captures.state();
            state.rows.index.entry(asked.row.saturating_sub(1)).ok_or_else(|| gone("row"))?.connection
        };
        let sent = send(connection, asked.message).await.map_err(bad)?;
        Ok(answer(&json!({ "text": sent.answer, "ms": sent.took.as_secs_f64() * 1e3 })))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;
    use crate::view::capture::captures_of;

    #[tokio::test]
    async fn counting_lets_others_have_their_turn() {
        let line = r#"{"jsonrpc":"2.0","method":"seen"}"#;
        let captures = captures_of(&format!("{line}\n").repeat(10)).await;
        let wanted = Wanted { filter: "method:seen".parse().unwrap(), ..Wanted::default() };
        let id = captures.state().filter(wanted, None);
        let is_done = || {
            let state = captures.state();
            !state.scan(id).unwrap().is_behind(state.rows.listed.len())
        };
        while !is_done() {
            tokio::task::yield_now().await;
        }
        let api =
            Api { captures: captures.clone(), following: Following::default(), send: None, record: None };
        let (tell, mut told) = unbounded_channel();
        let other = tell.clone();
        tokio::spawn(async move {
            let counted = api.get("stats", &format!("filter={id}")).await;
            let text = counted.into_body().collect().await.unwrap().to_bytes();
            tell.send(String::from_utf8(text.to_vec()).unwrap()).unwrap();
        });
        tokio::spawn(async move { other.send("other".to_owned()).unwrap() });
        assert_eq!(told.recv().await.unwrap(), "other");
        assert!(told.recv().await.unwrap().contains("seen"));
        captures.end();
    }
}
