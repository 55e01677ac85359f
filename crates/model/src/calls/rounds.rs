//! Calls that take several requests: an answer that asks for input carries a `requestState`, and the next request of the
//! call repeats it.

use std::hash::BuildHasher;
use std::time::Duration;

use hashbrown::HashMap;
use memchr::memmem;
use sabir_proto::{RawJson, Request, Response};

/// Answers that wait for their next request. Beyond it the older half is forgotten.
const WAITING: usize = 4096;

/// When the first request of a call was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    pub(super) began: Option<Duration>,
    order: u64,
}

/// By a hash of the state, which may be as long as a message.
#[derive(Default)]
pub(super) struct Rounds {
    waiting: HashMap<(u64, u64), Round>,
    hasher: foldhash::fast::RandomState,
    count: u64,
}

const STATE: &str = "requestState";

impl Rounds {
    /// When the call began that this request goes on with.
    pub(super) fn continued(&mut self, connection: u64, request: &Request<'_>) -> Option<Round> {
        if self.waiting.is_empty() {
            return None;
        }
        let key = self.key(connection, request.params.as_ref()?)?;
        self.waiting.remove(&key)
    }

    /// Whether this answer asks for another request. `began` is when the call did.
    pub(super) fn asks(&mut self, connection: u64, began: Option<Duration>, response: &Response<'_>) -> bool {
        let Ok(result) = &response.outcome else { return false };
        let Some(key) = self.key(connection, result) else { return false };
        if self.waiting.len() >= WAITING {
            let kept = self.count.saturating_sub(WAITING as u64 / 2);
            self.waiting.retain(|_, round| round.order > kept);
        }
        self.count += 1;
        self.waiting.insert(key, Round { began, order: self.count });
        true
    }

    fn key(&self, connection: u64, json: &RawJson<'_>) -> Option<(u64, u64)> {
        memmem::find(json.as_str().as_bytes(), STATE.as_bytes())?;
        let state = json.get(STATE)?;
        Some((connection, self.hasher.hash_one(state.as_str())))
    }
}
