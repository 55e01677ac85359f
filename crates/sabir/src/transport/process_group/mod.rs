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

use std::io;
use std::process::{Child, Command};

#[cfg(unix)]
pub use unix::ProcessGroup;
#[cfg(unix)]
pub(crate) use unix::{prepare, spawn};
#[cfg(windows)]
pub use windows::ProcessGroup;
#[cfg(windows)]
pub(crate) use windows::{prepare, spawn};

/// How a group is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Asks.
    Terminate,
    /// Does not ask.
    Kill,
}

impl ProcessGroup {
    /// Starts a process in a group of its own. If this process dies, it is killed.
    ///
    /// It is for those who drive the process themselves; [`child`](super::child) makes a transport of one, and ends it with
    /// the connection. Nothing is ended when the group is dropped.
    pub fn spawn(mut command: Command) -> io::Result<(Child, ProcessGroup)> {
        prepare(&mut command);
        spawn(move || command.spawn(), |child| Some(child.id()))
    }

    /// Asks all of its processes to end: SIGTERM, or Ctrl-Break if this process has a console.
    pub fn terminate(&self) {
        self.signal(Signal::Terminate);
    }

    /// Ends all of its processes.
    pub fn kill(&self) {
        self.signal(Signal::Kill);
    }

    /// Whether all of its processes have ended.
    pub fn is_empty(&self) -> bool {
        self.has_ended()
    }
}
