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
pub(super) struct Start(Arc<Mutex<Vec<u8>>>);

impl Start {
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

pub(super) struct Peek<R> {
    read: R,
    start: Start,
}

impl<R> Peek<R> {
    pub(super) fn new(read: R) -> (Self, Start) {
        let start = Start::default();
        (Peek { read, start: start.clone() }, start)
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Peek<R> {
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
