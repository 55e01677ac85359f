//! What all requests to a server have in common: headers, the session, and room for answers.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, USER_AGENT};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use http_body_util::Full;
use sabir_proto::{Limits, RawJson, TraceContext};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};

use crate::client::http::authorizer::{Authorizer, MOST_ATTEMPTS, Verdict};
use crate::client::http::failure::HttpFailure;
use crate::client::http::pool::{OtherPath, Pool, Reply, RequestError};
use crate::runtime::message_transport::Incoming;
use crate::sync::lock;
use crate::transport::endpoint::Dial;

/// Names a session, in both directions.
pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Answers of which more than a small piece is held at a time.
const LARGE_ANSWERS: usize = 2;

/// Called with each message before it is posted; may add headers.
pub(crate) type OnPost = Box<dyn Fn(&RawJson<'_>, &mut HeaderMap) + Send + Sync>;

/// Called for failed HTTP responses.
pub(crate) type OnFailure = Box<dyn Fn(&HttpFailure<'_>) + Send + Sync>;

/// A header as it was typed. The fault does not repeat the value, which may be a secret.
pub(crate) fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let wrong = |what: &str| format!("`{}` is not a header: {what}", name.escape_debug());
    let value = HeaderValue::from_str(value).map_err(|_| wrong("its value has control characters"))?;
    Ok((name.parse().map_err(|_| wrong("a name has letters, digits and hyphens"))?, value))
}

/// The headers of all requests, which may change while the connection lives.
#[derive(Debug, Default)]
pub(crate) struct Headers {
    all: Mutex<HeaderMap>,
    /// The traces of calls that are about to be posted, by their ids.
    traces: Mutex<HashMap<u64, Trace>>,
}

/// The headers of a trace.
pub(crate) type Trace = Vec<(HeaderName, HeaderValue)>;

impl Headers {
    pub(crate) fn new(headers: HeaderMap) -> Self {
        Headers { all: Mutex::new(headers), traces: Mutex::default() }
    }

    pub(crate) fn set(&self, name: HeaderName, value: HeaderValue) {
        lock(&self.all).insert(name, value);
    }

    /// A call is about to be posted that belongs to a trace.
    pub(crate) fn keep_trace(&self, id: u64, trace: &TraceContext<'_>) {
        let parts = [
            ("traceparent", Some(&trace.traceparent)),
            ("tracestate", trace.tracestate.as_ref()),
            ("baggage", trace.baggage.as_ref()),
        ];
        let header = |(name, value): (&'static str, Option<&Cow<'_, str>>)| {
            let value = value.filter(|value| !value.is_empty())?;
            Some((HeaderName::from_static(name), HeaderValue::from_str(value).ok()?))
        };
        lock(&self.traces).insert(id, parts.into_iter().filter_map(header).collect());
    }

    /// The trace of a call that is posted now.
    pub(crate) fn take_trace(&self, id: u64) -> Trace {
        let mut traces = lock(&self.traces);
        // Nearly all calls have none.
        if traces.is_empty() { Trace::new() } else { traces.remove(&id).unwrap_or_default() }
    }
}

/// MCP's first transport over HTTP: one stream of events carries all that the server says.
#[derive(Default)]
pub(crate) struct EventStream {
    endpoint: Mutex<Option<Result<PathAndQuery, String>>>,
    known: Notify,
}

impl EventStream {
    /// Waits until it is known where to post, or why nowhere.
    pub(crate) async fn endpoint(&self) -> Result<(), String> {
        loop {
            let known = self.known.notified();
            let mut known = std::pin::pin!(known);
            known.as_mut().enable();
            if let Some(endpoint) = &*lock(&self.endpoint) {
                return endpoint.as_ref().map(|_| ()).map_err(Clone::clone);
            }
            known.await;
        }
    }

    /// The stream has ended.
    pub(crate) fn end(&self) {
        lock(&self.endpoint)
            .get_or_insert_with(|| Err("its stream of events ended before it said where to post".to_owned()));
        self.known.notify_waiters();
    }
}

/// Something for the session, with the room that it takes.
pub(crate) struct Delivery {
    pub(crate) incoming: Incoming,
    pub(crate) _room: Option<OwnedSemaphorePermit>,
}

/// The way to the session.
pub(crate) type Deliver = mpsc::Sender<Delivery>;

/// A server, as its requests see it.
pub(crate) struct Client {
    pub(crate) pool: Pool,
    pub(crate) url: String,
    pub(crate) headers: Arc<Headers>,
    pub(crate) on_post: Option<OnPost>,
    pub(crate) on_failure: Option<OnFailure>,
    authorizer: Option<Box<dyn Authorizer>>,
    pub(crate) limits: Limits,
    session: Mutex<Option<HeaderValue>>,
    room: Arc<Semaphore>,
    /// Answers come on one stream of events, which says where to post.
    event_stream: Option<EventStream>,
}

impl Client {
    pub(crate) fn new(pool: Pool, url: String, dial: Dial, event_stream: Option<EventStream>) -> Self {
        Client {
            pool,
            url,
            headers: Arc::new(Headers::new(dial.headers)),
            on_post: dial.on_post,
            on_failure: dial.on_failure,
            authorizer: dial.authorizer,
            limits: dial.limits,
            session: Mutex::default(),
            room: Arc::new(Semaphore::new(LARGE_ANSWERS)),
            event_stream,
        }
    }

    /// The stream on which all answers come, if there is one.
    pub(crate) fn event_stream(&self) -> Option<&EventStream> {
        self.event_stream.as_ref()
    }

    /// The server has said where to post. Another host is not believed: what is posted may hold secrets.
    pub(crate) fn set_endpoint(&self, endpoint: &str) {
        if let Some(stream) = &self.event_stream {
            let path = self.pool.path_at(endpoint);
            *lock(&stream.endpoint) = Some(path.ok_or_else(|| {
                format!("it wants messages posted elsewhere: {}", sabir_proto::escape_controls(endpoint))
            }));
            stream.known.notify_waiters();
        }
    }

    pub(crate) fn has_session(&self) -> bool {
        self.owns_session() || self.brought_session()
    }

    /// Whether the session was opened here, and so is to be ended here.
    pub(crate) fn owns_session(&self) -> bool {
        lock(&self.session).is_some()
    }

    /// Whether the headers that were given name a session: it was there before, and goes on behind this connection.
    fn brought_session(&self) -> bool {
        lock(&self.headers.all).contains_key(SESSION)
    }

    /// The session is over. Whether there was one.
    pub(crate) fn forget_session(&self) -> bool {
        lock(&self.session).take().is_some() || self.brought_session()
    }

    /// Room for an answer that is not small.
    pub(crate) async fn room(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.room).acquire_owned().await.ok()
    }

    pub(crate) async fn post(&self, message: Bytes, trace: Trace) -> Result<Reply, RequestError> {
        let mut headers = self.common("application/json, text/event-stream");
        headers.extend(trace);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(on_post) = &self.on_post
            && let Ok(message) = RawJson::from_bytes(&message)
        {
            on_post(&message, &mut headers);
        }
        let mut request = Request::new(Full::new(message));
        if let Some(Some(Ok(path))) = self.event_stream.as_ref().map(|stream| lock(&stream.endpoint).clone())
        {
            request.extensions_mut().insert(OtherPath(path));
        }
        *request.method_mut() = Method::POST;
        *request.headers_mut() = headers;
        self.send(request).await
    }

    /// Asks for a stream of events, from behind the one with this id.
    pub(crate) async fn get(&self, last_event: Option<&str>) -> Result<Reply, RequestError> {
        let mut headers = self.common("text/event-stream");
        if let Some(id) = last_event.and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert(LAST_EVENT, id);
        }
        self.send(bare(Method::GET, headers)).await
    }

    /// Ends the session.
    pub(crate) async fn delete(&self) -> Result<Reply, RequestError> {
        self.send(bare(Method::DELETE, self.common("*/*"))).await
    }

    fn common(&self, accept: &'static str) -> HeaderMap {
        let mut headers = lock(&self.headers.all).clone();
        let mut default = |name: HeaderName, value| {
            headers.entry(name).or_insert(HeaderValue::from_static(value));
        };
        default(ACCEPT, accept);
        default(ACCEPT_ENCODING, "identity");
        default(USER_AGENT, concat!("sabir/", env!("CARGO_PKG_VERSION")));
        if let Some(session) = &*lock(&self.session) {
            headers.insert(SESSION, session.clone());
        }
        headers
    }

    /// Sends a request as often as its authorization takes.
    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Reply, RequestError> {
        let Some(authorizer) = &self.authorizer else { return self.send_once(request).await };
        for _ in 0..MOST_ATTEMPTS {
            let mut attempt = request.clone();
            let method = attempt.method().clone();
            let authorized = authorizer.authorize(&method, &self.url, attempt.headers_mut()).await;
            authorized.map_err(RequestError::Unauthorized)?;
            let sent = attempt.headers().clone();
            let reply = self.send_once(attempt).await?;
            let verdict = authorizer.answered(&self.url, &sent, reply.0.status(), reply.0.headers()).await;
            match verdict.map_err(RequestError::Unauthorized)? {
                Verdict::Done => return Ok(reply),
                Verdict::Again => {}
            }
        }
        let reason = format!("{} still refuses the request after {MOST_ATTEMPTS} attempts", self.url);
        Err(RequestError::Unauthorized(reason))
    }

    async fn send_once(&self, request: Request<Full<Bytes>>) -> Result<Reply, RequestError> {
        let reply = self.pool.send(request).await?;
        if let Some(session) = reply.0.headers().get(SESSION)
            && reply.0.status().is_success()
            && !self.brought_session()
        {
            lock(&self.session).get_or_insert_with(|| session.clone());
        }
        Ok(reply)
    }
}

fn bare(method: Method, headers: HeaderMap) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(Bytes::new()));
    *request.method_mut() = method;
    *request.headers_mut() = headers;
    request
}
