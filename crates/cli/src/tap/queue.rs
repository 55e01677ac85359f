//! The side queue: what goes by, on its way to the recorder.
//!
//! Whoever carries traffic pushes a copy and goes on: a push never waits for the recorder. What does not fit is counted,
//! and a gap takes its place. The recorder is woken once for whatever comes within a millisecond.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sabir_model::capture::{Direction, Event};

/// Bytes that may wait for the recorder.
const ROOM: usize = 32 << 20;

/// What an item takes besides its bytes.
const ITEM: usize = 128;

/// Events come even if there is no room left for bytes.
const EVENTS: usize = 1 << 20;

/// Reads of at least this many bytes are handed over with their buffer; smaller ones are copied.
const LARGE: usize = 16 << 10;

/// Bytes of a buffer to read into.
pub(super) const BUFFER: usize = 128 << 10;

/// Buffers that are kept for the next large read.
const SPARE: usize = 4;

/// How long the recorder rests before it looks for more: it is not woken for each message.
const REST: Duration = Duration::from_millis(1);

/// One direction of a connection, or the standard error of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Stream {
    pub(super) connection: u64,
    pub(super) direction: Direction,
    pub(super) channel: Channel,
    /// Tells the exchanges of HTTP apart that are under way at the same time.
    pub(super) exchange: u64,
}

/// How messages are found in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Channel {
    /// Lines, or headers with their length.
    Stream,
    Stderr,
    /// The body of HTTP is one message.
    Body,
    /// Server-sent events.
    Events,
    /// WebSocket.
    Frames,
}

/// Something that went by. `at` is the time since the start.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) at: Duration,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// So many bytes at the front of the buffer, however messages are cut in them.
    Bytes(Stream, Vec<u8>, usize),
    /// A stream has ended.
    End(Stream),
    /// Bytes of a stream are missing here.
    Gap(Stream, u64),
    Event(u64, Event, String),
}

pub(super) struct Queue {
    start: Instant,
    state: Mutex<State>,
    ready: Condvar,
}

#[derive(Default)]
struct State {
    items: VecDeque<Item>,
    bytes: usize,
    /// Bytes that had no room, by stream.
    lost: Vec<(Stream, u64)>,
    spare: Vec<Vec<u8>>,
    /// The recorder sleeps until it is woken.
    parked: bool,
    closed: bool,
    /// The recorder has gone: nothing needs to be kept.
    abandoned: bool,
}

impl Queue {
    pub(super) fn new(start: Instant) -> Self {
        Queue { start, state: Mutex::default(), ready: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time since the start.
    pub(super) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Hands over the first `count` bytes of a buffer. It comes back with room for as many as before, and other content.
    pub(super) fn push(&self, at: Duration, stream: Stream, buffer: &mut Vec<u8>, count: usize) {
        // Outside the lock.
        let small = (count < LARGE).then(|| buffer[..count].to_vec());
        let mut state = self.state();
        let size = ITEM + if small.is_some() { count } else { buffer.len() };
        if state.abandoned {
            return;
        }
        if state.bytes + size > ROOM {
            match state.lost.iter_mut().find(|(of, _)| *of == stream) {
                Some((_, bytes)) => *bytes += count as u64,
                None => state.lost.push((stream, count as u64)),
            }
            return;
        }
        state.note_lost(at, Some(stream));
        let bytes = match small {
            Some(small) => small,
            None => {
                let fresh = state.spare.pop().unwrap_or_else(|| vec![0; buffer.len()]);
                std::mem::replace(buffer, fresh)
            }
        };
        state.bytes += size;
        state.items.push_back(Item { at, what: What::Bytes(stream, bytes, count) });
        self.wake(state);
    }

    /// Takes a copy of some bytes.
    pub(super) fn push_copy(&self, stream: Stream, bytes: &[u8]) {
        let mut copy = bytes.to_vec();
        let count = copy.len();
        self.push(self.now(), stream, &mut copy, count);
    }

    /// A stream has ended.
    pub(super) fn end(&self, stream: Stream) {
        let at = self.now();
        let mut state = self.state();
        state.note_lost(at, Some(stream));
        state.items.push_back(Item { at, what: What::End(stream) });
        state.bytes += ITEM;
        self.wake(state);
    }

    pub(super) fn event(&self, connection: u64, event: Event, text: impl Into<String>) {
        let (at, text) = (self.now(), text.into());
        let mut state = self.state();
        let size = ITEM + text.len();
        if state.abandoned || state.bytes + size > ROOM + EVENTS {
            return;
        }
        state.bytes += size;
        state.items.push_back(Item { at, what: What::Event(connection, event, text) });
        self.wake(state);
    }

    /// Nothing comes any more.
    pub(super) fn close(&self) {
        let at = self.now();
        let mut state = self.state();
        state.note_lost(at, None);
        state.closed = true;
        state.parked = false;
        drop(state);
        self.ready.notify_all();
    }

    /// Nobody takes anything any more.
    pub(super) fn abandon(&self) {
        let mut state = self.state();
        state.abandoned = true;
        state.items = VecDeque::new();
        state.bytes = 0;
    }

    fn wake(&self, mut state: MutexGuard<'_, State>) {
        if std::mem::take(&mut state.parked) {
            drop(state);
            self.ready.notify_one();
        }
    }

    /// All that there is now, if need be after a short rest. `None` if there is nothing.
    pub(super) fn take(&self) -> Option<VecDeque<Item>> {
        let mut state = self.state();
        if state.items.is_empty() && !state.closed {
            drop(state);
            std::thread::sleep(REST);
            state = self.state();
        }
        state.taken()
    }

    /// Waits for something. `None` if nothing comes any more.
    pub(super) fn wait(&self) -> Option<VecDeque<Item>> {
        let mut state = self.state();
        loop {
            if let Some(items) = state.taken() {
                return Some(items);
            }
            if state.closed {
                return None;
            }
            state.parked = true;
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Gives back the buffer of an item, which no longer counts. The queue is `bytes` emptier.
    pub(super) fn done(&self, item: Item) {
        let (size, buffer) = match item.what {
            What::Bytes(_, buffer, _) => (buffer.len(), Some(buffer)),
            What::Event(_, _, text) => (text.len(), None),
            What::End(_) => (0, None),
            What::Gap(..) => return,
        };
        let mut state = self.state();
        state.bytes = state.bytes.saturating_sub(ITEM + size);
        if let Some(buffer) = buffer.filter(|buffer| buffer.len() == BUFFER)
            && state.spare.len() < SPARE
        {
            state.spare.push(buffer);
        }
    }
}

impl State {
    /// Puts gaps in the place of what had no room: of one stream, or of all.
    fn note_lost(&mut self, at: Duration, stream: Option<Stream>) {
        if self.lost.is_empty() {
            return;
        }
        let items = &mut self.items;
        self.lost.retain(|&(of, bytes)| {
            let is_now = stream.is_none_or(|stream| stream == of);
            if is_now {
                items.push_back(Item { at, what: What::Gap(of, bytes) });
            }
            !is_now
        });
    }

    fn taken(&mut self) -> Option<VecDeque<Item>> {
        (!self.items.is_empty()).then(|| std::mem::take(&mut self.items))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: Stream =
        Stream { connection: 1, direction: Direction::ToServer, channel: Channel::Stream, exchange: 0 };

    fn told(items: VecDeque<Item>, queue: &Queue) -> Vec<String> {
        let told = items.into_iter().map(|item| {
            let told = match &item.what {
                What::Bytes(_, _, count) => format!("{count} bytes"),
                What::End(_) => "end".to_owned(),
                What::Gap(_, lost) => format!("gap of {lost}"),
                What::Event(_, event, text) => format!("{event:?} {text}"),
            };
            queue.done(item);
            told
        });
        told.collect()
    }

    #[test]
    fn what_has_no_room_becomes_a_gap() {
        let queue = Queue::new(Instant::now());
        let mut buffer = vec![0; BUFFER];
        let fitting = ROOM / (BUFFER + ITEM);
        for _ in 0..fitting + 3 {
            queue.push(Duration::ZERO, STREAM, &mut buffer, LARGE);
            assert_eq!(buffer.len(), BUFFER);
        }
        queue.event(1, Event::Mark, "x");
        let held = told(queue.take().unwrap_or_default(), &queue);
        assert_eq!((held.len(), held[fitting].as_str()), (fitting + 1, "Mark x"));
        queue.push(Duration::ZERO, STREAM, &mut buffer, 5);
        queue.end(STREAM);
        queue.close();
        let rest = told(queue.wait().unwrap_or_default(), &queue);
        assert_eq!(rest, [format!("gap of {}", 3 * LARGE), "5 bytes".to_owned(), "end".to_owned()]);
        assert!(queue.wait().is_none());
        assert_eq!(queue.state().bytes, 0);
    }

    #[test]
    fn gaps_are_told_at_the_end_at_the_latest() {
        let queue = Queue::new(Instant::now());
        let mut buffer = vec![0; BUFFER];
        for _ in 0..=ROOM / BUFFER {
            queue.push(Duration::ZERO, STREAM, &mut buffer, BUFFER);
        }
        queue.close();
        let all = told(queue.wait().unwrap_or_default(), &queue);
        assert_eq!(all.last().map(String::as_str), Some("gap of 262144"));
    }
}
