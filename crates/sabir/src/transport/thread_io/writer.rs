//! Writing.

use std::io::{self, Write};
use std::pin::Pin;
use std::sync::mpsc as std_mpsc;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;
use tokio::sync::mpsc;

/// What is written at once, at the most.
const WRITE: usize = 256 * 1024;

/// Writes one chunk at a time. A write is ready once the thread has really written: whoever has got that answer may
/// end the process. Until then it has to be polled with the same bytes, to which more may be added.
pub(crate) struct ThreadWriter {
    /// `None` once it is shut down.
    jobs: Option<std_mpsc::Sender<Vec<u8>>>,
    done: mpsc::Receiver<(Vec<u8>, io::Result<()>)>,
    /// The memory of the last chunk.
    spare: Vec<u8>,
    writing: bool,
}

impl ThreadWriter {
    pub(crate) fn new(name: &str, mut output: impl Write + Send + 'static) -> io::Result<Self> {
        let (jobs, receiver) = std_mpsc::channel::<Vec<u8>>();
        let (sender, done) = mpsc::channel(1);
        std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            for chunk in receiver {
                let written = output.write_all(&chunk).and_then(|()| output.flush());
                if sender.blocking_send((chunk, written)).is_err() {
                    break;
                }
            }
        })?;
        Ok(ThreadWriter { jobs: Some(jobs), done, spare: Vec::new(), writing: false })
    }
}

impl AsyncWrite for ThreadWriter {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if !this.writing {
            let mut chunk = std::mem::take(&mut this.spare);
            chunk.clear();
            chunk.extend_from_slice(&bytes[..bytes.len().min(WRITE)]);
            let sent = this.jobs.as_ref().map(|jobs| jobs.send(chunk));
            if !matches!(sent, Some(Ok(()))) {
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            }
            this.writing = true;
        }
        let Some((chunk, written)) = ready!(this.done.poll_recv(cx)) else {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        };
        this.writing = false;
        let count = chunk.len().min(bytes.len());
        this.spare = chunk;
        Poll::Ready(written.map(|()| count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// The thread ends, and closes its stream.
    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.jobs = None;
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Read;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::transport::thread_io::ThreadReader;

    #[tokio::test]
    async fn everything_goes_through() {
        let (read, write) = io::pipe().unwrap();
        let mut reader = ThreadReader::new("reader", read).unwrap();
        let mut writer = ThreadWriter::new("writer", write).unwrap();
        let text: Vec<u8> = (0..3_000_000u32).map(|n| n.to_le_bytes()[0]).collect();
        let sent = text.clone();
        let writing = tokio::spawn(async move {
            writer.write_all(&sent).await.unwrap();
            writer.shutdown().await.unwrap();
        });
        let mut got = Vec::new();
        reader.read_to_end(&mut got).await.unwrap();
        assert!(got == text);
        writing.await.unwrap();
    }

    /// What no reader has taken yet does not count as written.
    #[tokio::test]
    async fn a_write_is_ready_once_it_is_done() {
        let (mut read, write) = io::pipe().unwrap();
        let mut writer = ThreadWriter::new("writer", write).unwrap();
        // More than a pipe holds.
        let chunk = vec![b'x'; WRITE];
        let mut writing = std::pin::pin!(writer.write(&chunk));
        assert!(tokio::time::timeout(Duration::from_millis(100), &mut writing).await.is_err());
        let reading = tokio::task::spawn_blocking(move || {
            read.read_exact(&mut vec![0; WRITE]).unwrap();
            read
        });
        assert_eq!(writing.await.unwrap(), WRITE);
        drop(reading.await.unwrap());
        let error = writer.write(b"x").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
