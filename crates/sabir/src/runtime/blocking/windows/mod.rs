//! Handles and sockets, which can only be waited for by blocking: a thread reads, another writes.

mod overlapped;
mod stream;

use std::io;
use std::process::ChildStdout;
use std::task::Waker;
use std::time::Duration;

pub use overlapped::pipe;
use stream::Cancel;
pub use stream::Stream;

use crate::runtime::blocking::thread_io::ThreadIo;
use crate::transport::stdio::platform;

/// Standard input and output, guarded.
pub(crate) fn stdio() -> io::Result<(Stream, Stream)> {
    let (input, output) = platform::streams(true)?;
    Ok((Stream::input(input), Stream::output(output)))
}

/// The output of a process. The stream itself reads the rest of it: a second read of the same handle could not tell
/// which of the two is done.
pub(crate) fn output_of(output: ChildStdout) -> io::Result<(Stream, Rest)> {
    Ok((Stream::drained(output), Rest))
}

/// There is nothing left to read.
#[derive(Debug)]
pub(crate) struct Rest;

/// Two streams, and the wait for them.
pub(crate) struct StreamIo {
    threads: ThreadIo,
    /// Dropped behind `threads`, which know by then that they are to end.
    _cancel: [Option<Cancel>; 2],
}

impl StreamIo {
    pub(crate) fn new(mut input: Stream, mut output: Stream) -> io::Result<Self> {
        let _cancel = [input.cancel.take(), output.cancel.take()];
        Ok(StreamIo { threads: ThreadIo::new(input, output)?, _cancel })
    }

    pub(crate) fn waker(&self) -> Waker {
        self.threads.waker()
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        self.threads.write(bytes)
    }

    pub(crate) fn read(&mut self, space: &mut [u8]) -> io::Result<Option<usize>> {
        self.threads.read(space)
    }

    /// Threads read here: there is nothing to block in.
    pub(crate) fn can_block(&self) -> bool {
        false
    }

    pub(crate) fn block(&mut self) -> io::Result<bool> {
        self.wait(true, false, None)
    }

    pub(crate) fn wait(&mut self, read: bool, write: bool, timeout: Option<Duration>) -> io::Result<bool> {
        self.threads.wait(read, write, timeout)
    }
}
