//! Spans of a session whose protocol is not known when it begins.

use sabir::internal::{ClientSpans, JsonRpcSpans};
use sabir::{CallError, RawJson};
use sabir_mcp::McpSpans;
use tracing::Span;

use crate::session::Protocol;

/// Names calls by what the session speaks when they are made.
pub(super) struct SessionSpans(pub(super) Box<dyn Fn() -> Option<Protocol> + Send + Sync>);

impl ClientSpans for SessionSpans {
    fn begin(&self, method: &str, params: Option<&RawJson<'_>>) -> Span {
        match (self.0)() {
            Some(Protocol::Mcp(revision)) => McpSpans::of(revision).begin(method, params),
            _ => JsonRpcSpans.begin(method, params),
        }
    }

    fn end(&self, span: &Span, method: &str, outcome: Result<&RawJson<'_>, &CallError>) {
        match span.metadata().map(tracing::Metadata::name) {
            Some("mcp") => McpSpans::default().end(span, method, outcome),
            _ => JsonRpcSpans.end(span, method, outcome),
        }
    }
}
