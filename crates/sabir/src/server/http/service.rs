//! The service: a request in, an answer out.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Version, header};
use sabir_proto::{Config, Dialect, Incoming, LENIENT, Limits, Message, decode};
use tokio::sync::watch;

use crate::router::{Router, Routes};
use crate::runtime::caller::HttpCaller;
use crate::server::acceptor::Connections;
use crate::server::budget::MemoryBudget;
use crate::server::http::body::Body;
use crate::server::http::config::{Auth, AuthCheck, Bound, Denied, Http, Identity, Permit, Sessions};
use crate::server::http::conflicting_length::ConflictingLength;
use crate::server::http::content::{self, Accepts};
use crate::server::http::exchange::ExchangePool;
use crate::server::http::pending;
use crate::server::http::response::{self, Refusal};
use crate::server::http::session::{self, Table};
use crate::server::http::shutdown::Stop;
use crate::server::http::{host_origin, request_body, upgrade};

/// A router as a [`tower::Service`](tower_service::Service) of HTTP, to be mounted in an application that
/// speaks it already. [`listen`](crate::listen) needs none of this.
///
/// ```no_run
/// # async fn run() -> std::io::Result<()> {
/// use sabir::{Http, HttpService, Router};
///
/// let router = Router::new().method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) });
/// let rpc = HttpService::new(router, Http::new());
/// let app = axum::Router::new().route_service("/rpc", rpc);
/// axum::serve(tokio::net::TcpListener::bind("127.0.0.1:8080").await?, app).await
/// # }
/// ```
///
/// It is cheap to clone, and all clones are one: they have the same sessions. It checks `Host` and `Origin`
/// by itself, and is as strict as for a server on this machine only: name others by
/// [`Http::allow_host`]. How long a head may take, how many connections there may be, and TLS are left to
/// the application.
#[derive(Clone)]
pub struct HttpService {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) http: Http,
    pub(crate) routes: Arc<Routes>,
    pub(crate) config: Config,
    pub(crate) bound: Bound,
    pub(crate) stop: Stop,
    pub(crate) exchange_pool: ExchangePool,
    pub(crate) sessions: Table,
    /// What all connections and sessions together may hold.
    pub(crate) budget: Arc<MemoryBudget>,
}

/// A POST that has passed every check of its head.
pub(crate) struct Admitted {
    pub(crate) caller: HttpCaller,
    pub(crate) accepts: Accepts,
}

/// A request whose head was judged already, and refused: an extension of it.
#[derive(Clone)]
pub(crate) struct Refused(pub(crate) Refusal);

/// What the connection that a request came over may hold: an extension of the request.
#[derive(Clone)]
pub(crate) struct ConnectionBudget(pub(crate) Arc<MemoryBudget>);

/// How long what is open may take to finish once the service is stopped.
const GRACE: Duration = Duration::from_millis(1500);

impl HttpService {
    /// A service that answers with this router.
    pub fn new(router: Router, http: Http) -> Self {
        let stop = Stop::new(watch::channel(false).0, GRACE);
        let budget = MemoryBudget::new(Connections::default().total_bytes);
        HttpService::bound(router.into_routes(), http, Config::default(), Bound::Loopback, stop, budget)
    }

    /// The same for a server that knows how it can be reached, and says when to stop.
    pub(crate) fn bound(
        routes: Arc<Routes>,
        http: Http,
        config: Config,
        bound: Bound,
        stop: Stop,
        budget: Arc<MemoryBudget>,
    ) -> Self {
        HttpService {
            inner: Arc::new(Inner {
                http,
                routes,
                config,
                bound,
                stop,
                exchange_pool: ExchangePool::default(),
                sessions: Table::default(),
                budget,
            }),
        }
    }

    /// Sets the protocol rules: what is allowed, and which cancel and progress messages are used. Call it before
    /// the service is cloned or used.
    #[must_use]
    pub fn dialect(self, dialect: Dialect) -> Self {
        let config = Config { dialect, ..self.inner.config };
        self.with(config)
    }

    /// Sets how much of everything a message, an exchange or a session may use. To be called before the
    /// service is cloned or used.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        let config = Config { limits, ..self.inner.config };
        self.with(config)
    }

    fn with(self, config: Config) -> Self {
        let Inner { http, routes, bound, stop, budget, .. } = &*self.inner;
        let budget = Arc::clone(budget);
        HttpService::bound(Arc::clone(routes), http.clone(), config, *bound, stop.clone(), budget)
    }

    /// How long a body may take to come.
    pub(crate) fn body_deadline(&self) -> Duration {
        request_body::deadline(&self.inner.http)
    }

    /// Ends everything gracefully: new requests are refused with 503, streams and sessions finish what
    /// is open, for 1.5 s at the most.
    pub fn stop(&self) {
        self.inner.stop.stop();
    }

    /// Answers a request.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body,
    {
        let (parts, body) = request.into_parts();
        let version = parts.version;
        let expects = parts.headers.contains_key(header::EXPECT);
        let mut body = pin!(body);
        let mut page = None;
        let mut response = match self.inner.answer(parts, body.as_mut(), &mut page).await {
            Ok(response) => response,
            Err(refusal) if refusal.closes || version > Version::HTTP_11 => refusal.response(version),
            // Behind the body is the next request. Whether hyper gets there depends on how much has come; so it is read
            // here, or the connection is said to end. Asking for more of it would be telling its sender to go on.
            Err(refusal) => match !expects && request_body::drop_rest(body).await {
                true => refusal.response(version),
                false => refusal.and_close().response(version),
            },
        };
        // Whether or not the call was refused, the page may know.
        if let Some(origin) = page {
            host_origin::allow(response.headers_mut(), origin);
        }
        response
    }
}

impl Inner {
    /// What the connection of a request may hold.
    pub(crate) fn budget_of(&self, parts: &Parts) -> Arc<MemoryBudget> {
        let connection = parts.extensions.get::<ConnectionBudget>();
        connection.map_or_else(|| Arc::clone(&self.budget), |ConnectionBudget(budget)| Arc::clone(budget))
    }

    /// Answers a request. If it is that of a page that may call, `page` is its origin.
    async fn answer<B>(
        self: &Arc<Self>,
        parts: Parts,
        body: Pin<&mut B>,
        page: &mut Option<HeaderValue>,
    ) -> Result<Response<Body>, Refusal>
    where
        B: http_body::Body,
    {
        if let Some(Refused(refusal)) = parts.extensions.get() {
            return Err(refusal.clone());
        }
        let document = self.http.documents.iter().find(|(path, _)| path == parts.uri.path());
        if let Some((_, json)) = document {
            return response::document(&parts.method, json.clone());
        }
        let origin = self.check(&parts)?;
        let is_page = origin.is_some();
        *page = origin;
        let methods = self.methods(&parts);
        if parts.method == Method::OPTIONS {
            return self.options(&parts, methods, is_page);
        }
        let identity = self.identify(&parts).await?;
        if upgrade::is_websocket(&parts) {
            if self.http.permit.is_some() {
                return Err(Refusal::NO_WEBSOCKET);
            }
            return upgrade::websocket(self, parts, identity);
        }
        if !self.http.speaks.http {
            return Err(Refusal::NO_HTTP);
        }
        let caller = HttpCaller::new(parts, identity);
        match (&caller.parts().method, self.sessions_for(caller.parts())) {
            (&Method::POST, _) => {
                let budget = self.budget_of(caller.parts());
                let accepts = self.check_post(caller.parts(), &budget)?;
                self.post(Admitted { caller, accepts }, body, &budget).await
            }
            (&Method::GET, Some(sessions)) => session::get(self, sessions, &caller),
            (&Method::DELETE, Some(sessions)) => session::delete(self, sessions, &caller),
            _ => Err(Refusal::method(methods)),
        }
    }

    /// Every check of the head of a POST, for the fast path: one that has neither an `Origin` nor an upgrade.
    pub(crate) fn admit(&self, parts: Box<Parts>, budget: &MemoryBudget) -> Result<Admitted, Refusal> {
        self.check(&parts)?;
        let identity = self.identify_now(&parts)?;
        let accepts = self.check_post(&parts, budget)?;
        Ok(Admitted { caller: HttpCaller::new(parts, identity), accepts })
    }

    /// The checks of every request. Returns the origin of a page that may call.
    fn check(&self, parts: &Parts) -> Result<Option<HeaderValue>, Refusal> {
        if parts.extensions.get::<ConflictingLength>().is_some_and(ConflictingLength::is_seen) {
            return Err(Refusal::CONFLICTING_LENGTH);
        }
        if !content::is_chunked_at_most(&parts.headers) {
            return Err(Refusal::CODING);
        }
        if self.stop.is_stopping() {
            return Err(Refusal::STOPPING);
        }
        let origin = host_origin::check(&self.http, self.bound, parts)?;
        if self.http.path.as_ref().is_some_and(|path| path != parts.uri.path()) {
            return Err(Refusal::PATH);
        }
        Ok(origin)
    }

    /// The checks of a POST. Returns what its sender accepts.
    fn check_post(&self, parts: &Parts, budget: &MemoryBudget) -> Result<Accepts, Refusal> {
        if !content::is_json(&parts.headers) {
            return Err(Refusal::NOT_JSON);
        }
        if content::has_encoding(&parts.headers) {
            return Err(Refusal::ENCODED);
        }
        let accepts = Accepts::of(&parts.headers);
        if accepts.is_nothing() {
            return Err(Refusal::ACCEPT);
        }
        request_body::check_length(&parts.headers, self.config.limits.message_bytes)?;
        // A connection that leaves its answers unread is not computed more of them, only to throw them away.
        let is_connection = !std::ptr::eq(budget, &raw const *self.budget);
        if is_connection && budget.is_nearly_spent() {
            return Err(Refusal::OVERLOADED);
        }
        Ok(accepts)
    }

    /// The methods that are served, as they stand in `Allow`.
    fn methods(&self, parts: &Parts) -> &'static str {
        match self.sessions_for(parts) {
            Some(_) => "POST, GET, DELETE, OPTIONS",
            None => "POST, OPTIONS",
        }
    }

    /// How sessions are kept, unless this request needs none.
    fn sessions_for(&self, parts: &Parts) -> Option<&Sessions> {
        self.http.sessions.as_ref().filter(|sessions| !session::is_stateless(sessions, parts))
    }

    /// Whether a POST is one that only a session can answer, as far as its head shows it.
    pub(crate) fn may_need_session(&self, parts: &Parts) -> bool {
        self.sessions_for(parts).is_some() && session::concerns(parts)
    }

    /// Pages of origins that are not allowed may not even ask.
    fn options(
        &self,
        parts: &Parts,
        methods: &'static str,
        is_page: bool,
    ) -> Result<Response<Body>, Refusal> {
        if !is_page && parts.headers.contains_key(header::ORIGIN) {
            return Err(Refusal::ORIGIN);
        }
        let (status, mut headers) = if is_page {
            host_origin::preflight(&parts.headers, methods)
        } else {
            (StatusCode::NO_CONTENT, HeaderMap::new())
        };
        headers.insert(header::ALLOW, HeaderValue::from_static(methods));
        Ok(response::empty(status, headers))
    }

    async fn identify(&self, parts: &Parts) -> Result<Option<Identity>, Refusal> {
        let identified = match &self.http.auth {
            Some(Auth { check: AuthCheck::Later(check), .. }) => check(parts).await,
            _ => return self.identify_now(parts),
        };
        identified.map_err(Refusal::denied)
    }

    /// The caller, if it is known at once.
    pub(crate) fn identify_now(&self, parts: &Parts) -> Result<Option<Identity>, Refusal> {
        match &self.http.auth {
            Some(Auth { check: AuthCheck::Now(check), .. }) => check(parts).map_err(Refusal::denied),
            Some(Auth { check: AuthCheck::Later(_), .. }) => Err(Refusal::denied(Denied::forbidden())),
            None => Ok(None),
        }
    }

    async fn post<B>(
        self: &Arc<Self>,
        Admitted { caller, accepts }: Admitted,
        body: Pin<&mut B>,
        budget: &Arc<MemoryBudget>,
    ) -> Result<Response<Body>, Refusal>
    where
        B: http_body::Body,
    {
        let limit = self.config.limits.message_bytes;
        let message = request_body::whole(body, limit, request_body::deadline(&self.http), budget).await?;
        if let Some(permit) = &self.http.permit {
            self.check_calls(permit, &caller, &message.0)?;
        }
        match self.sessions_for(caller.parts()) {
            Some(sessions) => session::post(self, sessions, message, caller, accepts).await,
            None => Ok(pending::answer(self, message, caller, accepts).await),
        }
    }
}

impl Inner {
    /// Whether the caller may make every call in a message. What is not one is left to the engine, which says why.
    fn check_calls(&self, permit: &Permit, caller: &HttpCaller, message: &[u8]) -> Result<(), Refusal> {
        // A session may have agreed on other rules than the server has: whatever any of them takes is looked at.
        let entries = match decode(message, &LENIENT, &self.config.limits) {
            Ok(Incoming::One(entry)) => vec![entry],
            Ok(Incoming::Batch(entries)) => entries,
            Err(_) => return Ok(()),
        };
        for entry in entries {
            let (method, params) = match &entry {
                Ok(Message::Request(request)) => (&request.method, request.params.as_ref()),
                Ok(Message::Notification(notification)) => {
                    (&notification.method, notification.params.as_ref())
                }
                Ok(Message::Response(_)) | Err(_) => continue,
            };
            permit(caller.parts(), caller.identity.as_deref(), method, params).map_err(Refusal::denied)?;
        }
        Ok(())
    }
}

type Answering = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

impl<B> tower_service::Service<Request<B>> for HttpService
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Answering {
        let service = self.clone();
        Box::pin(async move { Ok(service.handle(request).await) })
    }
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpService").field("http", &self.inner.http).finish_non_exhaustive()
    }
}
