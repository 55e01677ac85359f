//! Spans of calls that go out.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tracing::Span;
use tracing::field::Empty;

use crate::router::Routes;
use crate::router::observe::CallEnd;
use crate::router::spans::{OTHER, failed};
use crate::transport::network::Network;
use crate::{CallError, RawJson, Result};

/// What the spans of calls that go out are called, and what is known of them. Protocols on top have names of their own.
pub trait ClientSpans: Send + Sync + 'static {
    /// The span of a call that is about to be sent.
    fn begin(&self, method: &str, params: Option<&RawJson<'_>>) -> Span;

    /// Says in its span how a call has ended.
    fn end(&self, span: &Span, method: &str, outcome: std::result::Result<&RawJson<'_>, &CallError>);
}

/// The names of the conventions for JSON-RPC. Methods are our own choice, so all of them are known.
#[derive(Debug)]
pub struct JsonRpcSpans;

impl ClientSpans for JsonRpcSpans {
    fn begin(&self, method: &str, _: Option<&RawJson<'_>>) -> Span {
        tracing::info_span!(
            "jsonrpc",
            otel.kind = "client",
            otel.name = method,
            otel.status_code = Empty,
            rpc.system.name = "jsonrpc",
            rpc.method = method,
            jsonrpc.protocol.version = "2.0",
            jsonrpc.request.id = Empty,
            rpc.response.status_code = Empty,
            error.type = Empty,
            server.address = Empty,
            server.port = Empty,
            network.transport = Empty,
            network.protocol.name = Empty,
        )
    }

    fn end(&self, span: &Span, _: &str, outcome: std::result::Result<&RawJson<'_>, &CallError>) {
        match outcome {
            Ok(_) => {}
            Err(CallError::Error(error)) => failed(span, &error.code.0.to_string()),
            Err(error) => {
                span.record("error.type", CallEnd::from(error).error_type());
                span.record("otel.status_code", "ERROR");
            }
        }
    }
}

/// A call that is passed on, in a span of its own below that of its handler.
pub(crate) struct InClientSpan<F> {
    call: F,
    span: Span,
}

impl<F> InClientSpan<F> {
    /// Begins a call in a span, if the router has spans at all.
    pub(crate) fn begin(routes: &Routes, method: &str, begin: impl FnOnce() -> F) -> Self {
        let span = if routes.client_spans.is_some() { forward_span(method) } else { Span::none() };
        InClientSpan { call: span.in_scope(begin), span }
    }

    /// Says which way it goes.
    pub(crate) fn over(self, network: impl FnOnce() -> Option<Arc<Network>>) -> Self {
        if !self.span.is_disabled()
            && let Some(network) = network()
        {
            network.record(&self.span);
        }
        self
    }
}

impl<R, F: Future<Output = Result<R>> + Unpin> Future for InClientSpan<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let InClientSpan { call, span } = self.get_mut();
        let outcome = span.in_scope(|| Pin::new(call).poll(cx));
        if let Poll::Ready(Err(error)) = &outcome {
            failed(span, &error.code.0.to_string());
        }
        outcome
    }
}

/// The caller chose the method, and may have made it up.
fn forward_span(method: &str) -> Span {
    tracing::info_span!(
        "jsonrpc",
        otel.kind = "client",
        otel.name = "jsonrpc",
        otel.status_code = Empty,
        rpc.system.name = "jsonrpc",
        rpc.method = OTHER,
        rpc.method_original = method,
        jsonrpc.protocol.version = "2.0",
        rpc.response.status_code = Empty,
        error.type = Empty,
        server.address = Empty,
        server.port = Empty,
        network.transport = Empty,
        network.protocol.name = Empty,
    )
}
