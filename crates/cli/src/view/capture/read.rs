//! Reads captures, and for as long as they grow what is added to them. Several are merged by the time of day.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use sabir_model::capture::{Format, Header, ReadError, Reader, Record, What};

use super::place::Place;
use super::state::{Phase, Source, State};
use super::{Captures, PAUSE, TURN};
use crate::platform::is_held;
use crate::rotated::Rotated;

/// How often it is looked whether there are other captures, or another file of the same name.
const NEWS: Duration = Duration::from_millis(500);

/// Captures at the same time.
const MOST: usize = 256;

/// A capture that is to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::view) struct Origin {
    pub(in crate::view) path: PathBuf,
    /// What to call it.
    pub(in crate::view) name: String,
    /// A tap writes to it. It may be empty still.
    pub(in crate::view) is_live: bool,
}

impl Origin {
    pub(in crate::view) fn file(path: &Path) -> Self {
        Origin { path: path.to_owned(), name: path.display().to_string(), is_live: false }
    }
}

/// What is to be read.
pub(in crate::view) struct Given {
    pub(in crate::view) origins: Vec<Origin>,
    /// Asked now and then for those that have come since.
    pub(in crate::view) more: Option<Box<dyn FnMut() -> Vec<Origin> + Send>>,
    /// This process is a tap: its traffic and its recorder go first.
    pub(in crate::view) is_tap: bool,
}

/// A capture that is being read.
struct Reading {
    number: u16,
    origin: Origin,
    files: Arc<Rotated>,
    reader: Reader<Place>,
    /// Of the start of the session behind the start of time.
    offset: Duration,
    /// The next record, where there are several to merge.
    next: Option<Record<'static>>,
    /// Nothing is left for now.
    is_dry: bool,
    /// Nothing will come any more.
    is_over: bool,
    writer: Writer,
}

/// Who writes to a capture, as its lock tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writer {
    /// Nobody who can be seen. Some files cannot be locked.
    Unseen,
    /// A tap.
    Tap,
    /// A tap that had it does not have it any more. It may have written since the file was read.
    Gone,
}

impl Writer {
    /// What is seen now, at a file that has been read up to its end since the last time.
    fn next(self, is_held: bool) -> Writer {
        match (self, is_held) {
            (_, true) => Writer::Tap,
            (Writer::Tap, false) => Writer::Gone,
            (Writer::Gone | Writer::Unseen, false) => Writer::Unseen,
        }
    }
}

/// How a session has ended whose tap is gone without a row that says so.
const KILLED: &str = "its tap was killed, or has stopped recording";

pub(super) fn run(captures: &Captures, mut given: Given) {
    let mut waiting = std::mem::take(&mut given.origins);
    let mut readings: Vec<Reading> = Vec::new();
    let mut looked = Instant::now();
    loop {
        open(captures, &mut waiting, &mut readings);
        loop {
            let is_dry = match &mut readings[..] {
                [] => true,
                [one] => alone(captures, one),
                many => merged(captures, many),
            };
            if captures.has_ended() {
                return;
            }
            if is_dry {
                break;
            }
        }
        let mut state = captures.state_for_work();
        state.is_read = true;
        drop(state);
        thread::sleep(PAUSE);
        readings.iter_mut().for_each(|reading| reading.is_dry = false);
        if looked.elapsed() >= NEWS {
            looked = Instant::now();
            waiting.extend(given.more.as_mut().map(|more| more()).unwrap_or_default());
            for reading in readings.iter_mut().filter(|reading| !reading.is_over) {
                // A name that is not there now may be there later.
                let _ = reading.files.extend(&reading.origin.path);
                look(captures, reading);
            }
        }
    }
}

/// Looks whether a tap writes to a capture that has been read so far.
fn look(captures: &Captures, reading: &mut Reading) {
    let before = reading.writer;
    reading.writer = before.next(is_held(&reading.origin.path));
    let mut state = captures.state_for_work();
    let Some(source) = state.sources.get_mut(usize::from(reading.number)) else { return };
    match (before, reading.writer) {
        (_, Writer::Tap) if source.phase == Phase::File => source.phase = Phase::Live,
        (Writer::Gone, Writer::Unseen) if source.phase == Phase::Live => {
            source.phase = Phase::Ended(KILLED.to_owned());
        }
        _ => {}
    }
}

/// Opens those that can be opened by now.
fn open(captures: &Captures, waiting: &mut Vec<Origin>, readings: &mut Vec<Reading>) {
    let mut opened = Vec::new();
    waiting.retain(|origin| {
        if readings.len() + opened.len() >= MOST {
            return true;
        }
        match reader(origin) {
            Ok(Some((files, reader))) => {
                opened.push((origin.clone(), files, reader));
                false
            }
            Ok(None) => true,
            Err(error) => {
                captures.state_for_work().problems.push(format!("{}: {error}", origin.name));
                false
            }
        }
    });
    if opened.is_empty() {
        return;
    }
    let mut state = captures.state_for_work();
    let starts = opened.iter().filter_map(|(_, _, reader)| reader.header()?.started());
    if let (None, Some(first)) = (state.start, starts.min()) {
        state.start = Some(first);
    }
    for (origin, files, reader) in opened {
        let number = captures.files.add(files.clone(), reader.format());
        let header = reader.header().cloned().unwrap_or_default();
        let writer = Writer::Unseen.next(is_held(&origin.path));
        let is_live = origin.is_live || writer == Writer::Tap;
        let phase = if is_live { Phase::Live } else { Phase::File };
        state.sources.push(Source { name: origin.name.clone(), phase, header });
        let (next, is_dry, is_over, offset) = (None, false, false, Duration::ZERO);
        readings.push(Reading { number, origin, files, reader, offset, next, is_dry, is_over, writer });
    }
}

/// The files of a recording and their reader.
type Opened = (Arc<Rotated>, Reader<Place>);

/// Opens a recording, unless nothing can be told of it yet.
fn reader(origin: &Origin) -> Result<Option<Opened>, ReadError> {
    let files = Arc::new(Rotated::open(&origin.path)?);
    let is_empty = files.len()? == 0;
    if !is_empty && !origin.is_live {
        let reader = Reader::new(Place::new(files.clone(), false))?;
        // Only captures are written by programs that go on.
        if reader.format() != Format::Capture {
            return Ok(Some((files, reader)));
        }
    }
    match Reader::new(Place::new(files.clone(), true)) {
        Ok(reader) => Ok(Some((files, reader))),
        Err(error) if would_wait(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn would_wait(error: &ReadError) -> bool {
    matches!(error, ReadError::Io(error) if error.kind() == io::ErrorKind::WouldBlock)
}

/// What the next record is.
#[allow(clippy::large_enum_variant)] // It is used at once, and never kept.
enum Next<'r> {
    Record(Record<'r>),
    /// Nothing for now.
    Dry,
    /// Nothing any more, and why, if it is not the end.
    Over(Option<String>),
}

impl Reading {
    fn next(&mut self, state: &State) -> Next<'_> {
        if self.is_over {
            return Next::Over(None);
        }
        match self.reader.next() {
            Ok(Some(mut record)) => {
                if let What::Start(header) = &record.what {
                    self.offset = behind(header, state);
                    record.time = Some(Duration::ZERO);
                }
                record.time = record.time.map(|time| time.saturating_add(self.offset));
                Next::Record(record)
            }
            Ok(None) => Next::Over(None),
            Err(error) if would_wait(&error) => Next::Dry,
            Err(error) => Next::Over(Some(error.to_string())),
        }
    }
}

/// How far behind the start of time a session has begun.
fn behind(header: &Header, state: &State) -> Duration {
    match (header.started(), state.start) {
        (Some(began), Some(start)) => began.duration_since(start).unwrap_or_default(),
        _ => Duration::ZERO,
    }
}

/// Reads from the only capture, for a turn. Whether nothing is left.
fn alone(captures: &Captures, reading: &mut Reading) -> bool {
    let mut state = captures.state_for_work();
    let turn = Instant::now();
    let number = reading.number;
    loop {
        // The clock is not asked for each record.
        for _ in 0..16 {
            match reading.next(&state) {
                Next::Record(record) => add(&mut state, number, &record),
                Next::Dry => return true,
                Next::Over(why) => {
                    over(&mut state, number, why);
                    reading.is_over = true;
                    return true;
                }
            }
        }
        if turn.elapsed() >= TURN {
            return false;
        }
    }
}

/// Reads from several, the earliest record first, for a turn. Whether nothing is left.
fn merged(captures: &Captures, readings: &mut [Reading]) -> bool {
    let mut state = captures.state_for_work();
    let turn = Instant::now();
    while turn.elapsed() < TURN {
        for reading in readings.iter_mut().filter(|reading| reading.next.is_none() && !reading.is_dry) {
            let number = reading.number;
            match reading.next(&state) {
                Next::Record(record) => reading.next = Some(owned(record)),
                Next::Dry => reading.is_dry = true,
                Next::Over(why) => {
                    over(&mut state, number, why);
                    (reading.is_dry, reading.is_over) = (true, true);
                }
            }
        }
        let time = |reading: &Reading| reading.next.as_ref().map(|record| record.time.unwrap_or_default());
        let first =
            readings.iter_mut().filter(|reading| reading.next.is_some()).min_by_key(|reading| time(reading));
        let Some(reading) = first else { return true };
        if let Some(record) = reading.next.take() {
            add(&mut state, reading.number, &record);
        }
    }
    false
}

fn add(state: &mut State, number: u16, record: &Record<'_>) {
    let is_new = state.is_read;
    if let Some(source) = state.sources.get_mut(usize::from(number))
        && is_new
        && source.phase == Phase::File
    {
        source.phase = Phase::Live;
    }
    state.add(number, record);
}

fn over(state: &mut State, number: u16, why: Option<String>) {
    if let (Some(why), Some(source)) = (why, state.sources.get_mut(usize::from(number))) {
        source.phase = Phase::Unreadable(why);
    }
}

/// A record that does not need its reader any more.
fn owned(record: Record<'_>) -> Record<'static> {
    let text = |text: Cow<'_, [u8]>| Cow::Owned(text.into_owned());
    let what = match record.what {
        What::Start(header) => What::Start(header),
        What::Message(bytes) => What::Message(text(bytes)),
        What::Noise(bytes) => What::Noise(text(bytes)),
        What::Stderr(bytes) => What::Stderr(text(bytes)),
        What::Event(event, text) => What::Event(event, Cow::Owned(text.into_owned())),
        What::Damage(damage) => What::Damage(damage),
        // Kinds that are added later are shown as what cannot be read.
        _ => What::Damage(sabir_model::capture::Damage::NotARecord("this program does not know it")),
    };
    let Record { number, line, column, offset, length, verbatim, time, direction, connection, .. } = record;
    // Those who want to know the exchange read it from the file.
    let exchange = None;
    Record { number, line, column, offset, length, verbatim, time, direction, connection, exchange, what }
}
