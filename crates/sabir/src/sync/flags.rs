//! The flags by which handles and handlers tell the connection's task that there is something to do, so that it
//! need not lock to see that there is nothing. `tests/loom.rs` tries all orders in which threads can use them.

use crate::sync::{AtomicBool, Ordering};

/// Says that something behind a lock is not empty. It may be up while there is nothing, and is never down for
/// good while there is something, if each of these holds wherever it is used:
///
/// - it is raised under the lock, or after the lock was held to put something in;
/// - it is lowered under the lock where nothing is left, or before the lock is taken to take everything out.
///   Where it is lowered under the lock, it must be raised under the lock too.
#[derive(Debug, Default)]
pub(crate) struct Flag(AtomicBool);

impl Flag {
    #[inline]
    pub(crate) fn is_up(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Whether it was down. If it was not, whoever raised it has woken the connection, which has not taken anything out
    /// since: it need not be woken again.
    #[inline]
    pub(crate) fn raise(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }

    #[inline]
    pub(crate) fn lower(&self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Whether a task is among the ready ones already.
#[derive(Debug, Default)]
pub(crate) struct Queued(AtomicBool);

impl Queued {
    /// The task was woken. Whether it has to be put among the ready ones.
    #[inline]
    pub(crate) fn enter(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }

    /// The task is about to be polled. This reads what the last waker wrote, and so sees all that it had done
    /// before: with a plain store, a task could be polled without seeing what it was woken for, by a waker that
    /// relied on its being queued.
    #[inline]
    pub(crate) fn leave(&self) {
        self.0.swap(false, Ordering::AcqRel);
    }

    /// The slot has a new task, which nobody can have woken yet.
    #[inline]
    pub(crate) fn reset(&self) {
        self.0.store(false, Ordering::Release);
    }
}
