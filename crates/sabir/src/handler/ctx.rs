//! What a handler knows of its call.

use std::any::Any;
use std::future::Future;
use std::io;
use std::sync::Arc;

use sabir_proto::{Id, RequestKey, TraceContext};
use serde::Serialize;

use crate::RawJson;
use crate::handler::test_ctx::TestCtx;
use crate::peer::Peer;
use crate::peer::commands::Command;
#[cfg(feature = "http")]
use crate::runtime::caller::HttpCaller;
use crate::runtime::driving;

/// The call that a handler is running for: who called, and what the handler may say before it answers.
#[derive(Clone)]
pub struct Ctx {
    pub(crate) peer: Peer,
    /// `None` for a notification.
    pub(crate) key: Option<RequestKey>,
    pub(crate) meta: Option<Arc<RawJson<'static>>>,
    #[cfg(feature = "http")]
    pub(crate) caller: Option<Arc<HttpCaller>>,
}

impl Ctx {
    /// The caller, to call back.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// The HTTP request that the call came in: its headers, where it came from, what it was sent to. For a
    /// WebSocket, the request that opened it. `None` on other transports.
    #[cfg(feature = "http")]
    pub fn http(&self) -> Option<&http::request::Parts> {
        self.caller.as_deref()?.http()
    }

    /// Who the caller has proved to be, as the server's `Http::auth` or `Http::auth_async` returned it, or
    /// [`RouterCall::identity`](crate::RouterCall::identity) in a test.
    pub fn identity<T: Any + Send + Sync>(&self) -> Option<&T> {
        #[cfg(feature = "http")]
        if let Some(identity) = self.caller.as_deref().and_then(|caller| caller.identity.as_deref()) {
            return identity.downcast_ref();
        }
        self.peer.shared.identity.get()?.downcast_ref()
    }

    /// A context for tests of functions that take one: see [`TestCtx`](crate::TestCtx).
    pub fn for_test() -> TestCtx {
        TestCtx::new()
    }

    /// Ends the stream of events on which the caller waits for the answer; it comes back for the rest by itself
    /// after a while. So a call that takes long need not hold a connection. What is said meanwhile, and the
    /// answer, are kept for it.
    ///
    /// Works in a [session](crate::Sessions) over HTTP, if the caller takes events and knows how to come back.
    /// Otherwise nothing happens. Returns whether it did.
    #[cfg(feature = "http")]
    pub fn close_stream(&self) -> bool {
        self.caller.as_deref().is_some_and(HttpCaller::close_stream)
    }

    /// Whether the caller wants an answer.
    pub fn is_request(&self) -> bool {
        self.key.is_some()
    }

    /// The id of the request, for what has to name it; `None` for a notification.
    pub async fn id(&self) -> Option<Id<'static>> {
        let key = self.key?;
        let (tell, told) = tokio::sync::oneshot::channel();
        self.peer.shared.command(Command::Id { key, tell }).ok()?;
        told.await.ok()
    }

    /// The state of this type that the router was given.
    ///
    /// # Panics
    /// If it was given none.
    pub fn state<T: Any + Send + Sync>(&self) -> &T {
        self.peer.shared.routes.state().unwrap_or_else(|| {
            panic!(
                "the router has no state of type `{}`: add it with `Router::state`",
                std::any::type_name::<T>()
            )
        })
    }

    /// The caller's trace context, if it sent one: in `_meta` of the params, or else in the headers of its HTTP request
    /// or of its message over NATS.
    pub fn trace(&self) -> Option<TraceContext<'_>> {
        let in_params = self.meta().and_then(|meta| TraceContext::from_meta(meta));
        #[cfg(feature = "http")]
        let in_params = in_params.or_else(|| self.caller.as_deref()?.trace());
        in_params
    }

    /// The `_meta` of the params, of a request or a notification.
    pub fn meta(&self) -> Option<&RawJson<'static>> {
        self.meta.as_deref()
    }

    /// Sends progress to the caller, if it asked for progress: a number, or an object with `progress`, `total` and
    /// `message`. Waits while the peer leaves too much unread.
    pub async fn progress<T: Serialize>(&self, value: T) {
        if let (Some(key), Ok(value)) = (self.key, RawJson::from_value(&value)) {
            // A handler goes on if its progress cannot be sent.
            let _ = self.peer.shared.send_when_ready(Command::Progress { key, value }).await;
        }
    }

    /// Waits until the caller cancels the call, and from the first call on leaves it to the handler what to
    /// do then: it is no longer stopped by itself. If the call is over when this is called, it does not wait.
    /// For a notification, and for a call that is answered meanwhile, it waits for the end of the connection.
    pub fn cancelled(&self) -> impl Future<Output = ()> + Send + use<> {
        let taken = self.key.map(|key| self.peer.shared.take_over(key));
        let peer = self.peer.clone();
        async move {
            let Some(cancelled) = taken else {
                peer.closed().await;
                return;
            };
            tokio::select! {
                () = cancelled.wait() => {}
                _ = peer.closed() => {}
            }
        }
    }

    /// Runs a function that takes its time on a thread of the router's pool, beside the connection: see
    /// [`Router::max_blocking_threads`](crate::Router::max_blocking_threads). Fails if no thread can be started, or if the function panics. Dropped
    /// before the function has started, it is never run; one that runs goes on to its end.
    ///
    /// ```
    /// # async fn handler(ctx: sabir::Ctx, path: String) -> sabir::Result<u64> {
    /// let bytes = ctx.run_blocking(move || std::fs::read(path)).await??;
    /// # Ok(bytes.len() as u64)
    /// # }
    /// ```
    pub fn run_blocking<T, F>(&self, function: F) -> impl Future<Output = io::Result<T>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        let shared = Arc::clone(&self.peer.shared);
        let started = self.peer.shared.routes.threads.run(move || {
            let _handled = driving::handle(&shared);
            function()
        });
        async move { started?.await.ok_or_else(|| io::Error::other("the function panicked")) }
    }

    /// Runs `hook` right after the answer to this call is on its way: what it sends comes after it. The answers of a batch go
    /// together, once the last of them is there.
    pub fn after_reply(&self, hook: impl FnOnce(Peer) + Send + 'static) {
        match self.key {
            Some(key) => self.peer.shared.hook(key, Box::new(hook)),
            None => hook(self.peer.clone()),
        }
    }
}

impl std::fmt::Debug for Ctx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ctx").field("peer", &self.peer).field("key", &self.key).finish_non_exhaustive()
    }
}
