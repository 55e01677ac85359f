//! A filter that is in use, and what it has found so far.

use std::io;
use std::time::{Duration, Instant};

use sabir_model::calls::{Entry, Status};
use sabir_model::filter::Filter;

use super::chosen::Chosen;
use super::contents::AllContents;
use super::rows::{Rows, answer_of, is_problem};

/// Which rows are wanted.
#[derive(Debug, Clone, Default)]
pub(in crate::view) struct Wanted {
    pub(in crate::view) filter: Filter,
    /// Those that went wrong alone.
    pub(in crate::view) problems: bool,
    /// From and to.
    pub(in crate::view) range: Option<(Duration, Duration)>,
    /// How many rows are looked at: those that come later do not match.
    pub(in crate::view) until: Option<u32>,
}

pub(in crate::view) struct Scan {
    pub(in crate::view) id: u32,
    /// The page that it is for.
    pub(super) page: Option<u32>,
    wanted: Wanted,
    /// Places of the list that were looked at.
    pub(in crate::view) looked: u32,
    /// Places whose rows have changed since.
    again: Vec<u32>,
    /// Places of calls without an answer, if it matters how long they take, and up to when that was counted.
    open: Vec<u32>,
    now: Duration,
    /// Those that have taken longer since then.
    older: Vec<u32>,
    /// Places of the list.
    pub(in crate::view) calls: Chosen,
    /// Rows: the calls with their answers.
    pub(in crate::view) records: Chosen,
    /// How often places have moved, since a row among others was found or left out.
    pub(in crate::view) moved: u32,
}

impl Scan {
    pub(super) fn new(id: u32, mut wanted: Wanted, page: Option<u32>, now: Duration) -> Self {
        wanted.filter.set_now(now);
        let (calls, records) = (Chosen::default(), Chosen::default());
        let (again, open, older) = (Vec::new(), Vec::new(), Vec::new());
        Scan { id, page, wanted, looked: 0, again, open, now, older, calls, records, moved: 0 }
    }

    /// Whether there is something to look at: also calls that are known, and only older.
    pub(super) fn has_work(&self, listed: usize) -> bool {
        self.is_behind(listed) || !self.older.is_empty()
    }

    /// Whether it has not looked at all rows yet, as they are now.
    pub(in crate::view) fn is_behind(&self, listed: usize) -> bool {
        (self.looked as usize) < listed || !self.again.is_empty()
    }

    /// The row at a place has changed.
    pub(super) fn look_again(&mut self, place: u32) {
        if place < self.looked {
            self.again.push(place);
        }
    }

    /// Says when it is. Calls without an answer are looked at again once they have taken longer by a step.
    pub(super) fn set_now(&mut self, now: Duration, step: Duration) {
        if now.saturating_sub(self.now) < step.max(Duration::from_nanos(1)) {
            return;
        }
        self.now = now;
        self.wanted.filter.set_now(now);
        // One whose row has changed is there again.
        self.open.sort_unstable();
        self.open.dedup();
        self.older.append(&mut self.open);
    }

    /// Looks at rows for so long.
    pub(super) fn advance(
        &mut self,
        rows: &Rows,
        requests: &mut AllContents,
        answers: &mut AllContents,
        turn: Duration,
    ) {
        let start = Instant::now();
        loop {
            // The clock is not asked for each row.
            for _ in 0..64 {
                let (place, again) = match self.again.pop() {
                    Some(place) => (place, true),
                    None if (self.looked as usize) < rows.listed.len() => {
                        self.looked += 1;
                        (self.looked - 1, false)
                    }
                    None => match self.older.pop() {
                        Some(place) => (place, true),
                        None => return,
                    },
                };
                let row = rows.listed[place as usize];
                let Some(entry) = rows.index.entry(row) else { continue };
                if entry.status == Some(Status::Pending) && self.wanted.filter.depends_on_now() {
                    self.open.push(place);
                }
                // What cannot be read is not shown.
                let matches = self.matches(rows, row, &entry, requests, answers).unwrap_or(false);
                let has_changed = self.calls.set(place, matches);
                self.records.set(row, matches);
                if let Some(answer) = answer_of(&entry) {
                    self.records.set(answer, matches);
                }
                self.moved += u32::from(has_changed && again);
            }
            if start.elapsed() >= turn {
                return;
            }
        }
    }

    fn matches(
        &self,
        rows: &Rows,
        row: u32,
        entry: &Entry,
        requests: &mut AllContents,
        answers: &mut AllContents,
    ) -> io::Result<bool> {
        let Wanted { filter, problems, range, until } = &self.wanted;
        if let Some((from, to)) = range
            && !entry.time.is_some_and(|time| (*from..=*to).contains(&time))
        {
            return Ok(false);
        }
        if until.is_some_and(|until| row >= until) {
            return Ok(false);
        }
        if *problems && !is_problem(entry) {
            return Ok(false);
        }
        let names = rows.index.names();
        let answer = answer_of(entry).and_then(|row| Some((row, rows.index.entry(row)?)));
        match answer {
            None => match filter.glance(entry, names) {
                Some(known) => Ok(known),
                None => Ok(filter.matches(entry, names, &requests.read(rows, row)?)),
            },
            Some((answer_row, answer)) => match filter.glance_call(entry, &answer, names) {
                Some(known) => Ok(known),
                None => {
                    let request = requests.read(rows, row)?;
                    let content = answers.read(rows, answer_row)?;
                    Ok(filter.matches_call((entry, &request), (&answer, &content), names))
                }
            },
        }
    }
}
