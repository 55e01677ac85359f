//! What differs between systems: how a command is written, where a program is found, and colours.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;
#[cfg(any(windows, test))]
mod words;

#[cfg(unix)]
pub(crate) use unix::{LISTEN, enable_colour, join, program, split};
#[cfg(windows)]
pub(crate) use windows::{LISTEN, enable_colour, join, program, split};
