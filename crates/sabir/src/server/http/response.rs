//! Answers: those that hold a message, and those that refuse a request before it is one.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Version, header};

use crate::server::http::body::Body;
use crate::server::http::config::Denied;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A request that is refused, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    status: StatusCode,
    /// For people who look at it.
    reason: &'static str,
    /// Nothing more is taken from this connection: what follows may not be what it seems.
    pub(crate) closes: bool,
    header: Option<(header::HeaderName, HeaderValue)>,
    /// One more that the one who refuses adds.
    more: Option<Box<(header::HeaderName, HeaderValue)>>,
    /// In place of the reason.
    json: Option<Box<Bytes>>,
}

impl Refusal {
    const fn new(status: StatusCode, reason: &'static str) -> Self {
        Refusal { status, reason, closes: false, header: None, more: None, json: None }
    }

    const fn closing(status: StatusCode, reason: &'static str) -> Self {
        Refusal { status, reason, closes: true, header: None, more: None, json: None }
    }

    pub(crate) const OVERLOADED: Self = Self::closing(
        StatusCode::SERVICE_UNAVAILABLE,
        "the server has no memory left for this: try again later",
    );
    pub(crate) const CODING: Self = Self::closing(
        StatusCode::NOT_IMPLEMENTED,
        "the only accepted Transfer-Encoding is a single `chunked`",
    );
    pub(crate) const STOPPING: Self =
        Self::closing(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping: try again later");
    pub(crate) const HOSTS: Self = Self::closing(StatusCode::BAD_REQUEST, "expected one valid Host header");
    pub(crate) const CONFLICTING_LENGTH: Self =
        Self::closing(StatusCode::BAD_REQUEST, "both Content-Length and Transfer-Encoding: send one");
    pub(crate) const HOST: Self = Self::new(
        StatusCode::MISDIRECTED_REQUEST,
        "this Host is not served here: the server's settings name those that are",
    );
    pub(crate) const ORIGIN: Self = Self::new(
        StatusCode::FORBIDDEN,
        "pages of this Origin may not call: the server's settings name those that may",
    );
    pub(crate) const NO_WEBSOCKET: Self =
        Self::new(StatusCode::NOT_IMPLEMENTED, "WebSocket is not served here");
    pub(crate) const NO_HTTP: Self =
        Self::new(StatusCode::NOT_IMPLEMENTED, "only WebSocket is served here: send an upgrade request");
    pub(crate) const HANDSHAKE: Self =
        Self::new(StatusCode::BAD_REQUEST, "not a WebSocket handshake of HTTP/1.1");
    pub(crate) const PATH: Self = Self::new(StatusCode::NOT_FOUND, "nothing is served at this path");
    pub(crate) const NOT_JSON: Self =
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "expected Content-Type: application/json");
    pub(crate) const ENCODED: Self =
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "a Content-Encoding is not taken: send plain JSON");
    pub(crate) const ACCEPT: Self = Self::new(
        StatusCode::NOT_ACCEPTABLE,
        "the answer is application/json or text/event-stream: accept one of them",
    );
    pub(crate) const ACCEPT_EVENTS: Self = Self::new(
        StatusCode::NOT_ACCEPTABLE,
        "the answer to GET is a stream: send Accept: text/event-stream",
    );
    pub(crate) const TOO_LARGE: Self =
        Self::closing(StatusCode::PAYLOAD_TOO_LARGE, "the message is larger than this server takes");
    pub(crate) const TOO_SLOW: Self =
        Self::closing(StatusCode::REQUEST_TIMEOUT, "the body took too long to come");
    pub(crate) const BROKEN: Self =
        Self::closing(StatusCode::BAD_REQUEST, "the body broke off, or is not as its length says");
    pub(crate) const NO_SESSION: Self = Self::new(
        StatusCode::BAD_REQUEST,
        "expected an Mcp-Session-Id header, or the call that opens a session",
    );
    pub(crate) const UNKNOWN_SESSION: Self =
        Self::new(StatusCode::NOT_FOUND, "there is no such session, or it has ended: open a new one");
    pub(crate) const REPEATED_HEADER: Self = Self::new(
        StatusCode::BAD_REQUEST,
        "Mcp-Session-Id, MCP-Protocol-Version and Last-Event-ID may each come once",
    );
    pub(crate) const VERSION: Self =
        Self::new(StatusCode::BAD_REQUEST, "this MCP-Protocol-Version is not served here");
    pub(crate) const UNKNOWN_EVENT: Self =
        Self::new(StatusCode::BAD_REQUEST, "no stream can be resumed at this Last-Event-ID");
    pub(crate) const TOO_MANY_STREAMS: Self = Self::new(
        StatusCode::TOO_MANY_REQUESTS,
        "the session has too many requests open: wait for some to end",
    );

    /// No session is idle, and there is no room for one more.
    pub(crate) fn too_many_sessions() -> Self {
        let retry = (header::RETRY_AFTER, HeaderValue::from_static("5"));
        let refusal =
            Self::new(StatusCode::SERVICE_UNAVAILABLE, "too many sessions are open: try again later");
        Refusal { header: Some(retry), ..refusal }
    }

    pub(crate) fn method(allow: &'static str) -> Self {
        let allow = (header::ALLOW, HeaderValue::from_static(allow));
        let refusal = Self::new(StatusCode::METHOD_NOT_ALLOWED, "this method is not served here: see Allow");
        Refusal { header: Some(allow), ..refusal }
    }

    pub(crate) fn websocket_version(version: HeaderValue) -> Self {
        let refusal = Self::new(
            StatusCode::UPGRADE_REQUIRED,
            "unsupported WebSocket version: see Sec-WebSocket-Version",
        );
        Refusal { header: Some((header::SEC_WEBSOCKET_VERSION, version)), ..refusal }
    }

    pub(crate) fn denied(denied: Denied) -> Self {
        let Denied { status, challenge, json, header: more } = denied;
        let reason = match status {
            StatusCode::UNAUTHORIZED => "authentication required: see WWW-Authenticate",
            StatusCode::FORBIDDEN => "this caller is not allowed",
            _ => "this request is not taken",
        };
        let header = challenge.map(|challenge| (header::WWW_AUTHENTICATE, challenge));
        Refusal { header, json: json.map(Box::new), more, ..Self::new(status, reason) }
    }

    /// The same, and nothing more is taken from the connection.
    pub(crate) fn and_close(self) -> Self {
        Refusal { closes: true, ..self }
    }

    pub(crate) fn response(self, version: Version) -> Response<Body> {
        self.whole(version).map(Body::full)
    }

    pub(crate) fn whole(self, version: Version) -> Response<Bytes> {
        let (kind, body) = match self.json {
            Some(json) => (JSON, *json),
            None => {
                let text = Bytes::from(format!("{}\n", self.reason));
                (HeaderValue::from_static("text/plain; charset=utf-8"), text)
            }
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, kind);
        for (name, value) in self.header.into_iter().chain(self.more.map(|more| *more)) {
            headers.insert(name, value);
        }
        // HTTP/2 closes its streams by itself, and has no such header.
        if self.closes && version <= Version::HTTP_11 {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// An answer that is one message, or none.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) message: Option<Bytes>,
}

impl Answer {
    pub(crate) fn response(self) -> Response<Body> {
        match self.message {
            Some(message) => json(self.status, message),
            None => empty(self.status, HeaderMap::new()),
        }
    }
}

/// The answer in place of one for which there is no memory.
pub(crate) const OVERLOADED: Bytes = Bytes::from_static(
    b"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32009,\"message\":\"Overloaded\",\
    \"data\":\"the server has no memory left for this: try again later\"}}",
);

/// A message as the whole answer.
pub(crate) fn json(status: StatusCode, message: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::full(message));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

/// A document for everybody.
pub(crate) fn document(method: &Method, json: Bytes) -> Result<Response<Body>, Refusal> {
    const METHODS: &str = "GET, HEAD, OPTIONS";
    let mut response = match *method {
        Method::GET | Method::HEAD => self::json(StatusCode::OK, json),
        Method::OPTIONS => empty(StatusCode::NO_CONTENT, HeaderMap::new()),
        _ => return Err(Refusal::method(METHODS)),
    };
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    if *method == Method::OPTIONS {
        headers.insert(header::ALLOW, HeaderValue::from_static(METHODS));
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*"));
    }
    Ok(response)
}

/// A stream of events.
pub(crate) fn events(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// No message at all.
pub(crate) fn empty(status: StatusCode, headers: HeaderMap) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
