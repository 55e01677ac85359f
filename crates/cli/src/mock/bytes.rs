//! Faults that no library would make: an answer that is not JSON, a connection that is closed in the middle. The answer is
//! written with a mark in it, and what passes the bytes on replaces the mark, or stops there.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;

/// In the place of a result. Both have the same length, which is that of what they become.
pub(super) const GARBAGE: &str = "\"sabir-mock-fault-garbage-6f1d7c\"";
pub(super) const CLOSE: &str = "\"sabir-mock-fault-close---6f1d7c\"";

/// Text that is not JSON, whatever is around it, and as long as the mark. It is UTF-8: a WebSocket would refuse other text
/// before the client reads it.
const NOISE: &[u8] = b"}{  !! this is not JSON ! ]][[ ,,";

/// Passes on what is written, except for marks.
pub(super) struct Faulty<W> {
    inner: W,
    /// Bytes of a changed piece that are still to be written.
    pending: Vec<u8>,
    /// How many bytes of the caller's the pending ones stand for.
    taken: usize,
    closed: bool,
}

impl<W> Faulty<W> {
    pub(super) fn new(inner: W) -> Self {
        Faulty { inner, pending: Vec::new(), taken: 0, closed: false }
    }
}

/// A piece of what is written, as it is passed on if that is changed, and whether the connection ends behind it.
fn changed(bytes: &[u8]) -> (Option<Vec<u8>>, bool) {
    let find = |mark: &str| memchr::memmem::find(bytes, mark.as_bytes());
    if let Some(at) = find(CLOSE) {
        return (Some(bytes[..at].to_vec()), true);
    }
    match find(GARBAGE) {
        Some(at) => {
            let mut out = bytes.to_vec();
            for (to, from) in out[at..at + GARBAGE.len()].iter_mut().zip(NOISE.iter().cycle()) {
                *to = *from;
            }
            (Some(out), false)
        }
        None => (None, false),
    }
}

impl<W: AsyncWrite + Unpin> Faulty<W> {
    fn poll_pending(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.pending.is_empty() {
            let count = std::task::ready!(Pin::new(&mut self.inner).poll_write(cx, &self.pending))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.pending.drain(..count);
        }
        Poll::Ready(Ok(()))
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Faulty<W> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        if this.taken == 0 && !this.closed {
            match changed(bytes) {
                (None, _) => return Pin::new(&mut this.inner).poll_write(cx, bytes),
                (Some(pending), closes) => {
                    (this.pending, this.taken, this.closed) = (pending, bytes.len(), closes);
                }
            }
        }
        std::task::ready!(this.poll_pending(cx))?;
        if this.closed {
            let _ = std::task::ready!(Pin::new(&mut this.inner).poll_flush(cx));
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        Poll::Ready(Ok(std::mem::take(&mut this.taken)))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        std::task::ready!(self.poll_pending(cx))?;
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    #[test]
    fn marks_are_replaced() {
        assert_eq!((GARBAGE.len(), CLOSE.len()), (NOISE.len(), NOISE.len()));
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let write = |text: String| {
            let mut out = Vec::new();
            let is_written = runtime.block_on(Faulty::new(&mut out).write_all(text.as_bytes())).is_ok();
            (out, is_written)
        };
        assert_eq!(write("plain".to_owned()), (b"plain".to_vec(), true));
        let (out, is_written) = write(format!("{{\"result\":{GARBAGE}}}\n"));
        assert!(is_written && str::from_utf8(&out).is_ok());
        assert!(serde_json::from_slice::<serde_json::Value>(&out).is_err());
        assert_eq!(out.len(), "{\"result\":}\n".len() + GARBAGE.len());
        assert_eq!(write(format!("{{\"result\":{CLOSE}}}")), (b"{\"result\":".to_vec(), false));
    }
}
