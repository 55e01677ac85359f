//! Captures that are looked at: one index of all of them, which a thread of its own keeps up to date, the filters that are
//! in use, and what the rules find.
//!
//! ```text
//! files ──▶ read ──▶ rows ◀── scan (filters), check (rules)
//!                     ▲
//!                     └── the page's questions
//! ```

mod check;
mod chosen;
mod connections;
mod contents;
mod place;
mod read;
mod rows;
mod scan;
mod state;
mod stats;
mod timeline;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

pub(super) use check::Found;
pub(super) use chosen::Chosen;
pub(super) use contents::AllContents;
use contents::Files;
pub(super) use place::Place;
pub(super) use read::{Given, Origin};
pub(super) use rows::{answer_of, is_answer, is_problem};
pub(super) use scan::{Scan, Wanted};
pub(super) use state::{Phase, State, trace_of};
pub(super) use stats::Stats;

/// How often files are looked at for more.
const PAUSE: Duration = Duration::from_millis(30);

/// How long a filter or a reader works before others have a turn.
const TURN: Duration = Duration::from_millis(4);

/// How much less reading counts than the traffic of a tap, and less than its recorder, where they want the same processor.
const NICER: i32 = 10;

pub(super) struct Captures {
    state: Mutex<State>,
    /// Questions that wait for the state. Those who work through files let them go first.
    waiting: AtomicUsize,
    files: Files,
    /// The contents that questions are answered from.
    contents: Mutex<AllContents>,
    ended: AtomicBool,
}

impl Captures {
    /// Begins to read.
    pub(super) fn open(given: Given) -> io::Result<Arc<Self>> {
        let files = Files::default();
        let captures = Arc::new(Captures {
            state: Mutex::new(State::default()),
            waiting: AtomicUsize::new(0),
            contents: Mutex::new(AllContents::new(files.clone())),
            files,
            ended: AtomicBool::new(false),
        });
        let nicer = if given.is_tap { NICER } else { 0 };
        let spawn = |name: &str, run: Box<dyn FnOnce() + Send>| {
            let begin = move || {
                crate::platform::give_way(nicer);
                run();
            };
            thread::Builder::new().name(name.to_owned()).spawn(begin).map(drop)
        };
        let (reads, scans, checks) = (captures.clone(), captures.clone(), captures.clone());
        spawn("view-read", Box::new(move || read::run(&reads, given)))?;
        spawn("view-filter", Box::new(move || scans.scan()))?;
        spawn("view-check", Box::new(move || check::run(&checks)))?;
        Ok(captures)
    }

    /// For questions, which come first.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        state
    }

    /// For work that takes long, and has time.
    fn state_for_work(&self) -> MutexGuard<'_, State> {
        // The lock is not fair: whoever takes it over and over would never let the others in.
        while self.waiting.load(Ordering::SeqCst) > 0 {
            thread::yield_now();
        }
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn contents(&self) -> MutexGuard<'_, AllContents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Contents to read beside the others, for what goes through whole files.
    pub(super) fn more_contents(&self) -> AllContents {
        AllContents::new(self.files.clone())
    }

    /// Nobody looks at it any more.
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// Applies the filters in use to what they have not seen yet.
    fn scan(&self) {
        let (mut requests, mut answers) = (self.more_contents(), self.more_contents());
        while !self.has_ended() {
            let mut state = self.state_for_work();
            state.set_clock(SystemTime::now());
            let State { rows, scans, .. } = &mut *state;
            match scans.iter_mut().rev().find(|scan| scan.has_work(rows.listed.len())) {
                Some(scan) => scan.advance(rows, &mut requests, &mut answers, TURN),
                None => {
                    drop(state);
                    thread::sleep(PAUSE);
                }
            }
        }
    }
}

/// The captures of a file with this text, once it is read.
#[cfg(test)]
pub(super) async fn captures_of(text: &str) -> Arc<Captures> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let name = format!("sabir-captures-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::SeqCst));
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, text).expect("a file");
    let given = Given { origins: vec![Origin::file(&path)], more: None, is_tap: false };
    let captures = Captures::open(given).expect("captures");
    while !captures.state().is_read {
        tokio::time::sleep(PAUSE).await;
    }
    // It stays open, and needs no name. A system that cannot remove it now keeps it in its folder for such files.
    let _ = std::fs::remove_file(&path);
    captures
}
