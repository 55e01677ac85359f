//! WebSocket: one message per text message, in both roles.
//!
//! The handshake is left to others: to the HTTP service on the one side, to the client's dialling on the
//! other.

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Sink, Stream};
use sabir_proto::{Cause, Lost, Origin, Outgoing};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::CapacityError;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{CloseFrame, Frame};
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::runtime::message_transport::{Incoming, Link};
use crate::transport::forward_writes::forward_writes;

/// Read at once, and kept for each connection.
const READ_BUFFER: usize = 6 * 1024;

/// Bytes that are gathered before they are written although more is to come.
const WRITE_BUFFER: usize = 32 * 1024;

/// A server sends larger messages in parts. What is below keeps the memory of the largest frame for as long as the
/// connection lasts, and nobody counts that.
const LARGEST_FRAME: usize = WRITE_BUFFER;

/// The head of a ping or a pong from a client.
const CONTROL_HEAD: usize = 6;

/// Pings after which their answers must be on their way before more is read.
const PONGS: u32 = 64;

/// How WebSocket is served.
///
/// ```
/// use sabir::WebSocket;
///
/// let quiet = WebSocket { ping_every: None, ..WebSocket::default() };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebSocket {
    /// Takes binary messages, and answers with binary ones once one has come. Otherwise they end the
    /// connection with the close code 1003. Off.
    pub binary: bool,
    /// How often a silent peer is pinged. One that stays silent until the next ping would be due is given
    /// up. 30 s.
    pub ping_every: Option<Duration>,
}

impl Default for WebSocket {
    fn default() -> Self {
        WebSocket { binary: false, ping_every: Some(Duration::from_secs(30)) }
    }
}

/// A WebSocket as a link.
pub(crate) struct Socket<S> {
    stream: WebSocketStream<S>,
    settings: WebSocket,
    role: Role,
    /// Set to when the peer is to be pinged, or given up.
    timer_deadline: Option<Pin<Box<Sleep>>>,
    /// The peer has said something since the timer was set.
    received: bool,
    pinged: bool,
    /// Pings since everything was last known to be sent.
    pongs: u32,
    /// What answers are sent as.
    kind: Data,
    /// How much was taken over of the message that is being sent, and whether that was some more.
    taken: usize,
    took_part: bool,
    /// Why we close, if that is not the session's doing.
    fault: Option<(CloseCode, &'static str)>,
    /// The peer has closed, or the connection is broken: nothing can be sent any more.
    gone: bool,
    close_sent: bool,
    /// Messages that came and went, and bytes of pings and pongs that came.
    messages: u64,
    sent: u64,
    control: u64,
}

/// A stream of which it is known how much came that is not a whole message yet: what is read ahead of a message, the parser
/// keeps.
pub(crate) struct CountedReads<S> {
    stream: S,
    count: u64,
    /// What of that was done with, by which message.
    done: Cell<(u64, u64)>,
}

impl<S> CountedReads<S> {
    pub(crate) fn new(stream: S) -> Self {
        CountedReads { stream, count: 0, done: Cell::default() }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CountedReads<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        self.count += (buffer.filled().len() - before) as u64;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CountedReads<S> {
    forward_writes!(stream);
}

impl<S: AsyncRead + AsyncWrite + Unpin> Socket<CountedReads<S>> {
    /// How many messages came and went, and a number for the one that has begun to come. One that is so short that it
    /// may be nothing but what was read ahead counts as none.
    pub(crate) fn progress(&self) -> (u64, Option<u64>) {
        let has_begun = self.unfinished() > 2 * READ_BUFFER;
        (self.messages + self.sent, has_begun.then_some(self.messages))
    }

    /// Bytes of a message that has not all come.
    pub(crate) fn unfinished(&self) -> usize {
        let reads = self.stream.get_ref();
        let (mut done, message) = reads.done.get();
        if message != self.messages {
            // Behind a message there is at most what was read ahead.
            done = done.max(reads.count.saturating_sub((READ_BUFFER as u64) + self.control));
            reads.done.set((done, self.messages));
        }
        reads.count.saturating_sub(done + self.control) as usize
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Socket<S> {
    /// A stream whose handshake is done.
    pub(crate) async fn new(stream: S, role: Role, settings: WebSocket, message_bytes: usize) -> Self {
        let config = Self::config(message_bytes);
        Self::over(WebSocketStream::from_raw_socket(stream, role, Some(config)).await, role, settings)
    }

    pub(crate) fn config(message_bytes: usize) -> WebSocketConfig {
        WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER)
            .write_buffer_size(WRITE_BUFFER)
            .max_message_size(Some(message_bytes))
            .max_frame_size(Some(message_bytes))
    }

    /// A WebSocket that is open.
    pub(crate) fn over(stream: WebSocketStream<S>, role: Role, settings: WebSocket) -> Self {
        Socket {
            stream,
            timer_deadline: settings.ping_every.map(|every| Box::pin(tokio::time::sleep(every))),
            settings,
            role,
            received: false,
            pinged: false,
            pongs: 0,
            kind: Data::Text,
            taken: 0,
            took_part: false,
            fault: None,
            gone: false,
            close_sent: false,
            messages: 0,
            sent: 0,
            control: 0,
        }
    }

    /// Takes a message over for sending, once there is room for it.
    fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        message: impl FnOnce() -> Message,
    ) -> Poll<Result<(), Error>> {
        ready!(Pin::new(&mut self.stream).poll_ready(cx))?;
        Poll::Ready(Pin::new(&mut self.stream).start_send(message()))
    }

    /// Pings a silent peer. Whether it has been silent for too long.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let (Some(timer_deadline), Some(every)) = (&mut self.timer_deadline, self.settings.ping_every) else {
            return Poll::Pending;
        };
        ready!(timer_deadline.as_mut().poll(cx));
        if self.pinged && !self.received {
            return Poll::Ready(());
        }
        timer_deadline.as_mut().reset(Instant::now() + every);
        self.pinged = !self.received;
        self.received = false;
        // The first poll registers the new moment.
        let again = timer_deadline.as_mut().poll(cx);
        if self.pinged && self.poll_write(cx, || Message::Ping(Bytes::new())).is_ready() {
            let _ = Pin::new(&mut self.stream).poll_flush(cx);
        }
        again
    }

    fn end(&mut self, close: Option<CloseFrame>) -> Incoming {
        self.gone = true;
        let reason: String = match close {
            Some(CloseFrame { code, reason }) if reason.is_empty() => {
                format!("the peer closed the WebSocket ({})", u16::from(code))
            }
            Some(CloseFrame { code, reason }) => {
                format!(
                    "the peer closed the WebSocket ({}): {}",
                    u16::from(code),
                    sabir_proto::escape_controls(&reason)
                )
            }
            None => "the peer closed the WebSocket".to_owned(),
        };
        Incoming::Lost(reason.into())
    }

    fn break_off(&mut self, code: CloseCode, reason: &'static str) -> Incoming {
        self.fault = Some((code, reason));
        Incoming::Lost(reason.into())
    }

    fn fail(&mut self, error: Error) -> Incoming {
        match error {
            Error::Capacity(CapacityError::MessageTooLong { max_size, .. }) => {
                self.fault = Some((CloseCode::Size, "a WebSocket message was too large"));
                Incoming::TooLarge { limit: max_size }
            }
            Error::Utf8(_) => self.break_off(CloseCode::Invalid, "a WebSocket text message was not UTF-8"),
            Error::Protocol(_) => {
                self.fault = Some((CloseCode::Protocol, "not the WebSocket protocol"));
                Incoming::Lost(Lost::from_error(error))
            }
            _ => {
                self.gone = true;
                Incoming::Lost(Lost::from_error(error))
            }
        }
    }

    fn close_frame(&self, cause: &Cause) -> CloseFrame {
        let (code, reason) = match (self.fault, cause) {
            (Some(fault), _) => fault,
            (None, Cause::Shutdown) if self.role == Role::Client => (CloseCode::Normal, ""),
            (None, Cause::Shutdown) => (CloseCode::Away, "shutting down"),
            (None, Cause::Idle) => (CloseCode::Away, "idle for too long"),
            (None, Cause::Lagged) => (CloseCode::Policy, "a subscription was read too slowly"),
            (None, Cause::Ended) => (CloseCode::Normal, ""),
            (None, _) => (CloseCode::Error, ""),
        };
        CloseFrame { code, reason: reason.into() }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Link for Socket<S> {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Incoming> {
        if self.gone {
            return Poll::Pending;
        }
        loop {
            // Every ping is answered by itself: who reads none of the answers must not make them pile up.
            if self.pongs >= PONGS {
                match Pin::new(&mut self.stream).poll_flush(cx) {
                    Poll::Pending => break,
                    Poll::Ready(Err(error)) => return Poll::Ready(self.fail(error)),
                    Poll::Ready(Ok(())) => self.pongs = 0,
                }
            }
            let message = match Pin::new(&mut self.stream).poll_next(cx) {
                Poll::Pending => break,
                Poll::Ready(None) => return Poll::Ready(self.end(None)),
                Poll::Ready(Some(Err(error))) => return Poll::Ready(self.fail(error)),
                Poll::Ready(Some(Ok(message))) => message,
            };
            self.received = true;
            match message.is_ping() || message.is_pong() {
                true => self.control += (message.len() + CONTROL_HEAD) as u64,
                false => self.messages += 1,
            }
            let text: Bytes = match message {
                Message::Text(text) => text.into(),
                Message::Binary(bytes) if self.settings.binary => {
                    self.kind = Data::Binary;
                    bytes
                }
                Message::Binary(_) => {
                    let refusal =
                        self.break_off(CloseCode::Unsupported, "binary messages are not taken here");
                    return Poll::Ready(refusal);
                }
                Message::Close(close) => return Poll::Ready(self.end(close)),
                Message::Ping(_) => {
                    self.pongs += 1;
                    continue;
                }
                Message::Pong(_) | Message::Frame(_) => continue,
            };
            return Poll::Ready(Incoming::Message { text, origin: Origin::NONE, caller: None });
        }
        ready!(self.poll_silence(cx));
        self.gone = true;
        Poll::Ready(Incoming::Lost("the peer no longer answers pings".into()))
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, outgoing: Outgoing<'_>) -> Poll<io::Result<()>> {
        if self.gone {
            return Poll::Ready(Ok(()));
        }
        let most = if self.role == Role::Server { LARGEST_FRAME } else { usize::MAX };
        loop {
            let rest = &outgoing.message[self.taken..];
            let part = &rest[..rest.len().min(most)];
            let kind = if self.taken == 0 { self.kind } else { Data::Continue };
            let is_last = part.len() == rest.len();
            // The engine writes nothing but UTF-8: a frame is not checked again, as a text message would be.
            let frame = || {
                let payload = Bytes::copy_from_slice(part);
                Message::Frame(Frame::message(payload, OpCode::Data(kind), is_last))
            };
            ready!(self.poll_write(cx, frame)).map_err(io::Error::other)?;
            if is_last {
                self.taken = 0;
                self.sent += 1;
                return Poll::Ready(Ok(()));
            }
            self.taken += part.len();
            self.took_part = true;
        }
    }

    fn took_part(&mut self) -> bool {
        std::mem::take(&mut self.took_part)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.gone {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_flush(cx).map_err(io::Error::other)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>, cause: &Cause) -> Poll<()> {
        if !self.close_sent {
            if !self.gone {
                let frame = self.close_frame(cause);
                let _ = ready!(self.poll_write(cx, || Message::Close(Some(frame))));
            }
            self.close_sent = true;
        }
        if ready!(Pin::new(&mut self.stream).poll_flush(cx)).is_err() {
            return Poll::Ready(());
        }
        // A socket that is closed with something unread in it takes back what it has sent.
        while let Some(Ok(_)) = ready!(Pin::new(&mut self.stream).poll_next(cx)) {}
        Poll::Ready(())
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use sabir_proto::{Config, Framing, Session, Time};

    use super::*;

    /// What is taken over is counted by nobody, and its memory is kept.
    #[tokio::test]
    async fn a_server_takes_a_message_over_as_it_is_read() {
        let (ours, theirs) = tokio::io::duplex(1000);
        let quiet = WebSocket { ping_every: None, ..WebSocket::default() };
        let mut server = Socket::new(ours, Role::Server, quiet, 1 << 21).await;
        let mut client = Socket::new(theirs, Role::Client, quiet, 1 << 21).await;
        let mut session = Session::new(Config { framing: Some(Framing::Whole), ..Config::default() });
        let overhead = r#"{"jsonrpc":"2.0","method":"n","params":[""]}"#.len();
        for length in [LARGEST_FRAME, LARGEST_FRAME + 1, 1 << 20] {
            session.notify(Time::START, "n", &["x".repeat(length - overhead)]).unwrap_or_default();
            let Some(outgoing) = session.outgoing() else { panic!("nothing of {length}") };
            assert_eq!(outgoing.message.len(), length);
            let again = poll_fn(|cx| Poll::Ready(server.poll_send(cx, outgoing))).await;
            assert_eq!(again.is_pending(), length > LARGEST_FRAME, "{length}");
            assert!(server.taken <= LARGEST_FRAME, "{} of {length}", server.taken);
            assert_eq!(server.took_part(), length > LARGEST_FRAME, "{length}");
            assert!(!server.took_part(), "{length}");
            let sending = async {
                if again.is_pending() {
                    poll_fn(|cx| server.poll_send(cx, outgoing)).await?;
                }
                poll_fn(|cx| server.poll_flush(cx)).await
            };
            let receiving = poll_fn(|cx| client.poll_receive(cx));
            let (sent, received) = tokio::join!(sending, receiving);
            assert!(sent.is_ok(), "{length}");
            let Incoming::Message { text: received, .. } = received else { panic!("no message of {length}") };
            assert_eq!(received, outgoing.message);
            session.handle_sent(Time::START);
        }
        assert_eq!(server.sent, 3);
    }
}
