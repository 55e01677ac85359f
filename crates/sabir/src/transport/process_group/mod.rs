//! A started process with everything that it starts: how the two are ended, and how they end with this process.
//!
//! | | Unix | Windows |
//! |---|---|---|
//! | what belongs together | a process group | a job object |
//! | [`Signal::Terminate`] | SIGTERM | Ctrl-Break, if this process has a console |
//! | [`Signal::Kill`] | SIGKILL | the job is terminated |
//! | this process dies | [`parent_death`](super::parent_death) | the kernel closes the job, which ends it |

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::{ProcessGroup, prepare, spawn};
#[cfg(windows)]
pub(crate) use windows::{ProcessGroup, prepare, spawn};

/// How a group is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Asks.
    Terminate,
    /// Does not ask.
    Kill,
}
