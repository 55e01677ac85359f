//! Which connection this thread runs for, so that what would wait for itself can know it.

use std::cell::{Cell, RefCell};
use std::ptr;

use crate::peer::commands::{CancelWords, Shared};

thread_local! {
    /// The connection whose engine runs on this thread.
    static DRIVEN: Cell<*const Shared> = const { Cell::new(ptr::null()) };
    /// The connection for which a handler runs on this thread of a pool.
    static HANDLED: Cell<*const Shared> = const { Cell::new(ptr::null()) };
    /// What the peer says whose cancelled handler is being dropped on this thread.
    static CANCELLED: RefCell<Option<CancelWords>> = const { RefCell::new(None) };
}

/// Whether the engine of this connection is running on this thread: whoever asks is one of its handlers, or
/// something that it calls.
pub(crate) fn is_driven_here(shared: &Shared) -> bool {
    ptr::eq(DRIVEN.get(), shared)
}

/// Whether whoever asks is a handler of this connection, in its engine or on a thread of a pool.
pub(crate) fn is_handled_here(shared: &Shared) -> bool {
    is_driven_here(shared) || ptr::eq(HANDLED.get(), shared)
}

/// This thread runs the engine of this connection, until the guard is dropped.
pub(crate) fn drive(shared: &Shared) -> Guard {
    Guard::Driven(DRIVEN.replace(shared))
}

/// This thread runs a handler of this connection, until the guard is dropped.
pub(crate) fn handle(shared: &Shared) -> Guard {
    Guard::Handled(HANDLED.replace(shared))
}

/// Puts back what was before. The pointers are compared and never followed.
pub(crate) enum Guard {
    Driven(*const Shared),
    Handled(*const Shared),
}

impl Drop for Guard {
    fn drop(&mut self) {
        match *self {
            Guard::Driven(before) => DRIVEN.set(before),
            Guard::Handled(before) => HANDLED.set(before),
        }
    }
}

/// Runs `drop_handler`, during which calls that are dropped can learn what the peer said.
pub(crate) fn with_cancel_words(words: CancelWords, drop_handler: impl FnOnce()) {
    CANCELLED.replace(Some(words));
    drop_handler();
    CANCELLED.replace(None);
}

/// What the peer said whose cancelled handler is being dropped, if that is what happens here.
pub(crate) fn cancel_words() -> Option<Box<CancelWords>> {
    CANCELLED.with_borrow(|words| words.clone().map(Box::new))
}
