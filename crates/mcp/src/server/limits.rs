//! What one client may make a server keep.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use sabir::{ErrorCode, ErrorObject};

/// What one client may make a server keep. What is beyond it is refused with an error that says so.
///
/// ```
/// use sabir_mcp::{McpLimits, McpServer};
///
/// let server = McpServer::new("files", "1.0.0").limits(McpLimits { subscriptions: 10_000, ..McpLimits::default() });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct McpLimits {
    /// URIs that a connection or session may subscribe to, by `resources/subscribe` and in all its
    /// `subscriptions/listen` together. 1,024.
    pub subscriptions: usize,
    /// Bytes that these URIs may have together. 64 KiB.
    pub subscription_bytes: usize,
    /// Streams of `subscriptions/listen` that a connection may have open. 16.
    pub listeners: usize,
    /// Bytes that the params of `initialize` may have: what a client says of itself is kept with its session.
    /// 64 KiB.
    pub initialize_bytes: usize,
}

impl Default for McpLimits {
    fn default() -> Self {
        McpLimits {
            subscriptions: 1024,
            subscription_bytes: 64 << 10,
            listeners: 16,
            initialize_bytes: 64 << 10,
        }
    }
}

/// What a connection has subscribed to, in numbers.
#[derive(Debug, Default)]
pub(crate) struct Usage(Mutex<Used>);

#[derive(Debug, Default, Clone, Copy)]
struct Used {
    subscriptions: usize,
    bytes: usize,
    listeners: usize,
}

impl Usage {
    /// Counts one more URI, if there may be one more.
    pub(crate) fn subscribe(&self, uri: &str, limits: &McpLimits) -> sabir::Result<()> {
        self.add(Used { subscriptions: 1, bytes: uri.len(), listeners: 0 }, limits)
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        self.remove(Used { subscriptions: 1, bytes: uri.len(), listeners: 0 });
    }

    /// Counts a stream and its URIs until the guard is dropped.
    pub(crate) fn listen(self: Arc<Self>, uris: &[String], limits: &McpLimits) -> sabir::Result<Listening> {
        let bytes = uris.iter().map(String::len).sum();
        let used = Used { subscriptions: uris.len(), bytes, listeners: 1 };
        self.add(used, limits)?;
        Ok(Listening { usage: self, used })
    }

    fn add(&self, more: Used, limits: &McpLimits) -> sabir::Result<()> {
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = Used {
            subscriptions: used.subscriptions + more.subscriptions,
            bytes: used.bytes + more.bytes,
            listeners: used.listeners + more.listeners,
        };
        if sum.subscriptions > limits.subscriptions {
            return Err(too_many(format_args!("more than {} subscriptions", limits.subscriptions)));
        }
        if sum.bytes > limits.subscription_bytes {
            let limit = limits.subscription_bytes;
            return Err(too_many(format_args!("the URIs of all subscriptions have more than {limit} bytes")));
        }
        if sum.listeners > limits.listeners {
            return Err(too_many(format_args!("more than {} open streams", limits.listeners)));
        }
        *used = sum;
        Ok(())
    }

    fn remove(&self, less: Used) {
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        used.subscriptions -= less.subscriptions;
        used.bytes -= less.bytes;
        used.listeners -= less.listeners;
    }
}

/// An open stream. Dropping it makes room for another.
#[derive(Debug)]
pub(crate) struct Listening {
    usage: Arc<Usage>,
    used: Used,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.usage.remove(self.used);
    }
}

fn too_many(what: impl fmt::Display) -> ErrorObject {
    ErrorObject::because(ErrorCode::INVALID_PARAMS, format_args!("the limit is reached: {what}"))
}
