//! The signal to stop, for everything that a service has open.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::watch;

/// Tells everything that is open to end in good order.
#[derive(Debug, Clone)]
pub(crate) struct Stop {
    told: watch::Sender<bool>,
    /// How long what is open may take to finish.
    pub(crate) grace: Duration,
}

impl Stop {
    pub(crate) fn new(told: watch::Sender<bool>, grace: Duration) -> Self {
        Stop { told, grace }
    }

    pub(crate) fn is_told(&self) -> bool {
        *self.told.borrow()
    }

    pub(crate) fn tell(&self) {
        self.told.send_replace(true);
    }

    /// Tells whether it is told, also if that was before.
    pub(crate) fn subscribe(&self) -> watch::Receiver<bool> {
        let mut told = self.told.subscribe();
        if *told.borrow() {
            told.mark_changed();
        }
        told
    }

    /// Waits until it is told.
    pub(crate) async fn wait(self) {
        let _ = self.told.subscribe().wait_for(|told| *told).await;
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
        let told = self.0.as_mut().is_some_and(|stop| matches!(stop.as_mut().poll(cx), Poll::Ready(())));
        if told {
            self.0 = None;
        }
        told
    }
}
