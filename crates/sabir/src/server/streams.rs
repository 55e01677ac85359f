//! Streams of messages without HTTP around them.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use sabir_proto::{Config, Usage};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::runtime::connection::Connection;
use crate::server::acceptor::{PeerInfo, ServerState};
use crate::server::deadline_timer::DeadlineTimer;
use crate::server::metered::Metered;
use crate::server::serving::{Progress, Serving, ServingTimeouts};
use crate::transport::network::Network;
use crate::transport::{ByteTransport, Duplex, seed};

impl ServerState {
    /// Serves a stream of which something was read already.
    pub(crate) async fn serve_stream<S: Duplex + 'static>(
        &self,
        first: Vec<u8>,
        stream: S,
        peer_info: PeerInfo,
        timer: DeadlineTimer,
    ) {
        let config = Config { seed: seed(), ..self.config };
        let stream = Tracked { stream, read: first.len() as u64, written: 0, ended: false };
        let mut connection =
            Connection::new(config, Arc::clone(&self.routes), ByteTransport::over(stream), None);
        connection.set_network(Network::accepted(peer_info.address.is_some()).into());
        connection.take_bytes(&first);
        drop(first);
        let connection = Metered::new(connection, Arc::clone(&self.memory), |_| 0);
        let timeouts = ServingTimeouts {
            message: self.connections.message,
            after_end: self.connections.after_end,
            stop: self.grace,
        };
        let mut serving = Box::new(Serving::new(connection, progress, timer, timeouts));
        poll_fn(|cx| serving.poll(cx)).await;
        // Its place is kept until here: who waits for one may need its descriptor.
        drop(serving);
        drop(peer_info);
    }
}

fn progress<S>(io: &ByteTransport<Tracked<S>>, usage: &Usage) -> Progress {
    let Tracked { read, written, ended, .. } = io.stream;
    let whole = read - usage.unread as u64;
    Progress { done: whole + written, unfinished: (usage.unread > 0).then_some(whole), ended }
}

/// A stream of which it is known what has moved.
struct Tracked<S> {
    stream: S,
    /// Bytes that came, and bytes that were sent.
    read: u64,
    written: u64,
    /// Nothing more comes.
    ended: bool,
}

impl<S: AsyncRead + Unpin> AsyncRead for Tracked<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        let count = buffer.filled().len() - before;
        self.read += count as u64;
        self.ended |= count == 0;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Tracked<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let count = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
        self.written += count as u64;
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
