//! The engine's side of a session.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use sabir_proto::{Cause, Outgoing};
use tokio::time::{Sleep, sleep};

use crate::runtime::message_transport::{Incoming, Link};
use crate::server::http::session::hub::Hub;

/// How long the others of a session wait for a stream that is not read.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) struct SessionLink {
    hub: Arc<Hub>,
    /// Runs while a stream has no room.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl SessionLink {
    pub(crate) fn new(hub: Arc<Hub>) -> Self {
        SessionLink { hub, stalled: None }
    }
}

impl SessionLink {
    /// Bytes that wait to be taken in, or to be sent.
    pub(crate) fn held(&self) -> usize {
        self.hub.held()
    }
}

impl Link for SessionLink {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Incoming> {
        self.hub.poll_receive(cx)
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, outgoing: Outgoing<'_>) -> Poll<io::Result<()>> {
        if self.hub.poll_send(cx, outgoing).is_ready() {
            self.stalled = None;
            return Poll::Ready(Ok(()));
        }
        // A stalled reader is cut off. It may resume, and receives what it has missed.
        ready!(self.stalled.get_or_insert_with(|| Box::pin(sleep(CONNECT_TIMEOUT))).as_mut().poll(cx));
        self.stalled = None;
        self.hub.cut_off(outgoing.origin);
        self.hub.poll_send(cx, outgoing).map(Ok)
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _: &mut Context<'_>, _: &Cause) -> Poll<()> {
        self.hub.close();
        Poll::Ready(())
    }
}
