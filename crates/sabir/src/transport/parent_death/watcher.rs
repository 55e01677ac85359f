//! A watcher for systems whose kernel tells nobody that a parent has died, such as macOS.
//!
//! The watcher is `/bin/sh`, which waits for the end of a pipe whose other end only this process has. The kernel
//! closes that end however this process dies, and the watcher kills the process group.

use std::io::{self, PipeWriter};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::Pid;

/// Nothing is ever written: `read` returns at the end of the pipe.
const SCRIPT: &str = r#"read -r line; kill -s KILL -- "-$0""#;

/// Nothing has to be asked for before the process starts.
pub(crate) fn prepare(_: &mut Command) {}

/// Starts a process, from whichever thread.
pub(crate) fn spawn<T>(start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    start()
}

/// Watches for as long as this lives.
#[derive(Debug)]
pub(crate) struct Guard(Option<(Child, PipeWriter)>);

/// Has a process group killed if this process dies. If no watcher can be started, all that the group learns is the
/// end of its input.
pub(crate) fn guard(group: Pid) -> Guard {
    Guard(watch(group).ok())
}

fn watch(group: Pid) -> io::Result<(Child, PipeWriter)> {
    let (end, alive) = io::pipe()?;
    let watcher = Command::new("/bin/sh")
        .args(["-c", SCRIPT, &group.as_raw_nonzero().to_string()])
        .stdin(end)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Out of the way of signals from a terminal, and of those to the group that it watches.
        .process_group(0)
        .spawn()?;
    Ok((watcher, alive))
}

/// There is nothing left to watch for. The watcher must not see the end of its pipe first.
impl Drop for Guard {
    fn drop(&mut self) {
        if let Some((mut watcher, alive)) = self.0.take() {
            let _ = watcher.kill();
            let _ = watcher.wait();
            drop(alive);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    /// A shell with a process of its own, both of which would stay for a minute.
    fn group() -> (Child, Pid) {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & echo; wait"]).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().unwrap();
        io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let pid = Pid::from_child(&child);
        (child, pid)
    }

    /// What the death of this process does is to close the pipe.
    #[test]
    fn the_end_of_the_pipe_kills_the_group() {
        let (mut child, pid) = group();
        let (mut watcher, alive) = watch(pid).unwrap();
        drop(alive);
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        // The other process holds the output open until it is killed, too.
        assert_eq!(io::Read::read(child.stdout.as_mut().unwrap(), &mut [0]).unwrap(), 0);
        watcher.wait().unwrap();
    }

    #[test]
    fn a_watcher_that_is_dropped_kills_nobody() {
        let (mut child, pid) = group();
        drop(guard(pid));
        assert_eq!(child.try_wait().unwrap(), None);
        rustix::process::kill_process_group(pid, rustix::process::Signal::KILL).unwrap();
        child.wait().unwrap();
    }
}
