//! Reading.

use std::io::{self, Read};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc;

/// What is read at once, at the most.
const READ: usize = 64 * 1024;

/// Reads one chunk ahead.
pub(crate) struct ThreadReader {
    chunks: mpsc::Receiver<io::Result<Vec<u8>>>,
    rest: Vec<u8>,
}

impl ThreadReader {
    pub(crate) fn new(name: &str, mut input: impl Read + Send + 'static) -> io::Result<Self> {
        let (sender, chunks) = mpsc::channel(1);
        std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            loop {
                let mut chunk = vec![0; READ];
                let read = match input.read(&mut chunk) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    read => read,
                };
                let read = read.map(|count| {
                    chunk.truncate(count);
                    chunk
                });
                let last = !matches!(&read, Ok(chunk) if !chunk.is_empty());
                if sender.blocking_send(read).is_err() || last {
                    break;
                }
            }
        })?;
        Ok(ThreadReader { chunks, rest: Vec::new() })
    }
}

impl AsyncRead for ThreadReader {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.rest.is_empty() {
            match ready!(this.chunks.poll_recv(cx)) {
                Some(chunk) => this.rest = chunk?,
                None => return Poll::Ready(Ok(())),
            }
        }
        let count = this.rest.len().min(buffer.remaining());
        buffer.put_slice(&this.rest[..count]);
        this.rest.drain(..count);
        Poll::Ready(Ok(()))
    }
}
