//! An engine for one message and what answers it, with nothing before and after.

use std::io;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use sabir_proto::{Cause, Config, ErrorCode, Framing, Origin, Outgoing};

use crate::router::Routes;
use crate::runtime::caller::HttpCaller;
use crate::runtime::connection::Connection;
use crate::runtime::message_transport::{Incoming, Link, MessageTransport};
use crate::server::budget::{MemoryBudget, Reservation};
use crate::server::http::content::Accepts;
use crate::server::http::response::OVERLOADED;
use crate::sync::lock;
use crate::transport::seed;

/// Engines that are kept for the next message, and how much one of them may hold.
const POOLED: usize = 64;
const POOLED_BYTES: usize = 64 * 1024;

/// A link that carries what answers one message. The message itself does not come by it.
struct ReplyLink {
    origin: Origin,
    accepts: Accepts,
    /// Taken over, and not yet passed on.
    next: Option<Bytes>,
    /// The code of the error that was taken over last, if it was one.
    error: Option<ErrorCode>,
    /// Nothing more follows.
    settled: bool,
}

impl Link for ReplyLink {
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
            self.error = outgoing.error();
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
pub(crate) struct Exchange {
    connection: Connection<MessageTransport<ReplyLink>>,
    /// The engine has come to its end.
    over: bool,
    /// What it holds.
    reservation: Reservation,
}

/// What came of a message.
pub(crate) enum Step {
    /// This is to be sent, and there may be more.
    More(Bytes),
    /// This was all.
    Done(Option<Bytes>),
}

impl Step {
    /// What is sent where only one thing can be.
    pub(crate) fn last(self) -> Option<Bytes> {
        match self {
            Step::More(message) => Some(message),
            Step::Done(message) => message,
        }
    }
}

impl Exchange {
    fn new(config: Config, routes: Arc<Routes>) -> Self {
        let config = Config { framing: Some(Framing::Whole), one_way: true, seed: seed(), ..config };
        let link = ReplyLink {
            origin: Origin::NONE,
            accepts: Accepts::JSON,
            next: None,
            error: None,
            settled: true,
        };
        Exchange {
            connection: Connection::new(config, routes, MessageTransport::new(link, None), None),
            over: false,
            reservation: Reservation::default(),
        }
    }

    /// Takes a message, and the room that was reserved for it.
    pub(crate) fn begin(
        &mut self,
        message: &[u8],
        reservation: Reservation,
        caller: Arc<HttpCaller>,
        accepts: Accepts,
    ) {
        self.reservation = reservation;
        let link = &mut self.connection.io.link;
        link.origin = Origin(link.origin.0 + 1);
        link.accepts = accepts;
        link.settled = false;
        link.error = None;
        let origin = link.origin;
        self.connection.set_caller(Some(caller));
        self.connection.take_message(message, origin);
    }

    /// Does what can be done at once. Whatever has to wait is to be polled.
    pub(crate) fn run(&mut self, cx: &mut Context<'_>, budget: &Arc<MemoryBudget>) -> Poll<Step> {
        self.connection.run_once(cx);
        self.reserve(budget);
        self.step()
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, budget: &Arc<MemoryBudget>) -> Poll<Step> {
        if !self.over {
            self.over = self.connection.poll_run(cx).is_ready();
            self.reserve(budget);
        }
        self.step()
    }

    /// Reserves what the engine holds by now. Without room for that it ends, and an error is the answer.
    fn reserve(&mut self, budget: &Arc<MemoryBudget>) {
        if !self.reservation.resize(budget, self.connection.usage().bytes) {
            self.over = true;
            self.connection.io.link.next = Some(OVERLOADED);
        }
    }

    fn step(&mut self) -> Poll<Step> {
        let idle = self.over || self.connection.is_idle();
        let link = &mut self.connection.io.link;
        if (link.settled && idle) || self.over {
            return Poll::Ready(Step::Done(link.next.take()));
        }
        // The answer may be there while a notification that came with it is still being handled.
        match link.next.take_if(|_| !link.settled || link.accepts.takes_events()) {
            Some(message) => Poll::Ready(Step::More(message)),
            None => Poll::Pending,
        }
    }

    /// The code of the error that is the answer, if it is one.
    pub(crate) fn error(&self) -> Option<ErrorCode> {
        self.connection.io.link.error
    }

    pub(crate) fn shut_down(&self, grace: Duration) {
        self.connection.shut_down(grace);
    }

    /// Whether nothing is left of what it did: no handle, no task, no large buffer.
    fn is_as_new(&mut self) -> bool {
        self.connection.set_caller(None);
        self.reservation = Reservation::default();
        !self.over && self.connection.is_unshared() && self.connection.usage().bytes <= POOLED_BYTES
    }
}

/// Engines that wait for the next message: making one costs more than a small call.
#[derive(Default)]
#[expect(clippy::vec_box, reason = "they are taken out and used in their boxes")]
pub(crate) struct ExchangePool(Mutex<Vec<Box<Exchange>>>);

impl ExchangePool {
    pub(crate) fn take(&self, config: Config, routes: &Arc<Routes>) -> Box<Exchange> {
        let spare = lock(&self.0).pop();
        spare.unwrap_or_else(|| Box::new(Exchange::new(config, Arc::clone(routes))))
    }

    pub(crate) fn put(&self, mut exchange: Box<Exchange>) {
        if exchange.is_as_new() {
            let mut spare = lock(&self.0);
            if spare.len() < POOLED {
                spare.push(exchange);
            }
        }
    }
}
