//! Schemas that messages have to match: those that a session shows in its own answers, to `rpc.discover` and to
//! `tools/list`, and those that somebody gives. Which rule a mismatch breaks is decided by those who ask.
//!
//! The validator is heavy, and there only with the feature `schemas`. Without it nothing is learned or checked.

mod openrpc;
#[cfg_attr(not(feature = "schemas"), path = "unchecked.rs")]
mod schema;
mod tool;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use openrpc::{NotOpenRpc, OpenRpc};
use schema::Schema;
pub(crate) use tool::Tool;

/// Bytes that the schemas which all sessions show may take together, read and compiled. What is beyond it is not used.
const SEEN_BYTES: usize = 64 << 20;
/// The same for a document that somebody gives.
const GIVEN_BYTES: usize = 256 << 20;
/// Steps that it may take to make the schemas ready which all sessions show, whether that works out or not: about one for
/// each byte of what is compiled.
const SEEN_STEPS: usize = 256 << 20;
/// Bytes of values times parts of their schemas that may be compared, in all sessions.
const SEEN_COMPARISONS: usize = 1 << 30;
/// What one comparison costs beside, which is never held against an ordinary session.
#[cfg(feature = "schemas")]
const FREE_COMPARISON: usize = 1 << 20;
/// Bytes that each part of some JSON takes as a value, at most: an object in an object is the worst.
const PART_BYTES: usize = 128;

/// Something does not match.
pub(crate) struct Mismatch<'t> {
    /// The value, unless it is one that is missing.
    pub(crate) part: Option<&'t str>,
    pub(crate) what: String,
}

/// How many bytes schemas take that are still there. The figures are estimates from above: what a stranger sends must not
/// take more than it is counted as.
#[derive(Debug, Clone)]
pub(crate) struct MemoryBudget(Arc<Budget>);

#[derive(Debug)]
struct Budget {
    taken: AtomicUsize,
    most: usize,
    #[cfg_attr(not(feature = "schemas"), expect(dead_code, reason = "nothing is made ready without it"))]
    steps_left: AtomicUsize,
    #[cfg_attr(not(feature = "schemas"), expect(dead_code, reason = "nothing is compared without it"))]
    comparisons_left: AtomicUsize,
}

impl Default for MemoryBudget {
    fn default() -> Self {
        MemoryBudget::of(SEEN_BYTES, SEEN_STEPS, SEEN_COMPARISONS)
    }
}

impl MemoryBudget {
    fn of(most: usize, steps: usize, comparisons: usize) -> Self {
        MemoryBudget(Arc::new(Budget {
            taken: AtomicUsize::new(0),
            most,
            steps_left: AtomicUsize::new(steps),
            comparisons_left: AtomicUsize::new(comparisons),
        }))
    }

    fn given() -> Self {
        MemoryBudget::of(GIVEN_BYTES, usize::MAX, usize::MAX)
    }

    /// Takes room for so many bytes, if there is any left.
    fn take(&self, bytes: usize) -> Option<BudgetGuard> {
        let taken = self.0.taken.load(Ordering::Relaxed);
        if !cfg!(feature = "schemas") || taken.saturating_add(bytes) > self.0.most {
            return None;
        }
        self.0.taken.store(taken + bytes, Ordering::Relaxed);
        Some(BudgetGuard { budget: self.clone(), bytes })
    }
}

impl MemoryBudget {
    /// Counts steps that are taken, if there are any left. They are never given back.
    #[cfg(feature = "schemas")]
    fn spend(&self, steps: usize) -> Option<()> {
        let left = self.0.steps_left.load(Ordering::Relaxed);
        self.0.steps_left.store(left.saturating_sub(steps), Ordering::Relaxed);
        (left > 0).then_some(())
    }

    /// Counts a comparison that costs so much, if there is so much left. Small ones are free: a long session of ordinary
    /// calls is compared to its end.
    #[cfg(feature = "schemas")]
    fn compare(&self, cost: usize) -> Option<()> {
        let cost = cost.saturating_sub(FREE_COMPARISON);
        let left = self.0.comparisons_left.load(Ordering::Relaxed);
        self.0.comparisons_left.store(left.checked_sub(cost)?, Ordering::Relaxed);
        Some(())
    }
}

/// Whether a text may take more than so many bytes when it is read. Of a short one, nothing has to be counted.
#[cfg(feature = "schemas")]
fn may_exceed(text: &str, most: usize) -> bool {
    text.len() > most / (PART_BYTES + 1) && value_bytes(text) > most
}

/// Bytes that a text takes when it is read, at most.
fn value_bytes(text: &str) -> usize {
    let parts = text.bytes().filter(|byte| matches!(byte, b',' | b':' | b'[' | b'{')).count();
    text.len() + (parts + 1) * PART_BYTES
}

/// Room that is given back with what it was taken for.
#[derive(Debug)]
struct BudgetGuard {
    budget: MemoryBudget,
    bytes: usize,
}

impl Drop for BudgetGuard {
    fn drop(&mut self) {
        self.budget.0.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
