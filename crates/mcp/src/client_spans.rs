//! Spans of requests that go out, of a client or of a server that asks its client.

use std::sync::{Arc, OnceLock};

use sabir::internal::ClientSpans;
use sabir::{CallEnd, CallError, RawJson};
use tracing::Span;
use tracing::field::Empty;

use crate::McpRevision;
use crate::error::shown;
use crate::operation::{CALL_TOOL, is_tool_error, target};
use crate::server::PROTOCOL_VERSION;

/// The names of OpenTelemetry's conventions for MCP. Methods and tools are our own choice, so all of them are known.
#[derive(Debug, Clone, Default)]
pub struct McpSpans {
    /// What was agreed on, for requests that do not say it themselves.
    pub(crate) revision: Arc<OnceLock<McpRevision>>,
}

impl McpSpans {
    /// For sessions of this revision, if it is known.
    pub fn of(revision: Option<McpRevision>) -> Self {
        let spans = McpSpans::default();
        if let Some(revision) = revision {
            let _ = spans.revision.set(revision);
        }
        spans
    }
}

impl ClientSpans for McpSpans {
    fn begin(&self, method: &str, params: Option<&RawJson<'_>>) -> Span {
        let target = target(method, params);
        let said =
            params.and_then(|params| params.get("_meta")?.get(PROTOCOL_VERSION)?.parse::<String>().ok());
        let revision = match said {
            Some(said) => McpRevision::parse(&said),
            None => self.revision.get().copied(),
        };
        let uri = params.and_then(|params| params.get("uri")?.parse::<String>().ok());
        let span = tracing::info_span!(
            "mcp",
            otel.kind = "client",
            otel.name = target.as_ref().map_or_else(|| method.to_owned(), |target| format!("{method} {target}")),
            otel.status_code = Empty,
            mcp.method.name = method,
            mcp.protocol.version = revision.map(|revision| revision.to_string()),
            mcp.resource.uri = uri.map(|uri| shown(&uri).into_owned()),
            gen_ai.operation.name = Empty,
            gen_ai.tool.name = Empty,
            jsonrpc.request.id = Empty,
            rpc.response.status_code = Empty,
            error.type = Empty,
            server.address = Empty,
            server.port = Empty,
            network.transport = Empty,
            network.protocol.name = Empty,
        );
        if let (CALL_TOOL, Some(tool)) = (method, target) {
            span.record("gen_ai.operation.name", "execute_tool");
            span.record("gen_ai.tool.name", &*shown(&tool));
        }
        span
    }

    fn end(&self, span: &Span, method: &str, outcome: Result<&RawJson<'_>, &CallError>) {
        let error_type = match outcome {
            Ok(result) if is_tool_error(method, result) => Some("tool_error".to_owned()),
            Ok(_) => None,
            Err(error) => CallEnd::from(error).error_type(),
        };
        if let Err(CallError::Error(error)) = outcome {
            span.record("rpc.response.status_code", error.code.0.to_string());
        }
        if let Some(error_type) = error_type {
            span.record("error.type", error_type);
            span.record("otel.status_code", "ERROR");
        }
    }
}
