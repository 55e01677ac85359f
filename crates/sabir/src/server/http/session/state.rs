//! What a session keeps: messages for its engine, and streams with what was and is to be sent on them.

use std::collections::{BTreeMap, VecDeque};
use std::task::Waker;

use bytes::Bytes;
use sabir_proto::{ErrorCode, Origin, Outgoing};
use tokio::time::Instant;

use crate::runtime::message_transport::Incoming;
use crate::server::http::content::Accepts;

/// Bytes that one stream may leave unread before the session waits for it.
pub(crate) const UNREAD: usize = 64 * 1024;

/// What a kept message costs beside its text.
const OVERHEAD: usize = 64;

pub(crate) struct State {
    pub(crate) inbox: VecDeque<Incoming>,
    pub(crate) inbox_bytes: usize,
    /// The engine, and requests that wait for room in the inbox.
    pub(crate) engine: Option<Waker>,
    pub(crate) posters: Vec<Waker>,
    pub(crate) streams: BTreeMap<u64, Stream>,
    pub(crate) last_stream: u64,
    pub(crate) last_token: u64,
    /// What was sent, with ids, oldest first.
    pub(crate) log: VecDeque<Logged>,
    pub(crate) log_bytes: usize,
    /// Bytes that all streams together have unread.
    pub(crate) unread_bytes: usize,
    /// What is for a GET, and none is open.
    pub(crate) pending: VecDeque<Bytes>,
    pub(crate) pending_bytes: usize,
    /// Since when nothing is connected.
    pub(crate) idle: Option<Instant>,
    /// The first answer was an error.
    pub(crate) failed: bool,
    pub(crate) answered: bool,
    pub(crate) closed: bool,
}

pub(crate) struct Logged {
    pub(crate) stream: u64,
    pub(crate) number: u64,
    pub(crate) text: Bytes,
}

pub(crate) struct Stream {
    /// Of a POST: what its client takes.
    pub(crate) posted: Option<Accepts>,
    /// Its client gets an event id at the start, to resume from.
    pub(crate) primed: bool,
    /// Its client is to come back for the rest.
    pub(crate) hung_up: bool,
    /// Events are sent rather than one message.
    pub(crate) streaming: bool,
    pub(crate) unread: VecDeque<Bytes>,
    pub(crate) unread_bytes: usize,
    /// What is to be said again to whoever came back.
    pub(crate) replay: VecDeque<(u64, Bytes)>,
    /// The number of the last event.
    pub(crate) last: u64,
    /// Events of it in the log.
    pub(crate) logged: usize,
    /// Who reads it: a number that changes with each connection.
    pub(crate) reader: Option<u64>,
    pub(crate) waker: Option<Waker>,
    /// Nothing more will come.
    pub(crate) finished: bool,
    /// The code of the last message, if that is an error.
    pub(crate) error: Option<ErrorCode>,
}

impl Stream {
    /// Of a POST, or of a GET.
    pub(crate) fn new(posted: Option<Accepts>, primed: bool) -> Self {
        Stream {
            posted,
            primed,
            hung_up: false,
            streaming: posted.is_none(),
            unread: VecDeque::new(),
            unread_bytes: 0,
            replay: VecDeque::new(),
            last: 0,
            logged: 0,
            reader: None,
            waker: None,
            finished: false,
            error: None,
        }
    }

    pub(crate) fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl State {
    pub(crate) fn new() -> Self {
        State {
            inbox: VecDeque::new(),
            inbox_bytes: 0,
            engine: None,
            posters: Vec::new(),
            streams: BTreeMap::new(),
            last_stream: 0,
            last_token: 0,
            log: VecDeque::new(),
            log_bytes: 0,
            unread_bytes: 0,
            pending: VecDeque::new(),
            pending_bytes: 0,
            idle: Some(Instant::now()),
            failed: false,
            answered: false,
            closed: false,
        }
    }

    pub(crate) fn wake_engine(&mut self) {
        if let Some(engine) = self.engine.take() {
            engine.wake();
        }
    }

    /// Keeps what was sent on a stream, under the next number.
    pub(crate) fn keep(&mut self, number: u64, text: Bytes, budget: usize) -> u64 {
        let Some(stream) = self.streams.get_mut(&number) else { return 0 };
        stream.last += 1;
        stream.logged += 1;
        let event = stream.last;
        self.log_bytes += text.len() + OVERHEAD;
        self.log.push_back(Logged { stream: number, number: event, text });
        while self.log_bytes > budget
            && let Some(Logged { stream, text, .. }) = self.log.pop_front()
        {
            self.log_bytes -= text.len() + OVERHEAD;
            if let Some(kept) = self.streams.get_mut(&stream) {
                kept.logged -= 1;
            }
            self.forget_if_done(stream);
        }
        event
    }

    /// A stream that nobody reads, and nobody can take up again, is gone.
    pub(crate) fn forget_if_done(&mut self, number: u64) {
        let done = |stream: &Stream| {
            stream.reader.is_none() && stream.logged == 0 && (stream.finished || stream.posted.is_none())
        };
        if self.streams.get(&number).is_some_and(done) {
            self.streams.remove(&number);
        }
    }

    /// Nobody reads the stream any more.
    pub(crate) fn detach(&mut self, number: u64, budget: usize) {
        let Some(stream) = self.streams.get_mut(&number) else { return };
        stream.reader = None;
        stream.replay.clear();
        stream.wake();
        let unread = std::mem::take(&mut stream.unread);
        self.unread_bytes -= std::mem::take(&mut stream.unread_bytes);
        let (posted, streaming) = (stream.posted.is_some(), stream.streaming);
        for text in unread {
            match (posted, streaming) {
                (true, true) => drop(self.keep(number, text, budget)),
                // Nobody could ask for it again.
                (true, false) => {}
                (false, _) => self.send_general(text, budget),
            }
        }
        self.forget_if_done(number);
        if self.streams.values().all(|stream| stream.reader.is_none()) {
            self.idle = Some(Instant::now());
        }
        self.wake_engine();
    }

    /// Puts a message on one of the GETs, or keeps it for the next.
    pub(crate) fn send_general(&mut self, text: Bytes, budget: usize) {
        let listens = |stream: &&mut Stream| stream.posted.is_none() && stream.reader.is_some();
        // The newest is the one that its client has most surely not given up.
        if let Some(stream) = self.streams.values_mut().rev().find(listens) {
            stream.unread_bytes += text.len();
            self.unread_bytes += text.len();
            stream.unread.push_back(text);
            stream.wake();
            return;
        }
        self.pending_bytes += text.len() + OVERHEAD;
        self.pending.push_back(text);
        while self.pending_bytes > budget
            && let Some(oldest) = self.pending.pop_front()
        {
            self.pending_bytes -= oldest.len() + OVERHEAD;
        }
    }

    /// Where a message goes: its own stream, if that can take it, or else any GET.
    pub(crate) fn stream_for(&mut self, outgoing: Outgoing<'_>) -> Option<u64> {
        let Outgoing { origin: Origin(number), last, .. } = outgoing;
        let stream = self.streams.get(&number)?;
        let accepts = stream.posted?;
        let can_stream = stream.streaming || (accepts.takes_events() && stream.reader.is_some());
        (last || can_stream).then_some(number)
    }

    /// Bytes that it holds.
    pub(crate) fn held(&self) -> usize {
        self.inbox_bytes + self.unread_bytes + self.log_bytes + self.pending_bytes
    }

    /// Whether a message of so many bytes can be put on a stream.
    pub(crate) fn has_room(&self, number: Option<u64>, bytes: usize, limit: usize) -> bool {
        if self.unread_bytes > 0 && self.unread_bytes + bytes > limit {
            return false;
        }
        let full = |stream: &Stream| stream.reader.is_some() && stream.unread_bytes >= UNREAD;
        match number {
            Some(number) => !self.streams.get(&number).is_some_and(full),
            None => {
                let listening = |stream: &&Stream| stream.posted.is_none() && stream.reader.is_some();
                !self.streams.values().rev().find(listening).is_some_and(full)
            }
        }
    }

    pub(crate) fn send_on(&mut self, number: u64, outgoing: Outgoing<'_>, budget: usize) {
        let Some(stream) = self.streams.get_mut(&number) else { return };
        let Outgoing { message, last, .. } = outgoing;
        stream.finished |= last;
        stream.streaming |= !last || stream.posted.is_some_and(|accepts| accepts.prefers_events());
        let (has_reader, streaming) = (stream.reader.is_some(), stream.streaming);
        if !message.is_empty() {
            stream.error = outgoing.error();
            let text = Bytes::copy_from_slice(message);
            if has_reader {
                stream.unread_bytes += text.len();
                self.unread_bytes += text.len();
                stream.unread.push_back(text);
            } else if streaming {
                self.keep(number, text, budget);
            }
        }
        if let Some(stream) = self.streams.get_mut(&number) {
            stream.wake();
        }
        self.forget_if_done(number);
    }
}
