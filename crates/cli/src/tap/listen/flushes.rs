//! When a body breaks, hyper ends the connection at once, and drops what it has not written yet. So whoever passes a body on
//! holds its failure back until all that came before has been written.
//!
//! In the same way, hyper gives a target up that takes no more of a request, though it may have answered already. So what such a
//! target does not take is dropped, and why is told when it has nothing more to say.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Duplex;

/// How often a stream was flushed: hyper does that when nothing is left to write.
#[derive(Debug, Default)]
pub(super) struct Flushes(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    count: u64,
    waker: Option<Waker>,
}

impl Flushes {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn count(&self) -> u64 {
        self.state().count
    }

    /// Ready once there were more than `count`.
    pub(super) fn poll_more(&self, count: u64, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if state.count > count {
            return Poll::Ready(());
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    fn add(&self) {
        let mut state = self.state();
        state.count += 1;
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// A stream whose flushes are counted.
pub(super) struct Counted {
    pub(super) stream: Duplex,
    pub(super) flushes: Arc<Flushes>,
    /// Whether it is that of a target, whose answer counts more than whether it takes the request.
    pub(super) is_target: bool,
    /// Why it takes no more.
    pub(super) failed: Option<io::Error>,
}

impl Counted {
    /// What a write of so many bytes comes to.
    fn written(&mut self, length: usize, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(Err(error)) if self.is_target => {
                self.failed = Some(error);
                Poll::Ready(Ok(length))
            }
            written => written,
        }
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = to.filled().len();
        ready!(self.stream.as_mut().poll_read(cx, to))?;
        match &self.failed {
            Some(error) if to.filled().len() == before => Poll::Ready(Err(error.kind().into())),
            _ => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncWrite for Counted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.failed.is_some() {
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = self.stream.as_mut().poll_write(cx, bytes);
        self.written(bytes.len(), written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length = parts.iter().map(|part| part.len()).sum();
        if self.failed.is_some() {
            return Poll::Ready(Ok(length));
        }
        let written = self.stream.as_mut().poll_write_vectored(cx, parts);
        self.written(length, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.failed.is_none()
            && let Err(error) = ready!(self.stream.as_mut().poll_flush(cx))
        {
            if !self.is_target {
                return Poll::Ready(Err(error));
            }
            self.failed = Some(error);
        }
        self.flushes.add();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_shutdown(cx)
    }
}
