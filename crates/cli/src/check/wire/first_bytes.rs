//! Keeps the first bytes that are read: if they are not HTTP, they show what the server speaks instead.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

/// Enough to tell protocols apart.
const KEPT: usize = 16;

/// The first bytes, as far as they have come.
#[derive(Clone, Default)]
pub(super) struct Received(Arc<Mutex<Vec<u8>>>);

impl Received {
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

pub(super) struct FirstBytes<R> {
    read: R,
    start: Received,
}

impl<R> FirstBytes<R> {
    pub(super) fn new(read: R) -> (Self, Received) {
        let start = Received::default();
        (FirstBytes { read, start: start.clone() }, start)
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for FirstBytes<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.read).poll_read(cx, buffer);
        let mut start = self.start.0.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = KEPT - start.len();
        start.extend(buffer.filled()[before..].iter().take(wanted));
        drop(start);
        read
    }
}
