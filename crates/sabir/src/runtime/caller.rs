//! Who sent a message: the HTTP request that it came in.

use std::any::Any;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use http::request::Parts;
use sabir_proto::{Origin, TraceContext};

/// The HTTP request that a message came in, and who its sender has proved to be.
pub(crate) struct HttpCaller {
    parts: Box<Parts>,
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
        HttpCaller { parts: parts.into(), identity, reply_stream: None }
    }

    /// The answer goes back on this stream.
    pub(crate) fn set_reply_stream(&mut self, stream: impl ReplyStream + 'static) {
        self.reply_stream = Some(Box::new(stream));
    }

    pub(crate) fn close_stream(&self) -> bool {
        self.reply_stream.as_ref().is_some_and(|stream| stream.close())
    }

    /// The trace in the headers. The request that opened a WebSocket says nothing of the calls that follow.
    pub(crate) fn trace(&self) -> Option<TraceContext<'_>> {
        let header = |name| self.parts.headers.get(name)?.to_str().ok().map(Cow::Borrowed);
        let traceparent = header("traceparent").filter(|_| self.parts.method == http::Method::POST)?;
        Some(TraceContext { traceparent, tracestate: header("tracestate"), baggage: header("baggage") })
    }

    pub(crate) fn parts(&self) -> &Parts {
        &self.parts
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
