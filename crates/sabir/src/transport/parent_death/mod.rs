//! Processes that end when this one dies, on Unix. Windows has job objects for this
//! ([`process_group`](super::process_group)).
//!
//! | system | how |
//! |---|---|
//! | Linux | the kernel kills the process: it asks for that itself, before it becomes the other program |
//! | others | a watcher, a small shell process, kills the process group once a pipe from us is closed |

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(not(target_os = "linux"), test))]
#[cfg_attr(target_os = "linux", expect(dead_code, reason = "only its tests run on Linux"))]
mod watcher;

#[cfg(target_os = "linux")]
pub(super) use linux::{Guard, guard, prepare, spawn};
#[cfg(not(target_os = "linux"))]
pub(super) use watcher::{Guard, guard, prepare, spawn};
