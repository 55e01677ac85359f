//! What is known of the captures so far.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, SystemTime};

use sabir_model::calls::Entry;
use sabir_model::capture::{Event, Header, Record, What};
use sabir_proto::RawJson;

use super::check::Found;
use super::rows::{Rows, answer_of, is_answer, is_problem};
use super::scan::{Scan, Wanted};
use super::stats::Stats;
use super::timeline::Timeline;

/// Rows that changed, for pages that ask what did. One that is further behind gets everything anew.
const LOG: usize = 8192;

/// Filters of a page, and of all who have no page. The oldest goes.
const SCANS: usize = 8;

/// How often a filter looks again at calls without an answer while something is recorded.
const AGE: Duration = Duration::from_millis(500);

/// Findings that are kept, and traces, and rows of a trace.
const FINDINGS: usize = 10_000;
const TRACES: usize = 65_536;
const OF_TRACE: usize = 256;

/// How a capture stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::view) enum Phase {
    /// It is being written.
    Live,
    /// A file that was there.
    File,
    /// The session has ended, and how.
    Ended(String),
    /// It cannot be read, and why.
    Unreadable(String),
}

/// A capture.
#[derive(Debug, Clone)]
pub(in crate::view) struct Source {
    pub(in crate::view) name: String,
    pub(in crate::view) phase: Phase,
    pub(in crate::view) header: Header,
}

impl Source {
    /// Whether its messages went over HTTP.
    pub(in crate::view) fn is_http(&self) -> bool {
        matches!(self.header.transport.as_deref(), Some("http" | "https"))
    }

    /// What to call the server.
    pub(in crate::view) fn server(&self) -> String {
        let base = |text: &str| text.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
        match self.header.cmd.first() {
            Some(program) => base(program),
            None => self
                .header
                .transport
                .as_ref()
                .map_or(String::new(), |transport| format!("{transport} server")),
        }
    }
}

#[derive(Default)]
pub(in crate::view) struct State {
    pub(in crate::view) rows: Rows,
    pub(in crate::view) sources: Vec<Source>,
    pub(in crate::view) stats: Stats,
    pub(in crate::view) timeline: Timeline,
    /// When time begins.
    pub(in crate::view) start: Option<SystemTime>,
    /// When it is, since then: while something is recorded, the time of day; otherwise the newest record's. Calls without an
    /// answer have taken until then.
    pub(in crate::view) now: Duration,
    newest: Duration,
    /// Captures that cannot be read, and why.
    pub(in crate::view) problems: Vec<String>,
    /// All that there was has been read.
    pub(in crate::view) is_read: bool,
    pub(super) scans: VecDeque<Scan>,
    next_scan: u32,
    /// Pages that are open.
    pages: HashSet<u32>,
    next_page: u32,
    findings: HashMap<u32, Vec<Found>>,
    pub(in crate::view) found: usize,
    /// Rows that the rules were applied to.
    pub(super) checked: u32,
    /// Rows by the trace that they are of.
    traces: HashMap<Box<str>, Vec<u32>>,
    /// Rows that have changed, the latest last, and how many there ever were.
    log: VecDeque<u32>,
    logged: u64,
}

/// What to call captures that are shown together: their servers or, where these have the same name, their files or
/// commands, or else their numbers.
fn apart(sources: &[Source]) -> Vec<String> {
    let is_alone = |name: &String, names: &[String]| {
        !name.is_empty() && names.iter().filter(|other| *other == name).count() == 1
    };
    let servers: Vec<String> = sources.iter().map(Source::server).collect();
    let files: Vec<String> = sources
        .iter()
        .map(|source| match source.name.contains(' ') {
            true => source.name.clone(),
            false => source.name.rsplit(['/', '\\']).next().unwrap_or_default().to_owned(),
        })
        .collect();
    if let [_] = sources {
        return servers;
    }
    let name = |at: usize| match (is_alone(&servers[at], &servers), is_alone(&files[at], &files)) {
        (true, _) => servers[at].clone(),
        (false, true) => files[at].clone(),
        (false, false) if servers[at].is_empty() => format!("server {}", at + 1),
        (false, false) => format!("{} ({})", servers[at], at + 1),
    };
    (0..sources.len()).map(name).collect()
}

impl State {
    /// What to call the captures.
    pub(in crate::view) fn labels(&self) -> Vec<String> {
        apart(&self.sources)
    }

    /// Whether something is being recorded.
    fn is_live(&self) -> bool {
        self.sources.iter().any(|source| source.phase == Phase::Live)
    }

    /// Says what time of day it is.
    pub(super) fn set_clock(&mut self, clock: SystemTime) {
        let passed = self.start.filter(|_| self.is_live()).and_then(|start| clock.duration_since(start).ok());
        self.now = passed.unwrap_or_default().max(self.newest);
        // Before all is read, the newest record is another one each time.
        if self.is_read {
            let step = if passed.is_some() { AGE } else { Duration::ZERO };
            self.scans.iter_mut().for_each(|scan| scan.set_now(self.now, step));
        }
    }

    /// Adds a record of a capture. Its connection has that capture's number.
    pub(super) fn add(&mut self, source: u16, record: &Record<'_>) {
        match &record.what {
            What::Event(Event::Exit, text) => {
                self.sources[usize::from(source)].phase = Phase::Ended(text.clone().into_owned());
            }
            What::Start(header) => {
                let known = &mut self.sources[usize::from(source)];
                known.header = header.clone();
                if matches!(known.phase, Phase::Ended(_)) {
                    known.phase = Phase::File;
                }
            }
            _ => {}
        }
        self.newest = self.newest.max(record.time.unwrap_or_default());
        self.now = self.now.max(self.newest);
        let connection = self.rows.connections.number(source, record.connection);
        let record = Record { connection, ..record.clone() };
        let row = match self.sources.len() {
            1 => self.rows.index.push(&record),
            _ => self.rows.index.push_beside(&record),
        };
        let Some(row) = row else { return };
        let Some(entry) = self.rows.index.entry(row) else { return };
        self.stats.add(&entry);
        self.timeline.add(&entry, is_problem(&entry));
        for changed in self.rows.index.changed().to_vec() {
            self.changed(changed);
        }
        if !is_answer(&entry) {
            self.rows.listed.push(row);
        }
        if let What::Message(text) = &record.what {
            self.trace(source, row, text);
        }
    }

    /// Remembers the trace that a message is of.
    fn trace(&mut self, source: u16, row: u32, text: &[u8]) {
        let Some(trace) = trace_of(text) else { return };
        if let Some(rows) = self.traces.get_mut(&*trace) {
            let first = rows.first().and_then(|first| self.rows.place(*first));
            if let Some((before, _)) = first.filter(|(before, _)| *before != source) {
                self.rows.connections.join(source, before);
            }
            if rows.len() < OF_TRACE {
                rows.push(row);
            }
        } else if self.traces.len() < TRACES {
            self.traces.insert(trace.into(), vec![row]);
        }
    }

    /// The rows of a trace, as far as they are kept.
    pub(in crate::view) fn rows_of_trace(&self, trace: &str) -> &[u32] {
        self.traces.get(trace).map_or(&[], Vec::as_slice)
    }

    /// Something breaks a rule.
    pub(super) fn find(&mut self, row: u32, found: Found) {
        if self.found >= FINDINGS {
            return;
        }
        self.found += 1;
        self.findings.entry(row).or_default().push(found);
        let shown = self.rows.shown_as(row);
        self.changed(shown);
    }

    /// A row is not what it was.
    fn changed(&mut self, row: u32) {
        self.log.push_back(row);
        self.logged += 1;
        if self.log.len() > LOG {
            self.log.pop_front();
        }
        let Some(place) = self.rows.listed_at(row) else { return };
        self.scans.iter_mut().for_each(|scan| scan.look_again(place));
    }

    /// How many rows have ever changed.
    pub(in crate::view) fn logged(&self) -> u64 {
        self.logged
    }

    /// Which have since then; `None` if that is too long ago.
    pub(in crate::view) fn changed_since(&self, logged: u64) -> Option<Vec<u32>> {
        let new = usize::try_from(self.logged.checked_sub(logged)?).ok()?;
        let mut rows: Vec<u32> = self.log.range(self.log.len().checked_sub(new)?..).copied().collect();
        rows.sort_unstable();
        rows.dedup();
        Some(rows)
    }

    /// Another page follows.
    pub(in crate::view) fn open_page(&mut self) -> u32 {
        self.next_page += 1;
        self.pages.insert(self.next_page);
        self.next_page
    }

    /// A page does not follow any more: nobody needs its filters.
    pub(in crate::view) fn close_page(&mut self, page: u32) {
        self.pages.remove(&page);
        self.scans.retain(|scan| scan.page != Some(page));
    }

    /// Begins to filter, for a page if it is open. The filters of one page do not take the place of another's.
    pub(in crate::view) fn filter(&mut self, wanted: Wanted, page: Option<u32>) -> u32 {
        let page = page.filter(|page| self.pages.contains(page));
        self.next_scan += 1;
        let is_own = |scan: &Scan| scan.page == page;
        if self.scans.iter().filter(|scan| is_own(scan)).count() >= SCANS
            && let Some(oldest) = self.scans.iter().position(is_own)
        {
            self.scans.remove(oldest);
        }
        self.scans.push_back(Scan::new(self.next_scan, wanted, page, self.now));
        self.next_scan
    }

    /// A filter is no longer needed.
    pub(in crate::view) fn forget_filter(&mut self, id: u32) {
        self.scans.retain(|scan| scan.id != id);
    }

    pub(in crate::view) fn scan(&self, id: u32) -> Option<&Scan> {
        self.scans.iter().find(|scan| scan.id == id)
    }

    /// Those that a page is told about.
    pub(in crate::view) fn scans_for(&self, page: u32) -> impl Iterator<Item = &Scan> {
        self.scans.iter().filter(move |scan| scan.page.is_none_or(|of| of == page))
    }

    /// Whether a filter has not looked at all rows yet.
    pub(super) fn is_filtering(&self) -> bool {
        self.scans.iter().any(|scan| scan.is_behind(self.rows.listed.len()))
    }

    /// What breaks a rule in a record.
    pub(in crate::view) fn findings(&self, row: u32) -> &[Found] {
        self.findings.get(&row).map_or(&[], Vec::as_slice)
    }

    /// What breaks a rule in a call: in its request or in its answer.
    pub(in crate::view) fn findings_of_call(&self, entry: &Entry) -> Vec<Found> {
        let rows = [Some((entry.number - 1) as u32), answer_of(entry)];
        rows.into_iter().flatten().flat_map(|row| self.findings(row)).cloned().collect()
    }

    /// Whether the rules were applied to all rows.
    pub(in crate::view) fn is_checked(&self) -> bool {
        self.checked >= self.rows.index.len()
    }

    /// Rows that break a rule, in order.
    pub(in crate::view) fn rows_with_findings(&self) -> Vec<u32> {
        let mut rows: Vec<u32> = self.findings.keys().copied().collect();
        rows.sort_unstable();
        rows
    }
}

/// The trace id of a message, if it has one: `params._meta.traceparent` is `00-TRACE-SPAN-FLAGS`.
pub(in crate::view) fn trace_of(text: &[u8]) -> Option<String> {
    memchr::memmem::find(text, b"traceparent")?;
    let json = RawJson::from_bytes(text).ok()?;
    let parent = json.get("params")?.get("_meta")?.get("traceparent")?.parse::<String>().ok()?;
    let trace = parent.split('-').nth(1)?;
    let is_one = trace.len() == 32 && trace.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_one.then(|| trace.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_have_names_of_their_own() {
        let source = |cmd: &str, name: &str| Source {
            name: name.to_owned(),
            phase: Phase::File,
            header: Header { cmd: vec![cmd.to_owned()], ..Header::default() },
        };
        for (sources, want) in [
            (vec![source("/bin/store", "a.jrl"), source("web", "b.jrl")], ["store", "web"]),
            (vec![source("node", "x/a.jrl"), source("node", "x/b.jrl")], ["a.jrl", "b.jrl"]),
            (vec![source("node", "node a.js"), source("node", "node b.js")], ["node a.js", "node b.js"]),
            (vec![source("node", "node a.js"), source("node", "node a.js")], ["node (1)", "node (2)"]),
        ] {
            assert_eq!(apart(&sources), want);
        }
    }
}
