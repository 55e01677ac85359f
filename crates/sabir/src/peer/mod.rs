//! The other end of a connection, to call and to notify.

pub(crate) mod batch;
pub(crate) mod call;
pub(crate) mod call_slot;
pub(crate) mod commands;
mod extensions;
pub(crate) mod reconnect;
pub(crate) mod relayed;
pub(crate) mod resubscribe;
mod retry;
#[cfg(feature = "tracing")]
mod subscribe_span;
pub(crate) mod subscription;

use std::any::Any;
use std::borrow::Cow;
use std::sync::{Arc, Weak};
use std::time::Duration;

use sabir_proto::{Cause, Dialect, SendError};
use serde::Serialize;
use serde::de::DeserializeOwned;

#[cfg(feature = "http")]
use crate::Error;
use crate::peer::batch::Batch;
use crate::peer::call::Call;
use crate::peer::commands::{Command, OnBehalfOf, Shared};
use crate::router::method::Method;
use crate::runtime::driving;
use crate::{CallError, RawJson};

/// How long open requests may take once a connection is closed.
const CLOSE_GRACE: Duration = Duration::from_millis(1500);

/// The other end of a connection. Cheap to clone; the connection lives until it is shut down or lost,
/// whether or not anyone holds one.
#[derive(Clone)]
pub struct Peer {
    pub(crate) shared: Arc<Shared>,
    /// The request in whose handler it was given out: where a connection has several ways to the peer, what
    /// is sent takes that request's.
    pub(crate) on_behalf_of: OnBehalfOf,
}

impl Peer {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Peer { shared, on_behalf_of: None }
    }

    /// Calls a method. The call goes out when it is first awaited.
    ///
    /// Params are a tuple, a struct, a list, a map, or `()` for none; a single value of any other kind is
    /// sent as the only argument. The result is read into `R`, the one type parameter: it follows from where the
    /// result goes, or is written as `call::<i64>(…)`.
    ///
    /// `call::<()>(…)` takes any result and ignores it. A bare `peer.call("ping", ()).await?;` does not compile: a
    /// future has one output type, and where nothing names it, Rust (edition 2024) falls back to `!`, which no result
    /// can be.
    ///
    /// ```
    /// # async fn run(peer: sabir::Peer) -> Result<(), sabir::CallError> {
    /// let sum: i64 = peer.call("add", (1, 2)).await?;
    /// println!("{}", peer.call::<i64>("add", (sum, 2)).await?);
    /// peer.call::<()>("ping", ()).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn call<R: DeserializeOwned>(
        &self,
        method: impl Into<Cow<'static, str>>,
        params: impl Serialize,
    ) -> Call<R> {
        Call::new(self.clone(), method.into(), written(&params))
    }

    /// Calls a [`Method`], whose types the compiler checks.
    ///
    /// ```
    /// use sabir::Method;
    ///
    /// const ADD: Method<(i64, i64), i64> = Method::new("add");
    ///
    /// # async fn run(peer: sabir::Peer) -> Result<(), sabir::CallError> {
    /// let sum = peer.call_method(ADD, (1, 2)).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn call_method<P: Serialize, R: DeserializeOwned>(&self, method: Method<P, R>, params: P) -> Call<R> {
        self.call(method.name(), params)
    }

    /// Calls a method with params that are JSON already, for a result as it comes.
    pub fn call_raw(
        &self,
        method: impl Into<Cow<'static, str>>,
        params: Option<RawJson<'static>>,
    ) -> Call<RawJson<'static>> {
        Call::new(self.clone(), method.into(), Ok(params))
    }

    /// Sends a notification. Waits while the peer leaves too much unread.
    pub async fn notify(
        &self,
        method: impl Into<Cow<'static, str>>,
        params: impl Serialize,
    ) -> Result<(), SendError> {
        let command = self.notification(method.into(), &params)?;
        self.shared.send_when_ready(command).await
    }

    /// Sends a notification by its [`Method`], whose types the compiler checks.
    pub async fn notify_method<P: Serialize>(
        &self,
        method: Method<P, ()>,
        params: P,
    ) -> Result<(), SendError> {
        self.notify(method.name(), params).await
    }

    /// Sends a notification with params that are JSON already. Waits while the peer leaves too much unread.
    pub async fn notify_raw(
        &self,
        method: impl Into<Cow<'static, str>>,
        params: Option<RawJson<'static>>,
    ) -> Result<(), SendError> {
        let command = Command::Notify { on_behalf_of: self.on_behalf_of, method: method.into(), params };
        self.shared.send_when_ready(command).await
    }

    /// Sends a notification without waiting, or not at all if the peer leaves too much unread. For places
    /// that cannot wait, such as [`Ctx::after_reply`](crate::Ctx::after_reply).
    pub fn try_notify(
        &self,
        method: impl Into<Cow<'static, str>>,
        params: impl Serialize,
    ) -> Result<(), SendError> {
        let command = self.notification(method.into(), &params)?;
        if self.shared.is_full() {
            return Err(SendError::Congested);
        }
        self.shared.notification(command)
    }

    fn notification(&self, method: Cow<'static, str>, params: &impl Serialize) -> Result<Command, SendError> {
        let params = RawJson::from_value(params).map_err(|e| SendError::Params(e.to_string()))?;
        Ok(Command::Notify { on_behalf_of: self.on_behalf_of, method, params: present(params) })
    }

    /// Sets a header of everything that is sent over HTTP from now on. On other transports there are no headers,
    /// and it does nothing.
    #[cfg(feature = "http")]
    pub fn set_header(&self, name: impl AsRef<str>, value: impl AsRef<str>) -> Result<(), Error> {
        let (name, value) =
            crate::client::http::header(name.as_ref(), value.as_ref()).map_err(Error::config)?;
        if let Some(headers) = self.shared.headers.get() {
            headers.set(name, value);
        }
        Ok(())
    }

    /// Begins a batch: calls and notifications that go out together.
    pub fn batch(&self) -> Batch {
        Batch::new(self.clone())
    }

    /// What handlers store for this connection, one value of each type: who has logged in, what was agreed on.
    /// The first to ask makes it.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// let router = sabir::Router::new().method("count", |ctx: sabir::Ctx, ()| async move {
    ///     Ok(ctx.peer().extension::<AtomicU64>().fetch_add(1, Ordering::Relaxed))
    /// });
    /// ```
    pub fn extension<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        self.shared.extension()
    }

    /// Changes the dialect from here on: some protocols agree on one in their first messages.
    pub fn set_dialect(&self, dialect: Dialect) {
        let _ = self.shared.command(Command::SetDialect(dialect));
    }

    /// A handle that does not keep what belongs to the connection alive.
    pub fn downgrade(&self) -> WeakPeer {
        WeakPeer { shared: Arc::downgrade(&self.shared) }
    }

    /// Shuts the connection down gracefully: new requests of the peer are refused, and open ones may finish for
    /// as long as `grace`. Waits for the end, also of a process that was started for the connection, and returns
    /// why it ended. Dropping the future does not undo it: the connection still ends.
    ///
    /// A handler of the same connection is part of what is open, so there it does not wait: it returns
    /// [`Cause::Shutdown`] at once, and the connection ends when the handler has returned and was answered.
    pub async fn shutdown(&self, grace: Duration) -> Cause {
        let _ = self.shared.command(Command::Shutdown(grace));
        if driving::is_handled_here(&self.shared) {
            return self.cause().unwrap_or(Cause::Shutdown);
        }
        let cause = self.closed().await;
        if let Some(process) = self.shared.process.get() {
            let _ = process.clone().wait_for(|ended| *ended).await;
        }
        cause
    }

    /// Starts to shut the connection down, and does not wait: new requests of the peer are refused, and open ones
    /// may finish for 1.5 s. [`closed`](Self::closed) waits for the end, [`shutdown`](Self::shutdown) does both.
    pub fn close(&self) {
        let _ = self.shared.command(Command::Shutdown(CLOSE_GRACE));
    }

    /// Waits for the end of the connection. Returns why it ended.
    pub async fn closed(&self) -> Cause {
        loop {
            let over = self.shared.over.notified();
            let mut over = std::pin::pin!(over);
            over.as_mut().enable();
            if let Some(cause) = self.shared.cause() {
                return cause;
            }
            over.await;
        }
    }

    /// Waits until the connection is about to end: the peer sends no more, or somebody has asked it to shut
    /// down. A handler that only waits for things to happen should finish then, or the connection waits for
    /// it.
    pub async fn closing(&self) {
        self.shared.closing.wait().await;
    }

    /// Why the connection has ended, if it has.
    pub fn cause(&self) -> Option<Cause> {
        self.shared.cause()
    }
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peer").field("cause", &self.cause()).finish_non_exhaustive()
    }
}

/// A [`Peer`] that may be gone.
#[derive(Clone)]
pub struct WeakPeer {
    shared: Weak<Shared>,
}

impl WeakPeer {
    /// The peer, unless its connection has ended.
    pub fn upgrade(&self) -> Option<Peer> {
        let peer = Peer::new(self.shared.upgrade()?);
        peer.cause().is_none().then_some(peer)
    }
}

impl std::fmt::Debug for WeakPeer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WeakPeer").field("alive", &self.upgrade().is_some()).finish_non_exhaustive()
    }
}

pub(crate) fn written<P: Serialize>(params: &P) -> Result<Option<RawJson<'static>>, CallError> {
    RawJson::from_value(params)
        .map(present)
        .map_err(|error| CallError::NotSent(SendError::Params(error.to_string())))
}

/// `null` stands for no params.
pub(crate) fn present(params: RawJson<'static>) -> Option<RawJson<'static>> {
    (params.as_str() != "null").then_some(params)
}
