//! The process's own standard input and output.

use std::io;
use std::os::fd::OwnedFd;

use super::fd::{Reader, Writer, duplicate};
use super::{Io, Transport};

/// Standard input and output, with the output guarded: what anything else in the process prints goes to
/// standard error, and the protocol stays clean. See [`Stdio::unguarded`].
///
/// The connection ends when the input does, after everything is answered; on SIGTERM and SIGINT it finishes
/// what is open, for as long as its [grace](Transport::grace).
pub fn stdio() -> Transport {
    Stdio { guarded: true }.transport()
}

/// Standard input and output, for those who want them otherwise than [`stdio`] has them.
#[derive(Debug)]
pub struct Stdio {
    guarded: bool,
}

impl Stdio {
    /// Leaves standard output as it is: whoever prints to it breaks the protocol.
    pub fn unguarded() -> Transport {
        Stdio { guarded: false }.transport()
    }

    fn transport(self) -> Transport {
        Transport::new(move || {
            let read = Reader::new(duplicate(rustix::stdio::stdin())?)?;
            let output = duplicate(rustix::stdio::stdout())?;
            let guard = if self.guarded { Some(Guard::new(&output)?) } else { None };
            let write = Writer::new(output)?;
            Ok(Io { heeds_signals: true, _keep: Box::new(guard), ..Io::new(read, write) })
        })
    }
}

/// While it lives, standard output leads to standard error.
#[derive(Debug)]
pub(crate) struct Guard {
    output: OwnedFd,
}

impl Guard {
    pub(crate) fn new(output: &OwnedFd) -> io::Result<Self> {
        let output = duplicate(output)?;
        rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
        Ok(Guard { output })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = rustix::stdio::dup2_stdout(&self.output);
    }
}
