//! Accepts connections: detects which protocol each one speaks, and serves it.

use std::future::{Future, poll_fn};
use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, ready};
use std::time::Duration;

use crate::server::accept_errors::AcceptErrors;
use crate::server::activity::Activity;
use crate::server::deadline_timer::DeadlineTimer;
use crate::server::descriptors;
use crate::server::detect::{Protocol, detect};
use crate::server::limiter::{ConnectionLimiter, Evictable};
use sabir_proto::{Config, Framing, Limits};
use tokio::io::{AsyncWriteExt, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::Instant;

use crate::router::Routes;
use crate::server::bind::{Accepted, Listener};
use crate::server::budget::MemoryBudget;
#[cfg(feature = "tls")]
use crate::server::prefixed::Prefixed;
use crate::transport::Duplex;

/// Which protocols a server speaks. All of them, unless they are switched off.
///
/// ```
/// use sabir::Protocols;
///
/// let web_only = Protocols { lines: false, headers: false, ..Protocols::default() };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protocols {
    /// JSON-RPC, one message per line.
    pub lines: bool,
    /// JSON-RPC with `Content-Length` headers.
    pub headers: bool,
    /// HTTP/1.1 and HTTP/2.
    pub http: bool,
    /// WebSocket.
    pub websocket: bool,
}

impl Default for Protocols {
    fn default() -> Self {
        Protocols { lines: true, headers: true, http: true, websocket: true }
    }
}

/// How many connections there may be, and how long they may take. The limits of what is said on each are
/// [`Limits`](crate::Limits).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connections {
    /// Connections at once. One more takes the place of one that is not used (see
    /// [`evict_after`](Self::evict_after)); while all are, it waits. 4,096, or fewer where the process may not have as
    /// many descriptors: seven eighths of those, less 16, when the server is bound. If none is left all the same, room is
    /// made in the same way, and [`on_accept_error`](crate::ServerBuilder::on_accept_error) is told.
    pub total: usize,
    /// Connections at once from one address; more are closed. 2,048.
    pub per_address: usize,
    /// How long the first bytes may take from the very first on, a TLS handshake, and the head of each
    /// request of HTTP. 30 s.
    pub head: Duration,
    /// How long a connection may say nothing before its first byte, and one of HTTP between two requests. One
    /// of lines, headers or WebSocket may be silent for longer, as it may be waiting for notifications. 2 min.
    pub idle: Duration,
    /// When there are [`total`](Self::total) connections and another one comes, one is closed to make room: one that
    /// has had no message, in either direction, for this time and has nothing running; or, if there is none, one that
    /// has had none for [`idle`](Self::idle) and waits for a call. Among these it is one of the address with the most
    /// connections, and of those the one that has been silent for longest. 10 s.
    pub evict_after: Duration,
    /// How long a message in lines or with headers may take from its first byte to its last. 30 s.
    pub message: Duration,
    /// How long a peer that sends no more, of lines or headers, is still answered. Handlers that take longer are
    /// dropped: from here such a peer looks the same as one that has gone. 30 s.
    pub after_end: Duration,
    /// Requests at once on one connection of HTTP/2. 256.
    pub streams: u32,
    /// Bytes that one connection of HTTP may hold in bodies, queued requests and unsent answers; further requests
    /// are answered 503. A message of [`message_bytes`](crate::Limits::message_bytes) and an answer of
    /// [`outbound_bytes`](crate::Limits::outbound_bytes) always fit. Those of lines, headers and WebSocket have
    /// [`Limits`](crate::Limits). 64 MiB.
    pub connection_bytes: usize,
    /// Bytes that all connections and sessions together may hold in these. From there on, requests of HTTP that
    /// need more than 64 KiB are answered 503. Other connections that hold more than 64 KiB read nothing more, and
    /// refuse requests as [`OVERLOADED`](crate::ErrorCode::OVERLOADED), when seven eighths of this are spent, and those that
    /// hold less refuse batches whose answers may take more; those that still grow when all of it is, by answers to what
    /// runs already, are closed. 512 MiB.
    pub total_bytes: usize,
}

impl Default for Connections {
    fn default() -> Self {
        Connections {
            total: 4096,
            per_address: 2048,
            head: Duration::from_secs(30),
            idle: Duration::from_secs(120),
            evict_after: Duration::from_secs(10),
            streams: 256,
            message: Duration::from_secs(30),
            after_end: Duration::from_secs(30),
            connection_bytes: 64 << 20,
            total_bytes: 512 << 20,
        }
    }
}

/// What is read at first.
const READ: usize = 4 * 1024;

/// How long a refusal may take to be sent.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// What an acceptor is made from.
pub(crate) struct ServerConfig {
    pub(crate) routes: Arc<Routes>,
    pub(crate) config: Config,
    pub(crate) grace: Duration,
    pub(crate) protocols: Protocols,
    pub(crate) connections: Connections,
    pub(crate) accept_errors: AcceptErrors,
    /// Only TLS is let in.
    pub(crate) secure: bool,
    #[cfg(feature = "http")]
    pub(crate) http: crate::server::http::Http,
    #[cfg(feature = "http")]
    pub(crate) path: String,
    #[cfg(feature = "http")]
    pub(crate) local: bool,
    /// The host that the URL names.
    #[cfg(feature = "http")]
    pub(crate) host: Option<String>,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<tokio_rustls::TlsAcceptor>,
    pub(crate) stop: watch::Sender<bool>,
}

/// Accepts and serves connections.
pub(crate) struct Acceptor {
    state: Arc<ServerState>,
    limiter: Arc<ConnectionLimiter>,
    errors: AcceptErrors,
}

/// What connections share.
pub(crate) struct ServerState {
    pub(crate) routes: Arc<Routes>,
    pub(crate) config: Config,
    pub(crate) grace: Duration,
    /// JSON-RPC without HTTP around it.
    pub(crate) streams: bool,
    pub(crate) connections: Connections,
    pub(crate) secure: bool,
    #[cfg(feature = "http")]
    pub(crate) http: Option<crate::server::http::HttpService>,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<tokio_rustls::TlsAcceptor>,
    pub(crate) stop: watch::Receiver<bool>,
    /// What all connections together may hold.
    pub(crate) memory: Arc<MemoryBudget>,
    #[cfg(feature = "http")]
    pub(crate) connection_bytes: usize,
}

/// Who is at the other end of a connection.
pub(crate) struct PeerInfo {
    /// Kept for as long as anything of the connection is.
    pub(crate) permit: Arc<crate::server::limiter::ConnectionPermit>,
    pub(crate) address: Option<SocketAddr>,
    #[cfg(feature = "tls")]
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only handlers of HTTP can ask"))]
    pub(crate) certificates: Option<Vec<rustls::pki_types::CertificateDer<'static>>>,
}

impl ServerConfig {
    pub(crate) fn open(self) -> Acceptor {
        let Protocols { lines, headers, .. } = self.protocols;
        let framing = match (lines, headers) {
            (true, false) => Some(Framing::Lines),
            (false, true) => Some(Framing::Headers),
            _ => self.config.framing,
        };
        // Streams have no place for a token: where one is wanted, they cannot be let in.
        #[cfg(feature = "http")]
        let streams = (lines || headers) && !self.http.is_protected();
        #[cfg(not(feature = "http"))]
        let streams = lines || headers;
        let config = Config { framing, ..self.config };
        let Connections { total, per_address, idle, evict_after, .. } = self.connections;
        let evictable = Evictable { idle: evict_after, waiting: idle };
        let limiter = ConnectionLimiter::new(descriptors::fitting(total), per_address, evictable);
        let Limits { message_bytes, outbound_bytes, .. } = self.config.limits;
        let connection_bytes =
            self.connections.connection_bytes.max(message_bytes.saturating_add(outbound_bytes));
        let memory = MemoryBudget::new(self.connections.total_bytes.max(connection_bytes));
        #[cfg(feature = "http")]
        let http = self.http_service(&memory);
        let state = ServerState {
            routes: self.routes,
            config,
            grace: self.grace,
            streams,
            connections: self.connections,
            secure: self.secure,
            #[cfg(feature = "http")]
            http,
            #[cfg(feature = "tls")]
            tls: self.tls,
            stop: self.stop.subscribe(),
            memory,
            #[cfg(feature = "http")]
            connection_bytes,
        };
        Acceptor { state: Arc::new(state), limiter, errors: self.accept_errors }
    }
}

impl Acceptor {
    /// The next connection, once there is room for it.
    pub(crate) async fn next(&self, listener: &Listener) -> io::Result<(OwnedSemaphorePermit, Accepted)> {
        if let Some(permit) = self.limiter.try_reserve() {
            return Ok((permit, self.accept(listener).await?));
        }
        // Nobody is closed before somebody has come who needs the place.
        let accepted = loop {
            let accepted = self.accept(listener).await?;
            if !self.limiter.is_at_limit(accepted.address()) {
                break accepted;
            }
        };
        match self.limiter.make_room().await {
            Some(permit) => Ok((permit, accepted)),
            None => std::future::pending().await,
        }
    }

    /// Accepts a connection. Where no descriptor is left for it, others have to make room, or it would wait for as long
    /// as they like to stay.
    async fn accept(&self, listener: &Listener) -> io::Result<Accepted> {
        loop {
            match listener.accept().await {
                Err(error) => {
                    self.errors.tell(&error);
                    if !descriptors::are_spent(&error) {
                        return Err(error);
                    }
                    self.limiter.wait_for_descriptor().await;
                }
                accepted => return accepted,
            }
        }
    }

    /// Serves a connection in a task of its own.
    pub(crate) fn spawn<S: Duplex + 'static>(
        &self,
        permit: OwnedSemaphorePermit,
        stream: S,
        address: Option<SocketAddr>,
    ) {
        let Some(permit) = self.limiter.admit(permit, address.map(|address| address.ip())) else { return };
        let state = Arc::clone(&self.state);
        let peer_info = PeerInfo {
            permit: Arc::new(permit),
            address,
            #[cfg(feature = "tls")]
            certificates: None,
        };
        tokio::spawn(state.serve_connection(stream, peer_info));
    }

    /// Serves a single connection, and waits for its end.
    #[cfg(all(feature = "fuzzing", feature = "http"))]
    pub(crate) async fn serve_one<S: Duplex + 'static>(&self, stream: S) {
        if let Some(permit) = self.limiter.try_reserve() {
            self.spawn(permit, stream, None);
        }
        self.wait_until_empty().await;
    }

    /// Waits until all have left.
    pub(crate) async fn wait_until_empty(&self) {
        self.limiter.wait_until_empty().await;
    }
}

/// A connection that is being served.
type Serving<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

impl ServerState {
    /// Serves a connection.
    async fn serve_connection<S: Duplex + 'static>(self: Arc<Self>, mut stream: S, peer_info: PeerInfo) {
        let activity = Arc::clone(&peer_info.permit.activity);
        let Some((first, timer)) = self.first_bytes(&mut stream, activity).await else { return };
        match detect(&first).unwrap_or(Protocol::Unknown) {
            #[cfg(feature = "tls")]
            Protocol::Tls => Box::pin(self.accept_tls(Prefixed::new(first, stream), peer_info)).await,
            _ if self.secure => {}
            protocol => self.serve(protocol, (first, stream), peer_info, timer).await,
        }
    }

    /// What a connection begins with, as much as is needed to tell what it speaks and all else that is
    /// there; and what it is held by from then on.
    async fn first_bytes<S: Duplex>(
        &self,
        stream: &mut S,
        activity: Arc<Activity>,
    ) -> Option<(Vec<u8>, DeadlineTimer)> {
        let Connections { head, idle, .. } = self.connections;
        let mut deadline = Instant::now() + idle;
        let mut timer = DeadlineTimer::new(&self.stop, deadline, activity);
        let mut first = Vec::new();
        let came = poll_fn(|cx| {
            loop {
                let mut space = [const { MaybeUninit::uninit() }; READ];
                let mut read = ReadBuf::uninit(&mut space);
                match Pin::new(&mut *stream).poll_read(cx, &mut read) {
                    Poll::Ready(Ok(())) if !read.filled().is_empty() => {}
                    Poll::Ready(ended) => return Poll::Ready(ended.is_ok() && !first.is_empty()),
                    Poll::Pending if timer.is_stopped() => return Poll::Ready(false),
                    Poll::Pending => {
                        ready!(timer.poll(cx, Some(deadline)));
                        return Poll::Ready(false);
                    }
                }
                if first.is_empty() {
                    // It may be silent before it speaks; but then the whole of it has one deadline.
                    deadline = Instant::now() + head;
                }
                first.extend_from_slice(read.filled());
                if detect(&first).is_some() {
                    return Poll::Ready(true);
                }
            }
        });
        came.await.then_some((first, timer))
    }

    /// Serves what was found out. Each protocol has a future of its own on the heap, so that a connection
    /// that waits for its first bytes is small, and one of them does not pay for another.
    fn serve<S: Duplex + 'static>(
        &self,
        protocol: Protocol,
        (first, stream): (Vec<u8>, S),
        peer_info: PeerInfo,
        timer: DeadlineTimer,
    ) -> Serving<'_> {
        match protocol {
            Protocol::Stream if self.streams => Box::pin(self.serve_stream(first, stream, peer_info, timer)),
            #[cfg(feature = "http")]
            Protocol::Http1 | Protocol::Http2 if self.http.is_some() => {
                Box::pin(self.serve_http(protocol, first, stream, peer_info, timer))
            }
            Protocol::Http1 => Box::pin(close_with(stream, NO_HTTP.to_owned())),
            Protocol::Stream => Box::pin(close_with(stream, no_streams(&first))),
            Protocol::Unknown if self.streams => Box::pin(close_with(stream, NOT_JSON.to_owned())),
            Protocol::Unknown => Box::pin(close_with(stream, NOT_HTTP.to_owned())),
            Protocol::Http2 | Protocol::Tls => Box::pin(std::future::ready(())),
        }
    }

    /// Takes TLS off a connection, and serves what is in it.
    #[cfg(feature = "tls")]
    async fn accept_tls<S: Duplex + 'static>(&self, stream: S, peer_info: PeerInfo) {
        let Some(tls) = &self.tls else { return };
        let accepting = tokio::time::timeout(self.connections.head, tls.accept(stream));
        let accepted = tokio::select! {
            accepted = accepting => accepted,
            () = peer_info.permit.activity.evicted() => return,
        };
        let Ok(Ok(mut stream)) = accepted else { return };
        let certificates = stream.get_ref().1.peer_certificates();
        let certificates = certificates.map(|chain| chain.iter().map(|c| c.clone().into_owned()).collect());
        let peer_info = PeerInfo { certificates, ..peer_info };
        let activity = Arc::clone(&peer_info.permit.activity);
        let Some((first, timer)) = self.first_bytes(&mut stream, activity).await else { return };
        let protocol = detect(&first).unwrap_or(Protocol::Unknown);
        self.serve(protocol, (first, stream), peer_info, timer).await;
    }
}

const NO_HTTP: &str = "HTTP/1.1 501 Not Implemented\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

const NOT_HTTP: &str = "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\n\
    content-length: 14\r\nconnection: close\r\n\r\nexpected HTTP\n";

/// To what begins neither like HTTP nor like a message.
const NOT_JSON: &str = "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error\",\
    \"data\":\"a stream begins with a message in JSON, or with a Content-Length header\"}}\n";

/// To a stream where none are served.
fn no_streams(first: &[u8]) -> String {
    let message = "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"Invalid Request\",\
        \"data\":\"streams of messages are not served here: use HTTP or WebSocket\"}}";
    match crate::server::detect::has_headers(first) {
        true => format!("Content-Length: {}\r\n\r\n{message}", message.len()),
        false => format!("{message}\n"),
    }
}

/// Answers once, and closes.
async fn close_with<S: Duplex>(mut stream: S, answer: String) {
    let sent = tokio::time::timeout(ANSWER_TIMEOUT, stream.write_all(answer.as_bytes())).await;
    if matches!(sent, Ok(Ok(()))) {
        let mut linger = crate::server::lingering_close::LingeringClose::default();
        let _ = poll_fn(|cx| linger.poll_close(cx, &mut stream)).await;
    }
}
