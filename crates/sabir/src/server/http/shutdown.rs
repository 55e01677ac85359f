//! The signal to stop, for everything that a service has open.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::watch;

/// Tells everything that is open to end gracefully.
#[derive(Debug, Clone)]
pub(crate) struct Stop {
    stopping: watch::Sender<bool>,
    /// How long what is open may take to finish.
    pub(crate) grace: Duration,
}

impl Stop {
    pub(crate) fn new(stopping: watch::Sender<bool>, grace: Duration) -> Self {
        Stop { stopping, grace }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    pub(crate) fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Is notified of the stop, also if it came before.
    pub(crate) fn subscribe(&self) -> watch::Receiver<bool> {
        let mut stopping = self.stopping.subscribe();
        if *stopping.borrow() {
            stopping.mark_changed();
        }
        stopping
    }

    /// Waits for the stop.
    pub(crate) async fn wait(self) {
        let _ = self.stopping.subscribe().wait_for(|stopping| *stopping).await;
    }
}

/// The same, to be polled.
pub(crate) struct Stopping(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Stopping {
    pub(crate) fn new(stop: &Stop) -> Self {
        Stopping(Some(Box::pin(stop.clone().wait())))
    }

    /// Whether it is time, said once.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        let stopped = self.0.as_mut().is_some_and(|stop| matches!(stop.as_mut().poll(cx), Poll::Ready(())));
        if stopped {
            self.0 = None;
        }
        stopped
    }
}
