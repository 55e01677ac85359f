//! A connection whose memory is part of its server's budget.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Sleep, sleep};

use crate::runtime::connection::Connection;
use crate::runtime::io::Io;
use crate::server::budget::{MemoryBudget, Reservation, STEP};

/// How often a connection that may not read looks whether there is memory again.
const RETRY: Duration = Duration::from_millis(100);

/// Runs a connection, and reserves what it holds.
///
/// When nearly all of the budget is spent, a connection that holds more than a little reads nothing more, and refuses
/// the requests that it has read. Others refuse what may make them hold more than that. One that goes on growing, by
/// answers to what runs already, is ended when all of it is spent, and what it holds is given back at once: there is
/// nothing left to refuse, and what it holds is not counted.
pub(crate) struct Metered<P> {
    pub(crate) connection: Connection<P>,
    budget: Arc<MemoryBudget>,
    reservation: Reservation,
    /// Bytes that the transport holds.
    held: fn(&P) -> usize,
    /// Bytes that it held when it last ran.
    used: usize,
    /// Others have spent so much that it must stay small.
    is_short: bool,
    /// Set while it may not read: when to look again.
    overloaded: Option<Pin<Box<Sleep>>>,
    /// It was asked to shut down.
    pub(crate) is_closing: bool,
}

impl<P: Io> Metered<P> {
    pub(crate) fn new(connection: Connection<P>, budget: Arc<MemoryBudget>, held: fn(&P) -> usize) -> Self {
        Metered {
            connection,
            budget,
            reservation: Reservation::default(),
            held,
            used: 0,
            is_short: false,
            overloaded: None,
            is_closing: false,
        }
    }

    /// Whether it may not read for lack of memory.
    pub(crate) fn is_overloaded(&self) -> bool {
        self.overloaded.is_some()
    }

    /// Lets it finish what is open.
    pub(crate) fn shut_down(&mut self, grace: Duration) {
        self.is_closing = true;
        self.connection.shut_down(grace);
    }

    /// Ends it at once: others need its place.
    pub(crate) fn make_room(&mut self) {
        self.is_closing = true;
        self.connection.make_room();
    }

    pub(crate) fn poll_run(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // Others may have spent the budget since it last ran.
        self.check_budget(cx);
        if self.connection.poll_run(cx).is_ready() {
            return Poll::Ready(());
        }
        self.used = self.connection.usage().bytes + (self.held)(&self.connection.io);
        if !self.reservation.resize(&self.budget, self.used) {
            self.abort(cx);
        }
        self.check_budget(cx);
        Poll::Pending
    }

    #[inline]
    fn check_budget(&mut self, cx: &mut Context<'_>) {
        let is_short = self.budget.is_nearly_spent();
        if is_short != self.is_short {
            self.is_short = is_short;
            self.connection.set_room(if is_short { STEP } else { usize::MAX });
        }
        let is_overloaded = self.used >= STEP && is_short;
        if is_overloaded || self.overloaded.is_some() {
            self.pause(cx, is_overloaded);
        }
    }

    #[cold]
    fn abort(&mut self, cx: &Context<'_>) {
        self.is_closing = true;
        self.connection.abort("the server has no memory left");
        self.used = 0;
        cx.waker().wake_by_ref();
    }

    #[cold]
    fn pause(&mut self, cx: &mut Context<'_>, is_overloaded: bool) {
        if is_overloaded != self.overloaded.is_some() {
            self.connection.set_overloaded(is_overloaded);
        }
        if !is_overloaded {
            self.overloaded = None;
            cx.waker().wake_by_ref();
            return;
        }
        let retry = self.overloaded.get_or_insert_with(|| Box::pin(sleep(RETRY)));
        if retry.as_mut().poll(cx).is_ready() {
            *retry = Box::pin(sleep(RETRY));
            cx.waker().wake_by_ref();
        }
    }
}

impl<P: Io + Unpin> Future for Metered<P> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.get_mut().poll_run(cx)
    }
}
