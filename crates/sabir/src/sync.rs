//! Locks, and the atomics that `peer/flags.rs` is made of: `tests/loom.rs` has others in their place.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use std::sync::atomic::{AtomicBool, Ordering};

/// Locks a mutex, also after a panic: what is behind the locks of this crate is never left half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
