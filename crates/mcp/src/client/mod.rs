//! A client: connects to a server of either era, and answers what it asks.

mod call;
mod callbacks;
mod extensions;
#[cfg(feature = "http")]
mod headers;
mod negotiate;
mod pages;
mod session;
mod skills;
mod tasks;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

pub use call::McpCall;
use callbacks::Callbacks;
#[cfg(feature = "http")]
pub use headers::McpHeaders;
pub use pages::ListPages;
use sabir::{CallError, Peer, RawJson, Transport};
pub use session::McpSession;
pub use tasks::{McpTask, Started};

#[cfg(feature = "tracing")]
use crate::client_spans::McpSpans;
use crate::operation::{McpOperation, Observer};
use crate::types::{Elicit, ElicitResult, Implementation, LogLevel, LogMessage, Root, Sample, Sampled};
use crate::{Change, McpRevision};

/// A client of MCP. It asks a server which era it is of, and speaks its newest revision.
///
/// ```no_run
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use sabir_mcp::McpClient;
/// use serde_json::json;
///
/// let command = std::process::Command::new("adder");
/// let server = McpClient::new("me", "1.0.0").connect(sabir::transport::child(command)?).await?;
/// let sum = server.call("add", json!({"a": 1, "b": 2})).await?;
/// assert_eq!(sum.text(), "3");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct McpClient {
    info: Implementation,
    callbacks: Callbacks,
    revision: Option<McpRevision>,
    probe: Duration,
    level: Option<LogLevel>,
    #[cfg(feature = "auth")]
    auth: Option<crate::OAuthSession>,
    telemetry: Telemetry,
}

/// Who wants to know of requests.
#[derive(Clone, Default)]
struct Telemetry {
    observers: Vec<Observer>,
    #[cfg(feature = "tracing")]
    spans: Option<McpSpans>,
    #[cfg(feature = "tracing")]
    propagator: Option<Arc<dyn sabir::Propagator>>,
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry").field("observers", &self.observers.len()).finish_non_exhaustive()
    }
}

impl McpClient {
    /// A client that can be asked nothing.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        McpClient {
            info: Implementation::new(name, version),
            callbacks: Callbacks::default(),
            revision: None,
            probe: Duration::from_secs(5),
            level: None,
            #[cfg(feature = "auth")]
            auth: None,
            telemetry: Telemetry::default(),
        }
    }

    /// Calls `observer` when a request has ended, for metrics. All observers are called.
    #[must_use]
    pub fn observe(mut self, observer: impl Fn(&McpOperation<'_>) + Send + Sync + 'static) -> Self {
        self.telemetry.observers.push(Arc::new(observer));
        self
    }

    /// Gives each request a span of `tracing`, at the level of info, named and with the attributes that OpenTelemetry's
    /// conventions have for MCP, below the span of whoever asks. It takes part where the client
    /// [connects](Self::connect) itself.
    #[cfg(feature = "tracing")]
    #[must_use]
    pub fn spans(mut self) -> Self {
        self.telemetry.spans = Some(McpSpans::default());
        self
    }

    /// Tells servers in which trace a request stands, in `_meta`: see [`Router::propagate`](sabir::Router::propagate).
    #[cfg(feature = "tracing")]
    #[must_use]
    pub fn propagate(mut self, propagator: impl sabir::Propagator) -> Self {
        self.telemetry.propagator = Some(Arc::new(propagator));
        self
    }

    /// What answers the server.
    fn router(&self) -> sabir::Router {
        let router = self.callbacks.router();
        #[cfg(feature = "tracing")]
        let router = match &self.telemetry.spans {
            Some(spans) => router.client_spans(spans.clone()),
            None => router,
        };
        #[cfg(feature = "tracing")]
        let router = match &self.telemetry.propagator {
            Some(propagator) => router.propagate(Arc::clone(propagator)),
            None => router,
        };
        router
    }

    /// Speaks this revision and no other.
    #[must_use]
    pub fn revision(mut self, revision: McpRevision) -> Self {
        self.revision = Some(revision);
        self
    }

    /// How long a server may be silent when it is asked for its era, before it is taken for one of the legacy
    /// era. 5 s.
    #[must_use]
    pub fn probe_timeout(mut self, timeout: Duration) -> Self {
        self.probe = timeout;
        self
    }

    /// Wants log messages from this level on.
    #[must_use]
    pub fn log_level(mut self, level: LogLevel) -> Self {
        self.level = Some(level);
        self
    }

    /// Gets tokens for a server that asks for them: an [`OAuth`](crate::OAuth).
    ///
    /// On a connection that is there already, the same [`OAuthSession`](crate::OAuthSession) must have been given to
    /// [`Transport::authorizer`].
    #[cfg(feature = "auth")]
    #[must_use]
    pub fn auth(mut self, auth: impl Into<crate::OAuthSession>) -> Self {
        self.auth = Some(auth.into());
        self
    }

    /// Lets servers ask the model.
    #[must_use]
    pub fn on_sample<F, Fut>(mut self, answer: F) -> Self
    where
        F: Fn(Sample) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = sabir::Result<Sampled>> + Send + 'static,
    {
        self.callbacks.sample = Some(Arc::new(move |question| Box::pin(answer(question))));
        self
    }

    /// Lets servers ask the user.
    #[must_use]
    pub fn on_elicit<F, Fut>(mut self, answer: F) -> Self
    where
        F: Fn(Elicit) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = sabir::Result<ElicitResult>> + Send + 'static,
    {
        self.callbacks.elicit = Some(Arc::new(move |question| Box::pin(answer(question))));
        self
    }

    /// Tells servers which folders it works in.
    #[must_use]
    pub fn roots(mut self, roots: impl Into<Vec<Root>>) -> Self {
        self.callbacks.roots = Some(roots.into().into());
        self
    }

    /// Sets what is called for log messages.
    #[must_use]
    pub fn on_log(mut self, log: impl Fn(LogMessage) + Send + Sync + 'static) -> Self {
        self.callbacks.log = Some(Arc::new(log));
        self
    }

    /// Sets what is called for changes: all of them in the legacy era, those that [`McpSession::listen`] asks for in the modern
    /// one.
    #[must_use]
    pub fn on_change(mut self, change: impl Fn(Change) + Send + Sync + 'static) -> Self {
        self.callbacks.change = Some(Arc::new(change));
        self
    }

    /// Answers what the other callbacks do not, by its method and params: for programs that pass questions on. `offered`
    /// is what the server is told that it may ask.
    #[must_use]
    pub fn on_question<F, Fut>(mut self, offered: crate::ClientCapabilities, answer: F) -> Self
    where
        F: Fn(String, Option<RawJson<'static>>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = sabir::Result<RawJson<'static>>> + Send + 'static,
    {
        self.callbacks.offered = offered;
        self.callbacks.question = Some(Arc::new(move |method, params| Box::pin(answer(method, params))));
        self
    }

    /// Opens a session of the legacy era, by `initialize`, on a connection that is there already. Its router answers
    /// what the server asks by requests.
    ///
    /// [`McpHeaders`] must have been added to its transport, which matters over HTTP alone.
    pub async fn initialize(self, peer: Peer, headers: McpHeaders) -> Result<McpSession, McpConnectError> {
        let revision = self.revision.filter(|revision| !revision.is_modern());
        let session =
            negotiate::initialize(self, peer, revision.unwrap_or(McpRevision::NEWEST_LEGACY)).await?;
        Ok(session.with_headers(headers))
    }

    /// Opens a session of the modern era, by `server/discover`, on a connection that is there already. `None`: the server
    /// is not of it.
    pub async fn discover(
        self,
        peer: Peer,
        headers: McpHeaders,
    ) -> Result<Option<McpSession>, McpConnectError> {
        let revision = self.revision.unwrap_or(McpRevision::NEWEST);
        let agreed = negotiate::probe(&self, &peer, revision).await?;
        Ok(agreed.map(|agreed| McpSession::new(self, peer, agreed).with_headers(headers)))
    }

    /// A session without asking, on a connection that is there already: one of the modern era needs no opening, and one
    /// of the legacy era may have been opened by somebody else. What the server can do is then not known.
    pub fn assume(self, revision: McpRevision, peer: Peer, headers: McpHeaders) -> McpSession {
        let agreed = negotiate::assumed(&self, revision);
        McpSession::new(self, peer, agreed).with_headers(headers)
    }

    /// What is offered to a server: what is answered, and the extensions that are made use of.
    fn capabilities(&self) -> crate::ClientCapabilities {
        #[cfg_attr(not(feature = "auth"), allow(unused_mut))]
        let mut offered = self.callbacks.capabilities();
        #[cfg(feature = "auth")]
        for extension in self.auth.iter().flat_map(|auth| auth.config().extensions()) {
            let extensions = offered.extensions.get_or_insert_default();
            extensions.entry(extension).or_insert_with(|| serde_json::json!({}));
        }
        offered
    }

    /// Connects, finds out what the server speaks, and agrees with it.
    ///
    /// The transport may be a URL, such as `http://127.0.0.1:8080/mcp`.
    pub async fn connect(self, transport: impl Into<Transport>) -> Result<McpSession, McpConnectError> {
        negotiate::connect(self, transport.into()).await
    }
}

/// The headers with which a client repeats over HTTP what it says in a request. Without the feature `http` there are none.
#[cfg(not(feature = "http"))]
#[derive(Debug, Clone, Default)]
pub struct McpHeaders(());

#[cfg(not(feature = "http"))]
impl McpHeaders {
    /// Leaves the transport as it is.
    pub fn add_to(&self, transport: Transport) -> Transport {
        transport
    }
}

/// Why there is no session with a server.
#[non_exhaustive]
pub enum McpConnectError {
    /// There is no connection.
    Connection(sabir::Error),
    /// The server did not answer as it should.
    Call(CallError),
    /// The server speaks only revisions that we do not.
    Revision(String),
    /// The server knows nothing of the modern era, and only that was asked for.
    Legacy,
}

impl fmt::Display for McpConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            McpConnectError::Connection(error) => error.fmt(f),
            McpConnectError::Call(error) => write!(f, "the server does not open a session: {error}"),
            McpConnectError::Legacy => f.write_str("the server is of the legacy era"),
            McpConnectError::Revision(found) => {
                write!(f, "the server speaks {}, which this client does not", found.escape_debug())
            }
        }
    }
}

/// The same as [`Display`](fmt::Display): it is what a `main` that returns the error prints.
impl fmt::Debug for McpConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for McpConnectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            McpConnectError::Connection(error) => Some(error),
            McpConnectError::Call(error) => Some(error),
            McpConnectError::Revision(_) | McpConnectError::Legacy => None,
        }
    }
}

impl From<sabir::Error> for McpConnectError {
    fn from(error: sabir::Error) -> Self {
        McpConnectError::Connection(error)
    }
}

impl From<CallError> for McpConnectError {
    fn from(error: CallError) -> Self {
        McpConnectError::Call(error)
    }
}
