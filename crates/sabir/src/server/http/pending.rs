//! One message and its answer.
//!
//! The engine runs inside the answer: first in the future that waits for it, then, if it becomes a stream, in
//! the stream's body. So a client that goes away takes its handlers with it, and one that does not read makes
//! them wait.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};

use crate::server::http::body::Body;
use crate::server::http::caller::Caller;
use crate::server::http::content::Accepts;
use crate::server::http::exchange::{Exchange, Step};
use crate::server::http::response::{self, Answer};
use crate::server::http::service::Inner;
use crate::server::http::shutdown::{Stop, Stopping};
use crate::server::http::sse::{self, Pulse};

/// A message that is being answered.
pub(crate) struct Begun {
    exchange: Box<Exchange>,
    caller: Arc<Caller>,
    accepts: Accepts,
    /// What came of it already.
    first: Option<Step>,
}

impl Begun {
    pub(crate) fn new(inner: &Inner, message: &[u8], caller: Arc<Caller>, accepts: Accepts) -> Self {
        let mut exchange = inner.spare.take(inner.config, &inner.routes);
        exchange.begin(message, Arc::clone(&caller), accepts);
        Begun { exchange, caller, accepts, first: None }
    }

    /// The answer, if it is there at once and no stream.
    pub(crate) fn now(mut self, inner: &Inner, cx: &mut Context<'_>) -> Result<Answer, Self> {
        match self.exchange.run(cx) {
            Poll::Ready(Step::Done(message)) if self.is_whole(message.as_ref()) => {
                Ok(self.end(inner, message))
            }
            Poll::Ready(step) => Err(Begun { first: Some(step), ..self }),
            Poll::Pending => Err(self),
        }
    }

    pub(crate) fn takes_events(&self) -> bool {
        self.accepts.takes_events()
    }

    /// Whether this, as all there is, is no stream.
    fn is_whole(&self, message: Option<&Bytes>) -> bool {
        message.is_none() || !self.accepts.prefers_events()
    }

    /// The answer for somebody who takes no stream, once it is there.
    pub(crate) async fn whole(mut self, inner: Arc<Inner>) -> Answer {
        let mut stopping = Stopping::new(&inner.stop);
        let message = poll_fn(|cx| {
            if stopping.poll(cx) {
                self.exchange.shut_down(inner.stop.grace);
            }
            self.exchange.poll(cx).map(Step::last)
        })
        .await;
        self.end(&inner, message)
    }

    /// The answer for somebody who takes a stream, once it begins.
    pub(crate) async fn begins(mut self, inner: Arc<Inner>) -> Response<Body> {
        let mut waiting: Option<Waiting> = None;
        let every = inner.http.keep_alive_every();
        let first = poll_fn(|cx| {
            if let Some(first) = self.first.take() {
                return Poll::Ready(Some(first));
            }
            if let Poll::Ready(step) = self.exchange.poll(cx) {
                return Poll::Ready(Some(step));
            }
            // Most calls are answered at once: timers are made for those that are not.
            let waiting = waiting.get_or_insert_with(|| Waiting::new(every, &inner.stop));
            waiting.poll(cx, &mut self.exchange).map(|()| None)
        })
        .await;
        let (first, done) = match first {
            Some(Step::Done(message)) if self.is_whole(message.as_ref()) => {
                return self.end(&inner, message).response();
            }
            Some(Step::Done(message)) => (message.map(|message| sse::event(None, &message)), true),
            Some(Step::More(message)) => (Some(sse::event(None, &message)), false),
            None => (Some(sse::COMMENT), false),
        };
        let exchange = (!done).then_some(self.exchange);
        let waiting = waiting.unwrap_or_else(|| Waiting::new(every, &inner.stop));
        response::events(Body::exchange(Streaming { first, exchange, waiting }))
    }

    fn end(self, inner: &Inner, message: Option<Bytes>) -> Answer {
        inner.spare.put(self.exchange);
        let status = match &message {
            None => inner.http.accepted(),
            Some(message) => match response::error_code(message) {
                Some(code) => inner.http.status_of(self.caller.parts(), code),
                None => StatusCode::OK,
            },
        };
        Answer { status, message }
    }
}

/// Answers a message.
pub(crate) async fn answer(
    inner: &Arc<Inner>,
    message: &[u8],
    caller: Caller,
    accepts: Accepts,
) -> Response<Body> {
    let begun = Begun::new(inner, message, Arc::new(caller), accepts);
    if accepts.takes_events() {
        begun.begins(Arc::clone(inner)).await
    } else {
        begun.whole(Arc::clone(inner)).await.response()
    }
}

/// What an answer waits for that is not there at once.
struct Waiting {
    pulse: Pulse,
    stopping: Stopping,
    grace: Duration,
}

impl Waiting {
    fn new(every: Duration, stop: &Stop) -> Self {
        Waiting { pulse: Pulse::new(every), stopping: Stopping::new(stop), grace: stop.grace }
    }

    /// Whether it is time for a sign of life.
    fn poll(&mut self, cx: &mut Context<'_>, exchange: &mut Exchange) -> Poll<()> {
        if self.stopping.poll(cx) {
            exchange.shut_down(self.grace);
        }
        self.pulse.poll(cx)
    }
}

/// An exchange whose answer is a stream.
pub(crate) struct Streaming {
    first: Option<Bytes>,
    /// `None` once it is over.
    exchange: Option<Box<Exchange>>,
    waiting: Waiting,
}

impl Streaming {
    pub(crate) fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        let Some(exchange) = &mut self.exchange else { return Poll::Ready(None) };
        let event = match exchange.poll(cx) {
            Poll::Ready(Step::More(message)) => Some(sse::event(None, &message)),
            Poll::Ready(Step::Done(message)) => {
                self.exchange = None;
                message.map(|message| sse::event(None, &message))
            }
            Poll::Pending => match self.waiting.poll(cx, exchange) {
                Poll::Ready(()) => Some(sse::COMMENT),
                Poll::Pending => return Poll::Pending,
            },
        };
        Poll::Ready(event)
    }
}
