//! Streams that can only block, read and written by threads that nobody waits for: the process may exit while one is
//! blocked. On Unix only a terminal is such a stream.

mod reader;
#[cfg(any(windows, test))]
mod writer;

pub(super) use reader::ThreadReader;
#[cfg(windows)]
pub(super) use writer::ThreadWriter;
