//! Descriptors 0 and 1.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Mutex;

use crate::sync::lock;
use crate::transport::ByteTransport;
use crate::transport::fd::{Reader, Writer, duplicate};
use crate::transport::output_watch::OutputWatch;

/// Opens standard input and output for a connection.
pub(crate) fn open((input, output): (OwnedFd, OwnedFd)) -> io::Result<ByteTransport> {
    let output_watch = Some(OutputWatch::of(duplicate(&output)?));
    Ok(ByteTransport { output_watch, ..ByteTransport::new(Reader::new(input)?, Writer::new(output)?) })
}

/// Copies of standard input and output for ourselves.
pub(crate) fn streams(guarded: bool) -> io::Result<(OwnedFd, OwnedFd)> {
    let input = duplicate(rustix::stdio::stdin())?;
    let output = output()?;
    if guarded {
        guard(&output)?;
    }
    Ok((input, output))
}

/// Where standard output led before it was guarded.
static GUARDED: Mutex<Option<OwnedFd>> = Mutex::new(None);

/// A copy of the real standard output, guarded or not.
fn output() -> io::Result<OwnedFd> {
    match &*lock(&GUARDED) {
        Some(output) => duplicate(output),
        None => duplicate(rustix::stdio::stdout()),
    }
}

/// Standard output, of which `output` is a copy, leads to standard error from here to the end of the
/// process: what has been printed may lie in a buffer, Rust's or C's, that is not written out before the
/// process exits.
fn guard(output: &OwnedFd) -> io::Result<()> {
    let mut guarded = lock(&GUARDED);
    if guarded.is_none() {
        let output = duplicate(output)?;
        rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
        *guarded = Some(output);
    }
    Ok(())
}
