//! Requests that turn their connection into a WebSocket.

use std::future::poll_fn;
use std::sync::Arc;

use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode, Version, header};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use sabir_proto::{Config, Framing, Usage};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::runtime::caller::HttpCaller;
use crate::runtime::connection::Connection;
use crate::runtime::message_transport::MessageTransport;
use crate::server::activity::Activity;
use crate::server::deadline_timer::DeadlineTimer;
use crate::server::http::body::Body;
use crate::server::http::config::Identity;
use crate::server::http::conflicting_length::ConflictingLength;
use crate::server::http::request_body;
use crate::server::http::response::Refusal;
use crate::server::http::service::Inner;
use crate::server::limiter::ConnectionPermit;
use crate::server::metered::Metered;
use crate::server::serving::{Progress, Serving, ServingTimeouts};
use crate::transport::seed;
use crate::transport::websocket::{CountedReads, Socket};

/// The one version that there is.
const VERSION: &str = "13";

/// The name that is agreed on, if the client knows it.
const SUBPROTOCOL: &str = "jsonrpc";

/// Kept by what a connection has become, for as long as that lasts: an extension of its request.
#[derive(Clone)]
pub(crate) struct ConnectionGuard(pub(crate) Arc<ConnectionPermit>);

pub(crate) fn is_websocket(parts: &Parts) -> bool {
    let upgrade = parts.headers.get(header::UPGRADE);
    upgrade.is_some_and(|upgrade| upgrade.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// Makes a WebSocket of the connection, served in a task of its own. The caller is known, and let in.
pub(crate) fn websocket(
    inner: &Arc<Inner>,
    mut parts: Parts,
    identity: Option<Identity>,
) -> Result<Response<Body>, Refusal> {
    if !inner.http.speaks.websocket {
        return Err(Refusal::NO_WEBSOCKET);
    }
    let accept = handshake(&parts)?;
    let Some(upgrade) = parts.extensions.remove::<OnUpgrade>() else {
        return Err(Refusal::NO_WEBSOCKET);
    };
    if let Some(conflicting) = parts.extensions.get::<ConflictingLength>() {
        conflicting.end();
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    if list(&parts, header::SEC_WEBSOCKET_PROTOCOL).any(|name| name == SUBPROTOCOL) {
        headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL));
    }
    let caller = HttpCaller::new(parts, identity);
    tokio::spawn(serve(Arc::clone(inner), caller, upgrade));
    Ok(response)
}

/// The members of a header that is a list.
fn list(parts: &Parts, name: header::HeaderName) -> impl Iterator<Item = &str> {
    let values = parts.headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

/// Whether the request has a body. What follows the head is frames, and would be read as such.
fn has_body(parts: &Parts) -> bool {
    let lengths = parts.headers.get_all(header::CONTENT_LENGTH);
    parts.headers.contains_key(header::TRANSFER_ENCODING) || lengths.iter().any(|length| length != "0")
}

/// What proves to the client that it was understood.
fn handshake(parts: &Parts) -> Result<HeaderValue, Refusal> {
    let upgrades = list(parts, header::CONNECTION).any(|token| token.eq_ignore_ascii_case("upgrade"));
    if parts.method != Method::GET || parts.version != Version::HTTP_11 || !upgrades || has_body(parts) {
        return Err(Refusal::HANDSHAKE);
    }
    if parts.headers.get(header::SEC_WEBSOCKET_VERSION).is_none_or(|version| version != VERSION) {
        return Err(Refusal::websocket_version(HeaderValue::from_static(VERSION)));
    }
    let key = parts.headers.get(header::SEC_WEBSOCKET_KEY).filter(|key| key.len() == 24);
    let key = key.ok_or(Refusal::HANDSHAKE)?;
    HeaderValue::from_str(&derive_accept_key(key.as_bytes())).map_err(|_| Refusal::HANDSHAKE)
}

async fn serve(inner: Arc<Inner>, caller: HttpCaller, upgrade: OnUpgrade) {
    let Ok(upgraded) = upgrade.await else { return };
    // The caller's extensions, and with them the connection's place, live as long as the connection.
    let guard = caller.parts().extensions.get::<ConnectionGuard>();
    let activity = match guard {
        Some(ConnectionGuard(permit)) => Arc::clone(&permit.activity),
        // In another application, which counts connections by itself.
        None => Arc::new(Activity::new(Instant::now(), Instant::now())),
    };
    activity.touch(Instant::now());
    let config = Config { framing: Some(Framing::Whole), seed: seed(), ..inner.config };
    let stream = CountedReads::new(TokioIo::new(upgraded));
    let socket = Socket::new(stream, Role::Server, inner.http.websocket, config.limits.message_bytes).await;
    let mut connection =
        Connection::new(config, Arc::clone(&inner.routes), MessageTransport::new(socket, None), None);
    connection.set_caller(Some(Arc::new(caller)));
    let budget = Arc::clone(&inner.budget);
    let connection = Metered::new(connection, budget, |io| io.link.unfinished());
    let message = request_body::deadline(&inner.http);
    let timer = DeadlineTimer::new(&inner.stop.subscribe(), Instant::now() + message, activity);
    let timeouts = ServingTimeouts { message, after_end: message, stop: inner.stop.grace };
    let mut serving = Box::new(Serving::new(connection, progress, timer, timeouts));
    poll_fn(|cx| serving.poll(cx)).await;
}

fn progress(io: &MessageTransport<Socket<CountedReads<TokioIo<Upgraded>>>>, _: &Usage) -> Progress {
    let (done, unfinished) = io.link.progress();
    Progress { done, unfinished, ended: false }
}
