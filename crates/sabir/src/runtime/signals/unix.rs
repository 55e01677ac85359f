//! Signals.

use tokio::signal::unix::{SignalKind, signal};

/// SIGTERM or SIGINT, from here on: what was answered must not be cut off by a signal that comes right after.
pub(crate) fn asked_to_stop() -> impl Future<Output = ()> + Send {
    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    async move {
        let (Ok(mut terminate), Ok(mut interrupt)) = signals else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}
