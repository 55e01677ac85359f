//! A capture that is looked at: its index, which a thread of its own keeps up to date, and the filters that are in use.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use sabir_model::calls::{Entry, Kind};
use sabir_model::capture::{Event, Format, Reader, Record, What};
use sabir_model::filter::Filter;
use sabir_model::index::{Contents, Index};
use sabir_model::rules::{Checker, Profile};
use serde::Serialize;

use super::chosen::Chosen;
use super::stats::{Stats, Timeline};

/// How often a file is looked at for more.
const PAUSE: Duration = Duration::from_millis(30);
/// Rows that changed, for pages that ask what did. One that is further behind gets everything anew.
const LOG: usize = 8192;
/// Filters in use at once. The oldest goes.
const SCANS: usize = 8;
/// How long a filter looks before others have a turn.
const TURN: Duration = Duration::from_millis(5);
/// Findings that are kept.
const FINDINGS: usize = 10_000;

/// What breaks a rule.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Finding {
    rule: &'static str,
    level: String,
    text: String,
}

/// How it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    /// More is expected.
    Live,
    /// A file that was there.
    File,
    /// The session has ended, and how.
    Ended(String),
    /// The file cannot be read further.
    Unreadable(String),
}

pub(super) struct Capture {
    path: PathBuf,
    format: Format,
    state: Mutex<State>,
    contents: Mutex<Contents>,
}

pub(super) struct State {
    pub(super) index: Index,
    /// The rows that the list shows: all but the answers of calls, which are a part of their request's.
    pub(super) listed: Vec<u32>,
    pub(super) stats: Stats,
    pub(super) timeline: Timeline,
    pub(super) phase: Phase,
    pub(super) at: Option<String>,
    pub(super) command: Vec<String>,
    findings: HashMap<u32, Vec<Finding>>,
    found: usize,
    /// Rows that have changed, the latest last, and how many there were before them.
    log: VecDeque<u32>,
    logged: u64,
    scans: VecDeque<Scan>,
    next_scan: u32,
}

/// A filter, and what it has found so far.
pub(super) struct Scan {
    pub(super) id: u32,
    filter: Filter,
    /// Nanoseconds.
    range: (u64, u64),
    /// Places that were looked at.
    pub(super) looked: u32,
    /// Places whose rows have changed since.
    again: Vec<u32>,
    pub(super) chosen: Chosen,
}

impl Capture {
    /// Opens a file, and begins to read it.
    pub(super) fn open(path: &Path, live: bool, profile: Option<Profile>) -> Result<Arc<Self>, sabir_model::capture::ReadError> {
        let reader = Reader::new(Tail { file: File::open(path)?, live })?;
        let header = reader.header();
        let profile = profile.or_else(|| header?.profile.as_deref()?.parse().ok()).unwrap_or(Profile::JsonRpc);
        let capture = Arc::new(Capture {
            path: path.to_owned(),
            format: reader.format(),
            contents: Mutex::new(Contents::new(File::open(path)?, reader.format())),
            state: Mutex::new(State {
                index: Index::default(),
                listed: Vec::new(),
                stats: Stats::default(),
                timeline: Timeline::default(),
                phase: if live { Phase::Live } else { Phase::File },
                at: header.and_then(|header| header.at.clone()),
                command: header.map(|header| header.cmd.clone()).unwrap_or_default(),
                findings: HashMap::new(),
                found: 0,
                log: VecDeque::new(),
                logged: 0,
                scans: VecDeque::new(),
                next_scan: 1,
            }),
        });
        let (reads, scans) = (Arc::clone(&capture), Arc::clone(&capture));
        thread::Builder::new().name("view-read".into()).spawn(move || reads.read(reader, profile))?;
        let (calls, answers) = (capture.more_contents()?, capture.more_contents()?);
        thread::Builder::new().name("view-filter".into()).spawn(move || scans.scan(calls, answers))?;
        Ok(capture)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Contents to read beside the others, for what goes through the whole file.
    pub(super) fn more_contents(&self) -> io::Result<Contents> {
        Ok(Contents::new(File::open(&self.path)?, self.format))
    }

    /// Reads the file, and for as long as it is live what is added to it.
    fn read(&self, mut reader: Reader<Tail>, profile: Profile) {
        let mut checker = Checker::new(profile);
        loop {
            match reader.next() {
                Ok(Some(record)) => {
                    let findings: Vec<_> = checker.check(&record).collect();
                    let mut state = self.state();
                    state.add(&record);
                    findings.into_iter().for_each(|finding| state.find(finding));
                }
                Ok(None) => break,
                Err(error) => {
                    self.state().phase = Phase::Unreadable(error.to_string());
                    return;
                }
            }
        }
        let findings: Vec<_> = checker.finish().collect();
        findings.into_iter().for_each(|finding| self.state().find(finding));
    }

    /// Applies the filters in use to what they have not seen yet.
    fn scan(&self, mut calls: Contents, mut answers: Contents) {
        loop {
            let mut state = self.state();
            let State { index, listed, scans, .. } = &mut *state;
            let behind = |scan: &&mut Scan| (scan.looked as usize) < listed.len() || !scan.again.is_empty();
            let Some(scan) = scans.iter_mut().rev().find(behind) else {
                drop(state);
                thread::sleep(PAUSE);
                continue;
            };
            let start = Instant::now();
            while start.elapsed() < TURN {
                let Some(place) = scan.next(listed.len()) else { break };
                let row = listed[place as usize];
                // What cannot be read is not shown; the row itself says why when it is opened.
                let matches = scan.matches(index, row, &mut calls, &mut answers).unwrap_or(false);
                scan.chosen.set(place, matches);
            }
        }
    }

    /// Begins to filter. The empty filter needs none.
    pub(super) fn filter(&self, filter: Filter, range: (u64, u64)) -> u32 {
        let mut state = self.state();
        let id = state.next_scan;
        state.next_scan += 1;
        if state.scans.len() >= SCANS {
            state.scans.pop_front();
        }
        state.scans.push_back(Scan { id, filter, range, looked: 0, again: Vec::new(), chosen: Chosen::default() });
        id
    }
}

impl Scan {
    /// The next place to look at.
    fn next(&mut self, listed: usize) -> Option<u32> {
        self.again.pop().or_else(|| {
            ((self.looked as usize) < listed).then(|| {
                self.looked += 1;
                self.looked - 1
            })
        })
    }

    fn matches(&self, index: &Index, row: u32, calls: &mut Contents, answers: &mut Contents) -> io::Result<bool> {
        let Some(entry) = index.entry(row) else { return Ok(false) };
        let time = entry.time.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        if !(self.range.0..=self.range.1).contains(&time) {
            return Ok(false);
        }
        if let Some(known) = self.filter.glance(&entry, index.names()) {
            return Ok(known);
        }
        let call = calls.read(index, row)?;
        match answer_of(&entry) {
            None => Ok(self.filter.matches(&entry, index.names(), &call)),
            Some(answer) => {
                let answer = answers.read(index, answer)?;
                Ok(self.filter.matches_any(&entry, index.names(), &[&call, &answer]))
            }
        }
    }
}

/// The row of a request's answer.
pub(super) fn answer_of(entry: &Entry) -> Option<u32> {
    (entry.kind == Kind::Request).then_some(entry.other).flatten().map(|number| (number - 1) as u32)
}

impl State {
    fn add(&mut self, record: &Record<'_>) {
        match &record.what {
            What::Event(Event::Exit, text) => self.phase = Phase::Ended(text.clone().into_owned()),
            What::Start(header) => {
                self.at.clone_from(&header.at);
                if matches!(self.phase, Phase::Ended(_)) {
                    self.phase = Phase::Live;
                }
            }
            _ => {}
        }
        let Some(row) = self.index.push(record) else { return };
        let Some(entry) = self.index.entry(row) else { return };
        self.stats.add(&entry);
        self.timeline.add(&entry);
        for changed in self.index.changed().to_vec() {
            self.changed(changed);
        }
        let is_answer = matches!(entry.kind, Kind::Result | Kind::Error) && entry.other.is_some();
        if !is_answer {
            self.listed.push(row);
        }
    }

    fn find(&mut self, finding: sabir_model::rules::Finding) {
        let Ok(row) = u32::try_from(finding.number.saturating_sub(1)) else { return };
        if self.found >= FINDINGS {
            return;
        }
        self.found += 1;
        let found = Finding { rule: finding.rule.id, level: finding.severity.to_string(), text: finding.what };
        self.findings.entry(row).or_default().push(found);
        let shown = self.index.entry(row).and_then(|entry| self.place(row).is_none().then_some(entry.other?));
        self.changed(shown.map_or(row, |number| (number - 1) as u32));
    }

    /// A row is not what it was.
    fn changed(&mut self, row: u32) {
        self.log.push_back(row);
        self.logged += 1;
        if self.log.len() > LOG {
            self.log.pop_front();
        }
        let Some(place) = self.place(row) else { return };
        for scan in self.scans.iter_mut().filter(|scan| scan.looked > place) {
            scan.again.push(place);
        }
    }

    /// Where in the list a row is.
    pub(super) fn place(&self, row: u32) -> Option<u32> {
        self.listed.binary_search(&row).ok().map(|place| place as u32)
    }

    /// How many rows have ever changed.
    pub(super) fn logged(&self) -> u64 {
        self.logged
    }

    /// Which have since then; `None` if that is too long ago.
    pub(super) fn changed_since(&self, logged: u64) -> Option<Vec<u32>> {
        let new = usize::try_from(self.logged - logged).ok()?;
        let mut rows: Vec<u32> = self.log.range(self.log.len().checked_sub(new)?..).copied().collect();
        rows.sort_unstable();
        rows.dedup();
        Some(rows)
    }

    pub(super) fn scan(&self, id: u32) -> Option<&Scan> {
        self.scans.iter().find(|scan| scan.id == id)
    }

    /// The filters in use.
    pub(super) fn scan_ids(&self) -> impl Iterator<Item = u32> + '_ {
        self.scans.iter().map(|scan| scan.id)
    }

    /// What breaks a rule in a call: in its request or in its answer.
    pub(super) fn findings_of(&self, entry: &Entry) -> Vec<&Finding> {
        let rows = [Some((entry.number - 1) as u32), answer_of(entry)];
        rows.into_iter().flatten().filter_map(|row| self.findings.get(&row)).flatten().collect()
    }
}

/// A file. While it is live, its end is not its last.
struct Tail {
    file: File,
    live: bool,
}

impl Read for Tail {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.file.read(buffer)? {
                0 if self.live => thread::sleep(PAUSE),
                read => return Ok(read),
            }
        }
    }
}
