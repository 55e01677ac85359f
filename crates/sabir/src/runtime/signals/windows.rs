//! What a console tells its processes.

use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown};

/// Ctrl-C, Ctrl-Break, a console that is closed or a system that is shut down, from here on: what was answered must
/// not be cut off by one that comes right after.
pub(crate) fn asked_to_stop() -> impl Future<Output = ()> + Send {
    let signals = (ctrl_c(), ctrl_break(), ctrl_close(), ctrl_shutdown());
    async move {
        let (Ok(mut interrupt), Ok(mut terminate), Ok(mut close), Ok(mut shutdown)) = signals else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = close.recv() => {}
            _ = shutdown.recv() => {}
        }
    }
}
