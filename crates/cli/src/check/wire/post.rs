//! HTTP, each message posted by itself over a connection of its own. What is posted need not be JSON, and an answer is
//! looked at whatever its status.

use std::collections::VecDeque;
use std::io;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use sabir::sse::{Event, Parser};
use sabir::transport::{self, HttpFailure, Streams, Url};
use sabir::{LENIENT, Limits, McpRevision};
use sabir_proto::{Incoming as Decoded, Message, RawJson, decode};

use super::{Got, WireTarget};
use crate::print::Printer;
use crate::trace;
use crate::web::Web;

/// Names a session of MCP, in both directions.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// What the stateless revision of MCP wants said about a message outside it.
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

pub(crate) struct Post {
    url: Url,
    web: Web,
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
    max_size: usize,
    printer: Option<Printer>,
}

/// An answer that comes as a stream of events.
struct Events {
    body: Incoming,
    parser: Parser,
}

/// An answer is larger than it may be.
struct TooLarge;

impl Post {
    /// Makes sure that there is somebody.
    pub(super) async fn open(url: &Url, way: &WireTarget) -> io::Result<Post> {
        streams(url, &way.web).await?;
        Ok(Post {
            url: url.clone(),
            web: way.web.clone(),
            stateless: way.is_stateless(),
            session: None,
            version: None,
            initializing: false,
            queue: VecDeque::new(),
            ready: VecDeque::new(),
            events: None,
            answered: true,
            status: None,
            max_size: way.max_size,
            printer: way.printer.clone(),
        })
    }

    pub(super) fn send(&mut self, text: &str) {
        self.queue.push_back(text.to_owned());
    }

    pub(super) fn status(&self) -> Option<u16> {
        self.status
    }

    pub(super) fn is_posting(&self) -> bool {
        !self.queue.is_empty() || !self.ready.is_empty() || self.events.is_some()
    }

    /// The next message of the answers. Posts the next message once those to the last are all there.
    pub(super) async fn next(&mut self) -> Got {
        let too_large = Got::TooLarge { limit: self.max_size };
        loop {
            if let Some(text) = self.ready.pop_front() {
                return self.message(text);
            }
            if let Some(events) = &mut self.events {
                match events.next().await {
                    Ok(Some(text)) => {
                        // Some servers leave the stream open after the answer.
                        if is_response(&text) {
                            self.events = None;
                        }
                        return self.message(text);
                    }
                    Ok(None) => self.events = None,
                    Err(TooLarge) => {
                        self.events = None;
                        return too_large;
                    }
                }
            } else if let Some(text) = self.queue.pop_front() {
                self.answered = false;
                match self.post(text).await {
                    Ok(Ok(())) => {}
                    Ok(Err(TooLarge)) => return too_large,
                    Err(_) => return Got::End,
                }
            } else {
                return std::future::pending().await;
            }
            if self.ready.is_empty() && self.events.is_none() && !self.answered {
                self.answered = true;
                return Got::Nothing { status: self.status.unwrap_or_default() };
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
            let _ = self.exchange(Method::DELETE, String::new()).await;
        }
    }

    async fn post(&mut self, text: String) -> io::Result<Result<(), TooLarge>> {
        let opens = method_of(&text).is_some_and(|method| method == "initialize");
        self.initializing |= opens;
        let response = self.exchange(Method::POST, text).await?;
        let status = response.status();
        self.status = Some(status.as_u16());
        let brought = self.web.headers().any(|(name, _)| name.eq_ignore_ascii_case(SESSION.as_str()));
        if let Some(session) = response.headers().get(&SESSION)
            && opens
            && status.is_success()
            && !brought
        {
            self.session = Some(session.clone());
        }
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let is_json = kind.starts_with("application/json");
        if kind.starts_with("text/event-stream") {
            let parser = Parser::new(self.max_size);
            self.events = Some(Events { body: response.into_body(), parser });
            return Ok(Ok(()));
        }
        let (head, body) = response.into_parts();
        let body = match whole(body, self.max_size).await? {
            Ok(body) => body,
            Err(TooLarge) => return Ok(Err(TooLarge)),
        };
        // What comes with a failure need not be a message; if it is one, it counts.
        let is_message = match status.is_success() {
            true => (is_json && !body.trim_ascii().is_empty()) || RawJson::from_bytes(&body).is_ok(),
            false => is_message(&body),
        };
        if let Some(printer) = self.printer.as_ref().filter(|_| !status.is_success() || !is_message) {
            trace::failure(&HttpFailure { status, headers: &head.headers, body: &body }, printer);
        }
        if is_message {
            self.ready.push_back(body);
        }
        Ok(Ok(()))
    }

    async fn exchange(&self, method: Method, text: String) -> io::Result<Response<Incoming>> {
        let Streams { read, write, .. } = streams(&self.url, &self.web).await?;
        let stream = TokioIo::new(tokio::io::join(read, write));
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(stream).await.map_err(io::Error::other)?;
        tokio::spawn(connection);
        let mut request =
            Request::builder().method(method).uri(self.url.path()).body(()).map_err(io::Error::other)?;
        *request.headers_mut() = self.headers(&text)?;
        sender.send_request(request.map(|()| Full::new(Bytes::from(text)))).await.map_err(io::Error::other)
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
    /// The data of the next event.
    async fn next(&mut self) -> Result<Option<Vec<u8>>, TooLarge> {
        loop {
            match self.parser.next() {
                Some(Event::Data(data)) => return Ok(Some(data)),
                Some(Event::TooLarge) => return Err(TooLarge),
                None => {}
            }
            let Some(Ok(frame)) = self.body.frame().await else { return Ok(None) };
            if let Some(data) = frame.data_ref() {
                self.parser.feed(data);
            }
        }
    }
}

fn is_response(text: &[u8]) -> bool {
    match decode(text, &LENIENT, &Limits::default()) {
        Ok(Decoded::One(Ok(Message::Response(_)))) => true,
        Ok(Decoded::Batch(entries)) => entries.iter().any(|e| matches!(e, Ok(Message::Response(_)))),
        _ => false,
    }
}

/// Whether a body is a message, or a batch of some.
fn is_message(text: &[u8]) -> bool {
    match decode(text, &LENIENT, &Limits::default()) {
        Ok(Decoded::One(entry)) => entry.is_ok(),
        Ok(Decoded::Batch(entries)) => entries.iter().any(Result::is_ok),
        Err(_) => false,
    }
}

fn method_of(text: &str) -> Option<String> {
    RawJson::new(text).ok()?.get("method")?.parse().ok()
}

/// All of a body, as far as it may go.
async fn whole(mut body: Incoming, limit: usize) -> io::Result<Result<Vec<u8>, TooLarge>> {
    let mut text = Vec::new();
    while let Some(frame) = body.frame().await {
        if let Some(data) = frame.map_err(io::Error::other)?.data_ref() {
            text.extend_from_slice(data);
        }
        if text.len() > limit {
            return Ok(Err(TooLarge));
        }
    }
    Ok(Ok(text))
}

/// A connection to the host of a URL, with TLS if its scheme says so.
pub(super) async fn streams(url: &Url, web: &Web) -> io::Result<Streams> {
    let scheme = if url.scheme().is_secure() { "tls" } else { "tcp" };
    let host = match url.host() {
        host if host.contains(':') => format!("[{host}]"),
        host => host.to_owned(),
    };
    Ok(web.trust(transport::url(format!("{scheme}://{host}:{}", url.port()))).into_streams().await?)
}

fn invalid(what: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what.to_string())
}
