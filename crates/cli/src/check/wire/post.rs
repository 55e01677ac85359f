//! HTTP, each message posted by itself over a connection of its own. What is posted need not be JSON, and an answer is
//! looked at whatever its status.

use std::collections::VecDeque;
use std::io;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use sabir::sse::{Event, Parser};
use sabir::transport::{self, Streams};
use sabir::{LENIENT, Limits, McpRevision};
use sabir_proto::{Incoming as Decoded, Message, RawJson, decode};

use crate::web::Web;

/// Names a session of MCP, in both directions.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// What the stateless revision of MCP wants said about a message outside it.
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

pub(in crate::check) struct Post {
    uri: Uri,
    web: Web,
    /// MCP 2026-07-28, which wants headers that say what is in the body.
    stateless: bool,
    session: Option<HeaderValue>,
    /// What is to be posted, in this order.
    queue: VecDeque<String>,
    ready: VecDeque<Vec<u8>>,
    events: Option<Events>,
    status: Option<u16>,
}

/// An answer that comes as a stream of events.
struct Events {
    body: Incoming,
    parser: Parser,
}

impl Post {
    /// Makes sure that there is somebody.
    pub(super) async fn open(url: &str, web: &Web, stateless: bool) -> io::Result<Post> {
        let uri: Uri =
            url.parse().map_err(|error| invalid(format_args!("`{url}` is no URL of HTTP: {error}")))?;
        streams(&uri, web).await?;
        Ok(Post {
            uri,
            web: web.clone(),
            stateless,
            session: None,
            queue: VecDeque::new(),
            ready: VecDeque::new(),
            events: None,
            status: None,
        })
    }

    pub(super) fn send(&mut self, text: &str) {
        self.queue.push_back(text.to_owned());
    }

    pub(super) fn status(&self) -> Option<u16> {
        self.status
    }

    /// The next message of the answers. Posts the next message once those to the last are all there.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(text) = self.ready.pop_front() {
                return Some(text);
            }
            if let Some(events) = &mut self.events {
                match events.next().await {
                    Some(text) => {
                        // Some servers leave the stream open after the answer.
                        if is_response(&text) {
                            self.events = None;
                        }
                        return Some(text);
                    }
                    None => self.events = None,
                }
            }
            match self.queue.pop_front() {
                Some(text) => self.post(text).await.ok()?,
                None => std::future::pending().await,
            }
        }
    }

    /// Ends a session of MCP.
    pub(super) async fn close(&mut self) {
        if self.session.is_some() {
            let _ = self.exchange(Method::DELETE, String::new()).await;
        }
    }

    async fn post(&mut self, text: String) -> io::Result<()> {
        let response = self.exchange(Method::POST, text).await?;
        self.status = Some(response.status().as_u16());
        if let Some(session) = response.headers().get(&SESSION) {
            self.session = Some(session.clone());
        }
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let is_json = kind.starts_with("application/json");
        if kind.starts_with("text/event-stream") {
            let parser = Parser::new(Limits::default().message_bytes);
            self.events = Some(Events { body: response.into_body(), parser });
            return Ok(());
        }
        let body = whole(response.into_body()).await?;
        if is_json && !body.trim_ascii().is_empty() {
            self.ready.push_back(body);
        }
        Ok(())
    }

    async fn exchange(&self, method: Method, text: String) -> io::Result<Response<Incoming>> {
        let Streams { read, write, .. } = streams(&self.uri, &self.web).await?;
        let stream = TokioIo::new(tokio::io::join(read, write));
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(stream).await.map_err(io::Error::other)?;
        tokio::spawn(connection);
        let path = self.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::builder().method(method).uri(path).body(()).map_err(io::Error::other)?;
        *request.headers_mut() = self.headers(&text)?;
        sender.send_request(request.map(|()| Full::new(Bytes::from(text)))).await.map_err(io::Error::other)
    }

    fn headers(&self, text: &str) -> io::Result<HeaderMap> {
        let mut headers = HeaderMap::new();
        let host = self.uri.authority().map_or("", |authority| authority.as_str());
        headers.insert(HOST, host.parse().map_err(invalid)?);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        if let Some(session) = &self.session {
            headers.insert(SESSION, session.clone());
        }
        if self.stateless
            && let Some(method) = RawJson::new(text).ok().as_ref().and_then(|json| json.get("method"))
            && let Ok(method) = method.parse::<String>()
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
    /// The data of the next event. One that is too long ends the stream.
    async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            match self.parser.next() {
                Some(Event::Data(data)) => return Some(data),
                Some(Event::TooLarge) => return None,
                None => self.parser.feed(self.body.frame().await?.ok()?.data_ref()?),
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

/// All of a body, as far as it may go.
async fn whole(mut body: Incoming) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    while let Some(frame) = body.frame().await {
        if let Some(data) = frame.map_err(io::Error::other)?.data_ref() {
            text.extend_from_slice(data);
        }
        if text.len() > Limits::default().message_bytes {
            return Err(io::Error::other("the answer is too long"));
        }
    }
    Ok(text)
}

/// A connection to the host of a URL, with TLS if its scheme says so.
pub(super) async fn streams(uri: &Uri, web: &Web) -> io::Result<Streams> {
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(invalid("a name and a password belong in an `Authorization` header, not in the URL"));
    }
    let secure = matches!(uri.scheme_str(), Some("https" | "wss"));
    let host = uri.host().ok_or_else(|| invalid(format_args!("`{uri}` names no host")))?;
    let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
    let scheme = if secure { "tls" } else { "tcp" };
    web.trust(transport::url(format!("{scheme}://{host}:{port}"))).into_streams().await
}

fn invalid(what: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what.to_string())
}
