//! Requests that turn their connection into something else.

use http::request::Parts;
use http::{Response, header};

use super::answer::Refusal;
use super::body::Body;
use super::service::Inner;

pub(super) fn is_websocket(parts: &Parts) -> bool {
    let upgrade = parts.headers.get(header::UPGRADE);
    upgrade.is_some_and(|upgrade| upgrade.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// Makes a WebSocket of the connection. The caller is known, and let in.
pub(super) fn websocket(_: &Inner, parts: &Parts) -> Response<Body> {
    Refusal::upgrade_required().response(parts.version)
}
