//! Whether the process of a client still runs.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::time::Duration;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

/// How often it is looked at. A client that dies closes its pipes at once; this is for those whose pipes others hold.
const INTERVAL: Duration = Duration::from_secs(3);

/// Waits until a process has ended. One that cannot be found has.
pub(crate) async fn ended(id: u32) {
    let Some(process) = system::Process::find(id) else { return };
    while process.is_running() {
        tokio::time::sleep(INTERVAL).await;
    }
}
