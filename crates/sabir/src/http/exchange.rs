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
use http::{Response, StatusCode};
use sabir_proto::{Cause, Config, Framing, Origin, Outgoing};
use tokio::time::{Instant, Sleep, sleep};

use super::answer::{self, Answer};
use super::body::Body;
use super::negotiate::Accepts;
use super::service::Inner;
use super::sse;
use super::stop::{Stop, Stopping};
use crate::caller::Caller;
use crate::connection::Connection;
use crate::link::{Incoming, Link, Messages};
use crate::observe::{Observed, Side};
use crate::port::{Moved, Port};
use crate::router::Routes;
use crate::shared::{Wish, lock};
use crate::transport::seed;

/// Engines that are kept for the next message, and how much one of them may hold.
const SPARE: usize = 64;
const SPARE_BYTES: usize = 64 * 1024;

/// A link that carries what answers one message. The message itself does not come by it.
struct Once {
    origin: Origin,
    accepts: Accepts,
    /// Taken over, and not yet passed on.
    next: Option<Bytes>,
    /// Nothing more follows.
    settled: bool,
}

impl Link for Once {
    fn poll_receive(&mut self, _: &mut Context<'_>) -> Poll<Incoming> {
        Poll::Pending
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

impl Step {
    /// What is sent where only one thing can be.
    fn last(self) -> Option<Bytes> {
        match self {
            Step::More(message) => Some(message),
            Step::Done(message) => message,
        }
    }
}

impl Exchange {
    fn new(config: Config, routes: Arc<Routes>) -> Self {
        let config = Config { framing: Some(Framing::Whole), one_way: true, seed: seed(), ..config };
        let link = Once { origin: Origin::NONE, accepts: Accepts::JSON, next: None, settled: true };
        Exchange { connection: Connection::new(config, routes, Messages::new(link, None), None), over: false }
    }

    fn begin(&mut self, message: &[u8], caller: Arc<Caller>, accepts: Accepts) {
        let link = &mut self.connection.port.link;
        link.origin = Origin(link.origin.0 + 1);
        link.accepts = accepts;
        link.settled = false;
        let origin = link.origin;
        self.connection.look_at_the_clock();
        let desk = &mut self.connection.engine.desk;
        desk.callers.opener = Some(caller);
        desk.session.handle_message_from(desk.now, message, origin);
        desk.tell(&Observed::Bytes { side: Side::Theirs, count: message.len() });
    }

    /// Does what can be done at once. Whatever has to wait is to be polled.
    fn run(&mut self, cx: &mut Context<'_>) -> Poll<Step> {
        let Connection { engine, port, .. } = &mut self.connection;
        engine.run();
        while engine.desk.session.outgoing().is_some() {
            if let Moved::No = port.send(cx, &mut engine.desk) {
                break;
            }
        }
        self.step()
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Step> {
        if !self.over {
            self.over = self.connection.poll_run(cx).is_ready();
        }
        self.step()
    }

    fn step(&mut self) -> Poll<Step> {
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
#[expect(clippy::vec_box, reason = "they are taken out and used in their boxes")]
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

/// A message that is being answered.
pub(super) struct Begun {
    exchange: Box<Exchange>,
    caller: Arc<Caller>,
}

impl Begun {
    pub(super) fn new(inner: &Inner, message: &[u8], caller: Arc<Caller>, accepts: Accepts) -> Self {
        let mut exchange = inner.spare.take(inner.config, &inner.routes);
        exchange.begin(message, Arc::clone(&caller), accepts);
        Begun { exchange, caller }
    }

    /// The answer for somebody who takes no stream. Unless it is there now, it is to be
    /// [waited for](Self::wait).
    pub(super) fn now(mut self, inner: &Inner, cx: &mut Context<'_>) -> Result<Answer, Self> {
        match self.exchange.run(cx) {
            Poll::Ready(step) => Ok(self.end(inner, step.last())),
            Poll::Pending => Err(self),
        }
    }

    /// The same, once it is there.
    pub(super) async fn wait(mut self, inner: Arc<Inner>) -> Answer {
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

    fn end(self, inner: &Inner, message: Option<Bytes>) -> Answer {
        inner.spare.put(self.exchange);
        let status = match &message {
            None => inner.http.accepted(),
            Some(message) => match answer::error_code(message) {
                Some(code) => inner.http.status_of(self.caller.parts(), code),
                None => StatusCode::OK,
            },
        };
        Answer { status, message }
    }
}

/// Answers a message.
pub(super) async fn answer(
    inner: &Arc<Inner>,
    message: &[u8],
    caller: Caller,
    accepts: Accepts,
) -> Response<Body> {
    let begun = Begun::new(inner, message, Arc::new(caller), accepts);
    if !accepts.takes_events() {
        return begun.wait(Arc::clone(inner)).await.response();
    }
    let Begun { mut exchange, caller } = begun;
    let mut waiting: Option<Waiting> = None;
    let first = poll_fn(|cx| {
        if let Poll::Ready(step) = exchange.poll(cx) {
            return Poll::Ready(Some(step));
        }
        // Most calls are answered at once: timers are made for those that are not.
        let waiting = waiting.get_or_insert_with(|| Waiting::new(inner.http.keep_alive_every(), &inner.stop));
        waiting.poll(cx, &mut exchange).map(|()| None)
    })
    .await;
    let (first, done) = match first {
        Some(Step::Done(message)) if message.is_none() || !accepts.prefers_events() => {
            return Begun { exchange, caller }.end(inner, message).response();
        }
        Some(Step::Done(message)) => (message.map(|message| sse::event(None, &message)), true),
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
