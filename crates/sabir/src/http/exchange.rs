//! One message and its answer, with nothing before and after.
//!
//! The engine runs inside the answer: first in the future that waits for it, then, if it becomes a stream, in
//! the stream's body. So a client that goes away takes its handlers with it, and one that does not read makes
//! them wait.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use sabir_proto::{Cause, Config, Framing, Origin, Outgoing};
use tokio::time::{Instant, Sleep, sleep};

use super::answer;
use super::body::Body;
use super::negotiate::Accepts;
use super::service::Inner;
use super::sse;
use super::stop::{Stop, Stopping};
use crate::caller::Caller;
use crate::connection::Connection;
use crate::link::{Incoming, Link, Messages};
use crate::router::Routes;
use crate::shared::{Wish, lock};
use crate::transport::seed;

/// Engines that are kept for the next message, and how much one of them may hold.
const SPARE: usize = 64;
const SPARE_BYTES: usize = 64 * 1024;

/// A link that carries one message in, and what answers it out.
struct Once {
    message: Option<Bytes>,
    origin: Origin,
    accepts: Accepts,
    /// Taken over, and not yet passed on.
    next: Option<Bytes>,
    /// Nothing more follows.
    settled: bool,
}

impl Link for Once {
    fn poll_receive(&mut self, _: &mut Context<'_>) -> Poll<Incoming> {
        match self.message.take() {
            Some(text) => Poll::Ready(Incoming::Message { text, origin: self.origin, caller: None }),
            None => Poll::Pending,
        }
    }

    fn poll_send(&mut self, _: &mut Context<'_>, outgoing: Outgoing<'_>) -> Poll<io::Result<()>> {
        // What comes too late, or belongs to nothing, has nowhere to go.
        if outgoing.origin != self.origin {
            return Poll::Ready(Ok(()));
        }
        if self.next.is_some() {
            return Poll::Pending;
        }
        let wanted = outgoing.last || self.accepts.takes_events();
        if wanted && !outgoing.message.is_empty() {
            self.next = Some(Bytes::copy_from_slice(outgoing.message));
        }
        self.settled |= outgoing.last;
        Poll::Ready(Ok(()))
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _: &mut Context<'_>, _: &Cause) -> Poll<()> {
        Poll::Ready(())
    }
}

/// An engine that answers one message at a time.
pub(super) struct Exchange {
    connection: Connection<Messages<Once>>,
    /// The engine has come to its end.
    over: bool,
}

/// What came of a message.
enum Step {
    /// This is to be sent, and there may be more.
    More(Bytes),
    /// This was all.
    Done(Option<Bytes>),
}

impl Exchange {
    fn new(config: Config, routes: Arc<Routes>) -> Self {
        let config = Config { framing: Some(Framing::Whole), one_way: true, seed: seed(), ..config };
        let accepts = Accepts { json: 0, events: 0 };
        let link = Once { message: None, origin: Origin::NONE, accepts, next: None, settled: true };
        Exchange { connection: Connection::new(config, routes, Messages::new(link, None), None), over: false }
    }

    fn begin(&mut self, message: Bytes, caller: Arc<Caller>, accepts: Accepts) {
        let link = &mut self.connection.port.link;
        link.origin = Origin(link.origin.0 + 1);
        link.message = Some(message);
        link.accepts = accepts;
        link.settled = false;
        self.connection.engine.desk.callers.opener = Some(caller);
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Step> {
        if !self.over {
            self.over = self.connection.poll_run(cx).is_ready();
        }
        let idle = self.over || self.connection.engine.desk.session.is_idle();
        let link = &mut self.connection.port.link;
        if (link.settled && idle) || self.over {
            return Poll::Ready(Step::Done(link.next.take()));
        }
        // The answer may be there while a notification that came with it is still being handled.
        match link.next.take_if(|_| !link.settled || link.accepts.takes_events()) {
            Some(message) => Poll::Ready(Step::More(message)),
            None => Poll::Pending,
        }
    }

    fn shut_down(&self, grace: Duration) {
        let _ = self.connection.peer().shared.wish(Wish::Shutdown(grace));
    }

    /// Whether nothing is left of what it did: no handle, no task, no large buffer.
    fn is_as_new(&mut self) -> bool {
        let engine = &mut self.connection.engine;
        engine.desk.callers.opener = None;
        !self.over && engine.is_unshared() && engine.desk.session.usage().bytes <= SPARE_BYTES
    }
}

/// Engines that wait for the next message: making one costs more than a small call.
#[derive(Default)]
pub(super) struct Spare(Mutex<Vec<Box<Exchange>>>);

impl Spare {
    fn take(&self, config: Config, routes: &Arc<Routes>) -> Box<Exchange> {
        let spare = lock(&self.0).pop();
        spare.unwrap_or_else(|| Box::new(Exchange::new(config, Arc::clone(routes))))
    }

    fn put(&self, mut exchange: Box<Exchange>) {
        if exchange.is_as_new() {
            let mut spare = lock(&self.0);
            if spare.len() < SPARE {
                spare.push(exchange);
            }
        }
    }
}

/// What an answer waits for that is not there at once.
struct Waiting {
    patience: Pin<Box<Sleep>>,
    every: Duration,
    stopping: Stopping,
    grace: Duration,
}

impl Waiting {
    fn new(every: Duration, stop: &Stop) -> Self {
        let patience = Box::pin(sleep(every));
        Waiting { patience, every, stopping: Stopping::new(stop), grace: stop.grace }
    }

    /// Whether it is time for a sign of life.
    fn poll(&mut self, cx: &mut Context<'_>, exchange: &mut Exchange) -> Poll<()> {
        if self.stopping.poll(cx) {
            exchange.shut_down(self.grace);
        }
        let due = self.patience.as_mut().poll(cx);
        if due.is_ready() {
            self.patience.as_mut().reset(Instant::now() + self.every);
        }
        due
    }
}

/// Answers a message.
pub(super) async fn answer(
    inner: &Arc<Inner>,
    message: Bytes,
    caller: Caller,
    accepts: Accepts,
) -> Response<Body> {
    let caller = Arc::new(caller);
    let mut exchange = inner.spare.take(inner.config, &inner.routes);
    exchange.begin(message, Arc::clone(&caller), accepts);
    let mut waiting: Option<Waiting> = None;
    let first = poll_fn(|cx| {
        if let Poll::Ready(step) = exchange.poll(cx) {
            return Poll::Ready(Some(step));
        }
        // Most calls are answered at once: timers are made for those that are not.
        let waiting = waiting.get_or_insert_with(|| Waiting::new(inner.http.keep_alive_every(), &inner.stop));
        match waiting.poll(cx, &mut exchange) {
            Poll::Ready(()) if accepts.takes_events() => Poll::Ready(None),
            Poll::Ready(()) | Poll::Pending => Poll::Pending,
        }
    })
    .await;
    let (first, done) = match first {
        Some(Step::Done(None)) => {
            inner.spare.put(exchange);
            return answer::empty(inner.http.accepted(), Default::default());
        }
        Some(Step::Done(Some(message))) if !accepts.prefers_events() => {
            inner.spare.put(exchange);
            let code = answer::error_code(&message);
            let status = code.map_or(http::StatusCode::OK, |code| inner.http.status_of(&caller.parts, code));
            return answer::json(status, message);
        }
        Some(Step::Done(Some(message))) => (Some(sse::event(None, &message)), true),
        Some(Step::More(message)) => (Some(sse::event(None, &message)), false),
        None => (Some(sse::COMMENT), false),
    };
    let exchange = (!done).then_some(exchange);
    let waiting = waiting.unwrap_or_else(|| Waiting::new(inner.http.keep_alive_every(), &inner.stop));
    answer::events(Body::exchange(Streaming { first, exchange, waiting }))
}

/// An exchange whose answer is a stream.
pub(super) struct Streaming {
    first: Option<Bytes>,
    /// `None` once it is over.
    exchange: Option<Box<Exchange>>,
    waiting: Waiting,
}

impl Streaming {
    pub(super) fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
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
