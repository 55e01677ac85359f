//! Where the requests of a session meet its engine: messages in, and streams out.
//!
//! Each POST is a stream, named by the origin of its message; so is each GET. What the engine sends goes to the
//! stream of its origin, and what has none to one of the GETs. Streams outlive their connections, so that a
//! client can come back.

use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use sabir_proto::{Origin, Outgoing};
use tokio::time::Instant;

use crate::runtime::caller::{HttpCaller, ReplyStream};
use crate::runtime::message_transport::Incoming;
use crate::server::http::config::Sessions;
use crate::server::http::content::Accepts;
use crate::server::http::session::Refusal;
use crate::server::http::session::state::{State, Stream, UNREAD};
use crate::server::http::session::stream::Reader;
use crate::server::http::sse::EventId;
use crate::sync::lock;

pub(crate) struct Hub {
    pub(crate) state: Mutex<State>,
    /// What may be kept for those who come back, and of what nobody reads.
    pub(crate) replay_bytes: usize,
    most_streams: usize,
    /// What all streams together may leave unread.
    unread_bytes: usize,
}

impl Hub {
    pub(crate) fn new(sessions: &Sessions, unread_bytes: usize) -> Self {
        let state = Mutex::new(State::new());
        Hub { state, replay_bytes: sessions.replay_bytes, most_streams: sessions.streams, unread_bytes }
    }

    /// Bytes that it holds.
    pub(crate) fn held(&self) -> usize {
        lock(&self.state).held()
    }

    /// Since when the session is left alone, if it is.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        lock(&self.state).idle
    }

    /// Whether the call that was to open the session was answered with an error.
    pub(crate) fn has_failed(&self) -> bool {
        lock(&self.state).failed
    }

    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.state).closed
    }

    /// Nothing more comes from the engine: all streams end.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        state.streams.values_mut().for_each(|stream| {
            stream.finished = true;
            stream.wake();
        });
        state.posters.drain(..).for_each(Waker::wake);
    }

    /// Waits until the engine has taken in enough of what came before.
    pub(crate) fn poll_room(&self, cx: &mut Context<'_>, bytes: usize, limit: usize) -> Poll<()> {
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
        let number = state.last_stream;
        state.streams.insert(number, Stream::new(posted, primed));
        Ok(self.attach(state, number))
    }

    fn check_room(&self, state: &State) -> Result<(), Refusal> {
        // A call whose connection has left is still being answered.
        let is_open =
            |stream: &&Stream| stream.reader.is_some() || (stream.posted.is_some() && !stream.finished);
        let open = state.streams.values().filter(is_open).count();
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
    pub(crate) fn post(
        self: &Arc<Self>,
        text: Bytes,
        mut caller: HttpCaller,
        accepts: Accepts,
        primed: bool,
    ) -> Result<(Reader, Arc<HttpCaller>), Refusal> {
        let mut state = lock(&self.state);
        let reader = self.open(&mut state, Some(accepts), primed)?;
        let origin = Origin(reader.stream);
        caller.set_reply_stream(StreamHandle { hub: Arc::downgrade(self), stream: reader.stream });
        let caller = Arc::new(caller);
        state.inbox_bytes += text.len();
        state.inbox.push_back(Incoming::Message { text, origin, caller: Some(Arc::clone(&caller)) });
        state.wake_engine();
        Ok((reader, caller))
    }

    /// A stream for what belongs to no request.
    pub(crate) fn listen(self: &Arc<Self>) -> Result<Reader, Refusal> {
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
    pub(crate) fn resume(self: &Arc<Self>, seen: EventId) -> Result<Reader, Refusal> {
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

    pub(crate) fn poll_receive(&self, cx: &mut Context<'_>) -> Poll<Incoming> {
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
    pub(crate) fn poll_send(&self, cx: &mut Context<'_>, outgoing: Outgoing<'_>) -> Poll<()> {
        let mut state = lock(&self.state);
        let number = state.stream_for(outgoing);
        if !state.has_room(number, outgoing.message.len(), self.unread_bytes) {
            state.engine = Some(cx.waker().clone());
            return Poll::Pending;
        }
        match number {
            Some(number) => {
                if outgoing.last && !state.answered {
                    state.answered = true;
                    state.failed = outgoing.error().is_some();
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
    fn close_stream(&self, number: u64) -> bool {
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
    pub(crate) fn cut_off(&self, origin: Origin) {
        let mut state = lock(&self.state);
        let full = |stream: &Stream| stream.reader.is_some() && stream.unread_bytes >= UNREAD;
        let own = state.streams.get(&origin.0).is_some_and(full).then_some(origin.0);
        let general = state.streams.iter().rev().find(|(_, stream)| stream.posted.is_none() && full(stream));
        // If none of them is, all of them together are, and the one that is furthest behind has to go.
        let furthest = || state.streams.iter().max_by_key(|(_, stream)| stream.unread_bytes);
        if let Some(number) = own.or(general.or_else(furthest).map(|(&number, _)| number)) {
            state.detach(number, self.replay_bytes);
        }
    }
}

/// The stream on which an answer goes back.
struct StreamHandle {
    hub: Weak<Hub>,
    stream: u64,
}

impl ReplyStream for StreamHandle {
    fn close(&self) -> bool {
        self.hub.upgrade().is_some_and(|hub| hub.close_stream(self.stream))
    }
}
