//! Spans for calls, with the names that OpenTelemetry gives to what is known of them.

use std::sync::Arc;

use tracing::field::Empty;
use tracing::{Instrument, Span};

use crate::handler::ctx::Ctx;
use crate::router::Router;
use crate::router::client_spans::{ClientSpans, JsonRpcSpans};
use crate::router::layer::Next;
#[cfg(feature = "http")]
use crate::transport::network::Network;
use crate::{ErrorCode, RawJson, Result};

/// What a span is called whose method nobody knows.
pub(super) const OTHER: &str = "_OTHER";

impl Router {
    /// Runs every handler in a span of `tracing`, at the level of info, named and with the attributes that
    /// OpenTelemetry's conventions have for JSON-RPC. What the handler logs belongs to it. Calls that go out of
    /// connections of this router have a span each, below that of whoever calls. An exporter such as
    /// `tracing-opentelemetry` makes the rest of it; [`propagate`](Router::propagate) joins the spans of two processes.
    ///
    /// The span is outside of all [layers](Router::layer), whichever was added first. A notification that fails is
    /// also logged in it, as a warning: nothing else reports it.
    #[must_use]
    pub fn spans(self) -> Self {
        self.layer(in_span).outermost().client_spans(JsonRpcSpans)
    }

    /// Gives calls that go out spans with these names.
    #[doc(hidden)]
    #[must_use]
    pub fn client_spans(mut self, spans: impl ClientSpans) -> Self {
        self.routes.client_spans = Some(Arc::new(spans));
        self
    }
}

async fn in_span(ctx: Ctx, next: Next) -> Result<RawJson<'static>> {
    let span = server_span(&next);
    if span.is_disabled() {
        return next.run().await;
    }
    ctx.continue_trace(&span);
    if let Some(id) = ctx.id().await.filter(|id| !id.is_null()) {
        span.record("jsonrpc.request.id", id.as_str().as_deref().unwrap_or(id.text()));
    }
    record_network(&ctx, &span);
    let method = (!ctx.is_request()).then(|| next.method().to_owned());
    let mut unfinished = Unfinished(Some(span.clone()));
    let outcome = next.run().instrument(span.clone()).await;
    unfinished.0 = None;
    if let Err(error) = &outcome {
        failed(&span, &error.code.0.to_string());
        if let Some(method) = method {
            span.in_scope(|| tracing::warn!(rpc.method = method, %error, "notification failed"));
        }
    }
    outcome
}

/// Which way the call came.
fn record_network(ctx: &Ctx, span: &Span) {
    #[cfg(feature = "http")]
    if let Some(parts) = ctx.http() {
        if let Some(crate::Remote(address)) = parts.extensions.get() {
            span.record("network.peer.address", address.ip().to_string());
            span.record("network.peer.port", address.port());
        }
        return Network::of_request(parts).record(span);
    }
    if let Some(network) = ctx.peer.shared.network.get() {
        network.record(span);
    }
}

pub(super) fn failed(span: &Span, code: &str) {
    span.record("rpc.response.status_code", code);
    span.record("error.type", code);
    span.record("otel.status_code", "ERROR");
}

/// A handler that has not returned: it panics, or is dropped since its call was cancelled.
struct Unfinished(Option<Span>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        let Some(span) = &self.0 else { return };
        if std::thread::panicking() {
            failed(span, &ErrorCode::INTERNAL_ERROR.0.to_string());
            span.in_scope(|| tracing::error!("the handler panicked"));
        } else {
            span.record("error.type", "cancelled");
            span.record("otel.status_code", "ERROR");
        }
    }
}

fn server_span(next: &Next) -> Span {
    let known = next.is_known();
    let span = tracing::info_span!(
        "jsonrpc",
        otel.kind = "server",
        otel.name = if known { next.method() } else { "jsonrpc" },
        otel.status_code = Empty,
        rpc.system.name = "jsonrpc",
        rpc.method = if known { next.method() } else { OTHER },
        rpc.method_original = Empty,
        jsonrpc.protocol.version = "2.0",
        jsonrpc.request.id = Empty,
        rpc.response.status_code = Empty,
        error.type = Empty,
        server.address = Empty,
        server.port = Empty,
        network.transport = Empty,
        network.protocol.name = Empty,
        network.peer.address = Empty,
        network.peer.port = Empty,
    );
    if !known {
        span.record("rpc.method_original", next.method());
    }
    span
}
