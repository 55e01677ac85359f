//! Files that only their owner can read, and locks between programs, by system.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(super) use unix::{create_folder, open, try_lock, write};
#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub(super) use windows::{create_folder, open, try_lock, write};
