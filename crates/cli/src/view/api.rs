//! What the page asks for.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Body as HttpBody, Bytes, Frame};
use hyper::{Response, StatusCode};
use sabir_model::calls::Kind;
use sabir_model::filter::Filter;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::capture::{Capture, Phase, State, answer_of};
use super::copy::{self, Form};
use super::detail;
use super::export;
use super::row::Row;
use super::web::{Body, refused, respond};

/// Rows that are given at once.
const MOST: usize = 1000;
/// News at most every so often.
const BEAT: Duration = Duration::from_millis(100);

#[derive(Clone)]
pub(super) struct Api(pub(super) Arc<Capture>);

/// A refusal: the status, and why.
type Refusal = (StatusCode, String);

fn bad(why: impl Into<String>) -> Refusal {
    (StatusCode::BAD_REQUEST, why.into())
}

fn gone(what: &str) -> Refusal {
    (StatusCode::NOT_FOUND, format!("there is no such {what}"))
}

fn answer(value: &impl Serialize) -> Response<Body> {
    match serde_json::to_vec(value) {
        Ok(text) => respond(StatusCode::OK, "application/json", Full::new(Bytes::from(text)).boxed()),
        Err(error) => refused(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

impl Api {
    pub(super) fn get(&self, path: &str, query: &str) -> Response<Body> {
        let query = Query(query);
        let (name, rest) = path.split_once('/').unwrap_or((path, ""));
        let found = match name {
            "about" => Ok(self.about()),
            "feed" => Ok(self.feed()),
            "rows" => self.rows(&query),
            "row" => self.row(rest, &query),
            "place" => self.place(rest, &query),
            "error" => self.error(&query),
            "stats" => {
                let state = self.0.state();
                Ok(answer(&state.stats.rows(state.index.names())))
            }
            "timeline" => Ok(answer(&self.0.state().timeline.buckets(query.number("parts").unwrap_or(240) as usize))),
            "copy" => self.copy(rest, &query),
            "export" => self.export(&query),
            _ => Err(gone("page")),
        };
        found.unwrap_or_else(|(status, why)| refused(status, why))
    }

    pub(super) fn post(&self, path: &str, body: &[u8]) -> Response<Body> {
        let made = match path {
            "filter" => self.filter(body),
            _ => Err(gone("page")),
        };
        made.unwrap_or_else(|(status, why)| refused(status, why))
    }

    fn about(&self) -> Response<Body> {
        let state = self.0.state();
        let names = state.index.names();
        let mut methods: Vec<&str> = names.all().filter_map(|name| names.method(name)).collect();
        methods.sort_unstable();
        methods.dedup();
        methods.truncate(MOST);
        answer(&json!({
            "name": self.0.path().display().to_string(),
            "at": state.at,
            "live": state.phase == Phase::Live,
            "methods": methods,
        }))
    }

    fn filter(&self, body: &[u8]) -> Result<Response<Body>, Refusal> {
        #[derive(Deserialize)]
        struct Wanted {
            filter: String,
            #[serde(default)]
            from: Option<u64>,
            #[serde(default)]
            to: Option<u64>,
        }
        let wanted: Wanted = serde_json::from_slice(body).map_err(|error| bad(error.to_string()))?;
        let filter: Filter = wanted.filter.parse().map_err(|error: sabir_model::filter::FilterError| bad(error.to_string()))?;
        let id = self.0.filter(filter, (wanted.from.unwrap_or(0), wanted.to.unwrap_or(u64::MAX)));
        Ok(answer(&news_of_scan(&self.0.state(), id)))
    }

    /// Rows of the list, or of those that match.
    fn rows(&self, query: &Query<'_>) -> Result<Response<Body>, Refusal> {
        let from = query.number("from").unwrap_or(0) as u32;
        let count = (query.number("count").unwrap_or(100) as usize).min(MOST);
        let mut contents = self.0.contents();
        let state = self.0.state();
        let rows: Vec<u32> = match query.number("filter") {
            None => state.listed.iter().copied().skip(from as usize).take(count).collect(),
            Some(id) => {
                let scan = state.scan(id as u32).ok_or_else(|| gone("filter"))?;
                scan.chosen.from(from).take(count).map(|place| state.listed[place as usize]).collect()
            }
        };
        let found: Vec<Row<'_>> = rows
            .into_iter()
            .filter_map(|row| {
                let entry = state.index.entry(row)?;
                let text = contents.read(&state.index, row).unwrap_or_default();
                Some(Row::new(&entry, state.index.names(), &text, state.findings_of(&entry)))
            })
            .collect();
        Ok(answer(&found))
    }

    fn row(&self, row: &str, query: &Query<'_>) -> Result<Response<Body>, Refusal> {
        let row = row.parse().map_err(|_| gone("row"))?;
        let whole = query.number("whole").is_some();
        detail::of(&self.0, row, whole).map(|detail| answer(&detail)).ok_or_else(|| gone("row"))
    }

    /// Where in the list a row is, or in the rows that match.
    fn place(&self, row: &str, query: &Query<'_>) -> Result<Response<Body>, Refusal> {
        let state = self.0.state();
        let row: u32 = row.parse().map_err(|_| gone("row"))?;
        let entry = state.index.entry(row).ok_or_else(|| gone("row"))?;
        let listed = state.place(row).or_else(|| state.place((entry.other? - 1) as u32));
        let place = match query.number("filter") {
            None => listed,
            Some(id) => {
                let scan = state.scan(id as u32).ok_or_else(|| gone("filter"))?;
                listed.filter(|&place| scan.chosen.contains(place)).map(|place| scan.chosen.before(place))
            }
        };
        Ok(answer(&json!({ "place": place })))
    }

    /// The next error from a place on, or the one before it.
    fn error(&self, query: &Query<'_>) -> Result<Response<Body>, Refusal> {
        let state = self.0.state();
        let scan = match query.number("filter") {
            None => None,
            Some(id) => Some(state.scan(id as u32).ok_or_else(|| gone("filter"))?),
        };
        let length = i64::from(scan.map_or(state.listed.len() as u32, |scan| scan.chosen.len()));
        let step = query.number("step").unwrap_or(1).signum();
        let mut place = query.number("from").unwrap_or(-1) + step;
        // In the list that is shown, so that the steps are the ones that a person sees.
        let found = loop {
            if !(0..length).contains(&place) || step == 0 {
                break None;
            }
            let listed = scan.map_or(Some(place as u32), |scan| scan.chosen.from(place as u32).next());
            let row = listed.and_then(|listed| state.listed.get(listed as usize).copied());
            if row.and_then(|row| state.index.entry(row)).is_some_and(|entry| is_error(&entry)) {
                break Some(place);
            }
            place += step;
        };
        Ok(answer(&json!({ "place": found })))
    }

    fn copy(&self, row: &str, query: &Query<'_>) -> Result<Response<Body>, Refusal> {
        let row = row.parse().map_err(|_| gone("row"))?;
        let form = query.text("as").and_then(Form::named).ok_or_else(|| bad("as is call, curl, transcript or json"))?;
        let text = copy::of(&self.0, row, form).ok_or_else(|| gone("row"))?;
        Ok(respond(StatusCode::OK, "text/plain; charset=utf-8", Full::new(Bytes::from(text)).boxed()))
    }

    fn export(&self, query: &Query<'_>) -> Result<Response<Body>, Refusal> {
        let format = query.text("format").and_then(export::Format::named).ok_or_else(|| bad("format is jrl, transcript or har"))?;
        let rows = {
            let state = self.0.state();
            let calls: Vec<u32> = match query.number("filter") {
                None => state.listed.clone(),
                Some(id) => {
                    let scan = state.scan(id as u32).ok_or_else(|| gone("filter"))?;
                    scan.chosen.from(0).map(|place| state.listed[place as usize]).collect()
                }
            };
            let mut rows: Vec<u32> =
                calls.iter().flat_map(|&row| [Some(row), state.index.entry(row).and_then(|entry| answer_of(&entry))]).flatten().collect();
            rows.sort_unstable();
            rows.dedup();
            rows
        };
        let contents = self.0.more_contents().map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
        let body = export::Export::new(Arc::clone(&self.0), contents, rows, format);
        Ok(respond(StatusCode::OK, format.media_type(), body.boxed()))
    }

    fn feed(&self) -> Response<Body> {
        let mut beat = interval(BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let feed = Feed { capture: Arc::clone(&self.0), beat, logged: None, last: String::new() };
        respond(StatusCode::OK, "application/x-ndjson", feed.boxed())
    }
}

fn is_error(entry: &sabir_model::calls::Entry) -> bool {
    entry.status == Some(sabir_model::calls::Status::Error) || entry.kind == Kind::Error
}

fn news_of_scan(state: &State, id: u32) -> serde_json::Value {
    let scan = state.scan(id);
    json!({
        "id": id,
        "scanned": scan.map_or(0, |scan| scan.looked),
        "of": state.listed.len(),
        "matched": scan.map_or(0, |scan| scan.chosen.len()),
    })
}

/// The news, whenever there are some. A page that does not read gets none, and holds up nobody.
struct Feed {
    capture: Arc<Capture>,
    beat: Interval,
    logged: Option<u64>,
    last: String,
}

impl Feed {
    fn news(&mut self) -> Option<String> {
        let state = self.capture.state();
        let changed = self.logged.map_or(Some(Vec::new()), |logged| state.changed_since(logged));
        self.logged = Some(state.logged());
        let (phase, end) = match &state.phase {
            Phase::Live => ("live", None),
            Phase::File => ("file", None),
            Phase::Ended(how) => ("ended", Some(how)),
            Phase::Unreadable(why) => ("unreadable", Some(why)),
        };
        let scans: Vec<serde_json::Value> = state.scan_ids().map(|id| news_of_scan(&state, id)).collect();
        let fixed = json!({ "rows": state.listed.len(), "state": phase, "end": end, "filters": scans }).to_string();
        let nothing = changed.as_ref().is_some_and(Vec::is_empty);
        if nothing && fixed == self.last {
            return None;
        }
        let rest = match changed {
            Some(rows) => format!(r#","changed":{}"#, json!(rows)),
            None => r#","reset":true"#.to_owned(),
        };
        let line = format!("{}{rest}}}\n", &fixed[..fixed.len() - 1]);
        self.last = fixed;
        Some(line)
    }
}

impl HttpBody for Feed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        loop {
            std::task::ready!(self.beat.poll_tick(cx));
            if let Some(line) = self.news() {
                return Poll::Ready(Some(Ok(Frame::data(Bytes::from(line)))));
            }
        }
    }
}

/// What is behind the question mark. The page writes numbers and plain words only.
struct Query<'a>(&'a str);

impl<'a> Query<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        self.0.split('&').find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name).map(|(_, value)| value))
    }

    fn number(&self, name: &str) -> Option<i64> {
        self.text(name)?.parse().ok()
    }
}
