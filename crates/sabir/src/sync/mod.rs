//! What threads share: locks, and the atomics that `flags` is made of. `tests/loom.rs` has others in their place.

pub(crate) mod flags;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use std::sync::atomic::{AtomicBool, Ordering};

/// Locks a mutex, also after a panic: what is behind the locks of these crates is never left half changed.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
