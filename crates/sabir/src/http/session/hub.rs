//! Where the requests of a session meet its engine: messages in, and streams out.
//!
//! Each POST is a stream, named by the origin of its message; so is each GET. What the engine sends goes to the
//! stream of its origin, and what has none to one of the GETs. Streams outlive their connections, so that a
//! client can come back.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use sabir_proto::{Origin, Outgoing};
use tokio::time::Instant;

use super::Refusal;
use crate::caller::Caller;
use crate::http::answer::error_code;
use crate::http::negotiate::Accepts;
use crate::http::settings::Sessions;
use crate::http::sse::EventId;
use crate::link::Incoming;
use crate::shared::lock;

/// Bytes that one stream may leave unread before the session waits for it.
const UNREAD: usize = 64 * 1024;

/// What a kept message costs beside its text.
const OVERHEAD: usize = 64;

pub(super) struct Hub {
    state: Mutex<State>,
    replay_bytes: usize,
    most_streams: usize,
}

struct State {
    inbox: VecDeque<Incoming>,
    inbox_bytes: usize,
    /// The engine, and requests that wait for room in the inbox.
    engine: Option<Waker>,
    posters: Vec<Waker>,
    streams: BTreeMap<u64, Stream>,
    last_stream: u64,
    last_token: u64,
    /// What was sent, with ids, oldest first.
    log: VecDeque<Logged>,
    log_bytes: usize,
    /// What is for a GET, and none is open.
    pending: VecDeque<Bytes>,
    pending_bytes: usize,
    /// Since when nothing is connected.
    idle: Option<Instant>,
    /// The first answer was an error.
    failed: bool,
    answered: bool,
    closed: bool,
}

struct Logged {
    stream: u64,
    number: u64,
    text: Bytes,
}

struct Stream {
    /// Of a POST: what its client takes.
    posted: Option<Accepts>,
    /// Its client is told at the start how to come back.
    primed: bool,
    /// Its client is to come back for the rest.
    hung_up: bool,
    /// Events are sent rather than one message.
    streaming: bool,
    unread: VecDeque<Bytes>,
    unread_bytes: usize,
    /// What is to be said again to whoever came back.
    replay: VecDeque<(u64, Bytes)>,
    /// The number of the last event.
    last: u64,
    /// Events of it in the log.
    logged: usize,
    /// Who reads it: a number that changes with each connection.
    reader: Option<u64>,
    waker: Option<Waker>,
    /// Nothing more will come.
    finished: bool,
}

/// What a POST is answered with.
pub(super) enum First {
    Nothing,
    Json(Bytes),
    Events,
}

impl Stream {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl State {
    fn wake_engine(&mut self) {
        if let Some(engine) = self.engine.take() {
            engine.wake();
        }
    }

    /// Keeps what was sent on a stream, under the next number.
    fn keep(&mut self, number: u64, text: Bytes, budget: usize) -> u64 {
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
    fn forget_if_done(&mut self, number: u64) {
        let done = |stream: &Stream| {
            stream.reader.is_none() && stream.logged == 0 && (stream.finished || stream.posted.is_none())
        };
        if self.streams.get(&number).is_some_and(done) {
            self.streams.remove(&number);
        }
    }

    /// Nobody reads the stream any more.
    fn detach(&mut self, number: u64, budget: usize) {
        let Some(stream) = self.streams.get_mut(&number) else { return };
        stream.reader = None;
        stream.replay.clear();
        stream.wake();
        let unread = std::mem::take(&mut stream.unread);
        stream.unread_bytes = 0;
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
    fn send_general(&mut self, text: Bytes, budget: usize) {
        let listens = |stream: &&mut Stream| stream.posted.is_none() && stream.reader.is_some();
        // The newest is the one that its client has most surely not given up.
        if let Some(stream) = self.streams.values_mut().rev().find(listens) {
            stream.unread_bytes += text.len();
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
    fn stream_for(&mut self, outgoing: Outgoing<'_>) -> Option<u64> {
        let Outgoing { origin: Origin(number), last, .. } = outgoing;
        let stream = self.streams.get(&number)?;
        let accepts = stream.posted?;
        let can_stream = stream.streaming || (accepts.takes_events() && stream.reader.is_some());
        (last || can_stream).then_some(number)
    }

    fn has_room(&self, number: Option<u64>) -> bool {
        let full = |stream: &Stream| stream.reader.is_some() && stream.unread_bytes >= UNREAD;
        match number {
            Some(number) => !self.streams.get(&number).is_some_and(full),
            None => {
                let listening = |stream: &&Stream| stream.posted.is_none() && stream.reader.is_some();
                !self.streams.values().rev().find(listening).is_some_and(full)
            }
        }
    }

    fn send_on(&mut self, number: u64, outgoing: Outgoing<'_>, budget: usize) {
        let Some(stream) = self.streams.get_mut(&number) else { return };
        let Outgoing { message, last, .. } = outgoing;
        stream.finished |= last;
        stream.streaming |= !last || stream.posted.is_some_and(|accepts| accepts.prefers_events());
        let (has_reader, streaming) = (stream.reader.is_some(), stream.streaming);
        if !message.is_empty() {
            let text = Bytes::copy_from_slice(message);
            if has_reader {
                stream.unread_bytes += text.len();
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

impl Hub {
    pub(super) fn new(sessions: &Sessions) -> Self {
        let state = State {
            inbox: VecDeque::new(),
            inbox_bytes: 0,
            engine: None,
            posters: Vec::new(),
            streams: BTreeMap::new(),
            last_stream: 0,
            last_token: 0,
            log: VecDeque::new(),
            log_bytes: 0,
            pending: VecDeque::new(),
            pending_bytes: 0,
            idle: Some(Instant::now()),
            failed: false,
            answered: false,
            closed: false,
        };
        Hub { state: Mutex::new(state), replay_bytes: sessions.replay_bytes, most_streams: sessions.streams }
    }

    /// Since when the session is left alone, if it is.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        lock(&self.state).idle
    }

    /// Whether the call that was to open the session was answered with an error.
    pub(super) fn has_failed(&self) -> bool {
        lock(&self.state).failed
    }

    pub(super) fn is_closed(&self) -> bool {
        lock(&self.state).closed
    }

    /// Nothing more comes from the engine: all streams end.
    pub(super) fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        state.streams.values_mut().for_each(|stream| {
            stream.finished = true;
            stream.wake();
        });
        state.posters.drain(..).for_each(Waker::wake);
    }

    /// Waits until the engine has taken in enough of what came before.
    pub(super) fn poll_room(&self, cx: &mut Context<'_>, bytes: usize, limit: usize) -> Poll<()> {
        let mut state = lock(&self.state);
        if state.closed || state.inbox.is_empty() || state.inbox_bytes + bytes <= limit {
            return Poll::Ready(());
        }
        state.posters.push(cx.waker().clone());
        Poll::Pending
    }

    fn open(
        self: &Arc<Self>,
        state: &mut State,
        posted: Option<Accepts>,
        primed: bool,
    ) -> Result<Reader, Refusal> {
        if state.closed {
            return Err(Refusal::UNKNOWN_SESSION);
        }
        self.check_room(state)?;
        state.last_stream += 1;
        let stream = Stream {
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
        };
        let number = state.last_stream;
        state.streams.insert(number, stream);
        Ok(self.attach(state, number))
    }

    fn check_room(&self, state: &State) -> Result<(), Refusal> {
        let open = state.streams.values().filter(|stream| stream.reader.is_some()).count();
        if open < self.most_streams { Ok(()) } else { Err(Refusal::TOO_MANY_STREAMS) }
    }

    fn attach(self: &Arc<Self>, state: &mut State, number: u64) -> Reader {
        state.last_token += 1;
        state.idle = None;
        if let Some(stream) = state.streams.get_mut(&number) {
            stream.reader = Some(state.last_token);
            stream.hung_up = false;
            // Whoever read it before sees that it is no longer the reader.
            stream.wake();
        }
        Reader { hub: Arc::clone(self), stream: number, token: state.last_token }
    }

    /// Takes in a message. What answers it can be read.
    pub(super) fn post(
        self: &Arc<Self>,
        text: Bytes,
        mut caller: Caller,
        accepts: Accepts,
        primed: bool,
    ) -> Result<(Reader, Arc<Caller>), Refusal> {
        let mut state = lock(&self.state);
        let reader = self.open(&mut state, Some(accepts), primed)?;
        let origin = Origin(reader.stream);
        caller.extend(Way { hub: Arc::downgrade(self), stream: reader.stream });
        let caller = Arc::new(caller);
        state.inbox_bytes += text.len();
        state.inbox.push_back(Incoming::Message { text, origin, caller: Some(Arc::clone(&caller)) });
        state.wake_engine();
        Ok((reader, caller))
    }

    /// A stream for what belongs to no request.
    pub(super) fn listen(self: &Arc<Self>) -> Result<Reader, Refusal> {
        let mut state = lock(&self.state);
        let reader = self.open(&mut state, None, false)?;
        self.hand_over_pending(&mut state);
        Ok(reader)
    }

    fn hand_over_pending(&self, state: &mut State) {
        let pending = std::mem::take(&mut state.pending);
        state.pending_bytes = 0;
        pending.into_iter().for_each(|text| state.send_general(text, self.replay_bytes));
    }

    /// The rest of a stream, from behind an event.
    pub(super) fn resume(self: &Arc<Self>, seen: EventId) -> Result<Reader, Refusal> {
        let mut state = lock(&self.state);
        let known = state.streams.get(&seen.stream);
        if known.is_none_or(|stream| stream.posted.is_some() != seen.posted || !stream.streaming) {
            drop(state);
            // A stream of the server's own messages that is forgotten had nothing more to say.
            return if seen.posted { Err(Refusal::UNKNOWN_EVENT) } else { self.listen() };
        }
        self.check_room(&state)?;
        let missed =
            state.log.iter().filter(|logged| logged.stream == seen.stream && logged.number > seen.number);
        let replay = missed.map(|logged| (logged.number, logged.text.clone())).collect();
        let reader = self.attach(&mut state, seen.stream);
        if let Some(stream) = state.streams.get_mut(&seen.stream) {
            stream.replay = replay;
        }
        if !seen.posted {
            self.hand_over_pending(&mut state);
        }
        Ok(reader)
    }

    pub(super) fn poll_receive(&self, cx: &mut Context<'_>) -> Poll<Incoming> {
        let mut state = lock(&self.state);
        let Some(incoming) = state.inbox.pop_front() else {
            state.engine = Some(cx.waker().clone());
            return Poll::Pending;
        };
        if let Incoming::Message { text, .. } = &incoming {
            state.inbox_bytes -= text.len();
        }
        state.posters.drain(..).for_each(Waker::wake);
        Poll::Ready(incoming)
    }

    /// Takes a message over, unless whoever reads its stream is too far behind.
    pub(super) fn poll_send(&self, cx: &mut Context<'_>, outgoing: Outgoing<'_>) -> Poll<()> {
        let mut state = lock(&self.state);
        let number = state.stream_for(outgoing);
        if !state.has_room(number) {
            state.engine = Some(cx.waker().clone());
            return Poll::Pending;
        }
        match number {
            Some(number) => {
                if outgoing.last && !state.answered {
                    state.answered = true;
                    state.failed = error_code(outgoing.message).is_some();
                }
                state.send_on(number, outgoing, self.replay_bytes);
            }
            // The end of a stream that is gone needs no place.
            None if outgoing.message.is_empty() || outgoing.last => {}
            None => state.send_general(Bytes::copy_from_slice(outgoing.message), self.replay_bytes),
        }
        Poll::Ready(())
    }

    /// Ends what is sent of an answer, for its client to come back for the rest. Whether it can.
    fn hang_up(&self, number: u64) -> bool {
        let mut state = lock(&self.state);
        let Some(stream) = state.streams.get_mut(&number) else { return false };
        let takes_events = stream.posted.is_some_and(|accepts| accepts.takes_events());
        let knows_how = stream.primed || stream.last > 0;
        if stream.finished || stream.reader.is_none() || !(takes_events && knows_how) {
            return false;
        }
        (stream.streaming, stream.hung_up) = (true, true);
        stream.wake();
        true
    }

    /// Gives up on whoever reads the stream that this would go to.
    pub(super) fn cut_off(&self, origin: Origin) {
        let mut state = lock(&self.state);
        let full = |stream: &Stream| stream.reader.is_some() && stream.unread_bytes >= UNREAD;
        let own = state.streams.get(&origin.0).is_some_and(full).then_some(origin.0);
        let general = state.streams.iter().rev().find(|(_, stream)| stream.posted.is_none() && full(stream));
        if let Some(number) = own.or(general.map(|(&number, _)| number)) {
            state.detach(number, self.replay_bytes);
        }
    }
}

/// The right to read a stream, until it is dropped or somebody else takes it up.
pub(super) struct Reader {
    hub: Arc<Hub>,
    stream: u64,
    token: u64,
}

impl Reader {
    /// What a POST is answered with, as soon as that is known.
    pub(super) fn poll_first(&self, cx: &mut Context<'_>) -> Poll<First> {
        let mut state = lock(&self.hub.state);
        let Some(stream) = state.streams.get_mut(&self.stream) else { return Poll::Ready(First::Nothing) };
        if stream.streaming && !(stream.finished && stream.unread.is_empty()) {
            return Poll::Ready(First::Events);
        }
        if stream.finished {
            let message = stream.unread.pop_front();
            return Poll::Ready(message.map_or(First::Nothing, First::Json));
        }
        stream.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// The answer is a stream, although nothing has come yet.
    pub(super) fn begin_stream(&self) {
        if let Some(stream) = lock(&self.hub.state).streams.get_mut(&self.stream) {
            stream.streaming = true;
        }
    }

    /// The id of the last event of the stream.
    pub(super) fn last_id(&self) -> EventId {
        let state = lock(&self.hub.state);
        let stream = state.streams.get(&self.stream);
        let number = stream.map_or(0, |stream| stream.last - stream.replay.len() as u64);
        EventId { posted: stream.is_some_and(|stream| stream.posted.is_some()), stream: self.stream, number }
    }

    /// The next event, or the end.
    pub(super) fn poll_event(&self, cx: &mut Context<'_>) -> Poll<Option<(EventId, Bytes)>> {
        let mut state = lock(&self.hub.state);
        let Some(stream) = state.streams.get_mut(&self.stream) else { return Poll::Ready(None) };
        // What is not sent yet is kept for whoever comes back.
        if stream.reader != Some(self.token) || stream.hung_up {
            return Poll::Ready(None);
        }
        let posted = stream.posted.is_some();
        let id = |number| EventId { posted, stream: self.stream, number };
        if let Some((number, text)) = stream.replay.pop_front() {
            return Poll::Ready(Some((id(number), text)));
        }
        if let Some(text) = stream.unread.pop_front() {
            stream.unread_bytes -= text.len();
            let number = state.keep(self.stream, text.clone(), self.hub.replay_bytes);
            state.wake_engine();
            return Poll::Ready(Some((id(number), text)));
        }
        if stream.finished {
            return Poll::Ready(None);
        }
        stream.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

/// The way on which an answer goes back: an extension of the request that it answers.
#[derive(Clone)]
pub(crate) struct Way {
    hub: Weak<Hub>,
    stream: u64,
}

impl Way {
    /// See [`Ctx::hang_up`](crate::Ctx::hang_up).
    pub(crate) fn hang_up(&self) -> bool {
        self.hub.upgrade().is_some_and(|hub| hub.hang_up(self.stream))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = lock(&self.hub.state);
        if state.streams.get(&self.stream).is_some_and(|stream| stream.reader == Some(self.token)) {
            state.detach(self.stream, self.hub.replay_bytes);
        }
    }
}
