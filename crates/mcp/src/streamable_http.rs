//! How MCP is served over Streamable HTTP: sessions for the legacy era, requests that stand for themselves for the
//! modern one, and the status of errors.

use http::StatusCode;
use http::request::Parts;
use sabir::{ErrorCode, Http, Sessions};

use crate::McpRevision;
use crate::error::code;

const LEGACY: &[&str] = &[
    McpRevision::V2024_11_05.as_str(),
    McpRevision::V2025_03_26.as_str(),
    McpRevision::V2025_06_18.as_str(),
    McpRevision::V2025_11_25.as_str(),
];
const MODERN: &[&str] = &[McpRevision::V2026_07_28.as_str()];

/// The settings with which a server of `sabir` speaks MCP over HTTP, in both eras at the same address.
///
/// ```no_run
/// # async fn run() -> Result<(), sabir::Error> {
/// let router = sabir_mcp::McpServer::new("empty", "1.0.0").into_router();
/// let server = sabir::listen("http://127.0.0.1:8080/mcp", router);
/// server.dialect(sabir::MCP).http(sabir_mcp::streamable_http()).await?.run().await
/// # }
/// ```
pub fn streamable_http() -> Http {
    let sessions = Sessions { versions: LEGACY, stateless: MODERN, ..Sessions::opened_by("initialize") };
    Http::new().sessions(sessions).error_status(status)
}

/// In a session an error is an answer like any other. Outside of one it is the modern era, which has a status for
/// what is wrong with a request.
fn status(parts: &Parts, error: ErrorCode) -> StatusCode {
    let in_session = parts.headers.contains_key("mcp-session-id");
    match error {
        ErrorCode::MESSAGE_TOO_LARGE => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::PARSE_ERROR | ErrorCode::INVALID_REQUEST => StatusCode::BAD_REQUEST,
        _ if in_session => StatusCode::OK,
        ErrorCode::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        ErrorCode::INVALID_PARAMS
        | code::HEADER_MISMATCH
        | code::MISSING_CAPABILITY
        | code::UNSUPPORTED_REVISION => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_revision_is_served_in_its_era() {
        let (modern, legacy): (Vec<&str>, Vec<&str>) = McpRevision::ALL
            .iter()
            .map(|revision| revision.as_str())
            .partition(|date| McpRevision::parse(date).is_some_and(McpRevision::is_modern));
        assert_eq!((LEGACY, MODERN), (&*legacy, &*modern));
    }
}
