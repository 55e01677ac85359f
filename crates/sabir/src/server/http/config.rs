//! How HTTP is served: what a user sets, and what it means.

use std::any::Any;
use std::fmt;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use sabir_proto::{ErrorCode, RawJson};

use crate::server::http::host_origin::{Host, Origin};
use crate::transport::websocket::WebSocket;

/// How HTTP is served: who may call, and what is answered.
///
/// ```
/// use sabir::{Http, Sessions};
///
/// let http = Http::new()
///     .allow_origin("https://app.example")
///     .bearer("secret")
///     .sessions(Sessions::opened_by("initialize"));
/// ```
///
/// # Safe by default
///
/// - Without [`allow_host`](Self::allow_host), only requests are answered whose `Host` is `localhost`, a loopback
///   address, or the host that the server's URL names. So a web page cannot reach it by a name of its own that it
///   has pointed there. A server at `0.0.0.0` has to name its hosts.
/// - A request that a browser sends for a page of another origin is refused, unless
///   [`allow_origin`](Self::allow_origin) names it; or, if that names none, both are on this machine.
/// - Only JSON is taken, so that no page can send anything without asking first.
#[derive(Clone, Default)]
pub struct Http {
    pub(crate) hosts: Vec<Host>,
    pub(crate) own_host: Option<Host>,
    pub(crate) origins: Vec<Origin>,
    pub(crate) auth: Option<Auth>,
    pub(crate) permit: Option<Permit>,
    pub(crate) until: Option<Until>,
    pub(crate) documents: Vec<(String, Bytes)>,
    pub(crate) sessions: Option<Sessions>,
    pub(crate) error_status: Option<ErrorStatus>,
    pub(crate) no_content: bool,
    pub(crate) path: Option<String>,
    pub(crate) body_deadline: Option<Duration>,
    pub(crate) keep_alive: Option<Duration>,
    pub(crate) websocket: WebSocket,
    pub(crate) speaks: Speaks,
    /// Every request is hyper's, to compare with.
    pub(crate) hyper_only: bool,
}

/// What is served.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Speaks {
    pub(crate) http: bool,
    pub(crate) websocket: bool,
}

impl Default for Speaks {
    fn default() -> Self {
        Speaks { http: true, websocket: true }
    }
}

/// Who somebody has proved to be.
pub(crate) type Identity = Arc<dyn Any + Send + Sync>;

/// What was found out about a caller.
pub(crate) type Identified = Result<Option<Identity>, Denied>;

type Identifying = Pin<Box<dyn Future<Output = Identified> + Send>>;

/// How it is found out who calls.
#[derive(Clone)]
pub(crate) enum AuthCheck {
    /// At once.
    Now(Arc<dyn Fn(&Parts) -> Identified + Send + Sync>),
    /// By asking others.
    Later(Arc<dyn Fn(&Parts) -> Identifying + Send + Sync>),
}

#[derive(Clone)]
pub(crate) struct Auth {
    pub(crate) check: AuthCheck,
    /// Whether two identities are the same one.
    pub(crate) same: fn(&dyn Any, &dyn Any) -> bool,
}

/// Whether a caller may make a call.
pub(crate) type Permit = Arc<
    dyn Fn(&Parts, Option<&(dyn Any + Send + Sync)>, &str, Option<&RawJson<'_>>) -> Result<(), Denied>
        + Send
        + Sync,
>;

/// How long an identity is good for.
pub(crate) type Until = Arc<dyn Fn(&(dyn Any + Send + Sync)) -> Option<Instant> + Send + Sync>;

type ErrorStatus = Arc<dyn Fn(&Parts, ErrorCode) -> StatusCode + Send + Sync>;

impl Http {
    /// Plain HTTP, for programs on this machine.
    pub fn new() -> Self {
        Http::default()
    }

    /// Answers requests to this host: a name or an address, with a port or without. Once any is given, no
    /// other one is answered.
    ///
    /// # Panics
    /// If it cannot be the value of a `Host` header.
    #[must_use]
    pub fn allow_host(mut self, host: &str) -> Self {
        let parsed = Host::parse(host);
        self.hosts.push(
            parsed.unwrap_or_else(|| panic!("`{host}` is not a valid host; write it as `example.com`")),
        );
        self
    }

    /// The server is bound to this host: requests to it are answered beside those to this machine.
    pub(crate) fn name_host(&mut self, host: Option<&str>) {
        self.own_host = host.and_then(Host::parse);
    }

    /// Lets pages of this origin call, as browsers ask it by CORS: `https://app.example`. Each is named;
    /// there is no wildcard.
    ///
    /// # Panics
    /// If it is not a valid origin.
    #[must_use]
    pub fn allow_origin(mut self, origin: &str) -> Self {
        let parsed = Origin::parse(origin.trim_end_matches('/'));
        self.origins.push(parsed.unwrap_or_else(|| {
            panic!("`{origin}` is not a valid origin; write it as `https://app.example`")
        }));
        self
    }

    /// Asks who is calling. What the function returns is what [`Ctx::identity`](crate::Ctx::identity) gives
    /// to handlers; a session can only be used by the identity that opened it.
    ///
    /// ```
    /// use sabir::{Denied, Http};
    ///
    /// #[derive(PartialEq)]
    /// struct User(String);
    ///
    /// let http = Http::new().auth(|parts| {
    ///     let name = parts.headers.get("x-user").and_then(|name| name.to_str().ok());
    ///     name.map(|name| User(name.to_owned())).ok_or(Denied::unauthorized("Basic"))
    /// });
    /// ```
    #[must_use]
    pub fn auth<I, F>(mut self, who: F) -> Self
    where
        I: PartialEq + Send + Sync + 'static,
        F: Fn(&Parts) -> Result<I, Denied> + Send + Sync + 'static,
    {
        self.auth = Some(Auth {
            check: AuthCheck::Now(Arc::new(move |parts| {
                who(parts).map(|identity| Some(Arc::new(identity) as Identity))
            })),
            same: |one, other| one.downcast_ref::<I>() == other.downcast_ref::<I>(),
        });
        self
    }

    /// The same for a function that has to ask others, such as a database. It takes what it needs out of the request,
    /// and returns a future. The body of the request is read only after that.
    ///
    /// ```
    /// use sabir::{Denied, Http};
    ///
    /// #[derive(PartialEq)]
    /// struct User(u64);
    ///
    /// async fn find(token: String) -> Option<User> {
    ///     // Ask a database.
    /// #   Some(User(token.len() as u64))
    /// }
    ///
    /// let http = Http::new().auth_async(|parts| {
    ///     let token = parts.headers.get("x-token").and_then(|token| token.to_str().ok()).map(str::to_owned);
    ///     async move {
    ///         let token = token.ok_or(Denied::unauthorized("Token"))?;
    ///         find(token).await.ok_or(Denied::forbidden())
    ///     }
    /// });
    /// ```
    #[must_use]
    pub fn auth_async<I, F, Fut>(mut self, who: F) -> Self
    where
        I: PartialEq + Send + Sync + 'static,
        F: Fn(&Parts) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<I, Denied>> + Send + 'static,
    {
        self.auth = Some(Auth {
            check: AuthCheck::Later(Arc::new(move |parts| {
                let asking = who(parts);
                Box::pin(async move { Ok(Some(Arc::new(asking.await?) as Identity)) })
            })),
            same: |one, other| one.downcast_ref::<I>() == other.downcast_ref::<I>(),
        });
        self
    }

    /// Asks for each call in a POST whether its caller may make it, by the identity that [`auth`](Self::auth) has found, the
    /// method and the params. If one of a batch is denied, all of it is. WebSocket is then not served: its messages come
    /// without requests that could be denied.
    ///
    /// ```
    /// use sabir::{Denied, Http};
    ///
    /// #[derive(PartialEq)]
    /// struct Admin(bool);
    ///
    /// let http = Http::new()
    ///     .auth(|parts| Ok(Admin(parts.headers.contains_key("x-admin"))))
    ///     .permit(|_, admin: Option<&Admin>, method, _| match (method, admin) {
    ///         ("delete", Some(Admin(false)) | None) => Err(Denied::forbidden()),
    ///         _ => Ok(()),
    ///     });
    /// ```
    #[must_use]
    pub fn permit<I, F>(mut self, permit: F) -> Self
    where
        I: Send + Sync + 'static,
        F: Fn(&Parts, Option<&I>, &str, Option<&RawJson<'_>>) -> Result<(), Denied> + Send + Sync + 'static,
    {
        self.permit = Some(Arc::new(move |parts, identity, method, params| {
            permit(parts, identity.and_then(|identity| identity.downcast_ref()), method, params)
        }));
        self
    }

    /// Says until when an identity that [`auth`](Self::auth) has found is good. A stream of a session that it has opened by
    /// GET ends then; requests are asked for anew each time.
    #[must_use]
    pub fn until<I, F>(mut self, until: F) -> Self
    where
        I: Send + Sync + 'static,
        F: Fn(&I) -> Option<Instant> + Send + Sync + 'static,
    {
        self.until = Some(Arc::new(move |identity| until(identity.downcast_ref()?)));
        self
    }

    /// Serves a public document of JSON at this path, to everybody and to pages of every origin, without asking who calls.
    #[must_use]
    pub fn document(mut self, path: impl Into<String>, json: impl Into<String>) -> Self {
        self.documents.push((path.into(), Bytes::from(json.into())));
        self
    }

    /// Answers only requests with this token, `Authorization: Bearer TOKEN`. How long the comparison takes
    /// does not depend on how much of it is right.
    ///
    /// # Panics
    /// If the token is empty, or cannot stand in a header: an unset variable must not open the server.
    #[must_use]
    pub fn bearer(mut self, token: impl Into<String>) -> Self {
        let token: String = token.into();
        let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        assert!(is_token, "a bearer token must not be empty, and has only visible ASCII characters");
        self.auth = Some(Auth {
            check: AuthCheck::Now(Arc::new(move |parts| match bearer(&parts.headers) {
                Some(given) if same_text(given, token.as_bytes()) => Ok(None),
                _ => Err(Denied::unauthorized("Bearer")),
            })),
            same: |_, _| true,
        });
        self
    }

    /// Serves Streamable HTTP: sessions, and streams of the server's own messages.
    #[must_use]
    pub fn sessions(mut self, sessions: Sessions) -> Self {
        self.sessions = Some(sessions);
        self
    }

    /// Chooses the status of an answer that is a JSON-RPC error. Without it: 400 for what is not JSON or no
    /// valid request, 413 for what is too large, 503 if there is no room for it, and 200 for all others, since the
    /// request was answered.
    #[must_use]
    pub fn error_status<F>(mut self, status: F) -> Self
    where
        F: Fn(&Parts, ErrorCode) -> StatusCode + Send + Sync + 'static,
    {
        self.error_status = Some(Arc::new(status));
        self
    }

    /// Answers notifications with 204 rather than 202.
    #[must_use]
    pub fn no_content(mut self) -> Self {
        self.no_content = true;
        self
    }

    /// Answers requests for this path only, and all others with 404. Without it, every path is answered, as
    /// is right for what is mounted in another application.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Sets how long a body may take to come. 30 s.
    #[must_use]
    pub fn body_deadline(mut self, deadline: Duration) -> Self {
        self.body_deadline = Some(deadline);
        self
    }

    /// Sets after how long a silent stream gets a keep-alive comment, and a call that is not yet answered a
    /// stream, if the client takes one. 15 s.
    #[must_use]
    pub fn keep_alive(mut self, every: Duration) -> Self {
        self.keep_alive = Some(every);
        self
    }

    /// Sets how WebSocket is served.
    #[must_use]
    pub fn websocket(mut self, websocket: WebSocket) -> Self {
        self.websocket = websocket;
        self
    }

    /// Leaves every request to hyper, so that tests can compare the two.
    #[cfg(feature = "fuzzing")]
    #[doc(hidden)]
    #[must_use]
    pub fn hyper_only(mut self) -> Self {
        self.hyper_only = true;
        self
    }

    /// Whether it takes time to find out who calls.
    pub(crate) fn has_async_auth(&self) -> bool {
        matches!(&self.auth, Some(Auth { check: AuthCheck::Later(_), .. }))
    }

    /// Whether callers must prove who they are, or that they may make their calls.
    pub(crate) fn is_protected(&self) -> bool {
        self.auth.is_some() || self.permit.is_some()
    }

    pub(crate) fn status_of(&self, parts: &Parts, code: ErrorCode) -> StatusCode {
        match &self.error_status {
            Some(status) => status(parts, code),
            None => match code {
                ErrorCode::PARSE_ERROR | ErrorCode::INVALID_REQUEST => StatusCode::BAD_REQUEST,
                ErrorCode::MESSAGE_TOO_LARGE => StatusCode::PAYLOAD_TOO_LARGE,
                ErrorCode::OVERLOADED => StatusCode::SERVICE_UNAVAILABLE,
                _ => StatusCode::OK,
            },
        }
    }

    pub(crate) fn accepted(&self) -> StatusCode {
        if self.no_content { StatusCode::NO_CONTENT } else { StatusCode::ACCEPTED }
    }

    pub(crate) fn keep_alive_every(&self) -> Duration {
        self.keep_alive.unwrap_or(Duration::from_secs(15))
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("hosts", &self.hosts)
            .field("origins", &self.origins)
            .field("sessions", &self.sessions)
            .finish_non_exhaustive()
    }
}

fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.as_bytes().split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then_some(token.trim_ascii())
}

/// Takes the same time wherever the two differ. Their lengths are not secret.
fn same_text(one: &[u8], other: &[u8]) -> bool {
    let differing = one.iter().zip(other).fold(0, |differing, (a, b)| differing | (a ^ b));
    one.len() == other.len() && std::hint::black_box(differing) == 0
}

/// How sessions of Streamable HTTP are kept.
///
/// ```
/// use sabir::Sessions;
/// use std::time::Duration;
///
/// let sessions = Sessions {
///     idle: Duration::from_secs(60),
///     versions: &["2025-03-26", "2025-06-18", "2025-11-25"],
///     stateless: &["2026-07-28"],
///     ..Sessions::opened_by("initialize")
/// };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sessions {
    /// Which call opens a session.
    pub opened_by: SessionOpener,
    /// Sessions at once. One more ends the one that has been idle longest among those of the caller that has the
    /// most; if none is idle, it is refused with 503. 1,024.
    pub most: usize,
    /// Sessions at once of one caller: of one identity, or without [`Http::auth`] of one address. One more ends the
    /// one of its own that has been idle longest; if none is, it is refused with 503. 512.
    pub per_caller: usize,
    /// How long a session may be left alone. 30 minutes.
    pub idle: Duration,
    /// Requests and streams that a session may have open at once. 256.
    pub streams: usize,
    /// Bytes of messages that a session keeps: of those that were sent, for clients that lost their
    /// connection, and of those for which no stream is open. 256 KiB.
    pub replay_bytes: usize,
    /// Values of `MCP-Protocol-Version` that are taken in a session; others are refused with 400. Empty, and
    /// so not looked at.
    pub versions: &'static [&'static str],
    /// Values of `MCP-Protocol-Version` with which a request stands for itself and needs no session.
    pub stateless: &'static [&'static str],
    /// The first version, as text, whose clients understand an event without data at the start of a stream:
    /// it gives them what they need to come back. `2025-11-25`.
    pub primed_from: &'static str,
    /// How long clients are told to wait before they come back. 1 s.
    pub retry: Duration,
}

/// Which call opens a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionOpener {
    /// That of this method. All others need a session.
    Method(&'static str),
    /// One that subscribes, if its client takes streams of events: `Accept: application/json, text/event-stream`. All
    /// other requests are plain ones, and need no session. In proxies, the subscriptions count that were
    /// [declared](crate::Router::forward_subscription).
    Subscribing,
}

impl Sessions {
    /// Sessions that begin with a call of this method.
    pub const fn opened_by(method: &'static str) -> Self {
        Sessions::begun(SessionOpener::Method(method))
    }

    /// Sessions for subscriptions alone: the first one opens a session, and whoever only calls never needs any.
    pub const fn opened_by_subscribing() -> Self {
        Sessions::begun(SessionOpener::Subscribing)
    }

    const fn begun(opened_by: SessionOpener) -> Self {
        Sessions {
            opened_by,
            most: 1024,
            per_caller: 512,
            idle: Duration::from_secs(30 * 60),
            streams: 256,
            replay_bytes: 256 * 1024,
            versions: &[],
            stateless: &[],
            primed_from: "2025-11-25",
            retry: Duration::from_secs(1),
        }
    }

    /// Whether there are requests that need no session.
    pub(crate) fn are_optional(&self) -> bool {
        self.opened_by == SessionOpener::Subscribing || !self.stateless.is_empty()
    }
}

/// A request that is not let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    pub(crate) status: StatusCode,
    pub(crate) challenge: Option<HeaderValue>,
    /// A document that says more to programs.
    pub(crate) json: Option<Bytes>,
    pub(crate) header: Option<Box<(HeaderName, HeaderValue)>>,
}

impl Denied {
    /// 401: authentication is missing or invalid. The challenge goes into `WWW-Authenticate` and says which is
    /// expected: `Bearer`, or `Bearer realm="calls"`.
    ///
    /// # Panics
    /// If the challenge cannot stand in a header.
    pub fn unauthorized(challenge: &str) -> Self {
        let value = HeaderValue::from_str(challenge);
        let value = value.unwrap_or_else(|_| panic!("{challenge:?} is not a valid header value"));
        Denied { status: StatusCode::UNAUTHORIZED, challenge: Some(value), json: None, header: None }
    }

    /// 403: the caller is authenticated, but not allowed.
    pub fn forbidden() -> Self {
        Denied { status: StatusCode::FORBIDDEN, challenge: None, json: None, header: None }
    }

    /// Another status.
    #[must_use]
    pub fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// One more header, such as a nonce that the next attempt needs.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some(Box::new((name, value)));
        self
    }

    /// Says why, in JSON instead of a line of text.
    #[must_use]
    pub fn json(mut self, json: impl Into<String>) -> Self {
        self.json = Some(Bytes::from(json.into()));
        self
    }
}

/// Where a request came from: an extension of the request, where it is known.
///
/// ```
/// use sabir::{Ctx, Remote};
///
/// async fn whoami(ctx: Ctx, _: ()) -> sabir::Result<Option<String>> {
///     let remote = ctx.http().and_then(|parts| parts.extensions.get::<Remote>());
///     Ok(remote.map(|Remote(address)| address.to_string()))
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remote(pub SocketAddr);

/// What can reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Bound {
    /// Programs on this machine, and so the pages in its browsers.
    #[default]
    Loopback,
    /// Other machines, too.
    Open,
}
