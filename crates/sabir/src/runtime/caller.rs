//! Who sent a message: the HTTP request that it came in, or the trace that came beside it.

use std::any::Any;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use http::request::Parts;
use sabir_proto::{Origin, TraceContext};

/// The HTTP request that a message came in, and who its sender has proved to be.
pub(crate) struct HttpCaller {
    /// None for a message that came by other means, of which only the trace is known.
    parts: Option<Box<Parts>>,
    /// The trace context that came beside the message.
    #[cfg(feature = "nats")]
    trace: Option<TraceContext<'static>>,
    pub(crate) identity: Option<Arc<dyn Any + Send + Sync>>,
    /// Where the answer goes, if that is a stream of its own.
    reply_stream: Option<Box<dyn ReplyStream>>,
}

/// The stream of events on which an answer goes back.
pub(crate) trait ReplyStream: Send + Sync {
    /// See [`Ctx::close_stream`](crate::Ctx::close_stream).
    fn close(&self) -> bool;
}

impl HttpCaller {
    pub(crate) fn new(parts: impl Into<Box<Parts>>, identity: Option<Arc<dyn Any + Send + Sync>>) -> Self {
        HttpCaller {
            parts: Some(parts.into()),
            #[cfg(feature = "nats")]
            trace: None,
            identity,
            reply_stream: None,
        }
    }

    /// Somebody who sent a message by other means than HTTP, and this trace context beside it.
    #[cfg(feature = "nats")]
    pub(crate) fn traced(trace: TraceContext<'static>) -> Self {
        HttpCaller { parts: None, trace: Some(trace), identity: None, reply_stream: None }
    }

    /// The answer goes back on this stream.
    pub(crate) fn set_reply_stream(&mut self, stream: impl ReplyStream + 'static) {
        self.reply_stream = Some(Box::new(stream));
    }

    pub(crate) fn close_stream(&self) -> bool {
        self.reply_stream.as_ref().is_some_and(|stream| stream.close())
    }

    /// The trace in the headers of HTTP or NATS. The request that opened a WebSocket says nothing of the calls that
    /// follow.
    pub(crate) fn trace(&self) -> Option<TraceContext<'_>> {
        #[cfg(feature = "nats")]
        if let Some(trace) = &self.trace {
            return Some(trace.clone());
        }
        let parts = self.http()?;
        let header = |name| parts.headers.get(name)?.to_str().ok().map(Cow::Borrowed);
        let traceparent = header("traceparent").filter(|_| parts.method == http::Method::POST)?;
        Some(TraceContext { traceparent, tracestate: header("tracestate"), baggage: header("baggage") })
    }

    /// The HTTP request, if it was one.
    pub(crate) fn http(&self) -> Option<&Parts> {
        self.parts.as_deref()
    }

    /// The same where everything comes by HTTP.
    pub(crate) fn parts(&self) -> &Parts {
        static NONE: LazyLock<Parts> = LazyLock::new(|| http::Request::new(()).into_parts().0);
        self.parts.as_deref().unwrap_or_else(|| &NONE)
    }
}

/// The callers of a connection.
#[derive(Default)]
pub(crate) struct HttpCallers {
    /// Who opened it.
    pub(crate) opener: Option<Arc<HttpCaller>>,
    /// Who sent a message, where one connection carries many requests of HTTP.
    by_message: HashMap<Origin, Arc<HttpCaller>>,
}

impl HttpCallers {
    /// Who sent a request; for a notification, who opened the connection.
    pub(crate) fn of(&self, origin: Origin) -> Option<Arc<HttpCaller>> {
        let sender = if self.by_message.is_empty() { None } else { self.by_message.get(&origin) };
        sender.or(self.opener.as_ref()).cloned()
    }

    pub(crate) fn keep(&mut self, origin: Origin, caller: Arc<HttpCaller>) {
        self.by_message.insert(origin, caller);
    }

    #[cfg(debug_assertions)]
    pub(crate) fn has_no_messages(&self) -> bool {
        self.by_message.is_empty()
    }

    pub(crate) fn forget(&mut self, origin: Origin) {
        if !self.by_message.is_empty() {
            self.by_message.remove(&origin);
        }
    }
}
