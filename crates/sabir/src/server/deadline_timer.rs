//! What ends a connection from outside: it takes too long, others need its place, or the server stops.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::server::activity::Activity;

/// What a connection is held by, from its first byte on. Looking at it costs next to nothing, so that can be
/// done whenever there is nothing else to do.
pub(crate) struct DeadlineTimer {
    /// Set to the deadline or to an earlier moment: deadlines move far more often than they are reached.
    timer_deadline: Pin<Box<Sleep>>,
    stop: watch::Receiver<bool>,
    stopped: Pin<Box<dyn Future<Output = ()> + Send>>,
    activity: Arc<Activity>,
    /// Whom all of them wake.
    waker: Option<Waker>,
    /// Whether the timer was polled since it was set, so that it wakes.
    is_armed: bool,
}

impl DeadlineTimer {
    pub(crate) fn new(stop: &watch::Receiver<bool>, deadline: Instant, activity: Arc<Activity>) -> Self {
        let mut told = stop.clone();
        DeadlineTimer {
            timer_deadline: Box::pin(sleep_until(deadline)),
            stop: stop.clone(),
            stopped: Box::pin(async move { drop(told.wait_for(|stop| *stop).await) }),
            activity,
            waker: None,
            is_armed: false,
        }
    }

    /// What others know of the connection.
    pub(crate) fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Whether the server stops.
    pub(crate) fn is_stopped(&self) -> bool {
        // It changes once.
        self.stop.has_changed().unwrap_or(true)
    }

    /// Waits for the deadline, if there is one, or until the connection is to make room for another one. Wakes when the
    /// server stops, too.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, deadline: Option<Instant>) -> Poll<()> {
        if !self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            self.waker = Some(cx.waker().clone());
            self.is_armed = false;
            self.activity.register(cx.waker());
            if !self.is_stopped() {
                let _ = self.stopped.as_mut().poll(cx);
            }
        }
        if self.activity.is_evicted() {
            return Poll::Ready(());
        }
        let Some(deadline) = deadline else { return Poll::Pending };
        loop {
            let rings = match std::mem::replace(&mut self.is_armed, true) {
                true => self.timer_deadline.is_elapsed(),
                false => self.timer_deadline.as_mut().poll(cx).is_ready(),
            };
            if rings && deadline <= Instant::now() {
                return Poll::Ready(());
            }
            if !rings && self.timer_deadline.deadline() <= deadline {
                return Poll::Pending;
            }
            self.timer_deadline.as_mut().reset(deadline);
            self.is_armed = false;
        }
    }
}
