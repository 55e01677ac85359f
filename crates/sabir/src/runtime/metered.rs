//! A connection whose memory is part of its server's budget.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::peer::commands::Command;
use crate::runtime::connection::Connection;
use crate::runtime::io::Io;
use crate::server::budget::{MemoryBudget, Reservation};

/// Runs a connection, and reserves what it holds. Once there is no room for that it is shut down: what it has open is
/// answered with an error.
pub(crate) struct Metered<P> {
    pub(crate) connection: Connection<P>,
    budget: Arc<MemoryBudget>,
    reservation: Reservation,
    /// Bytes that the transport holds.
    held: fn(&P) -> usize,
    /// It was asked to shut down.
    pub(crate) is_closing: bool,
}

impl<P: Io> Metered<P> {
    pub(crate) fn new(connection: Connection<P>, budget: Arc<MemoryBudget>, held: fn(&P) -> usize) -> Self {
        Metered { connection, budget, reservation: Reservation::default(), held, is_closing: false }
    }

    /// Lets it finish what is open.
    pub(crate) fn shut_down(&mut self, grace: Duration) {
        self.is_closing = true;
        let _ = self.connection.engine.context.peer.shared.command(Command::Shutdown(grace));
    }

    pub(crate) fn poll_run(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.connection.poll_run(cx).is_ready() {
            return Poll::Ready(());
        }
        let used = self.connection.engine.context.session.usage().bytes + (self.held)(&self.connection.io);
        if !self.reservation.resize(&self.budget, used) && !self.is_closing {
            self.shut_down(Duration::ZERO);
        }
        Poll::Pending
    }
}

impl<P: Io + Unpin> Future for Metered<P> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.get_mut().poll_run(cx)
    }
}
