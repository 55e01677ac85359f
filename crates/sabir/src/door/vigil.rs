//! Watches over a connection of HTTP: what takes too long is ended.
//!
//! One look every few seconds costs less than a timer for each request would.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// How often is looked.
const LOOK: Duration = Duration::from_secs(2);

/// What may take how long.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// From the first byte of a request to the end of its head.
    pub(super) head: Duration,
    /// From the end of an answer to the next request.
    pub(super) idle: Duration,
    /// While the peer reads nothing of what is to be sent.
    pub(super) stall: Duration,
}

/// What is known of a connection: moments are in milliseconds since its start, and 0 is never.
pub(super) struct Watch {
    start: Instant,
    /// Since when a head is being read.
    head: AtomicU64,
    /// When the last answer ended, or something was read.
    active: AtomicU64,
    /// Since when nothing can be written.
    stuck: AtomicU64,
    /// Requests that are being answered.
    busy: AtomicUsize,
    /// A head named two lengths of its body.
    two_lengths: AtomicBool,
}

impl Watch {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Watch {
            start: Instant::now(),
            head: AtomicU64::new(0),
            active: AtomicU64::new(1),
            stuck: AtomicU64::new(0),
            busy: AtomicUsize::new(0),
            two_lengths: AtomicBool::new(false),
        })
    }

    fn now(&self) -> u64 {
        (self.start.elapsed().as_millis() as u64).max(1)
    }

    /// Whether a head named both a length and a transfer encoding, which smugglers do.
    pub(super) fn saw_two_lengths(&self) -> bool {
        self.two_lengths.load(Relaxed)
    }

    /// A request has come. It is busy until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> Busy {
        self.head.store(0, Relaxed);
        self.busy.fetch_add(1, Relaxed);
        Busy(Arc::clone(self))
    }

    fn read(&self, bytes: &[u8]) {
        if self.busy.load(Relaxed) > 0 {
            return;
        }
        if self.head.load(Relaxed) == 0 {
            self.head.store(self.now(), Relaxed);
        }
        if names_two_lengths(bytes) {
            self.two_lengths.store(true, Relaxed);
        }
    }

    /// Whether something has taken too long.
    fn is_over(&self, patience: Patience) -> bool {
        let now = self.now();
        let past =
            |since: u64, limit: Duration| since > 0 && Duration::from_millis(now - since.min(now)) > limit;
        let waiting = self.busy.load(Relaxed) == 0;
        past(self.stuck.load(Relaxed), patience.stall)
            || waiting && past(self.head.load(Relaxed), patience.head)
            || waiting && self.head.load(Relaxed) == 0 && past(self.active.load(Relaxed), patience.idle)
    }

    /// Waits until something has taken too long.
    pub(super) async fn over(&self, patience: Patience) {
        let mut look = tokio::time::interval(LOOK);
        loop {
            look.tick().await;
            if self.is_over(patience) {
                return;
            }
        }
    }
}

/// Both `Content-Length` and `Transfer-Encoding`, in the head that these bytes begin with.
fn names_two_lengths(bytes: &[u8]) -> bool {
    let named = |name: &[u8], head: &[u8]| {
        head.split(|&byte| byte == b'\n')
            .any(|line| line.len() > name.len() && line[..name.len()].eq_ignore_ascii_case(name))
    };
    // Most heads name no transfer encoding in either usual spelling, and most of the rest do it honestly.
    if memchr::memmem::find(bytes, b"ransfer-").is_none()
        && memchr::memmem::find(bytes, b"RANSFER-").is_none()
    {
        return false;
    }
    let end = memchr::memmem::find(bytes, b"\r\n\r\n").unwrap_or(bytes.len());
    named(b"transfer-encoding", &bytes[..end]) && named(b"content-length", &bytes[..end])
}

/// A request that is being answered.
pub(super) struct Busy(Arc<Watch>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.active.store(self.0.now(), Relaxed);
        self.0.busy.fetch_sub(1, Relaxed);
    }
}

/// A stream that is watched.
pub(super) struct Watched<S> {
    pub(super) stream: S,
    pub(super) watch: Arc<Watch>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        self.watch.read(&buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> Watched<S> {
    fn wrote<T>(&self, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.watch.stuck.store(0, Relaxed);
        } else if self.watch.stuck.load(Relaxed) == 0 {
            self.watch.stuck.store(self.watch.now(), Relaxed);
        }
        written
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.wrote(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.wrote(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.wrote(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// The body of an answer: as long as it is there, its connection is busy.
pub(super) struct BusyBody<B> {
    pub(super) body: B,
    pub(super) _busy: Busy,
}

impl<B: Body<Data = Bytes> + Unpin> Body for BusyBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_lengths_are_seen_in_a_head_and_not_in_a_body() {
        for (head, want) in [
            ("POST / HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n", true),
            ("POST / HTTP/1.1\r\nTRANSFER-ENCODING: chunked\r\ncontent-length: 4\r\n\r\n", true),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", false),
            ("POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\ntransfer-encoding: x", false),
        ] {
            assert_eq!(names_two_lengths(head.as_bytes()), want, "{head}");
        }
    }
}
