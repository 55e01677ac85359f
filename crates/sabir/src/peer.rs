//! The other end of a connection, to call and to notify.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use sabir_proto::{CallOptions, Cause, Refused};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::call::{Call, CallSlot};
use crate::method::MethodName;
use crate::shared::{BatchEntry, CallWish, Shared, Wish};
use crate::{CallError, RawJson};

/// The other end of a connection. Cheap to clone; the connection lives until it is shut down or lost,
/// whether or not anyone holds one.
#[derive(Clone)]
pub struct Peer {
    pub(crate) shared: Arc<Shared>,
}

impl Peer {
    /// Calls a method. The call goes out when it is first awaited.
    ///
    /// Params are a tuple, a struct, a list, a map, or `()` for none; a single value of any other kind is
    /// sent as the only argument. The result is whatever type the caller wants.
    pub fn call<M, P, R>(&self, method: M, params: P) -> Call<R>
    where
        M: MethodName<P, R>,
        P: Serialize,
        R: DeserializeOwned,
    {
        Call::new(Arc::clone(&self.shared), method.into_name(), written(&params))
    }

    /// Calls a method with params that are JSON already, for a result as it comes.
    pub fn call_raw(
        &self,
        method: impl Into<Cow<'static, str>>,
        params: Option<RawJson<'static>>,
    ) -> Call<RawJson<'static>> {
        Call::new(Arc::clone(&self.shared), method.into(), Ok(params))
    }

    /// Sends a notification. Waits while the peer leaves too much unread.
    pub async fn notify<M, P>(&self, method: M, params: P) -> Result<(), Refused>
    where
        M: MethodName<P, ()>,
        P: Serialize,
    {
        let params = RawJson::from_value(&params).map_err(|e| Refused::Params(e.to_string()))?;
        let params = present(params);
        self.shared.wish_in_turn(Wish::Notify { method: method.into_name(), params }).await
    }

    /// Sends a notification without waiting, or not at all if the peer leaves too much unread. For places
    /// that cannot wait, such as [`Ctx::after_reply`](crate::Ctx::after_reply).
    pub fn try_notify<M, P>(&self, method: M, params: P) -> Result<(), Refused>
    where
        M: MethodName<P, ()>,
        P: Serialize,
    {
        let params = RawJson::from_value(&params).map_err(|e| Refused::Params(e.to_string()))?;
        if self.shared.is_full() {
            return Err(Refused::Congested);
        }
        let wish = Wish::Notify { method: method.into_name(), params: present(params) };
        self.shared.wish(wish).map_err(|_| Refused::Closed)
    }

    /// Begins a batch: calls and notifications that go out together.
    pub fn batch(&self) -> Batch {
        Batch { shared: Arc::clone(&self.shared), entries: Vec::new() }
    }

    /// Ends the connection in good order: no new requests are taken, what is open is finished for as long
    /// as `grace`. Waits for the end, also of a process that was started for the connection, and returns why
    /// it ended.
    pub async fn shutdown(&self, grace: Duration) -> Cause {
        let _ = self.shared.wish(Wish::Shutdown(grace));
        let cause = self.closed().await;
        if let Some(process) = self.shared.process.get() {
            let _ = process.clone().wait_for(|ended| *ended).await;
        }
        cause
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

/// Calls and notifications that go out together, in one message.
///
/// ```
/// # async fn run(peer: sabir::Peer) -> Result<(), sabir::CallError> {
/// let mut batch = peer.batch();
/// let sum = batch.call::<_, _, i64>("add", (1, 2));
/// let difference = batch.call::<_, _, i64>("subtract", (3, 2));
/// batch.notify("log", ("done",));
/// batch.send()?;
/// assert_eq!((sum.await?, difference.await?), (3, 1));
/// # Ok(())
/// # }
/// ```
#[must_use = "a batch is sent by `send`"]
pub struct Batch {
    shared: Arc<Shared>,
    entries: Vec<BatchEntry>,
}

impl Batch {
    /// Adds a call. Await it once the batch is sent.
    pub fn call<M, P, R>(&mut self, method: M, params: P) -> Call<R>
    where
        M: MethodName<P, R>,
        P: Serialize,
        R: DeserializeOwned,
    {
        let slot = Arc::<CallSlot>::default();
        match written(&params) {
            Ok(params) => self.entries.push(BatchEntry::Call(CallWish {
                method: method.into_name(),
                params,
                options: CallOptions::default(),
                slot: Arc::clone(&slot),
            })),
            Err(error) => slot.end(Err(error)),
        }
        Call::in_batch(Arc::clone(&self.shared), slot)
    }

    /// Adds a notification. Params that cannot be written as JSON are left out.
    pub fn notify<M, P>(&mut self, method: M, params: P)
    where
        M: MethodName<P, ()>,
        P: Serialize,
    {
        let params = written(&params).unwrap_or_default();
        self.entries.push(BatchEntry::Notify { method: method.into_name(), params });
    }

    /// Sends it.
    pub fn send(self) -> Result<(), CallError> {
        self.shared.wish(Wish::Batch(self.entries))
    }
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("entries", &self.entries.len()).finish_non_exhaustive()
    }
}

pub(crate) fn written<P: Serialize>(params: &P) -> Result<Option<RawJson<'static>>, CallError> {
    RawJson::from_value(params)
        .map(present)
        .map_err(|error| CallError::Refused(Refused::Params(error.to_string())))
}

/// `null` stands for no params.
fn present(params: RawJson<'static>) -> Option<RawJson<'static>> {
    (params.as_str() != "null").then_some(params)
}
