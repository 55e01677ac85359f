//! HTTP: each message is posted by itself over a connection of its own. What is posted need not be JSON, and an answer
//! is used whatever its status. A stream of events that ends early is resumed.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use sabir::sse::{Event, Parser};
use sabir::transport::{self, FirstBytes, HttpFailure, RawStreams, Received, Step, Transport, Url};
use sabir::{Authorizer as _, DeliveryFailure, McpRevision, Undelivered, Verdict};
use sabir_proto::RawJson;

use super::text::{is_message, method_of, name_of, requests, responses};
use super::{Got, WireTarget};
use crate::auth::StoredLogin;
use crate::peer::PeerOptions;
use crate::print::Printer;
use crate::trace;
use crate::web::Web;

/// Names a session of MCP, in both directions.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// What the stateless revision of MCP wants said about a message outside it.
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// The most that is read of the body of a refusal, and how long that may take.
const REFUSAL: usize = 256 << 10;
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(5);

/// How often one request is sent: with a token, with a renewed one, with a proof that the server can take.
const LOGINS: u32 = 4;

/// How often in a row a stream is resumed that brings nothing new.
const ATTEMPTS: u32 = 5;
/// How long to wait before that, unless the server says.
const PAUSE: Duration = Duration::from_secs(1);

pub(crate) struct Post {
    pub(super) url: Url,
    web: Web,
    /// The tokens of an earlier login, unless the user gives credentials.
    login: Option<Arc<StoredLogin>>,
    /// MCP 2026-07-28, which wants headers that say what is in the body.
    stateless: bool,
    /// The session that was opened here, and so is ended here.
    session: Option<HeaderValue>,
    /// The revision of MCP that was agreed on.
    version: Option<HeaderValue>,
    /// The answer to `initialize` is still to come.
    initializing: bool,
    /// What is to be posted, in this order.
    queue: VecDeque<String>,
    ready: VecDeque<Vec<u8>>,
    events: Option<Events>,
    /// Whether a message has come in answer to the last post.
    answered: bool,
    status: Option<u16>,
    /// What the status of the last answer says, if it is not a success.
    refusal: Option<Undelivered>,
    /// Why the last post has no answer.
    undelivered: Option<Undelivered>,
    max_size: usize,
    printer: Option<Printer>,
}

/// How many messages may come before the event that says where to post. The specification allows none.
const EARLY_MESSAGES: usize = 16;

/// An answer that comes as a stream of events.
pub(super) struct Events {
    body: Incoming,
    parser: Parser,
    /// Responses that are still to come.
    expected: usize,
    /// The id of the last event, over all connections.
    last: Option<String>,
    attempts: u32,
}

/// Why there is no answer.
pub(super) enum NoAnswer {
    TooLarge,
    Undelivered(Undelivered),
}

impl Post {
    /// Makes sure that the server can be reached.
    pub(super) async fn open(url: &Url, target: &WireTarget) -> io::Result<Post> {
        let PeerOptions { web, max_size, .. } = &target.peer;
        web.trust(to_host(url)).into_streams().await?;
        let post = Post::new(url.clone(), web.clone(), *max_size, target.printer.clone());
        let login = target.peer.login().map(Arc::new);
        Ok(Post { stateless: target.is_stateless(), login, ..post })
    }

    fn new(url: Url, web: Web, max_size: usize, printer: Option<Printer>) -> Post {
        Post {
            url,
            web,
            login: None,
            stateless: false,
            session: None,
            version: None,
            initializing: false,
            queue: VecDeque::new(),
            ready: VecDeque::new(),
            events: None,
            answered: true,
            status: None,
            refusal: None,
            undelivered: None,
            max_size,
            printer,
        }
    }

    /// Another one to the same server, in the same session.
    pub(super) fn fork(&self) -> Post {
        let post = Post::new(self.url.clone(), self.web.clone(), self.max_size, self.printer.clone());
        let (session, version) = (self.session.clone(), self.version.clone());
        Post { stateless: self.stateless, login: self.login.clone(), session, version, ..post }
    }

    /// Goes on in the session that a fork has opened.
    pub(super) fn adopt(&mut self, fork: Post) {
        self.session = fork.session;
        self.version = fork.version;
    }

    /// Whether what it posts says in headers what is in the body.
    pub(super) fn set_stateless(&mut self, stateless: bool) {
        self.stateless = stateless;
    }

    pub(super) fn max_size(&self) -> usize {
        self.max_size
    }

    pub(super) fn send(&mut self, text: &str) {
        self.queue.push_back(text.to_owned());
    }

    /// Posts a message that wants no answer, whatever else is under way.
    pub(super) async fn post_aside(&self, text: &str) -> io::Result<()> {
        let sent = self.exchange(Method::POST, text.to_owned(), None).await;
        sent.map(drop).map_err(|(_, error)| error)
    }

    pub(super) fn has_session(&self) -> bool {
        self.session.is_some() || self.web.has(SESSION.as_str())
    }

    pub(super) fn status(&self) -> Option<u16> {
        self.status
    }

    pub(super) fn refusal(&self) -> Option<&Undelivered> {
        self.refusal.as_ref()
    }

    pub(super) fn undelivered(&self) -> Option<&Undelivered> {
        self.undelivered.as_ref()
    }

    pub(super) fn is_posting(&self) -> bool {
        !self.queue.is_empty() || !self.ready.is_empty() || self.events.is_some()
    }

    /// The next message of the answers. The next post starts when those to the last one are complete.
    pub(super) async fn next(&mut self) -> Got {
        loop {
            if let Some(text) = self.ready.pop_front() {
                return self.message(text);
            }
            let posted = if self.events.is_some() {
                match self.next_event().await {
                    Ok(Some(text)) => return self.message(text),
                    Ok(None) => Ok(()),
                    Err(error) => Err(error),
                }
            } else if let Some(text) = self.queue.pop_front() {
                self.answered = false;
                self.undelivered = None;
                self.post(text).await
            } else {
                return std::future::pending().await;
            };
            match posted {
                Ok(()) if !self.ready.is_empty() || self.events.is_some() || self.answered => {}
                Ok(()) => {
                    self.answered = true;
                    let lost = self.says(DeliveryFailure::Empty, "is empty");
                    let lost = Undelivered { status: self.status, ..lost };
                    self.undelivered = Some(lost.clone());
                    return Got::Nothing(lost);
                }
                Err(NoAnswer::TooLarge) => {
                    self.events = None;
                    return Got::TooLarge { limit: self.max_size };
                }
                Err(NoAnswer::Undelivered(lost)) => {
                    self.events = None;
                    self.answered = true;
                    self.undelivered = Some(lost.clone());
                    return match self.status {
                        Some(_) => Got::Nothing(lost),
                        None => Got::End,
                    };
                }
            }
        }
    }

    /// The data of the next event. The stream is resumed if it ends before all responses came.
    async fn next_event(&mut self) -> Result<Option<Vec<u8>>, NoAnswer> {
        let Some(events) = &mut self.events else { return Ok(None) };
        match events.next().await? {
            Some(text) => {
                events.attempts = 0;
                events.expected = events.expected.saturating_sub(responses(&text));
                // Some servers leave the stream open after the answer.
                if events.expected == 0 {
                    self.events = None;
                }
                Ok(Some(text))
            }
            None => {
                let Some(Events { parser, expected, last, attempts, .. }) = self.events.take() else {
                    return Ok(None);
                };
                let last = parser.id.clone().or(last);
                if expected == 0 {
                    return Ok(None);
                }
                let reason = "ended before the answer was complete";
                let Some(id) = last.filter(|_| attempts < ATTEMPTS) else {
                    return Err(NoAnswer::Undelivered(self.says(DeliveryFailure::Incomplete, reason)));
                };
                tokio::time::sleep(parser.retry.unwrap_or(PAUSE)).await;
                let resumed = self.exchange(Method::GET, String::new(), Some(&id)).await;
                let retry = parser.retry;
                let mut parser = Parser::new(self.max_size);
                parser.retry = retry;
                let (response, _) = resumed.map_err(|(start, error)| self.broken(&start, &error))?;
                if !response.status().is_success() || !is_stream(response.headers()) {
                    let reason =
                        format!("{reason}, and cannot be resumed (HTTP {})", response.status().as_u16());
                    return Err(NoAnswer::Undelivered(self.says(DeliveryFailure::Incomplete, &reason)));
                }
                let attempts = attempts + 1;
                let body = response.into_body();
                self.events = Some(Events { body, parser, expected, last: Some(id), attempts });
                Ok(None)
            }
        }
    }

    fn message(&mut self, text: Vec<u8>) -> Got {
        self.answered = true;
        if self.initializing
            && let Ok(json) = RawJson::from_bytes(&text)
            && let Some(result) = json.get("result")
            && let Some(version) = result.get("protocolVersion")
        {
            self.initializing = false;
            self.version = version.parse::<String>().ok().and_then(|version| version.parse().ok());
        }
        Got::Message(text)
    }

    /// Ends a session of MCP that was opened here.
    pub(super) async fn close(self) {
        if self.session.is_some() {
            let _ = self.exchange(Method::DELETE, String::new(), None).await;
        }
    }

    async fn post(&mut self, text: String) -> Result<(), NoAnswer> {
        let opens = method_of(&text).is_some_and(|method| method == "initialize");
        let expected = requests(&text);
        self.initializing |= opens;
        self.status = None;
        self.refusal = None;
        let posted = self.exchange(Method::POST, text, None).await;
        let (response, start) = posted.map_err(|(start, error)| self.broken(&start, &error))?;
        let status = response.status();
        self.status = Some(status.as_u16());
        if let Some(session) = response.headers().get(&SESSION)
            && opens
            && status.is_success()
            && !self.web.has(SESSION.as_str())
        {
            self.session = Some(session.clone());
        }
        if is_stream(response.headers()) {
            self.events = Some(Events { expected, ..Events::new(response.into_body(), self.max_size) });
            return Ok(());
        }
        let (head, body) = response.into_parts();
        let body = if status.is_success() {
            whole(body, self.max_size).await.map_err(|error| match error {
                Some(error) => self.broken(&start, &error),
                None => NoAnswer::TooLarge,
            })?
        } else {
            refusal_text(body).await
        };
        let kind = content_type(&head.headers);
        // The body of a failure need not be a message; if it is one, it counts.
        let is_used = match status.is_success() {
            true => {
                (kind == "application/json" && !body.trim_ascii().is_empty())
                    || RawJson::from_bytes(&body).is_ok()
            }
            false => is_message(&body),
        };
        let failure = HttpFailure { status, headers: &head.headers, body: &body };
        if let Some(printer) = self.printer.as_ref().filter(|_| !status.is_success() || !is_used) {
            trace::failure(&failure, printer);
        }
        self.refusal = (!status.is_success()).then(|| failure.undelivered(&self.url.to_string()));
        if is_used {
            self.ready.push_back(body);
        } else if let Some(refusal) = &self.refusal {
            return Err(NoAnswer::Undelivered(refusal.clone()));
        } else if !body.trim_ascii().is_empty() {
            let (kind, what) = (kind.clone().into(), format!("is `{kind}`, not JSON"));
            let lost = self.says(DeliveryFailure::ContentType(kind), &what);
            return Err(NoAnswer::Undelivered(Undelivered { status: self.status, ..lost }));
        }
        Ok(())
    }

    /// The connection broke, or does not carry HTTP.
    fn broken(&self, start: &Received, error: &io::Error) -> NoAnswer {
        let start = start.bytes();
        NoAnswer::Undelivered(if start.is_empty() {
            let reason = format!("{} closed the connection without an answer", self.url);
            Undelivered::new(DeliveryFailure::Closed, reason)
        } else if !start.starts_with(b"HTTP/") {
            let reason = format!("{} does not speak HTTP", self.url);
            Undelivered::new(DeliveryFailure::WrongProtocol(start), reason)
        } else if error.kind() == io::ErrorKind::InvalidData {
            self.says(DeliveryFailure::Other, &format!("is not valid HTTP: {error}"))
        } else if error.kind() == io::ErrorKind::UnexpectedEof {
            self.says(DeliveryFailure::Incomplete, "is incomplete: the connection was closed early")
        } else {
            self.says(DeliveryFailure::Incomplete, &format!("is incomplete: {error}"))
        })
    }

    fn says(&self, failure: DeliveryFailure, what: &str) -> Undelivered {
        Undelivered::new(failure, format!("the answer from {} {what}", self.url))
    }

    /// Sends a request, after the event with the id `last` if it resumes a stream; again if the server wants another token
    /// and there is one. The first bytes of the answer come with it, also if there is none.
    pub(super) async fn exchange(
        &self,
        method: Method,
        text: String,
        last: Option<&str>,
    ) -> Result<(Response<Incoming>, Received), (Received, io::Error)> {
        let mut authorization = HeaderMap::new();
        let mut attempt = 0;
        loop {
            attempt += 1;
            authorization.clear();
            let failed = |reason| (Received::default(), io::Error::other(reason));
            if let Some(login) = &self.login {
                let authorized = login.authorize(&method, self.url.as_str(), &mut authorization).await;
                authorized.map_err(failed)?;
            }
            let sent = self.exchange_once(&method, text.clone(), last, &authorization).await?;
            let (status, headers) = (sent.0.status(), sent.0.headers());
            let verdict = match &self.login {
                Some(login) if attempt < LOGINS => {
                    // What it says if there is no token is said better by the status.
                    login.answered(self.url.as_str(), &authorization, status, headers).await
                }
                _ => Ok(Verdict::Done),
            };
            if !matches!(verdict, Ok(Verdict::Again)) {
                return Ok(sent);
            }
        }
    }

    async fn exchange_once(
        &self,
        method: &Method,
        text: String,
        last: Option<&str>,
        authorization: &HeaderMap,
    ) -> Result<(Response<Incoming>, Received), (Received, io::Error)> {
        let failed = |error| (Received::default(), error);
        let RawStreams { read, write, .. } = streams(&self.url, &self.web).await.map_err(failed)?;
        let (stream, start) = FirstBytes::new(tokio::io::join(read, write));
        let stream = TokioIo::new(stream);
        let failed = |error: hyper::Error| (start.clone(), io_error(error));
        let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.map_err(failed)?;
        tokio::spawn(connection);
        let mut headers = self.headers(&text).map_err(|error| (start.clone(), error))?;
        if let Some(last) = last.and_then(|last| HeaderValue::from_str(last).ok()) {
            headers.insert(LAST_EVENT, last);
        }
        headers.extend(authorization.clone());
        let mut request = Request::new(Full::new(Bytes::from(text)));
        *request.method_mut() = method.clone();
        *request.uri_mut() = self
            .url
            .path()
            .parse()
            .map_err(|error| (start.clone(), invalid::<hyper::http::uri::InvalidUri>(error)))?;
        *request.headers_mut() = headers;
        self.web.tell(&Step::Request {
            method: request.method(),
            uri: request.uri(),
            headers: request.headers(),
        });
        let response = sender.send_request(request).await.map_err(failed)?;
        let (version, status, headers) = (response.version(), response.status(), response.headers());
        self.web.tell(&Step::Response { version, status, headers });
        Ok((response, start))
    }

    fn headers(&self, text: &str) -> io::Result<HeaderMap> {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, self.url.authority().parse().map_err(invalid)?);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        if let Some(session) = &self.session {
            headers.insert(SESSION, session.clone());
        }
        if let Some(version) = &self.version {
            headers.insert(VERSION, version.clone());
        }
        if self.stateless
            && let Some(method) = method_of(text)
        {
            // One with other characters would have to be encoded; the server says what it misses.
            let name = name_of(text, &method).filter(|name| name.bytes().all(|byte| byte.is_ascii_graphic()));
            if let Some(name) = name.and_then(|name| name.parse().ok()) {
                headers.insert(NAME, name);
            }
            headers.insert(METHOD, method.parse().map_err(invalid)?);
            headers.insert(VERSION, HeaderValue::from_static(McpRevision::V2026_07_28.as_str()));
        }
        for (name, value) in self.web.headers() {
            let name: HeaderName = name.parse().map_err(invalid)?;
            // The value may be a secret, and stays out of the error.
            let value = value.parse().map_err(|_| invalid("the value of a header has control characters"))?;
            headers.insert(name, value);
        }
        Ok(headers)
    }
}

impl Events {
    /// A stream that is not resumed.
    pub(super) fn new(body: Incoming, max_size: usize) -> Self {
        Events { body, parser: Parser::new(max_size), expected: 0, last: None, attempts: 0 }
    }

    /// Waits for the event that says where to post. Also returns the messages before it; `None` if there is no such
    /// event near the start.
    pub(super) async fn endpoint(&mut self) -> Option<(String, VecDeque<Vec<u8>>)> {
        let mut early = VecDeque::new();
        loop {
            while self.parser.endpoint.is_none()
                && let Some(event) = self.parser.next()
            {
                match event {
                    Event::Data(data) => early.push_back(data),
                    _ => return None,
                }
            }
            if let Some(endpoint) = self.parser.endpoint.take() {
                return Some((endpoint, early));
            }
            if early.len() > EARLY_MESSAGES {
                return None;
            }
            let frame = self.body.frame().await?.ok()?;
            self.parser.feed(frame.data_ref().map_or(&[][..], |data| data));
        }
    }

    /// The data of the next event; nothing at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, NoAnswer> {
        loop {
            match self.parser.next() {
                Some(Event::Data(data)) => return Ok(Some(data)),
                Some(Event::TooLarge) => return Err(NoAnswer::TooLarge),
                Some(_) => continue,
                None => {}
            }
            let Some(Ok(frame)) = self.body.frame().await else { return Ok(None) };
            if let Some(data) = frame.data_ref() {
                self.parser.feed(data);
            }
        }
    }
}

/// The type of a body, without its parameters, in lower case.
fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    value.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

pub(super) fn is_stream(headers: &HeaderMap) -> bool {
    content_type(headers) == "text/event-stream"
}

/// A whole body. The error is `None` if it is larger than the limit.
async fn whole(mut body: Incoming, limit: usize) -> Result<Vec<u8>, Option<io::Error>> {
    let mut text = Vec::new();
    while let Some(frame) = body.frame().await {
        if let Some(data) = frame.map_err(|error| Some(io_error(error)))?.data_ref() {
            text.extend_from_slice(data);
        }
        if text.len() > limit {
            return Err(None);
        }
    }
    Ok(text)
}

/// The body of a refusal. The status says what matters, whatever becomes of it.
pub(super) async fn refusal_text(body: Incoming) -> Vec<u8> {
    let read = tokio::time::timeout(REFUSAL_TIMEOUT, whole(body, REFUSAL)).await;
    read.ok().and_then(Result::ok).unwrap_or_default()
}

/// The error of the connection that is behind one of hyper.
fn io_error(error: hyper::Error) -> io::Error {
    let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<io::Error>());
    match source.map(io::Error::kind) {
        _ if error.is_parse() || error.is_parse_too_large() => {
            io::Error::new(io::ErrorKind::InvalidData, error)
        }
        Some(kind) => io::Error::new(kind, error),
        None if error.is_incomplete_message() => io::Error::new(io::ErrorKind::UnexpectedEof, error),
        None => io::Error::other(error),
    }
}

/// A connection to the host of a URL, with TLS if its scheme says so.
pub(crate) async fn streams(url: &Url, web: &Web) -> io::Result<RawStreams> {
    Ok(web.watched(web.trust(to_host(url))).into_streams().await?)
}

/// The host of a URL.
fn to_host(url: &Url) -> Transport {
    let scheme = if url.scheme().is_secure() { "tls" } else { "tcp" };
    let host = match url.host() {
        host if host.contains(':') => format!("[{host}]"),
        host => host.to_owned(),
    };
    transport::url(format!("{scheme}://{host}:{}", url.port()))
}

fn invalid<E: std::fmt::Display>(what: E) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what.to_string())
}
