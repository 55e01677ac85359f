//! Telling whoever runs a server that it cannot accept connections: once in a while, not for each.

use std::sync::Mutex;
use std::time::Duration;
use std::{fmt, io};

use tokio::time::Instant;

use crate::sync::lock;

/// From one time that it is told to the next.
const EVERY: Duration = Duration::from_secs(10);

type OnError = Box<dyn Fn(&io::Error) + Send + Sync>;

/// Who is told.
#[derive(Default)]
pub(crate) struct AcceptErrors {
    on_error: Option<OnError>,
    last: Mutex<Option<Instant>>,
}

impl AcceptErrors {
    pub(crate) fn set(&mut self, on_error: OnError) {
        self.on_error = Some(on_error);
    }

    /// A connection could not be accepted.
    pub(crate) fn tell(&self, error: &io::Error) {
        let now = Instant::now();
        let mut last = lock(&self.last);
        if last.is_some_and(|last| now - last < EVERY) {
            return;
        }
        *last = Some(now);
        drop(last);
        #[cfg(feature = "tracing")]
        tracing::warn!(%error, "cannot accept connections");
        if let Some(on_error) = &self.on_error {
            on_error(error);
        }
    }
}

impl fmt::Debug for AcceptErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcceptErrors").finish_non_exhaustive()
    }
}
