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

use crate::ErrorCode;
use crate::runtime::caller::HttpCaller;
use crate::server::budget::{MemoryBudget, Reservation, reserve_bytes};
use crate::server::http::body::Body;
use crate::server::http::content::Accepts;
use crate::server::http::exchange::{Exchange, Step};
use crate::server::http::response::{self, Answer};
use crate::server::http::service::Inner;
use crate::server::http::shutdown::{Stop, Stopping};
use crate::server::http::sse::{self, KeepAlive};

/// A message that is being answered.
pub(crate) struct PendingResponse {
    exchange: Box<Exchange>,
    caller: Arc<HttpCaller>,
    accepts: Accepts,
    /// What came of it already.
    first: Option<Step>,
}

impl PendingResponse {
    pub(crate) fn new(
        inner: &Inner,
        message: &[u8],
        reservation: Reservation,
        caller: Arc<HttpCaller>,
        accepts: Accepts,
    ) -> Self {
        let mut exchange = inner.exchange_pool.take(inner.config, &inner.routes);
        exchange.begin(message, reservation, Arc::clone(&caller), accepts);
        PendingResponse { exchange, caller, accepts, first: None }
    }

    /// The answer, if it is there at once and no stream.
    pub(crate) fn now(
        mut self,
        inner: &Inner,
        cx: &mut Context<'_>,
        budget: &Arc<MemoryBudget>,
    ) -> Result<Answer, Self> {
        match self.exchange.run(cx, budget) {
            Poll::Ready(Step::Done(message)) if self.is_whole(message.as_ref()) => {
                Ok(self.end(inner, message, budget))
            }
            Poll::Ready(step) => Err(PendingResponse { first: Some(step), ..self }),
            Poll::Pending => Err(self),
        }
    }

    /// Whether this is all there is, and not a stream.
    fn is_whole(&self, message: Option<&Bytes>) -> bool {
        message.is_none() || !self.accepts.prefers_events()
    }

    /// The answer for somebody who takes no stream, once it is there.
    pub(crate) async fn whole(mut self, inner: Arc<Inner>, budget: Arc<MemoryBudget>) -> Answer {
        let mut stopping = Stopping::new(&inner.stop);
        let message = poll_fn(|cx| {
            if stopping.poll(cx) {
                self.exchange.shut_down(inner.stop.grace);
            }
            self.exchange.poll(cx, &budget).map(Step::last)
        })
        .await;
        self.end(&inner, message, &budget)
    }

    /// The answer for somebody who takes a stream, once it begins.
    pub(crate) async fn begins(mut self, inner: Arc<Inner>, budget: Arc<MemoryBudget>) -> Response<Body> {
        let mut waiting: Option<Waiting> = None;
        let every = inner.http.keep_alive_every();
        let first = poll_fn(|cx| {
            if let Some(first) = self.first.take() {
                return Poll::Ready(Some(first));
            }
            if let Poll::Ready(step) = self.exchange.poll(cx, &budget) {
                return Poll::Ready(Some(step));
            }
            // Most calls are answered at once: timers are made for those that are not.
            let waiting = waiting.get_or_insert_with(|| Waiting::new(every, &inner.stop));
            waiting.poll(cx, &mut self.exchange).map(|()| None)
        })
        .await;
        let (first, done) = match first {
            Some(Step::Done(message)) if self.is_whole(message.as_ref()) => {
                return self.end(&inner, message, &budget).response();
            }
            Some(Step::Done(message)) => (message.map(|message| event(&budget, &message)), true),
            Some(Step::More(message)) => (Some(event(&budget, &message)), false),
            None => (Some(Ok(sse::COMMENT)), false),
        };
        let (first, refused) = match first {
            Some(Ok(event)) => (Some(event), false),
            Some(Err(refusal)) => (Some(refusal), true),
            None => (None, false),
        };
        let exchange = (!done && !refused).then_some(self.exchange);
        let waiting = waiting.unwrap_or_else(|| Waiting::new(every, &inner.stop));
        response::events(Body::exchange(Streaming { first, exchange, waiting, budget }))
    }

    fn end(self, inner: &Inner, message: Option<Bytes>, budget: &Arc<MemoryBudget>) -> Answer {
        let mut code = self.exchange.error();
        let message = message.map(|message| {
            reserve_bytes(budget, message).unwrap_or_else(|| {
                code = Some(ErrorCode::OVERLOADED);
                response::OVERLOADED
            })
        });
        let status = match (&message, code) {
            (None, _) => inner.http.accepted(),
            (Some(_), Some(code)) => inner.http.status_of(self.caller.parts(), code),
            (Some(_), None) => StatusCode::OK,
        };
        inner.exchange_pool.put(self.exchange);
        Answer { status, message }
    }
}

/// Answers a message.
pub(crate) async fn answer(
    inner: &Arc<Inner>,
    (message, reservation): (Bytes, Reservation),
    caller: HttpCaller,
    accepts: Accepts,
) -> Response<Body> {
    let budget = inner.budget_of(caller.parts());
    let pending = PendingResponse::new(inner, &message, reservation, Arc::new(caller), accepts);
    // The engine has a copy.
    drop(message);
    if accepts.takes_events() {
        pending.begins(Arc::clone(inner), budget).await
    } else {
        pending.whole(Arc::clone(inner), budget).await.response()
    }
}

/// What an answer waits for that is not there at once.
struct Waiting {
    keep_alive_timer: KeepAlive,
    stopping: Stopping,
    grace: Duration,
}

impl Waiting {
    fn new(every: Duration, stop: &Stop) -> Self {
        Waiting { keep_alive_timer: KeepAlive::new(every), stopping: Stopping::new(stop), grace: stop.grace }
    }

    /// Whether it is time for a keep-alive comment.
    fn poll(&mut self, cx: &mut Context<'_>, exchange: &mut Exchange) -> Poll<()> {
        if self.stopping.poll(cx) {
            exchange.shut_down(self.grace);
        }
        self.keep_alive_timer.poll(cx)
    }
}

/// An exchange whose answer is a stream.
pub(crate) struct Streaming {
    first: Option<Bytes>,
    /// `None` once it is over.
    exchange: Option<Box<Exchange>>,
    waiting: Waiting,
    budget: Arc<MemoryBudget>,
}

/// A message as an event; an error in its place if there is no memory for it.
fn event(budget: &Arc<MemoryBudget>, message: &[u8]) -> Result<Bytes, Bytes> {
    reserve_bytes(budget, sse::event(None, message)).ok_or_else(|| sse::event(None, &response::OVERLOADED))
}

impl Streaming {
    pub(crate) fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        let Some(exchange) = &mut self.exchange else { return Poll::Ready(None) };
        let event = match exchange.poll(cx, &self.budget) {
            Poll::Ready(Step::More(message)) => event(&self.budget, &message),
            Poll::Ready(Step::Done(message)) => {
                self.exchange = None;
                let Some(message) = message else { return Poll::Ready(None) };
                event(&self.budget, &message)
            }
            Poll::Pending => match self.waiting.poll(cx, exchange) {
                Poll::Ready(()) => Ok(sse::COMMENT),
                Poll::Pending => return Poll::Pending,
            },
        };
        Poll::Ready(Some(event.unwrap_or_else(|refusal| {
            self.exchange = None;
            refusal
        })))
    }
}
