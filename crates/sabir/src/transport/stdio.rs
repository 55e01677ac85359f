//! The process's own standard input and output.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Mutex;

use super::fd::{Reader, Writer, duplicate};
use super::output_watch::OutputWatch;
use super::{ByteTransport, Transport};
use crate::peer::commands::lock;

/// Standard input and output, with the output guarded: what anything else in the process prints goes to
/// standard error, for the rest of the process's life, and the protocol stays clean. See
/// [`Stdio::unguarded`].
///
/// The connection ends when the input does, after everything is answered. Signals end the process, as they do
/// without it; with [`with_signals`](Transport::with_signals), SIGTERM and SIGINT let it finish what is open.
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
            let output = output()?;
            if self.guarded {
                guard(&output)?;
            }
            let output_watch = Some(OutputWatch::of(duplicate(&output)?));
            Ok(ByteTransport { output_watch, ..ByteTransport::new(read, Writer::new(output)?) })
        })
    }
}

/// Where standard output led before it was guarded.
static GUARDED: Mutex<Option<OwnedFd>> = Mutex::new(None);

/// A copy of the real standard output, guarded or not.
pub(crate) fn output() -> io::Result<OwnedFd> {
    match &*lock(&GUARDED) {
        Some(output) => duplicate(output),
        None => duplicate(rustix::stdio::stdout()),
    }
}

/// Standard output, of which `output` is a copy, leads to standard error from here to the end of the
/// process: what has been printed may lie in a buffer, Rust's or C's, that is not written out before the
/// process exits.
pub(crate) fn guard(output: &OwnedFd) -> io::Result<()> {
    let mut guarded = lock(&GUARDED);
    if guarded.is_none() {
        let output = duplicate(output)?;
        rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
        *guarded = Some(output);
    }
    Ok(())
}
