//! The connections to one server, used again and again.

use std::error::Error;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::uri::PathAndQuery;
use http::{HeaderValue, Request, Response, Uri, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use sabir_proto::DeliveryFailure;
use tokio::time::{Instant, timeout};

use crate::sync::lock;
use crate::transport::endpoint::{Endpoint, in_time};
use crate::transport::error::ConnectError;
use crate::transport::first_bytes::{FirstBytes, Received};
use crate::transport::step::Step;
use crate::transport::{Duplex, Url};

/// Bytes of an answer's head, and of its trailers.
const HEAD: usize = 64 * 1024;

/// How long a connection that nobody uses is kept, unless the server has said.
const IDLE: Duration = Duration::from_secs(30);

/// Connections that nobody uses.
const MOST_IDLE: usize = 64;

/// How long a connection may take to be ready again once an answer was read from it.
const SETTLING: Duration = Duration::from_millis(50);

/// What every answer begins with.
const HTTP: &[u8] = b"HTTP/";

type Body = Full<Bytes>;

/// Sends a request to another path of the same server.
#[derive(Debug, Clone)]
pub(crate) struct OtherPath(pub(crate) PathAndQuery);

/// A server, and the connections to it.
pub(crate) struct Pool {
    endpoint: Endpoint,
    #[cfg(feature = "tls")]
    tls: Option<tokio_rustls::TlsConnector>,
    uri: Uri,
    path: PathAndQuery,
    host: HeaderValue,
    idle: Mutex<Vec<Idle>>,
    /// HTTP/2 carries everything over one.
    shared: Mutex<Option<http2::SendRequest<Body>>>,
}

struct Idle {
    sender: Http1,
    until: Instant,
}

/// A connection of HTTP/1.1, for one request at a time.
struct Http1 {
    sender: http1::SendRequest<Body>,
    received: Received,
}

enum Sender {
    One(Http1),
    Many(http2::SendRequest<Body>),
}

/// Why there is no answer.
pub(crate) enum RequestError {
    Dial(ConnectError),
    /// It is not authorized, in these words.
    Unauthorized(String),
    /// The connection broke.
    Broken {
        failure: DeliveryFailure,
        reason: String,
    },
}

impl std::fmt::Display for RequestError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RequestError::Dial(error) => error.fmt(f),
            RequestError::Broken { reason, .. } | RequestError::Unauthorized(reason) => f.write_str(reason),
        }
    }
}

/// A connection that carries an answer. Give it back once that is read to its end; drop it otherwise.
pub(crate) struct Lease {
    sender: Http1,
    keep: Duration,
}

pub(crate) type Reply = (Response<Incoming>, Option<Lease>);

impl Pool {
    /// A pool with its first connection open.
    pub(crate) async fn open(
        endpoint: Endpoint,
        uri: Uri,
        #[cfg(feature = "tls")] tls: Option<tokio_rustls::TlsConnector>,
    ) -> Result<Pool, ConnectError> {
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let pool = Pool {
            host: HeaderValue::from_str(authority).unwrap_or(HeaderValue::from_static("")),
            path: uri.path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/")),
            endpoint,
            #[cfg(feature = "tls")]
            tls,
            uri,
            idle: Mutex::default(),
            shared: Mutex::default(),
        };
        if let Sender::One(sender) = pool.dial().await? {
            pool.keep(sender, IDLE);
        }
        Ok(pool)
    }

    /// Sends a request. On a connection that was used before, which the server may have closed meanwhile, a new one is
    /// made for what was not written, and for what does no harm if it comes twice: a GET, or the DELETE of a session.
    pub(crate) async fn send(&self, mut request: Request<Body>) -> Result<Reply, RequestError> {
        if let Some(sender) = self.used().await {
            let again = request.method().is_idempotent().then(|| request.clone());
            match (self.send_over(sender, request).await, again) {
                (Ok(reply), _) => return Ok(reply),
                (Err((_, Some(unsent))), _) => request = *unsent,
                (Err((_, None)), Some(again)) => request = again,
                (Err((error, None)), None) => return Err(error),
            }
        }
        let sender = self.dial().await.map_err(RequestError::Dial)?;
        self.send_over(sender, request).await.map_err(|(error, _)| error)
    }

    /// The path that a reference names, if it is one of this server.
    pub(crate) fn path_at(&self, reference: &str) -> Option<PathAndQuery> {
        Url::parse(&self.endpoint.url).ok()?.join_same_origin(reference)?.path().parse().ok()
    }

    pub(crate) fn give_back(&self, lease: Option<Lease>) {
        if let Some(Lease { sender, keep }) = lease {
            self.keep(sender, keep);
        }
    }

    fn keep(&self, sender: Http1, keep: Duration) {
        let mut idle = lock(&self.idle);
        if idle.len() < MOST_IDLE && !keep.is_zero() {
            idle.push(Idle { sender, until: Instant::now() + keep });
        }
    }

    /// A connection that is open already, the one used last first: the others may then grow old.
    async fn used(&self) -> Option<Sender> {
        let shared = lock(&self.shared).clone().filter(|sender| !sender.is_closed());
        if let Some(shared) = shared {
            return Some(Sender::Many(shared));
        }
        loop {
            let Idle { mut sender, until } = lock(&self.idle).pop()?;
            let fresh = Instant::now() < until && !sender.sender.is_closed();
            // It has just been read from: it takes a moment until it knows that it is free.
            if fresh && matches!(timeout(SETTLING, sender.sender.ready()).await, Ok(Ok(()))) {
                return Some(Sender::One(sender));
            }
        }
    }

    /// What was not sent at all is given back.
    async fn send_over(
        &self,
        sender: Sender,
        mut request: Request<Body>,
    ) -> Result<Reply, (RequestError, Option<Box<Request<Body>>>)> {
        let failed = |mut error: TrySendError<Request<Body>>, received: &[u8]| {
            let unsent = error.take_message().map(Box::new);
            (self.broken(error.error(), received), unsent)
        };
        let other = request.extensions().get::<OtherPath>().cloned();
        match sender {
            Sender::One(mut sender) => {
                *request.uri_mut() = other.map_or_else(|| self.path.clone(), |other| other.0).into();
                request.headers_mut().entry(HOST).or_insert_with(|| self.host.clone());
                sender.received.clear();
                self.tell(&request);
                let sent = sender.sender.try_send_request(request).await;
                let response = sent.map_err(|error| failed(error, &sender.received.bytes()))?;
                self.tell_response(&response);
                let keep = keep_alive(&response);
                Ok((response, Some(Lease { sender, keep })))
            }
            Sender::Many(mut sender) => {
                let mut parts = self.uri.clone().into_parts();
                parts.path_and_query = other.map(|other| other.0).or(parts.path_and_query);
                *request.uri_mut() = Uri::from_parts(parts).unwrap_or_else(|_| self.uri.clone());
                request.headers_mut().remove(HOST);
                self.tell(&request);
                let sent = sender.try_send_request(request).await;
                let response = sent.map_err(|error| failed(error, HTTP))?;
                self.tell_response(&response);
                Ok((response, None))
            }
        }
    }

    fn tell(&self, request: &Request<Body>) {
        let (method, uri, headers) = (request.method(), request.uri(), request.headers());
        self.endpoint.steps.tell(&Step::Request { method, uri, headers });
    }

    fn tell_response(&self, response: &Response<Incoming>) {
        let (version, status, headers) = (response.version(), response.status(), response.headers());
        self.endpoint.steps.tell(&Step::Response { version, status, headers });
    }

    /// Why a request has no response.
    fn broken(&self, error: &hyper::Error, received: &[u8]) -> RequestError {
        let url = &self.endpoint.url;
        let (failure, reason) = if !received.is_empty() && !received.starts_with(HTTP) {
            (DeliveryFailure::WrongProtocol(received.into()), format!("{url} does not speak HTTP"))
        } else if error.is_parse_too_large() {
            let reason = "its head is too large, or its Content-Length";
            (DeliveryFailure::Other, format!("the answer from {url} is not valid HTTP: {reason}"))
        } else if error.is_parse() {
            (DeliveryFailure::Other, format!("the answer from {url} is not valid HTTP: {}", describe(error)))
        } else if received.is_empty() {
            (DeliveryFailure::Closed, format!("{url} closed the connection without an answer"))
        } else {
            let reason = format!("the answer from {url} is incomplete: {}", describe(error));
            (DeliveryFailure::Incomplete, reason)
        };
        RequestError::Broken { failure, reason }
    }

    async fn dial(&self) -> Result<Sender, ConnectError> {
        in_time(&self.endpoint.url, async {
            let stream = self.endpoint.connect().await?;
            #[cfg(feature = "tls")]
            if let Some(tls) = &self.tls {
                let stream = crate::transport::tls::wrap(tls, &self.endpoint, stream).await?;
                let many = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                return self.shake_hands(Box::new(stream), many).await;
            }
            self.shake_hands(Box::new(stream), false).await
        })
        .await
    }

    async fn shake_hands(&self, stream: Box<dyn Duplex>, many: bool) -> Result<Sender, ConnectError> {
        use crate::transport::error::ConnectErrorKind::Protocol;
        let failed = |error: hyper::Error| ConnectError::new(Protocol, &self.endpoint.url, describe(&error));
        if many {
            let (sender, connection) = http2::Builder::new(TokioExecutor::new())
                .timer(TokioTimer::new())
                .max_header_list_size(HEAD as u32)
                .handshake(TokioIo::new(stream))
                .await
                .map_err(failed)?;
            tokio::spawn(connection);
            *lock(&self.shared) = Some(sender.clone());
            return Ok(Sender::Many(sender));
        }
        let (stream, received) = FirstBytes::new(stream);
        let (sender, connection) = http1::Builder::new()
            .max_header_size(HEAD)
            .max_buf_size(2 * HEAD)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(failed)?;
        tokio::spawn(connection);
        Ok(Sender::One(Http1 { sender, received }))
    }
}

/// How long the server keeps a connection open, less some time for the way.
fn keep_alive(response: &Response<Incoming>) -> Duration {
    let told = response.headers().get("keep-alive").and_then(|value| value.to_str().ok());
    let seconds = told.and_then(|told| {
        told.split(',').find_map(|part| part.trim().strip_prefix("timeout=")?.parse::<u64>().ok())
    });
    let closes = response.headers().get(header::CONNECTION).is_some_and(|value| value == "close");
    match seconds {
        _ if closes => Duration::ZERO,
        Some(seconds) => Duration::from_secs(seconds.saturating_sub(1)).min(IDLE),
        None => IDLE,
    }
}

/// An error with what lies behind it.
pub(crate) fn describe(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.ends_with(&more) {
            text = format!("{text}: {more}");
        }
        source = error.source();
    }
    text
}
