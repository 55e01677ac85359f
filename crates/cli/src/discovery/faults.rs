//! Notices an answer that the session cannot take for one, and so leaves the call waiting.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sabir::Report;
use tokio::sync::Notify;

use crate::problem::unreadable;

/// How long a real answer may still come after one that cannot be read.
const GRACE: Duration = Duration::from_millis(500);

/// What was wrong with the last message, if it was meant as one.
#[derive(Debug, Clone, Default)]
pub(super) struct Faults(Arc<State>);

#[derive(Debug, Default)]
struct State {
    why: Mutex<Option<String>>,
    came: Notify,
}

impl Faults {
    pub(super) fn report(&self, report: &Report<'_>) {
        let why = match report {
            // Programs print other things, too.
            Report::NotJson { text, error } if text.trim_ascii_start().starts_with(b"{") => {
                format!("the answer {}", unreadable(error))
            }
            Report::Invalid(invalid) => format!("the answer breaks the protocol: {}", invalid.fault),
            _ => return,
        };
        *self.0.why.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        self.0.came.notify_one();
    }

    /// Waits for a faulty message, and a moment more.
    pub(super) async fn wait(&self) -> String {
        loop {
            let why = self.0.why.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(why) = why {
                tokio::time::sleep(GRACE).await;
                return why;
            }
            self.0.came.notified().await;
        }
    }
}
