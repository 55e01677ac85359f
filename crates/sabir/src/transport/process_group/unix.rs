//! Process groups.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Pid, kill_process_group, test_kill_process_group};

use super::Signal;
use crate::transport::parent_death;

/// A group of its own, so that what the process starts can be ended with it.
pub(crate) fn prepare(command: &mut Command) {
    command.process_group(0);
    parent_death::prepare(command);
}

/// Starts a process that was prepared. `id` is how its number is asked for.
pub(crate) fn spawn<P: Send + 'static>(
    start: impl FnOnce() -> io::Result<P> + Send + 'static,
    id: impl FnOnce(&P) -> Option<u32>,
) -> io::Result<(P, ProcessGroup)> {
    let process = parent_death::spawn(start)?;
    let group = id(&process).and_then(|id| Pid::from_raw(id.cast_signed()));
    let gone = || io::Error::other("the process has no number");
    let id = group.ok_or_else(gone)?;
    Ok((process, ProcessGroup { id, _guard: parent_death::guard(id) }))
}

/// A process with everything that it starts: a process group, on Windows a job object.
#[derive(Debug)]
pub struct ProcessGroup {
    id: Pid,
    _guard: parent_death::Guard,
}

impl ProcessGroup {
    pub(crate) fn signal(&self, signal: Signal) {
        let signal = match signal {
            Signal::Terminate => rustix::process::Signal::TERM,
            Signal::Kill => rustix::process::Signal::KILL,
        };
        let _ = kill_process_group(self.id, signal);
    }

    /// Whether all processes have ended.
    pub(super) fn has_ended(&self) -> bool {
        test_kill_process_group(self.id).is_err()
    }
}
