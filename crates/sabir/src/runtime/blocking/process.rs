//! A process that is started for a connection, and ended with it.

use std::io;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::runtime::blocking::platform::{self, Rest, Stream};
use crate::transport::process_group::{self, ProcessGroup, Signal};

#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    group: ProcessGroup,
    /// Its output, to be read to its end: many programs crash if they cannot print.
    rest: Option<Rest>,
}

impl Process {
    /// Starts it. What it reads and writes is ours.
    pub(crate) fn start(mut command: Command) -> io::Result<(Stream, ChildStdin, Self)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        process_group::prepare(&mut command);
        let (mut child, group) = process_group::spawn(move || command.spawn(), |child| Some(child.id()))?;
        let missing = || io::Error::other("the process has no pipe");
        let input = child.stdout.take().ok_or_else(missing)?;
        let output = child.stdin.take().ok_or_else(missing)?;
        let (input, rest) = platform::output_of(input)?;
        Ok((input, output, Process { child, group, rest: Some(rest) }))
    }

    /// How it ended, if it did.
    pub(crate) fn exit_reason(&mut self) -> Option<String> {
        if !self.exits_within(Duration::from_millis(500)) {
            return None;
        }
        self.child.wait().ok().map(|status| format!("the process ended with {status}"))
    }

    fn exits_within(&mut self, timeout: Duration) -> bool {
        let end = Instant::now() + timeout;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() >= end {
                return false;
            }
            thread::sleep(Duration::from_millis(5));
        }
        true
    }
}

/// Ends the process.
impl Drop for Process {
    fn drop(&mut self) {
        // What it still prints is read from now on.
        drop(self.rest.take());
        for signal in [Signal::Terminate, Signal::Kill] {
            if self.exits_within(Duration::from_secs(2)) {
                break;
            }
            self.group.signal(signal);
        }
        let _ = self.child.wait();
    }
}
