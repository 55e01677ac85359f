//! What a connection and a caller share of a call.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;

use sabir_proto::{CallKey, CallOptions, RequestKey};

use crate::peer::commands::{Command, Shared};
use crate::peer::relayed::KeptText;
use crate::sync::lock;
use crate::{CallError, RawJson};

/// Progress that nobody has looked at yet. The oldest is dropped first.
const KEPT_PROGRESS: usize = 256;
/// Bytes of it. The newest is kept, whatever its size.
const KEPT_PROGRESS_BYTES: usize = 256 << 10;

/// Where a connection puts what comes of a call.
#[derive(Default)]
pub(crate) struct CallSlot(pub(super) Mutex<Slot>);

#[derive(Default)]
pub(super) struct Slot {
    pub(super) key: Option<CallKey>,
    /// What the caller has asked for, until the call begins.
    pub(super) options: BegunOptions,
    /// It is part of a batch that has not been sent.
    pub(super) in_unsent_batch: bool,
    /// The connection has taken it up.
    pub(super) begun: bool,
    /// Progress was asked for when it began.
    pub(super) has_progress: bool,
    pub(super) outcome: Option<Outcome>,
    /// It has an outcome, or is about to have one.
    pub(super) over: bool,
    pub(super) progress: Unseen,
    /// The request that the call passes on, which gets the progress.
    pub(super) relayed: Option<(Arc<Shared>, RequestKey)>,
    pub(super) hook: Option<OnReply>,
    pub(super) waker: Option<Waker>,
    /// Kept for the next call, if it passes on that of another peer.
    pub(super) kept: Option<KeptText>,
}

pub(super) type Outcome = Result<RawJson<'static>, CallError>;

/// How a call is to be made, if its caller has said anything.
pub(crate) type BegunOptions = Option<Box<CallOptions<'static>>>;

pub(crate) static DEFAULT_OPTIONS: CallOptions<'static> = CallOptions {
    timeout: None,
    reset_on_progress: false,
    total_timeout: None,
    progress: false,
    trace: None,
    relay: false,
};

/// Sees the outcome before anything that came behind it.
pub(super) type OnReply = Box<dyn FnOnce(&Outcome) + Send>;

/// Progress that nobody has looked at, as much of it as is kept.
#[derive(Default)]
pub(super) struct Unseen {
    values: VecDeque<RawJson<'static>>,
    bytes: usize,
}

impl Unseen {
    fn push(&mut self, value: RawJson<'static>) {
        self.bytes += value.as_str().len();
        self.values.push_back(value);
        while self.values.len() > KEPT_PROGRESS || (self.bytes > KEPT_PROGRESS_BYTES && self.values.len() > 1)
        {
            self.pop();
        }
    }

    pub(super) fn pop(&mut self) -> Option<RawJson<'static>> {
        let value = self.values.pop_front()?;
        self.bytes -= value.as_str().len();
        Some(value)
    }
}

impl CallSlot {
    /// For a call of a batch.
    pub(crate) fn in_batch() -> Self {
        CallSlot(Mutex::new(Slot { in_unsent_batch: true, ..Slot::default() }))
    }

    /// For a call that passes on that of another peer.
    pub(super) fn relaying() -> Self {
        CallSlot(Mutex::new(Slot { kept: Some(KeptText::default()), ..Slot::default() }))
    }

    pub(super) fn kept_text(&mut self) -> Option<&mut KeptText> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).kept.as_mut()
    }

    /// Nothing is left of the call that it was for, but for memory.
    pub(super) fn reset(&mut self) {
        let slot = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Slot { options, key, in_unsent_batch, begun, has_progress, outcome, .. } = slot;
        (*options, *key, *outcome) = (None, None, None);
        (*in_unsent_batch, *begun, *has_progress, slot.over) = (false, false, false, false);
        if !slot.progress.values.is_empty() {
            slot.progress = Unseen::default();
        }
        (slot.relayed, slot.hook, slot.waker) = (None, None, None);
    }

    /// The batch is on its way.
    pub(crate) fn batch_sent(&self) {
        lock(&self.0).in_unsent_batch = false;
    }

    pub(crate) fn sent(&self, key: CallKey) {
        lock(&self.0).key = Some(key);
    }

    /// The same, with the texts that were sent.
    pub(crate) fn sent_with(
        &self,
        key: CallKey,
        method: Cow<'static, str>,
        params: Option<RawJson<'static>>,
    ) {
        let mut slot = lock(&self.0);
        slot.key = Some(key);
        if let Some(kept) = &mut slot.kept {
            kept.take_back(method, params);
        }
    }

    pub(crate) fn key(&self) -> Option<CallKey> {
        lock(&self.0).key
    }

    /// The connection takes the call up, unless it has ended. How it is to be made.
    pub(crate) fn begin(&self) -> Option<BegunOptions> {
        let mut slot = lock(&self.0);
        if slot.over {
            return None;
        }
        let options = slot.options.take();
        slot.begun = true;
        slot.has_progress = options.as_ref().is_some_and(|options| options.progress);
        Some(options)
    }

    /// Ends a call that the connection has not sent, and will not.
    pub(crate) fn end_unsent(&self, error: &CallError) {
        let slot = lock(&self.0);
        if slot.key.is_none() && !slot.over {
            drop(slot);
            self.end(Err(error.clone()));
        }
    }

    pub(crate) fn end(&self, outcome: Outcome) {
        self.end_by(|_| outcome);
    }

    /// The same with an outcome that has to be copied.
    pub(crate) fn end_with(&self, outcome: Result<RawJson<'_>, CallError>) {
        self.end_by(|kept| {
            outcome.map(|result| match kept {
                Some(kept) => kept.copy(result),
                None => result.into_owned(),
            })
        });
    }

    #[inline]
    fn end_by(&self, outcome: impl FnOnce(Option<&mut KeptText>) -> Outcome) {
        let mut slot = lock(&self.0);
        if slot.over {
            return;
        }
        slot.over = true;
        let outcome = outcome(slot.kept.as_mut());
        while let Some(hook) = slot.hook.take() {
            // It may do anything, and so look at this call.
            drop(slot);
            // The panic hook has printed it already; the connection must survive it.
            let _ = catch_unwind(AssertUnwindSafe(|| hook(&outcome)));
            slot = lock(&self.0);
        }
        slot.outcome = Some(outcome);
        if let Some(waker) = slot.waker.take() {
            drop(slot);
            waker.wake();
        }
    }

    /// The caller gives up: its hook is not called.
    pub(super) fn forget_hook(&self) {
        // Dropped outside of the lock: it may hold anything.
        let hook = lock(&self.0).hook.take();
        drop(hook);
    }

    pub(crate) fn progress(&self, value: RawJson<'static>) {
        let mut slot = lock(&self.0);
        if let Some((shared, key)) = &slot.relayed {
            let (shared, key) = (Arc::clone(shared), *key);
            drop(slot);
            // There will be newer progress.
            if !shared.is_full() {
                let _ = shared.command(Command::RelayProgress { key, params: value });
            }
            return;
        }
        slot.progress.push(value);
        if let Some(waker) = slot.waker.take() {
            drop(slot);
            waker.wake();
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        lock(&self.0).over
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may")]

    use super::*;

    #[test]
    fn progress_that_nobody_reads_takes_little_memory() {
        let mut unseen = Unseen::default();
        let text = |size: usize| RawJson::from_value(&"x".repeat(size)).unwrap();
        for _ in 0..1000 {
            unseen.push(text(10));
        }
        assert_eq!((unseen.values.len(), unseen.bytes), (KEPT_PROGRESS, KEPT_PROGRESS * 12));
        for _ in 0..10 {
            unseen.push(text(1 << 20));
        }
        assert_eq!((unseen.values.len(), unseen.bytes), (1, (1 << 20) + 2));
        assert!(unseen.pop().is_some() && unseen.pop().is_none());
        assert_eq!(unseen.bytes, 0);
    }
}
