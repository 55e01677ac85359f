//! The news, as lines of JSON, whenever there are some, ten times a second at the most. A page that does not read gets none
//! until it does, and holds up nobody.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body as HttpBody, Bytes, Frame};
use serde_json::{Value, json};
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::view::capture::{Captures, Phase, Scan, State};

const BEAT: Duration = Duration::from_millis(100);

/// A page that is connected hears something at least so often, so that it learns of a connection that is lost.
const QUIET: u32 = 50;

/// Pages that follow.
pub(super) type Following = Arc<AtomicUsize>;

pub(super) struct Feed {
    captures: Arc<Captures>,
    following: Following,
    page: u32,
    beat: Interval,
    logged: Option<u64>,
    last: String,
    quiet: u32,
}

impl Feed {
    pub(super) fn new(captures: Arc<Captures>, following: Following) -> Self {
        let mut beat = interval(BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        following.fetch_add(1, Ordering::SeqCst);
        let page = captures.state().open_page();
        Feed { captures, following, page, beat, logged: None, last: String::new(), quiet: 0 }
    }

    fn news(&mut self) -> Option<String> {
        let state = self.captures.state();
        let changed = self.logged.map_or(Some(Vec::new()), |logged| state.changed_since(logged));
        self.logged = Some(state.logged());
        let fixed = told(&state, self.page).to_string();
        drop(state);
        self.quiet += 1;
        let is_old = changed.as_ref().is_some_and(Vec::is_empty) && fixed == self.last;
        if is_old && self.quiet < QUIET {
            return None;
        }
        self.quiet = 0;
        let rest = match changed {
            Some(rows) => {
                let numbers: Vec<u32> = rows.into_iter().map(|row| row + 1).collect();
                format!(r#","changed":{}"#, json!(numbers))
            }
            None => r#","reset":true"#.to_owned(),
        };
        let line = format!("{}{rest}}}\n", &fixed[..fixed.len() - 1]);
        self.last = fixed;
        Some(line)
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.captures.state().close_page(self.page);
        self.following.fetch_sub(1, Ordering::SeqCst);
    }
}

/// How everything stands, for a page.
fn told(state: &State, page: u32) -> Value {
    let phase = |phase: &Phase| match phase {
        Phase::Live => ("live", None),
        Phase::File => ("file", None),
        Phase::Ended(how) => ("ended", Some(how.clone())),
        Phase::Unreadable(why) => ("unreadable", Some(why.clone())),
    };
    let sources: Vec<Value> = state
        .sources
        .iter()
        .zip(state.labels())
        .map(|(source, label)| {
            let (phase, end) = phase(&source.phase);
            json!({ "name": source.name, "label": label, "phase": phase, "end": end })
        })
        .collect();
    let scans: Vec<Value> = state.scans_for(page).map(|scan| scan_news(state, scan)).collect();
    json!({
        "page": page,
        "rows": state.rows.listed.len(),
        "records": state.rows.index.len(),
        "sources": sources,
        "problems": state.problems,
        "read": state.is_read,
        "found": state.found,
        "scans": scans,
    })
}

pub(super) fn scan_news(state: &State, scan: &Scan) -> Value {
    json!({
        "id": scan.id,
        "looked": scan.looked,
        "of": state.rows.listed.len(),
        "matched": scan.calls.len(),
        "records": scan.records.len(),
        "moved": scan.moved,
    })
}

impl HttpBody for Feed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        loop {
            std::task::ready!(self.beat.poll_tick(cx));
            if let Some(line) = self.news() {
                return Poll::Ready(Some(Ok(Frame::data(Bytes::from(line)))));
            }
        }
    }
}
