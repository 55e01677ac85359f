//! What a connection runs over.
//!
//! | made by | runs over |
//! |---|---|
//! | [`stdio`] | the process's standard input and output |
//! | [`child`] | a process that is started for it |
//! | [`tcp`], `unix` (on Windows `pipe`) | a socket or a named pipe that is connected to |
//! | [`url`] | whatever the URL names: a socket, TLS, HTTP, WebSocket, a service behind NATS |
//! | [`memory`] | the other half of a pair, for tests |
//! | [`streams`] | anything that reads and writes |
//!
//! Each knows both framings. Transports from here use lines unless configured otherwise; servers made by
//! [`listen`](crate::listen) find out what the peer speaks.

pub(crate) mod child;
pub(crate) mod endpoint;
pub(crate) mod error;
#[cfg(unix)]
pub(crate) mod fd;
#[cfg(feature = "http")]
pub(crate) mod first_bytes;
#[cfg(any(feature = "http", feature = "tls"))]
pub(crate) mod forward_writes;
pub(crate) mod local;
#[cfg(feature = "nats")]
pub mod nats;
pub(crate) mod net;
pub(crate) mod network;
mod open;
mod output_watch;
#[cfg(unix)]
mod parent_death;
pub(crate) mod process_group;
pub(crate) mod socket;
pub(crate) mod stdio;
pub(crate) mod step;
mod thread_io;
#[cfg(feature = "tls")]
pub(crate) mod tls;
pub(crate) mod url;
#[cfg(feature = "http")]
pub(crate) mod websocket;

use std::any::Any;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;

#[cfg(feature = "http")]
pub use crate::client::http::HttpFailure;
pub use child::{Child, Stderr, child};
use endpoint::Dial;
pub use error::{ConnectError, ConnectErrorKind};
#[cfg(feature = "http")]
pub use first_bytes::{FirstBytes, Received};
#[cfg(windows)]
pub use local::pipe;
#[cfg(unix)]
pub use local::unix;
pub use net::tcp;
use network::Network;
pub use open::url;
pub use process_group::ProcessGroup;
use sabir_proto::{Config, Framing, Report};
pub use stdio::{Stdio, stdio};
pub use step::Step;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
pub use url::{Scheme, Url, UrlError};

#[cfg(feature = "http")]
use crate::Authorizer;
use crate::Error;
use crate::runtime::config::{config_setters, stop_setters};
use crate::runtime::engine::OnReport;
use crate::runtime::io::Io;
#[cfg(feature = "http")]
use crate::runtime::message_transport::{Link, MessageTransport};

/// A stream that goes both ways.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// To the peer.
    Sent,
    /// From the peer.
    Received,
}

pub(crate) type Tap = Box<dyn FnMut(Direction, &[u8]) + Send>;

/// The stream of a connection, opened.
pub(crate) struct ByteTransport<S = Box<dyn Duplex>> {
    pub(crate) stream: S,
    /// Says, once the input has ended, whether it ended for a reason.
    pub(crate) exit_reason: Option<Pin<Box<dyn Future<Output = Option<String>> + Send>>>,
    /// Detects whether anything still reads the output, where the system can tell.
    pub(crate) output_watch: Option<output_watch::OutputWatch>,
    /// Called with all bytes that are sent and received.
    pub(crate) tap: Option<Tap>,
    /// Becomes true once the process at the other end has ended.
    pub(crate) process: Option<watch::Receiver<bool>>,
    /// Dropped with the streams.
    pub(crate) _keep: Box<dyn Any + Send>,
    /// Something was written since the last flush.
    pub(crate) unflushed: bool,
    /// The input has ended, and the transport is asked why.
    pub(crate) ending: bool,
}

impl ByteTransport {
    /// Two streams that go one way each.
    pub(crate) fn new(
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        ByteTransport::over(Box::new(tokio::io::join(read, write)))
    }
}

impl<S> ByteTransport<S> {
    pub(crate) fn over(stream: S) -> Self {
        ByteTransport {
            stream,
            exit_reason: None,
            output_watch: None,
            tap: None,
            process: None,
            _keep: Box::new(()),
            unflushed: false,
            ending: false,
        }
    }
}

/// What a transport is once it is opened.
pub(crate) enum OpenTransport {
    Bytes(ByteTransport),
    #[cfg(feature = "http")]
    Messages {
        link: Box<dyn Link>,
        /// The headers of each message, where they have any.
        headers: Option<std::sync::Arc<crate::client::http::Headers>>,
    },
}

type Opening = Pin<Box<dyn Future<Output = Result<OpenTransport, Error>> + Send>>;

/// A connection's own part of a transport, ready to run.
pub(crate) struct Opened {
    pub(crate) io: Box<dyn Io>,
    pub(crate) config: Config,
    pub(crate) on_report: Option<OnReport>,
    pub(crate) grace: Duration,
    pub(crate) handles_signals: bool,
    pub(crate) process: Option<watch::Receiver<bool>>,
    pub(crate) network: Option<Network>,
    #[cfg(feature = "http")]
    pub(crate) headers: Option<std::sync::Arc<crate::client::http::Headers>>,
}

/// What a connection runs over, and how it speaks there.
pub struct Transport {
    open: Box<dyn FnOnce(Dial) -> Opening + Send>,
    pub(crate) dial: Dial,
    pub(crate) config: Config,
    pub(crate) on_report: Option<OnReport>,
    tap: Option<Tap>,
    pub(crate) grace: Duration,
    handles_signals: bool,
    network: Option<Network>,
}

/// A transport is ready: so a function may return one where others return a future of one
/// ([`Reconnect::new`](crate::Reconnect::new)).
impl IntoFuture for Transport {
    type Output = Result<Transport, Error>;
    type IntoFuture = std::future::Ready<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        std::future::ready(Ok(self))
    }
}

impl Transport {
    pub(crate) fn new(open: impl FnOnce() -> io::Result<ByteTransport> + Send + 'static) -> Self {
        Transport::dialled(move |_| Box::pin(async move { Ok(OpenTransport::Bytes(open()?)) }))
    }

    /// A transport that takes its time to open, and wants to know how.
    pub(crate) fn dialled(open: impl FnOnce(Dial) -> Opening + Send + 'static) -> Self {
        let config = Config { framing: Some(Framing::Lines), seed: seed(), ..Config::default() };
        Transport {
            open: Box::new(open),
            dial: Dial::default(),
            config,
            on_report: None,
            tap: None,
            grace: Duration::from_millis(1500),
            handles_signals: false,
            network: None,
        }
    }

    /// What its spans say of it.
    pub(crate) fn over(self, network: Network) -> Self {
        Transport { network: Some(network), ..self }
    }

    config_setters!();

    stop_setters!();

    /// Sets what is called for every protocol violation of the peer: text that is not JSON, invalid messages, answers to
    /// nothing.
    #[must_use]
    pub fn on_report(mut self, report: impl FnMut(&Report<'_>) + Send + 'static) -> Self {
        self.on_report = Some(Box::new(report));
        self
    }

    /// Sets what is called with all bytes that are sent and received, for tracing and recording.
    #[must_use]
    pub fn tap(mut self, tap: impl FnMut(Direction, &[u8]) + Send + 'static) -> Self {
        self.tap = Some(Box::new(tap));
        self
    }

    /// Is told of the steps to a server that a URL names: its name, its socket, TLS, and the heads of HTTP.
    #[must_use]
    pub fn on_step(mut self, told: impl Fn(&Step<'_>) + Send + Sync + 'static) -> Self {
        self.dial.steps = step::Steps::to(told);
        self
    }

    /// Sends a header with each request of HTTP, and with the one that opens a WebSocket.
    /// [`Peer::set_header`](crate::Peer::set_header) changes it later.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn header(mut self, name: impl AsRef<str>, value: impl AsRef<str>) -> Self {
        match crate::client::http::header(name.as_ref(), value.as_ref()) {
            Ok((name, value)) => drop(self.dial.headers.insert(name, value)),
            Err(fault) => drop(self.dial.fault.get_or_insert(fault)),
        }
        self
    }

    /// Sends a token along: the header `Authorization: Bearer …`.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn bearer(self, token: impl AsRef<str>) -> Self {
        self.header("authorization", format!("Bearer {}", token.as_ref()))
    }

    /// Speaks the first HTTP transport of MCP (2024-11-05): a GET of the URL opens a stream of events, whose first event
    /// says where messages are posted, and on which all answers come. It is for old servers alone.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn event_stream(mut self) -> Self {
        self.dial.event_stream = true;
        self
    }

    /// Is shown each message before it is posted over HTTP, and may add headers that say what is in it.
    ///
    /// ```
    /// use sabir::transport;
    ///
    /// let server = transport::url("http://127.0.0.1:8080/rpc").on_post(|message, headers| {
    ///     let method = message.get("method").and_then(|method| method.parse::<String>().ok());
    ///     if let Some(method) = method.and_then(|method| method.parse().ok()) {
    ///         headers.insert("x-method", method);
    ///     }
    /// });
    /// ```
    #[cfg(feature = "http")]
    #[must_use]
    pub fn on_post(
        mut self,
        on_post: impl Fn(&sabir_proto::RawJson<'_>, &mut ::http::HeaderMap) + Send + Sync + 'static,
    ) -> Self {
        self.dial.on_post = Some(Box::new(on_post));
        self
    }

    /// Has each request of HTTP authorized, and answers of 401 and 403 looked at: see [`Authorizer`].
    #[cfg(feature = "http")]
    #[must_use]
    pub fn authorizer(mut self, authorizer: impl Authorizer) -> Self {
        self.dial.authorizer = Some(Box::new(authorizer));
        self
    }

    /// Sets what is called for each failed HTTP response, with its status, headers and body, for tracing.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn on_http_failure(mut self, told: impl Fn(&HttpFailure<'_>) + Send + Sync + 'static) -> Self {
        self.dial.on_failure = Some(Box::new(told));
        self
    }

    /// Trusts servers whose certificate is signed by one of these, in PEM, instead of the system's authorities.
    /// May be given several times.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn root_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.dial.tls.roots.push(pem.into());
        self
    }

    /// Shows a certificate to the server: its chain and its private key, in PEM.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn client_certificate(mut self, chain: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        self.dial.tls.identity = Some((chain.into(), key.into()));
        self
    }

    /// Skips the verification of the server's certificate: anyone on the path can read and change everything. For
    /// tests.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn danger_accept_any_certificate(mut self) -> Self {
        self.dial.tls.anybody = true;
        self
    }

    /// Sets how a service behind NATS is called, for a `nats://` URL.
    #[cfg(feature = "nats")]
    #[must_use]
    pub fn nats(mut self, nats: nats::Nats) -> Self {
        self.dial.nats = nats;
        self
    }

    /// Opens it for somebody who speaks over it in a way of their own: no session, no framing, no tap.
    /// Only streams can be: not HTTP, nor WebSocket. A service behind NATS takes each line as a message.
    pub async fn into_streams(self) -> Result<RawStreams, Error> {
        #[cfg(feature = "nats")]
        let dial = Dial { as_streams: true, limits: self.config.limits, ..self.dial };
        #[cfg(not(feature = "nats"))]
        let dial = self.dial;
        match (self.open)(dial).await? {
            OpenTransport::Bytes(ByteTransport { stream, process, exit_reason, _keep, .. }) => {
                let (read, write) = tokio::io::split(stream);
                Ok(RawStreams { read: Box::new(read), write: Box::new(write), process, exit_reason, _keep })
            }
            #[cfg(feature = "http")]
            OpenTransport::Messages { .. } => {
                Err(Error::config("the transport carries messages, and has no stream of bytes"))
            }
        }
    }

    pub(crate) async fn open(self) -> Result<Opened, Error> {
        let Transport { open, dial, config, on_report, tap, grace, handles_signals, network } = self;
        #[cfg(feature = "http")]
        let dial = Dial { limits: config.limits, ..dial };
        #[cfg(feature = "nats")]
        let dial = {
            let name = config.dialect.name;
            Dial { has_sessions: name.starts_with("lsp") || name.starts_with("mcp"), ..dial }
        };
        Ok(match open(dial).await? {
            OpenTransport::Bytes(bytes) => {
                let process = bytes.process.clone();
                Opened {
                    io: Box::new(ByteTransport { tap, ..bytes }),
                    config,
                    on_report,
                    grace,
                    handles_signals,
                    process,
                    network,
                    #[cfg(feature = "http")]
                    headers: None,
                }
            }
            #[cfg(feature = "http")]
            OpenTransport::Messages { link, headers } => Opened {
                io: Box::new(MessageTransport::new(link, tap)),
                config: Config { framing: Some(Framing::Whole), ..config },
                on_report,
                grace,
                handles_signals,
                process: None,
                network,
                headers,
            },
        })
    }
}

/// The bare streams of a [`Transport`]. What it runs over, such as a started process, ends when this is dropped.
pub struct RawStreams {
    /// What the peer sends.
    pub read: Box<dyn AsyncRead + Send + Unpin>,
    /// What goes to the peer.
    pub write: Box<dyn AsyncWrite + Send + Unpin>,
    process: Option<watch::Receiver<bool>>,
    exit_reason: Option<Pin<Box<dyn Future<Output = Option<String>> + Send>>>,
    _keep: Box<dyn Any + Send>,
}

impl RawStreams {
    /// How a process that was started for them ended, in words. Waits a moment for its end. `None` if it has not
    /// ended, or if there is none.
    pub async fn exit_reason(&mut self) -> Option<String> {
        self.exit_reason.take()?.await
    }

    /// Closes both ways, and waits until a process that was started for them has ended.
    pub async fn close(self) {
        let process = self.process.clone();
        drop(self);
        if let Some(mut process) = process {
            let _ = process.wait_for(|ended| *ended).await;
        }
    }
}

impl std::fmt::Debug for RawStreams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RawStreams").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transport").field("config", &self.config).finish_non_exhaustive()
    }
}

/// Anything that reads and writes.
pub fn streams(
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
) -> Transport {
    Transport::new(move || Ok(ByteTransport::new(read, write)))
}

/// Two transports that are connected to each other, for tests and for services in the same process.
pub fn memory() -> (Transport, Transport) {
    let (a, b) = tokio::io::duplex(64 * 1024);
    let half = |stream: tokio::io::DuplexStream| {
        Transport::new(move || Ok(ByteTransport::over(Box::new(stream) as Box<dyn Duplex>)))
    };
    (half(a), half(b))
}

/// A number that the peer cannot guess.
pub(crate) fn seed() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}
