//! Whoever reads a stream of a session.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use sabir_proto::ErrorCode;

use crate::server::budget::{MemoryBudget, Reservation};
use crate::server::http::session::hub::Hub;
use crate::server::http::sse::EventId;
use crate::sync::lock;

/// What a POST is answered with.
pub(crate) enum First {
    Nothing,
    /// A message, and its code if it is an error.
    Json(Bytes, Option<ErrorCode>),
    Events,
}

/// The right to read a stream, until it is dropped or somebody else takes it up.
pub(crate) struct Reader {
    pub(crate) hub: Arc<Hub>,
    pub(crate) stream: u64,
    pub(crate) token: u64,
}

impl Reader {
    /// What a POST is answered with, as soon as that is known.
    pub(crate) fn poll_first(&self, cx: &mut Context<'_>) -> Poll<First> {
        let mut state = lock(&self.hub.state);
        let Some(stream) = state.streams.get_mut(&self.stream) else { return Poll::Ready(First::Nothing) };
        if stream.streaming && !(stream.finished && stream.unread.is_empty()) {
            return Poll::Ready(First::Events);
        }
        if stream.finished {
            let message = stream.unread.pop_front();
            let error = stream.error;
            let taken = std::mem::take(&mut stream.unread_bytes);
            state.unread_bytes -= taken;
            return Poll::Ready(message.map_or(First::Nothing, |message| First::Json(message, error)));
        }
        stream.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// The answer is a stream, although nothing has come yet.
    pub(crate) fn begin_stream(&self) {
        if let Some(stream) = lock(&self.hub.state).streams.get_mut(&self.stream) {
            stream.streaming = true;
        }
    }

    /// The id of the last event of the stream.
    pub(crate) fn last_id(&self) -> EventId {
        let state = lock(&self.hub.state);
        let stream = state.streams.get(&self.stream);
        let number = stream.map_or(0, |stream| stream.last - stream.replay.len() as u64);
        EventId { posted: stream.is_some_and(|stream| stream.posted.is_some()), stream: self.stream, number }
    }

    /// The next event, with room for it, or the end. Where there is no room for it, the stream ends too, and the event
    /// is kept for whoever comes back.
    pub(crate) fn poll_event(
        &self,
        cx: &mut Context<'_>,
        budget: &Arc<MemoryBudget>,
    ) -> Poll<Option<(EventId, Bytes, Reservation)>> {
        let mut state = lock(&self.hub.state);
        let Some(stream) = state.streams.get_mut(&self.stream) else { return Poll::Ready(None) };
        // What is not sent yet is kept for whoever comes back.
        if stream.reader != Some(self.token) || stream.hung_up {
            return Poll::Ready(None);
        }
        let posted = stream.posted.is_some();
        let id = |number| EventId { posted, stream: self.stream, number };
        let next = stream.replay.front().map(|(_, text)| text).or(stream.unread.front());
        let Some(reservation) = Reservation::of(budget, next.map_or(0, Bytes::len)) else {
            return Poll::Ready(None);
        };
        if let Some((number, text)) = stream.replay.pop_front() {
            return Poll::Ready(Some((id(number), text, reservation)));
        }
        if let Some(text) = stream.unread.pop_front() {
            stream.unread_bytes -= text.len();
            state.unread_bytes -= text.len();
            let number = state.keep(self.stream, text.clone(), self.hub.replay_bytes);
            state.wake_engine();
            return Poll::Ready(Some((id(number), text, reservation)));
        }
        if stream.finished {
            return Poll::Ready(None);
        }
        stream.waker = Some(cx.waker().clone());
        Poll::Pending
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
