//! The side queue: what goes by, on its way to the recorder.
//!
//! Whoever carries traffic pushes a copy and goes on: a push never waits for the recorder. What does not fit is counted,
//! and a gap takes its place. The recorder is woken once for whatever comes within a millisecond.
//!
//! Bytes are passed on before they are pushed, so an answer can be pushed before its request. Each read draws a number
//! before it is passed on; the recorder puts them in order again (`order`).

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sabir_model::capture::{Direction, Event};

/// Bytes that may wait for the recorder.
const ROOM: usize = 32 << 20;

/// What an item takes besides its bytes.
const ITEM: usize = 128;

/// Streams whose bytes or whose end had no room, each known by itself.
const LOSSES: usize = 4096;

/// Events come even if there is no room left for bytes.
const EVENTS: usize = 1 << 20;

/// Reads that fill at least this part of their buffer are handed over with it; smaller ones are copied.
const FILLED: usize = 8;

/// Bytes of a buffer to read into.
pub(super) const BUFFER: usize = 128 << 10;

/// The same for a socket, of which there may be many; one that is busy gets a large one.
pub(super) const SOCKET_BUFFER: usize = 32 << 10;

/// Bytes of buffers that are kept for the next large reads, while there are some and while nothing comes: a new one costs
/// as much as a copy.
const SPARE: usize = 16 << 20;
const SPARE_AT_REST: usize = 4 << 20;

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

impl Stream {
    /// What the target answers to this exchange of HTTP.
    pub(super) fn answer(self, connection: u64, channel: Channel) -> Self {
        Stream { connection, direction: Direction::ToClient, channel, ..self }
    }

    /// Stands for the exchanges that are too many to be told apart.
    fn all_exchanges(self) -> Self {
        Stream { exchange: u64::MAX, ..self }
    }
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

/// The place of something that was read, and when that was: the time since the start.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ticket {
    pub(super) number: u64,
    pub(super) at: Duration,
}

/// Streams with the bytes that had no room there.
pub(super) type Lost = Vec<(Stream, u64)>;

/// Something that went by.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) ticket: Ticket,
    /// So many bytes of its connection are missing before it that no item has told of. Its own stream is among them if it
    /// does not go on where it has ended, told or not.
    pub(super) lost: Lost,
    /// Something had no room before it, on this connection or another.
    pub(super) is_behind_void: bool,
    pub(super) what: What,
}

impl Item {
    fn new(ticket: Ticket, lost: Lost, what: What) -> Self {
        Item { ticket, lost, is_behind_void: false, what }
    }
}

/// What the recorder takes at once.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) items: VecDeque<Item>,
    /// Numbers that no item will have: there was no room for theirs.
    pub(super) void: Vec<Range<u64>>,
    /// Streams that have ended without room for that, and how many bytes are missing there.
    pub(super) ended: Lost,
}

#[derive(Debug)]
pub(super) enum What {
    /// So many bytes at the front of the buffer, however messages are cut in them.
    Bytes(Stream, Vec<u8>, usize),
    /// A stream has ended.
    End(Stream),
    /// Whom this stream goes to has not waited for its end.
    GaveUp(Stream),
    /// Bytes are missing at the end.
    Gap,
    Event(u64, Event, String),
    /// What comes first of an exchange of HTTP in this direction, and whether that is a row of its own.
    Head(Stream, String, bool),
}

pub(super) struct Queue {
    start: Instant,
    /// The next number.
    next: AtomicU64,
    /// The recorder has gone, or there is none: nothing needs to be kept.
    abandoned: AtomicBool,
    /// Bytes that wait for the recorder.
    bytes: AtomicUsize,
    state: Mutex<State>,
    ready: Condvar,
}

#[derive(Default)]
struct State {
    items: VecDeque<Item>,
    /// Bytes that had no room and that no item has told of yet, by connection and stream. A stream stays until its next item.
    lost: HashMap<u64, HashMap<Stream, u64>>,
    /// How many streams these are.
    losses: usize,
    /// Streams whose end had no room.
    ended: Lost,
    /// The numbers of what had no room.
    void: Vec<Range<u64>>,
    spare: Vec<Vec<u8>>,
    spare_bytes: usize,
    /// The recorder sleeps until it is woken.
    parked: bool,
    closed: bool,
}

impl Queue {
    pub(super) fn new(start: Instant) -> Self {
        let (next, abandoned, bytes) = (AtomicU64::new(0), AtomicBool::new(false), AtomicUsize::new(0));
        Queue { start, next, abandoned, bytes, state: Mutex::default(), ready: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time since the start.
    pub(super) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// For what was just read: whatever is read because of it comes behind it.
    pub(super) fn ticket(&self) -> Ticket {
        Ticket { number: self.next.fetch_add(1, Ordering::SeqCst), at: self.now() }
    }

    /// Hands over the first `count` bytes of a buffer. It comes back with room for as many as before, and other content.
    pub(super) fn push(&self, ticket: Ticket, stream: Stream, buffer: &mut Vec<u8>, count: usize) {
        if self.abandoned.load(Ordering::Relaxed) {
            return;
        }
        let is_small = count < buffer.len() / FILLED;
        let size = ITEM + if is_small { count } else { buffer.len() };
        let has_room = || self.bytes.load(Ordering::Relaxed) + size <= ROOM;
        // Outside the lock, and only if it is of use.
        let small = (is_small && has_room()).then(|| buffer[..count].to_vec());
        let mut state = self.state();
        if !has_room() || is_small && small.is_none() {
            return state.lose(ticket, stream, count);
        }
        let bytes = small.unwrap_or_else(|| {
            let fresh = state.spare(buffer.len());
            std::mem::replace(buffer, fresh)
        });
        let lost = state.lost_of(stream.connection, Some(stream));
        self.add(&mut state, size, Item::new(ticket, lost, What::Bytes(stream, bytes, count)));
        self.wake(state);
    }

    /// Takes a copy of some bytes.
    pub(super) fn push_copy(&self, ticket: Ticket, stream: Stream, bytes: &[u8]) {
        let mut copy = bytes.to_vec();
        let count = copy.len();
        self.push(ticket, stream, &mut copy, count);
    }

    /// A stream has ended.
    pub(super) fn end(&self, stream: Stream) {
        if self.abandoned.load(Ordering::Relaxed) {
            return;
        }
        let mut state = self.state();
        if self.left() + ITEM > ROOM + EVENTS {
            return state.lose_end(stream);
        }
        let lost = state.lost_of(stream.connection, Some(stream));
        self.add(&mut state, ITEM, Item::new(self.ticket(), lost, What::End(stream)));
        self.wake(state);
    }

    /// The client has not waited for the end of an answer, or for its beginning. Its end follows.
    pub(super) fn gave_up(&self, stream: Stream) {
        if !self.is_needed() || self.left() + ITEM > ROOM {
            return;
        }
        let mut state = self.state();
        let lost = state.lost_of(stream.connection, None);
        self.add(&mut state, ITEM, Item::new(self.ticket(), lost, What::GaveUp(stream)));
        self.wake(state);
    }

    pub(super) fn event(&self, connection: u64, event: Event, text: impl Into<String>) {
        let text = text.into();
        let mut state = self.state();
        let size = ITEM + text.len();
        if self.abandoned.load(Ordering::Relaxed) || self.left() + size > ROOM + EVENTS {
            return;
        }
        let lost = state.lost_of(connection, None);
        self.add(&mut state, size, Item::new(self.ticket(), lost, What::Event(connection, event, text)));
        self.wake(state);
    }

    /// Whether what is pushed is of use to anybody.
    pub(super) fn is_needed(&self) -> bool {
        !self.abandoned.load(Ordering::Relaxed)
    }

    /// The head of a request or a response of HTTP. One that is a row comes even if there is no room for bytes.
    pub(super) fn head(&self, stream: Stream, text: String, is_row: bool) {
        let mut state = self.state();
        let size = ITEM + text.len();
        let room = if is_row { ROOM + EVENTS } else { ROOM };
        if !self.is_needed() || self.left() + size > room {
            return;
        }
        let lost = state.lost_of(stream.connection, None);
        self.add(&mut state, size, Item::new(self.ticket(), lost, What::Head(stream, text, is_row)));
        self.wake(state);
    }

    /// Nothing comes any more.
    pub(super) fn close(&self) {
        let mut state = self.state();
        let connections: Vec<u64> = state.lost.keys().copied().collect();
        for connection in connections {
            let lost = state.lost_of(connection, None);
            if !lost.is_empty() {
                self.add(&mut state, ITEM, Item::new(self.ticket(), lost, What::Gap));
            }
        }
        state.closed = true;
        state.parked = false;
        drop(state);
        self.ready.notify_all();
    }

    /// Whether all has come that will.
    pub(super) fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Bytes that were not recorded yet.
    pub(super) fn left(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Nobody takes anything any more.
    pub(super) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
        let mut state = self.state();
        state.items = VecDeque::new();
        state.void = Vec::new();
        state.lost = HashMap::new();
        state.losses = 0;
        state.ended = Vec::new();
        self.bytes.store(0, Ordering::Relaxed);
    }

    /// All that count bytes hold the lock.
    fn add(&self, state: &mut State, size: usize, item: Item) {
        self.bytes.fetch_add(size, Ordering::Relaxed);
        state.items.push_back(item);
    }

    fn wake(&self, mut state: MutexGuard<'_, State>) {
        if std::mem::take(&mut state.parked) {
            drop(state);
            self.ready.notify_one();
        }
    }

    /// All that there is now, if need be after a short rest. `None` if there is nothing.
    pub(super) fn take(&self) -> Option<Taken> {
        let mut state = self.state();
        if state.items.is_empty() && !state.closed {
            drop(state);
            std::thread::sleep(REST);
            state = self.state();
        }
        state.taken()
    }

    /// Waits for something. `None` if nothing comes any more.
    pub(super) fn wait(&self) -> Option<Taken> {
        let mut state = self.state();
        loop {
            if let Some(items) = state.taken() {
                return Some(items);
            }
            if state.closed {
                return None;
            }
            state.parked = true;
            state.give_up_spare();
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Gives back the buffer of an item, which no longer counts. The queue is `bytes` emptier.
    pub(super) fn done(&self, item: Item) {
        let (size, buffer) = match item.what {
            What::Bytes(_, buffer, _) => (buffer.len(), Some(buffer)),
            What::Event(_, _, text) | What::Head(_, text, _) => (text.len(), None),
            What::End(_) | What::GaveUp(_) | What::Gap => (0, None),
        };
        let mut state = self.state();
        let left = self.left().saturating_sub(ITEM + size);
        self.bytes.store(left, Ordering::Relaxed);
        if let Some(buffer) = buffer.filter(|buffer| [BUFFER, SOCKET_BUFFER].contains(&buffer.len()))
            && state.spare_bytes + buffer.len() <= SPARE
        {
            state.spare_bytes += buffer.len();
            state.spare.push(buffer);
        }
    }
}

impl State {
    /// There is no room for what was read.
    fn lose(&mut self, ticket: Ticket, stream: Stream, count: usize) {
        let key = if self.losses < LOSSES { stream } else { stream.all_exchanges() };
        self.count(key, count as u64);
        match self.void.last_mut() {
            Some(last) if last.end == ticket.number => last.end += 1,
            _ => self.void.push(ticket.number..ticket.number + 1),
        }
    }

    /// There is no room to say that a stream has ended. Beyond a limit it is not known any more which it was: with
    /// HTTP each exchange is two of them.
    fn lose_end(&mut self, stream: Stream) {
        let lost = self.lost.get_mut(&stream.connection).and_then(|streams| streams.remove(&stream));
        self.losses -= usize::from(lost.is_some());
        let lost = lost.unwrap_or(0);
        if self.ended.len() < LOSSES {
            self.ended.push((stream, lost));
        } else if lost > 0 {
            self.count(stream.all_exchanges(), lost);
        }
    }

    fn count(&mut self, stream: Stream, lost: u64) {
        let streams = self.lost.entry(stream.connection).or_default();
        let before = streams.len();
        *streams.entry(stream).or_default() += lost;
        self.losses += streams.len() - before;
    }

    /// Gives memory back that was needed for a burst.
    fn give_up_spare(&mut self) {
        while self.spare_bytes > SPARE_AT_REST
            && let Some(spare) = self.spare.pop()
        {
            self.spare_bytes -= spare.len();
        }
    }

    /// A buffer of this length, the one that was used last if there is one: it may still be in a cache.
    fn spare(&mut self, length: usize) -> Vec<u8> {
        let Some(at) = self.spare.iter().rposition(|spare| spare.len() == length) else {
            return vec![0; length];
        };
        self.spare_bytes -= length;
        self.spare.swap_remove(at)
    }

    /// What had no room of a connection before an item of the stream `own`: a request that is missing must be known to be
    /// before its answer is looked at. The other streams keep their place, since where they go on is with their next item.
    fn lost_of(&mut self, connection: u64, own: Option<Stream>) -> Lost {
        let Some(streams) = self.lost.get_mut(&connection) else { return Lost::new() };
        let before = streams.len();
        let mut lost = Lost::new();
        streams.retain(|stream, bytes| {
            let is_own = own == Some(*stream);
            let untold = std::mem::take(bytes);
            if is_own || untold > 0 {
                lost.push((*stream, untold));
            }
            !is_own && *stream != stream.all_exchanges()
        });
        self.losses -= before - streams.len();
        if streams.is_empty() {
            self.lost.remove(&connection);
        }
        lost
    }

    fn taken(&mut self) -> Option<Taken> {
        if self.items.is_empty() && self.ended.is_empty() {
            return None;
        }
        let (items, void) = (std::mem::take(&mut self.items), std::mem::take(&mut self.void));
        Some(Taken { items, void, ended: std::mem::take(&mut self.ended) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: Stream =
        Stream { connection: 1, direction: Direction::ToServer, channel: Channel::Stream, exchange: 0 };

    fn told(taken: Taken, queue: &Queue) -> Vec<String> {
        let told = taken.items.into_iter().map(|item| {
            let lost: String = item.lost.iter().map(|(_, lost)| format!("gap of {lost}, ")).collect();
            let told = match &item.what {
                What::Bytes(_, _, count) => format!("{lost}{count} bytes"),
                What::End(_) => format!("{lost}end"),
                What::GaveUp(_) => format!("{lost}given up"),
                What::Gap => format!("{lost}closed"),
                What::Event(_, event, text) => format!("{lost}{event:?} {text}"),
                What::Head(_, text, _) => format!("{lost}head {text}"),
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
            queue.push(queue.ticket(), STREAM, &mut buffer, BUFFER / FILLED);
            assert_eq!(buffer.len(), BUFFER);
        }
        queue.event(1, Event::Mark, "x");
        let taken = queue.take().unwrap_or_default();
        let end = fitting as u64;
        assert_eq!(taken.void.as_slice(), std::slice::from_ref(&(end..end + 3)));
        let held = told(taken, &queue);
        // Whatever comes next on the connection reports it; the stream itself still has to know that it was cut.
        let told_of = format!("gap of {}, Mark x", 3 * BUFFER / FILLED);
        assert_eq!((held.len(), held[fitting].as_str()), (fitting + 1, &*told_of));
        queue.push(queue.ticket(), STREAM, &mut buffer, 5);
        queue.end(STREAM);
        queue.close();
        let rest = told(queue.wait().unwrap_or_default(), &queue);
        assert_eq!(rest, ["gap of 0, 5 bytes", "end"]);
        assert!(queue.wait().is_none());
        assert_eq!(queue.left(), 0);
    }

    /// What a burst has left is kept while more may come, and given back when nothing does.
    #[test]
    fn buffers_are_given_back_at_rest() {
        let queue = Queue::new(Instant::now());
        let mut buffer = vec![0; BUFFER];
        for _ in 0..2 * SPARE / BUFFER {
            queue.push(queue.ticket(), STREAM, &mut buffer, BUFFER);
        }
        told(queue.take().unwrap_or_default(), &queue);
        assert_eq!(queue.state().spare_bytes, SPARE);
        std::thread::scope(|scope| {
            scope.spawn(|| queue.wait());
            while !queue.state().parked {
                std::thread::yield_now();
            }
            assert_eq!(queue.state().spare_bytes, SPARE_AT_REST);
            queue.close();
        });
    }

    #[test]
    fn gaps_are_told_at_the_end_at_the_latest() {
        let queue = Queue::new(Instant::now());
        let mut buffer = vec![0; BUFFER];
        for _ in 0..=ROOM / BUFFER {
            queue.push(queue.ticket(), STREAM, &mut buffer, BUFFER);
        }
        queue.close();
        let all = told(queue.wait().unwrap_or_default(), &queue);
        assert_eq!(all.last().map(String::as_str), Some("gap of 262144, closed"));
    }

    #[test]
    fn a_recorder_that_stands_still_costs_bounded_memory() {
        let queue = Queue::new(Instant::now());
        let mut buffer = vec![0; SOCKET_BUFFER];
        let streams = 3 * ROOM / ITEM;
        for exchange in 0..streams as u64 {
            let stream = Stream { exchange, channel: Channel::Body, ..STREAM };
            queue.push(queue.ticket(), stream, &mut buffer, 5);
            queue.end(stream);
        }
        assert!(queue.left() <= ROOM + EVENTS);
        let state = queue.state();
        let streams: usize = state.lost.values().map(HashMap::len).sum();
        assert!(streams == state.losses && streams <= LOSSES + 1 && state.ended.len() <= LOSSES);
        assert!(state.void.len() <= EVENTS / ITEM + 1, "{}", state.void.len());
    }
}
