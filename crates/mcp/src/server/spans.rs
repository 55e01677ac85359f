//! Spans of requests, with the names that OpenTelemetry's conventions for MCP give to what is known of them.

use std::sync::Arc;

use sabir::{Next, RawJson, Router};
use tracing::field::Empty;
use tracing::{Instrument, Span};

use super::Core;
use super::observe::{is_offered, revision};
use crate::error::shown;
use crate::operation::{CALL_TOOL, OTHER, is_tool_error};

#[cfg(feature = "http")]
const SESSION_ID: &str = "mcp-session-id";

/// The router with a span around each of its calls.
pub(super) fn wrap(router: Router, core: &Arc<Core>) -> Router {
    let core = Arc::clone(core);
    router.layer(move |ctx, next| in_span(Arc::clone(&core), ctx, next))
}

async fn in_span(core: Arc<Core>, ctx: sabir::Ctx, next: Next) -> sabir::Result<RawJson<'static>> {
    let span = server_span(&core, &ctx, &next);
    if span.is_disabled() {
        return next.run().await;
    }
    ctx.continue_trace(&span);
    if let Some(id) = ctx.id().await.filter(|id| !id.is_null()) {
        span.record("jsonrpc.request.id", id.as_str().as_deref().unwrap_or(id.text()));
    }
    record_caller(&ctx, &span);
    let method = next.method().to_owned();
    let outcome = next.run().instrument(span.clone()).await;
    let error_type = match &outcome {
        Err(error) => {
            let code = error.code.0.to_string();
            span.record("rpc.response.status_code", &code);
            code
        }
        Ok(result) if is_tool_error(&method, result) => "tool_error".to_owned(),
        Ok(_) => return outcome,
    };
    span.record("error.type", error_type);
    span.record("otel.status_code", "ERROR");
    outcome
}

fn server_span(core: &Core, ctx: &sabir::Ctx, next: &Next) -> Span {
    let method = if next.is_known() { next.method() } else { OTHER };
    let member = |name| next.params().and_then(|params| params.get(name)?.parse::<String>().ok());
    let name = member("name");
    // Only what is offered becomes part of the name: a stranger could ask for anything.
    let target = name.as_deref().filter(|name| is_offered(core, method, name));
    let span = tracing::info_span!(
        "mcp",
        otel.kind = "server",
        otel.name = target.map_or_else(|| method.to_owned(), |target| format!("{method} {target}")),
        otel.status_code = Empty,
        mcp.method.name = method,
        mcp.protocol.version = revision(ctx).map(|revision| revision.to_string()),
        mcp.session.id = Empty,
        mcp.resource.uri = member("uri").map(|uri| shown(&uri).into_owned()),
        gen_ai.operation.name = Empty,
        gen_ai.tool.name = Empty,
        jsonrpc.request.id = Empty,
        rpc.response.status_code = Empty,
        error.type = Empty,
        network.transport = Empty,
        network.peer.address = Empty,
        network.peer.port = Empty,
    );
    if let (CALL_TOOL, Some(tool)) = (method, name) {
        span.record("gen_ai.operation.name", "execute_tool");
        span.record("gen_ai.tool.name", &*shown(&tool));
    }
    span
}

#[cfg(feature = "http")]
fn record_caller(ctx: &sabir::Ctx, span: &Span) {
    let Some(parts) = ctx.http() else { return record_pipe(ctx, span) };
    span.record("network.transport", "tcp");
    if let Some(id) = parts.headers.get(SESSION_ID).and_then(|id| id.to_str().ok()) {
        span.record("mcp.session.id", id);
    }
    if let Some(sabir::Remote(address)) = parts.extensions.get() {
        span.record("network.peer.address", address.ip().to_string());
        span.record("network.peer.port", address.port());
    }
}

#[cfg(not(feature = "http"))]
fn record_caller(ctx: &sabir::Ctx, span: &Span) {
    record_pipe(ctx, span);
}

/// MCP knows but two transports, and it is not the other one. Notifications in a session do not say how they came.
fn record_pipe(ctx: &sabir::Ctx, span: &Span) {
    if ctx.is_request() {
        span.record("network.transport", "pipe");
    }
}
