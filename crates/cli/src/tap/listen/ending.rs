//! The end of a tap that listens: its connections end first, so that each has a last row.

use std::io;

use tokio::sync::watch;

use super::relay::Both;
use crate::tap::queue::Queue;

/// Why everything ends.
pub(super) const WHY: &str = "the tap has ended";

#[derive(Debug, Default)]
pub(super) struct Ending(watch::Sender<bool>);

impl Ending {
    /// Ends all connections.
    pub(super) fn begin(&self) {
        self.0.send_replace(true);
    }

    pub(super) fn has_begun(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the tap ends.
    pub(super) async fn wait(&self) {
        let mut told = self.0.subscribe();
        // It cannot fail: the other side is `self`.
        let _ = told.wait_for(|has_begun| *has_begun).await.map(drop);
    }

    /// How a connection ends whose bytes `both` passes on.
    pub(super) async fn unless(
        &self,
        both: impl Future<Output = io::Result<()>>,
        of: Both,
        queue: &Queue,
    ) -> io::Result<()> {
        tokio::select! {
            how = both => how,
            () = self.wait() => {
                of.into_iter().for_each(|stream| queue.end(stream));
                Err(io::Error::other(WHY))
            }
        }
    }
}
