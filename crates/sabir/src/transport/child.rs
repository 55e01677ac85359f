//! A process that is started for the connection, and ended with it.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{ChildStderr, Command};
use tokio::sync::watch;

use super::{Io, Transport};

/// How long a process that closed its output may take to exit, before that counts as a plain end.
const EXIT_AFTER_CLOSE: Duration = Duration::from_millis(500);

/// A line of standard error that is longer is handed on in pieces.
const LONGEST_LINE: u64 = 64 * 1024;

/// Starts a process and talks to it over its standard input and output.
///
/// Its standard error is passed on to ours; see [`Child::stderr`]. When the connection ends, the process is
/// ended too: its input is closed, after [`Child::patience`] its process group gets SIGTERM, and after as
/// long again SIGKILL. On Linux it is also killed if this process dies.
///
/// ```no_run
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use sabir::{Router, transport};
/// use std::process::Command;
///
/// let peer = sabir::connect(transport::child(Command::new("adder"))?, Router::new()).await?;
/// let sum: i64 = peer.call("add", (1, 2)).await?;
/// # Ok(())
/// # }
/// ```
pub fn child(command: impl Into<Command>) -> io::Result<Transport> {
    Child::new(command).spawn()
}

/// What becomes of the lines that a process prints on standard error. They are always read.
pub enum Stderr {
    /// They go to our own standard error.
    Inherit,
    /// They are dropped.
    Discard,
    /// The function gets each line.
    Lines(Box<dyn FnMut(String) + Send>),
}

impl std::fmt::Debug for Stderr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Stderr::Inherit => "Inherit",
            Stderr::Discard => "Discard",
            Stderr::Lines(_) => "Lines",
        })
    }
}

/// A process to be started, for those who want more than [`child`] does by itself.
#[derive(Debug)]
pub struct Child {
    command: Command,
    stderr: Stderr,
    patience: Duration,
}

impl Child {
    /// Runs this command, when it is spawned.
    pub fn new(command: impl Into<Command>) -> Self {
        Child { command: command.into(), stderr: Stderr::Inherit, patience: Duration::from_secs(2) }
    }

    /// Sets what becomes of its standard error.
    #[must_use]
    pub fn stderr(mut self, stderr: Stderr) -> Self {
        self.stderr = stderr;
        self
    }

    /// Sets how long the process may take to exit by itself, and again after SIGTERM. 2 s.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Starts it.
    pub fn spawn(mut self) -> io::Result<Transport> {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped());
        self.command.stderr(match self.stderr {
            Stderr::Inherit => Stdio::inherit(),
            Stderr::Discard => Stdio::null(),
            Stderr::Lines(_) => Stdio::piped(),
        });
        // A group of its own, so that what it starts can be ended with it.
        self.command.process_group(0);
        #[cfg(target_os = "linux")]
        parent_death::kill_with_parent(&mut self.command);
        let mut process = self.command.spawn()?;
        let missing = || io::Error::other("the process has no pipe");
        let read = process.stdout.take().ok_or_else(missing)?;
        let write = process.stdin.take().ok_or_else(missing)?;
        if let (Stderr::Lines(lines), Some(stderr)) = (self.stderr, process.stderr.take()) {
            tokio::spawn(drain(stderr, lines));
        }
        let group = process.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let (exited, exit) = watch::channel(None);
        let (ended, process_ended) = watch::channel(false);
        let (release, released) = watch::channel(());
        tokio::spawn(async move {
            let text = match end(process, group, self.patience, released).await {
                Ok(status) => format!("the process ended with {status}"),
                Err(error) => format!("the process ended, {error}"),
            };
            exited.send_replace(Some(text));
            ended.send_replace(true);
        });
        Ok(Transport::new(move || {
            Ok(Io {
                epitaph: Some(Box::pin(epitaph(exit))),
                process: Some(process_ended),
                _keep: Box::new(release),
                ..Io::new(read, write)
            })
        }))
    }
}

/// Waits for the process, and sees to its end once the connection is gone.
async fn end(
    mut process: tokio::process::Child,
    group: Option<Pid>,
    patience: Duration,
    mut released: watch::Receiver<()>,
) -> io::Result<ExitStatus> {
    let signal = |signal| group.map(|group| kill_process_group(group, signal));
    tokio::select! {
        status = process.wait() => {
            // What it leaves behind in its group has lost its purpose.
            signal(Signal::TERM);
            return status;
        }
        // The connection is gone, and with it the process's input.
        _ = released.changed() => {}
    }
    for next in [Signal::TERM, Signal::KILL] {
        if let Ok(status) = tokio::time::timeout(patience, process.wait()).await {
            signal(Signal::TERM);
            return status;
        }
        signal(next);
    }
    process.wait().await
}

/// How the process ended, if it did.
async fn epitaph(mut exit: watch::Receiver<Option<String>>) -> Option<String> {
    let exited = tokio::time::timeout(EXIT_AFTER_CLOSE, exit.wait_for(Option::is_some)).await;
    exited.ok()?.ok()?.clone()
}

async fn drain(stderr: ChildStderr, mut lines: Box<dyn FnMut(String) + Send>) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    while matches!((&mut reader).take(LONGEST_LINE).read_until(b'\n', &mut line).await, Ok(count) if count > 0)
    {
        let text = String::from_utf8_lossy(&line);
        lines(text.trim_end_matches(['\n', '\r']).to_owned());
        line.clear();
    }
}

/// Only the child itself can ask to be killed with its parent, between fork and exec.
#[cfg(target_os = "linux")]
mod parent_death {
    #![allow(unsafe_code)]

    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    use tokio::process::Command;

    pub(super) fn kill_with_parent(command: &mut Command) {
        let parent = rustix::process::getpid();
        // SAFETY: between fork and exec only async-signal-safe calls are allowed. These are two plain
        // system calls; nothing is allocated and no lock is taken.
        unsafe {
            command.pre_exec(move || {
                set_parent_process_death_signal(Some(Signal::KILL))?;
                // The parent may have died before that took effect.
                if getppid() != Some(parent) {
                    return Err(std::io::ErrorKind::NotConnected.into());
                }
                Ok(())
            });
        }
    }
}
