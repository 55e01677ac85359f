//! Counts the bytes that this thread has counted, walked or moved, so that tests can tell what work grows with.

use std::cell::Cell;

thread_local! {
    static DONE: Cell<usize> = const { Cell::new(0) };
}

pub(super) fn add(bytes: usize) {
    DONE.set(DONE.get() + bytes);
}

/// How much work a function does.
pub(super) fn of(function: impl FnOnce()) -> usize {
    let before = DONE.get();
    function();
    DONE.get() - before
}
