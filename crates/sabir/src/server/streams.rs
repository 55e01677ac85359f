//! Streams of messages without HTTP around them, and their deadlines.
//!
//! A connection may be silent for as long as it likes between two messages: a peer that waits for notifications has
//! nothing to say, and one that has vanished is found by the keep-alive of TCP. Only when the server has no place left
//! are idle connections closed.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use sabir_proto::Config;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use crate::runtime::connection::Connection;
use crate::runtime::metered::Metered;
use crate::server::acceptor::{PeerInfo, ServerState};
use crate::server::deadline_timer::DeadlineTimer;
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
        let stream = Tracked { stream, read: first.len() as u64, moved: true, ended: false };
        let mut connection =
            Connection::new(config, Arc::clone(&self.routes), ByteTransport::over(stream), None);
        let context = &mut connection.engine.context;
        context.session.handle_bytes(context.now, &first);
        drop(first);
        let connection = Metered::new(connection, Arc::clone(&self.memory), |_| 0);
        let serving = Serving {
            state: self,
            peer_info,
            connection,
            timer,
            waits: Waits::Nothing,
            since: Instant::now(),
        };
        let mut serving = Box::new(serving);
        poll_fn(|cx| serving.poll(cx)).await;
    }
}

/// What a connection waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    Nothing,
    /// The rest of the message that began at this byte.
    Message(u64),
    /// Answers, after the end of the input.
    Answers,
}

struct Serving<'a, S> {
    state: &'a ServerState,
    peer_info: PeerInfo,
    connection: Metered<ByteTransport<Tracked<S>>>,
    timer: DeadlineTimer,
    waits: Waits,
    /// When it began to wait.
    since: Instant,
}

impl<S: Duplex> Serving<'_, S> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.connection.poll_run(cx).is_ready() {
            return Poll::Ready(());
        }
        if self.timer.is_stopped() && !self.connection.is_closing {
            self.connection.shut_down(self.state.grace);
        }
        // It wakes itself when it is told to shut down, and ends by itself then.
        while !self.connection.is_closing {
            let deadline = self.deadline();
            ready!(self.timer.poll(cx, Some(deadline)));
            if self.is_over() {
                self.connection.shut_down(Duration::ZERO);
            }
        }
        Poll::Pending
    }

    /// Until when what it waits for must have happened.
    fn deadline(&mut self) -> Instant {
        let waits = self.waits_for();
        if self.waits != waits {
            (self.waits, self.since) = (waits, Instant::now());
        }
        self.since
            + match waits {
                Waits::Nothing => self.state.connections.idle,
                Waits::Message(_) => self.state.connections.message,
                Waits::Answers => self.state.connections.after_end,
            }
    }

    fn waits_for(&mut self) -> Waits {
        let session = &mut self.connection.connection.engine.context.session;
        let stream = &self.connection.connection.io.stream;
        if stream.ended {
            return Waits::Answers;
        }
        match session.usage().unread as u64 {
            0 => Waits::Nothing,
            // What is not read because answers are not taken is not the sender's delay.
            _ if !session.wait().read => Waits::Nothing,
            unread => Waits::Message(stream.read - unread),
        }
    }

    /// The deadline has passed. Whether the connection is to end.
    fn is_over(&mut self) -> bool {
        if self.waits != Waits::Nothing {
            return true;
        }
        self.since = Instant::now();
        let Connection { engine, io, .. } = &mut self.connection.connection;
        let moved = std::mem::take(&mut io.stream.moved);
        let usage = engine.context.session.usage();
        let is_idle = !moved && engine.context.session.is_idle() && usage.calls == 0;
        is_idle && self.peer_info.permit.is_wanted()
    }
}

/// A stream of which it is known what has moved.
struct Tracked<S> {
    stream: S,
    /// Bytes that came.
    read: u64,
    /// Something was read or written since somebody last looked.
    moved: bool,
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
        self.moved = true;
        self.ended |= count == 0;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Tracked<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes));
        self.moved = true;
        Poll::Ready(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
