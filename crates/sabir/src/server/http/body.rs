//! What an answer holds: nothing, a message, or a stream of events.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::server::http::pending::Streaming;
use crate::server::http::session::Events;

/// The body of an answer of [`HttpService`](crate::HttpService).
pub struct Body(Kind);

enum Kind {
    /// At most one piece.
    Full(Option<Bytes>),
    /// A call that is being answered, here and now.
    Exchange(Box<Streaming>),
    /// What a session has to say.
    Session(Box<Events>),
}

impl Body {
    pub(crate) fn empty() -> Self {
        Body(Kind::Full(None))
    }

    pub(crate) fn full(bytes: Bytes) -> Self {
        Body(Kind::Full(Some(bytes)))
    }

    pub(crate) fn exchange(streaming: Streaming) -> Self {
        Body(Kind::Exchange(Box::new(streaming)))
    }

    pub(crate) fn session(events: Events) -> Self {
        Body(Kind::Session(Box::new(events)))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let event = match &mut self.get_mut().0 {
            Kind::Full(bytes) => Poll::Ready(bytes.take()),
            Kind::Exchange(streaming) => streaming.poll_event(cx),
            Kind::Session(events) => events.poll_event(cx),
        };
        event.map(|event| event.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Kind::Full(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            _ => SizeHint::default(),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").finish_non_exhaustive()
    }
}
