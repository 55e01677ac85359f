//! Connections that have not shown the token yet. Anyone on the machine can make them, so there are few of them, and the
//! oldest makes room for the next: whoever keeps them open keeps nobody out.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::task::AbortHandle;

/// At the same time. A browser makes six.
const MOST: usize = 32;

#[derive(Default)]
pub(super) struct Strangers {
    waiting: Mutex<VecDeque<(u64, AbortHandle)>>,
}

impl Strangers {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<(u64, AbortHandle)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection has come.
    pub(super) fn add(&self, number: u64, connection: AbortHandle) {
        let mut waiting = self.waiting();
        waiting.retain(|(_, other)| !other.is_finished());
        if waiting.len() >= MOST
            && let Some((_, oldest)) = waiting.pop_front()
        {
            oldest.abort();
        }
        waiting.push_back((number, connection));
    }

    /// A connection has shown the token. It stays for as long as it wants to.
    pub(super) fn know(&self, number: u64) {
        self.waiting().retain(|(other, _)| *other != number);
    }
}
