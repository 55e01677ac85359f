//! A stream of which something was read already.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::transport::forward_writes::forward_writes;

/// A stream with what was read of it put back.
pub(crate) struct Prefixed<S> {
    prefix: Vec<u8>,
    stream: S,
}

impl<S> Prefixed<S> {
    pub(crate) fn new(prefix: Vec<u8>, stream: S) -> Self {
        Prefixed { prefix, stream }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Prefixed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.prefix.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, buffer);
        }
        let count = self.prefix.len().min(buffer.remaining());
        buffer.put_slice(&self.prefix[..count]);
        self.prefix.drain(..count);
        if self.prefix.is_empty() {
            self.prefix = Vec::new();
            // Most often the rest is there already, and one read serves both.
            if buffer.remaining() > 0 {
                let _ = Pin::new(&mut self.stream).poll_read(cx, buffer)?;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Prefixed<S> {
    forward_writes!(stream);
}
