//! Keeps the first bytes of what a connection receives. If they are not HTTP, they show what the server speaks instead.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::sync::lock;
use crate::transport::forward_writes::forward_writes;

/// Enough to tell protocols apart.
const KEPT: usize = 16;

/// A stream that keeps the first bytes that it receives.
#[derive(Debug)]
pub struct FirstBytes<S> {
    stream: S,
    received: Received,
}

/// The first bytes that a [`FirstBytes`] has received since it was made, or since they were cleared.
#[derive(Debug, Clone, Default)]
pub struct Received(Arc<Mutex<Vec<u8>>>);

impl Received {
    /// At most 16, as far as they have come.
    pub fn bytes(&self) -> Box<[u8]> {
        lock(&self.0).as_slice().into()
    }

    pub(crate) fn clear(&self) {
        lock(&self.0).clear();
    }
}

impl<S> FirstBytes<S> {
    /// The stream, and what it receives.
    pub fn new(stream: S) -> (Self, Received) {
        let received = Received::default();
        (FirstBytes { stream, received: received.clone() }, received)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for FirstBytes<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        let mut kept = lock(&self.received.0);
        let wanted = KEPT - kept.len();
        kept.extend(buffer.filled()[before..].iter().take(wanted));
        drop(kept);
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for FirstBytes<S> {
    forward_writes!(stream);
}
