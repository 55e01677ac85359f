//! A socket of TCP whose end can be chosen: closed, or reset as the one on the other side of the tap was.
//!
//! A reset throws away what was written and not sent yet. So it waits until all of that is on its way, where the system
//! says so; where it does not, the socket is closed instead, since last words are worth more than how they end.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use sabir::transport::{Scheme, Url};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::{Duplex, HANDSHAKE};
use crate::listener::Accepted;
use crate::tap::platform;
use crate::web::{Ending, Web, dial};

/// How long a peer may take none of the last words before they are given up.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(10);

/// How often to look whether all is sent.
const LOOK: Duration = Duration::from_millis(1);

/// Shared by those who read, who write, and who decide how it ends.
#[derive(Debug, Clone)]
pub(super) struct Socket(Arc<TcpStream>);

impl Socket {
    pub(super) fn new(stream: TcpStream) -> Self {
        Socket(Arc::new(stream))
    }

    /// Waits until all that was written is on its way, or nobody takes it. Whether that is known.
    pub(super) async fn sent(&self) -> bool {
        let mut left = LAST_WORDS;
        loop {
            match platform::is_sent(&self.0) {
                Some(true) => return true,
                Some(false) if !left.is_zero() => {
                    tokio::time::sleep(LOOK).await;
                    left = left.saturating_sub(LOOK);
                }
                _ => return false,
            }
        }
    }

    /// Once it is dropped, its peer sees a reset.
    pub(super) async fn reset(&self) {
        if self.sent().await {
            let _ = SockRef::from(&*self.0).set_linger(Some(Duration::ZERO));
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.poll_read_ready(cx))?;
            match self.0.try_read(to.initialize_unfilled()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
                Ok(count) => {
                    to.advance(count);
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(cx))?;
            match self.0.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(cx))?;
            match self.0.try_write_vectored(parts) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&*self.0).shutdown(std::net::Shutdown::Write))
    }
}

/// One end of a connection that is passed on.
pub(super) struct End {
    pub(super) stream: Duplex,
    /// What carries the stream, where its end can be chosen.
    pub(super) socket: Option<Socket>,
    /// Why it has ended, where the socket does not say.
    pub(super) ending: Option<Ending>,
}

impl End {
    pub(super) fn of(accepted: Accepted) -> Self {
        match accepted {
            Accepted::Tcp(stream) => End::tcp(stream),
            #[cfg(unix)]
            Accepted::Unix(stream) => End::other(Box::pin(stream)),
        }
    }

    fn tcp(stream: TcpStream) -> Self {
        let socket = Socket::new(stream);
        End { stream: Box::pin(socket.clone()), socket: Some(socket), ending: None }
    }

    pub(super) fn other(stream: Duplex) -> Self {
        End { stream, socket: None, ending: None }
    }

    /// Connects to a target.
    pub(super) async fn dial(target: &Url, web: &Web) -> io::Result<Self> {
        if !matches!(target.scheme(), Scheme::Tcp | Scheme::Http | Scheme::Ws) {
            let (stream, ending) = dial(target, web).await?;
            return Ok(End { ending: Some(ending), ..End::other(stream) });
        }
        let stream = TcpStream::connect((target.host(), target.port()));
        let stream = tokio::time::timeout(HANDSHAKE, stream).await.map_err(|_| io::ErrorKind::TimedOut)??;
        stream.set_nodelay(true)?;
        Ok(End::tcp(stream))
    }
}
