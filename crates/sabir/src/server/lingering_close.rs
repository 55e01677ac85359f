//! Closing a connection on which something may still be coming.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::ReadBuf;
use tokio::time::{Sleep, sleep};

use crate::transport::Duplex;

/// How much is read of what nobody wants, and for how long.
const BYTES: usize = 256 * 1024;
const TIME: Duration = Duration::from_millis(500);

/// A socket that is closed with something unread in it takes back what it has sent, such as the refusal of a
/// body that is still coming. So a little of that is read first.
#[derive(Default)]
pub(crate) struct LingeringClose(Option<(usize, Pin<Box<Sleep>>)>);

impl LingeringClose {
    /// Says that nothing more is sent, and reads on for a little.
    pub(crate) fn poll_close<S: Duplex>(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut S,
    ) -> Poll<io::Result<()>> {
        if self.0.is_none() {
            ready!(Pin::new(&mut *stream).poll_shutdown(cx))?;
        }
        let (left, end) = self.0.get_or_insert_with(|| (BYTES, Box::pin(sleep(TIME))));
        let mut dropped = [0; 4096];
        while *left > 0 && end.as_mut().poll(cx).is_pending() {
            let mut buffer = ReadBuf::new(&mut dropped);
            ready!(Pin::new(&mut *stream).poll_read(cx, &mut buffer))?;
            match buffer.filled().len() {
                0 => break,
                count => *left = left.saturating_sub(count),
            }
        }
        Poll::Ready(Ok(()))
    }
}
