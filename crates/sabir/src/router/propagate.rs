//! Traces that go on from one process to the next.

use std::sync::Arc;

use sabir_proto::TraceContext;
use tracing::Span;

use crate::handler::ctx::Ctx;
use crate::router::{Router, Routes};

/// Carries traces over connections: spans of `tracing` have no ids, so only whoever exports them knows which trace they
/// belong to. [`Router::propagate`] takes one.
///
/// With `tracing-opentelemetry` it is a dozen lines: the example `opentelemetry` has them.
pub trait Propagator: Send + Sync + 'static {
    /// A call has come that belongs to `trace`: makes that the parent of `span`, which nobody has entered yet. A peer may
    /// send anything as its trace.
    fn extract(&self, trace: &TraceContext<'_>, span: &Span);

    /// The trace of `span`, in which a call goes out; `None` if it is in none.
    fn inject(&self, span: &Span) -> Option<TraceContext<'static>>;
}

impl Propagator for Arc<dyn Propagator> {
    fn extract(&self, trace: &TraceContext<'_>, span: &Span) {
        (**self).extract(trace, span);
    }

    fn inject(&self, span: &Span) -> Option<TraceContext<'static>> {
        (**self).inject(span)
    }
}

impl Router {
    /// Lets traces go on over the connections of this router: the [span](Router::spans) of a call that came stands below
    /// the caller's, and a call that goes out says which span it belongs to.
    ///
    /// The context of a call is in `params._meta` (`traceparent`, `tracestate`, `baggage`) if the params are an object.
    /// Other params are never changed. Over HTTP the headers of these names carry it, too, but for calls of a batch: they
    /// share their headers.
    #[must_use]
    pub fn propagate(mut self, propagator: impl Propagator) -> Self {
        self.routes.propagator = Some(Arc::new(propagator));
        self
    }
}

impl Ctx {
    /// Makes the caller's trace the parent of `span`, by the router's [`Propagator`]. For layers with spans of their own;
    /// those of [`Router::spans`] have it already.
    pub fn continue_trace(&self, span: &Span) {
        if let Some(propagator) = &self.peer.shared.routes.propagator
            && let Some(trace) = self.trace()
        {
            propagator.extract(&trace, span);
        }
    }
}

impl Routes {
    /// The context of a call that goes out in `span`, or without one in the span of whoever calls.
    pub(crate) fn inject(&self, span: &Span) -> Option<TraceContext<'static>> {
        let propagator = self.propagator.as_ref()?;
        match span.is_disabled() {
            true => propagator.inject(&Span::current()),
            false => propagator.inject(span),
        }
    }
}
