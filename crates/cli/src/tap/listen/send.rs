//! Sends messages of the page: between those of a connection of bytes or of a WebSocket, or as a request of HTTP of its own,
//! which goes through the tap and so is recorded like all else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::handshake;
use hyper::header::{
    ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING,
};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use sabir_proto::RawJson;

use super::http::{self, Proxy};
use super::socket::End;
use crate::tap::inject::{Injected, Injector, Own, PATIENCE, channel, own, send};
use crate::view::{Sender, Sent};

/// Bytes of an answer.
const LONGEST: usize = 64 << 20;

/// Bytes on the way between a request and the tap.
const PIPE: usize = 64 << 10;

/// Connections whose headers are remembered.
const REMEMBERED: usize = 1024;

/// Headers of MCP that repeat the message.
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// What is needed to send.
#[derive(Default)]
pub(super) struct Sends {
    /// Connections with messages of their own.
    open: Mutex<HashMap<u64, Injector>>,
    /// The headers of the last request of each connection: who asks, and in which session.
    headers: Mutex<HashMap<u64, HeaderMap>>,
    /// Once the tap listens.
    proxy: OnceLock<Arc<Proxy>>,
}

impl Sends {
    pub(super) fn listens(&self, proxy: Arc<Proxy>) {
        let _ = self.proxy.set(proxy);
    }

    /// A connection that can be sent to for as long as it takes messages.
    pub(super) fn add(&self, connection: u64) -> Injected {
        let (injector, injected) = channel();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, injector| !injector.is_closed());
        open.insert(connection, injector);
        injected
    }

    pub(super) fn remember(&self, connection: u64, headers: &HeaderMap) {
        let mut remembered = self.headers.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.len() >= REMEMBERED && !remembered.contains_key(&connection) {
            remembered.clear();
        }
        remembered.insert(connection, headers.clone());
    }

    fn injector(&self, connection: u64) -> Option<Injector> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.get(&connection).filter(|injector| !injector.is_closed()).cloned()
    }

    fn headers(&self, connection: u64) -> HeaderMap {
        let remembered = self.headers.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.get(&connection).cloned().unwrap_or_default()
    }
}

/// For the page.
pub(super) fn sender(sends: Arc<Sends>) -> Sender {
    Arc::new(move |connection, text| {
        let sends = sends.clone();
        Box::pin(async move {
            if let Some(injector) = sends.injector(connection) {
                return send(injector, text).await;
            }
            let proxy = sends.proxy.get().ok_or("the tap does not listen yet")?;
            if !proxy.target.scheme().is_http() {
                return Err("the connection is closed".to_owned());
            }
            let start = Instant::now();
            let own = own(&text)?;
            let posted = post(proxy.clone(), connection, &own, sends.headers(connection));
            let answer = tokio::time::timeout(PATIENCE, posted).await;
            let answer = answer.map_err(|_| format!("there was no answer in {} s", PATIENCE.as_secs()))??;
            Ok(Sent { answer: own.id.map(|_| answer), took: start.elapsed() })
        })
    })
}

async fn post(proxy: Arc<Proxy>, connection: u64, own: &Own, headers: HeaderMap) -> Result<String, String> {
    let told = |error: &dyn std::fmt::Display| error.to_string();
    let path = proxy.path.clone();
    // As a client of the tap, without a socket in between.
    let (near, far) = tokio::io::duplex(PIPE);
    tokio::spawn(http::serve(End::other(Box::pin(far)), connection, proxy));
    let (mut sender, driver) = handshake(TokioIo::new(near)).await.map_err(|error| told(&error))?;
    tokio::spawn(driver);
    let mut request = Request::new(Full::new(Bytes::from(own.text.clone())));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = path.parse().map_err(|error| told(&error))?;
    *request.headers_mut() = headers_for(&own.text, headers);
    let response = sender.send_request(request).await.map_err(|error| told(&error))?;
    let status = response.status();
    let kind = response.headers().get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let is_stream = kind.starts_with(b"text/event-stream");
    let body = Limited::new(response.into_body(), LONGEST).collect().await.map_err(|error| told(&error))?;
    let text = String::from_utf8_lossy(&body.to_bytes()).into_owned();
    if !status.is_success() {
        return Err(format!("HTTP {status}: {}", text.chars().take(200).collect::<String>()));
    }
    // Of a stream, the last event is the answer.
    let last = text.lines().rev().find_map(|line| line.strip_prefix("data:")).filter(|_| is_stream);
    Ok(last.map_or(text.clone(), |last| last.trim().to_owned()))
}

/// Those of the client, as far as they are not of one message.
fn headers_for(text: &str, mut headers: HeaderMap) -> HeaderMap {
    for name in [CONTENT_LENGTH, TRANSFER_ENCODING, EXPECT] {
        headers.remove(name);
    }
    headers.entry(HOST).or_insert(HeaderValue::from_static("localhost"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.entry(ACCEPT).or_insert(HeaderValue::from_static("application/json, text/event-stream"));
    if headers.contains_key(METHOD) {
        let message = RawJson::from_bytes(text.as_bytes()).ok();
        let at = |path: &[&str]| {
            let inside = |value: RawJson<'static>, name: &&str| Some(value.get(name)?.into_owned());
            let value = path.iter().try_fold(message.clone()?.into_owned(), inside)?;
            HeaderValue::from_str(&value.parse::<String>().ok()?).ok()
        };
        let name = at(&["params", "name"]).or_else(|| at(&["params", "uri"]));
        for (header, value) in [(METHOD, at(&["method"])), (NAME, name)] {
            match value {
                Some(value) => drop(headers.insert(header, value)),
                None => drop(headers.remove(header)),
            }
        }
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_those_of_the_client_and_of_the_new_message() {
        let mut was = HeaderMap::new();
        for (name, value) in
            [(METHOD, "tools/call"), (NAME, "add"), (CONTENT_LENGTH, "9"), (HOST, "a"), (ACCEPT, "x")]
        {
            was.insert(name, HeaderValue::from_static(value));
        }
        let text = r#"{"method":"tools/list","params":{}}"#;
        let now = headers_for(text, was);
        let all: Vec<_> =
            now.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap_or("?"))).collect();
        let mut sorted = all.clone();
        sorted.sort();
        assert_eq!(
            sorted,
            ["accept: x", "content-type: application/json", "host: a", "mcp-method: tools/list"]
        );
    }
}
