//! Whether anybody still reads what is written.
//!
//! The end of the input says nothing about that: `echo … | server` wants its answer. But a client that has
//! died will never read one, and a handler that goes on for it would keep the process alive.
//!
//! On Windows only a write tells that nobody reads: the writing end of a pipe cannot be asked.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::OutputWatch;
#[cfg(windows)]
pub(crate) use windows::OutputWatch;
