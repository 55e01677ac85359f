//! What ends a connection from outside: it takes too long, or the server stops.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep_until};

/// What a connection is held by, from its first byte on. Looking at it costs next to nothing, so that can be
/// done whenever there is nothing else to do.
pub(crate) struct DeadlineTimer {
    /// Set to the deadline or to an earlier moment: deadlines move far more often than they are reached.
    timer_deadline: Pin<Box<Sleep>>,
    stop: watch::Receiver<bool>,
    stopped: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// Whom both of them wake.
    waker: Option<Waker>,
}

impl DeadlineTimer {
    pub(crate) fn new(stop: &watch::Receiver<bool>, deadline: Instant) -> Self {
        let mut told = stop.clone();
        DeadlineTimer {
            timer_deadline: Box::pin(sleep_until(deadline)),
            stop: stop.clone(),
            stopped: Box::pin(async move { drop(told.wait_for(|stop| *stop).await) }),
            waker: None,
        }
    }

    /// Whether the server stops.
    pub(crate) fn is_stopped(&self) -> bool {
        // It changes once.
        self.stop.has_changed().unwrap_or(true)
    }

    /// Waits for the deadline, if there is one, and wakes when the server stops.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, deadline: Option<Instant>) -> Poll<()> {
        let mut heard = self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
        if !heard {
            self.waker = Some(cx.waker().clone());
            if !self.is_stopped() {
                let _ = self.stopped.as_mut().poll(cx);
            }
        }
        let Some(deadline) = deadline else { return Poll::Pending };
        loop {
            let rings = if heard {
                self.timer_deadline.is_elapsed()
            } else {
                self.timer_deadline.as_mut().poll(cx).is_ready()
            };
            if rings && deadline <= Instant::now() {
                return Poll::Ready(());
            }
            if !rings && self.timer_deadline.deadline() <= deadline {
                return Poll::Pending;
            }
            self.timer_deadline.as_mut().reset(deadline);
            heard = false;
        }
    }
}
