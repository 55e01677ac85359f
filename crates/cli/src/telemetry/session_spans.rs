//! Spans of a session whose protocol is not known when it begins.

use std::sync::Arc;

use sabir::internal::{ClientSpans, JsonRpcSpans};
use sabir::{CallError, RawJson};
use sabir_mcp::{McpRevision, McpSpans};
use tracing::Span;

use super::is_time_up;
use crate::session::Protocol;

/// What a session speaks, once that is known.
pub(super) type FindProtocol = Arc<dyn Fn() -> Option<Protocol> + Send + Sync>;

/// Names calls by what the session speaks when they are made.
pub(super) struct SessionSpans(pub(super) FindProtocol);

/// Calls with which it is found out whether a server speaks MCP. A language server is known before it is initialized.
pub(super) const HANDSHAKE: [&str; 2] = ["initialize", "server/discover"];

/// The revision of MCP that a call of this method is of, if it is one of MCP.
pub(super) fn mcp_revision(protocol: Option<Protocol>, method: &str) -> Option<Option<McpRevision>> {
    match protocol {
        Some(Protocol::Mcp(revision)) => Some(revision),
        None => HANDSHAKE.contains(&method).then_some(None),
        Some(_) => None,
    }
}

impl ClientSpans for SessionSpans {
    fn begin(&self, method: &str, params: Option<&RawJson<'_>>) -> Span {
        match mcp_revision((self.0)(), method) {
            Some(revision) => McpSpans::of(revision).begin(method, params),
            None => JsonRpcSpans.begin(method, params),
        }
    }

    fn end(&self, span: &Span, method: &str, outcome: Result<&RawJson<'_>, &CallError>) {
        let outcome = match outcome {
            Err(CallError::Cancelled) if is_time_up() => Err(&CallError::TimedOut),
            outcome => outcome,
        };
        match span.metadata().map(tracing::Metadata::name) {
            Some("mcp") => McpSpans::default().end(span, method, outcome),
            _ => JsonRpcSpans.end(span, method, outcome),
        }
    }
}
