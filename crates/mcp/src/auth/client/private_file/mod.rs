//! Files that only their owner can read, by system.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(super) use unix::{create_folder, write};
#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub(super) use windows::{create_folder, write};
