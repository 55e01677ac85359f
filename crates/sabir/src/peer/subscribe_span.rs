//! The span of a request to subscribe: from when it is sent to its response. What comes of the subscription is not in it.

use std::sync::Arc;

use tracing::Span;

use crate::CallError;
use crate::peer::Peer;
use crate::peer::subscription::SubscribeCommand;
use crate::router::client_spans::ClientSpans;

/// None before the request is sent, and after its response.
#[derive(Default)]
pub(super) struct SubscribeSpan(Option<(Span, String, Arc<dyn ClientSpans>)>);

impl SubscribeSpan {
    /// The request is about to be sent.
    pub(super) fn begin(&mut self, peer: &Peer, request: &mut SubscribeCommand) {
        let routes = &peer.shared.routes;
        let span = match &routes.client_spans {
            // Where nothing is asked, nothing is sent.
            Some(spans) if !request.style.subscribe.is_empty() => {
                let method = request.style.subscribe.clone().into_owned();
                let span = spans.begin(&method, request.params.as_ref());
                self.0 = Some((span.clone(), method, Arc::clone(spans)));
                span
            }
            _ => Span::none(),
        };
        if let Some(network) = peer.shared.network.get().filter(|_| !span.is_disabled()) {
            network.record(&span);
        }
        if let Some(trace) = routes.inject(&span) {
            request.options.trace.get_or_insert(trace);
        }
    }

    /// Of a subscription that was made there is nothing to say.
    pub(super) fn end(&mut self, error: Option<&CallError>) {
        if let Some((span, method, spans)) = self.0.take()
            && let Some(error) = error
            && !span.is_disabled()
        {
            spans.end(&span, &method, Err(error));
        }
    }
}
