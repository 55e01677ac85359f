//! Being asked to stop.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::asked_to_stop;
#[cfg(windows)]
pub(crate) use windows::asked_to_stop;
