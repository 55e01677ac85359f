//! Calls and notifications that go out in one message.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::CallError;
use crate::peer::call::Call;
use crate::peer::call_slot::CallSlot;
use crate::peer::commands::{BatchEntry, CallCommand, Command, end_batch};
use crate::peer::{Peer, written};
use crate::router::method::Method;

/// Calls and notifications that go out together, in one message.
///
/// ```
/// # async fn run(peer: sabir::Peer) -> Result<(), sabir::CallError> {
/// let mut batch = peer.batch();
/// let sum = batch.call::<i64>("add", (1, 2));
/// let difference = batch.call::<i64>("subtract", (3, 2));
/// batch.notify("log", ("done",));
/// batch.send()?;
/// assert_eq!((sum.await?, difference.await?), (3, 1));
/// # Ok(())
/// # }
/// ```
///
/// The calls of a batch that is dropped instead of sent end with
/// [`SendError::Unsent`](crate::SendError::Unsent).
#[must_use = "a batch is sent by `send`"]
pub struct Batch {
    peer: Peer,
    entries: Vec<BatchEntry>,
    /// Why it cannot be sent.
    error: Option<CallError>,
}

impl Batch {
    pub(crate) fn new(peer: Peer) -> Self {
        Batch { peer, entries: Vec::new(), error: None }
    }

    /// Adds a call. Set its timeout and progress before the batch is sent, and await it afterwards: awaited before
    /// [`send`](Batch::send), it ends with [`SendError::BatchNotSent`](crate::SendError::BatchNotSent), and the batch
    /// goes out without it.
    ///
    /// A peer that refuses the whole batch answers with one error that has no id. The calls end with that error if it
    /// cannot be meant for another message: over HTTP always, and on a stream if nothing else waits for an answer.
    /// Otherwise it is a [`Report::PeerError`](crate::Report::PeerError) for the transport's `on_report`: give the calls
    /// a timeout if the peer may not support batches.
    pub fn call<R: DeserializeOwned>(
        &mut self,
        method: impl Into<Cow<'static, str>>,
        params: impl Serialize,
    ) -> Call<R> {
        let slot = Arc::new(CallSlot::in_batch());
        let method = method.into();
        let params = written(&params);
        let shown = params.as_ref().ok().and_then(Option::as_ref);
        let call = Call::in_batch(self.peer.clone(), &method, shown, Arc::clone(&slot));
        match params {
            Ok(params) => {
                self.entries.push(BatchEntry::Call(CallCommand { method, params, slot, is_settled: false }))
            }
            Err(error) => slot.end(Err(error)),
        }
        call
    }

    /// Adds a call of a [`Method`], whose types the compiler checks.
    pub fn call_method<P: Serialize, R: DeserializeOwned>(
        &mut self,
        method: Method<P, R>,
        params: P,
    ) -> Call<R> {
        self.call(method.name(), params)
    }

    /// Adds a notification. If its params cannot be written as JSON, the batch cannot be sent.
    pub fn notify(&mut self, method: impl Into<Cow<'static, str>>, params: impl Serialize) {
        match written(&params) {
            Ok(params) => self.entries.push(BatchEntry::Notify { method: method.into(), params }),
            Err(error) => self.error = self.error.take().or(Some(error)),
        }
    }

    /// Adds a notification by its [`Method`], whose types the compiler checks.
    pub fn notify_method<P: Serialize>(&mut self, method: Method<P, ()>, params: P) {
        self.notify(method.name(), params);
    }

    /// Sends it. If that cannot be done, its calls end with the same error.
    pub fn send(self) -> Result<(), CallError> {
        if let Some(error) = self.error {
            end_batch(&self.entries, &error);
            return Err(error);
        }
        for entry in &self.entries {
            if let BatchEntry::Call(call) = entry {
                call.slot.batch_sent();
            }
        }
        self.peer
            .shared
            .command(Command::Batch { on_behalf_of: self.peer.on_behalf_of, entries: self.entries })
    }
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("entries", &self.entries.len()).finish_non_exhaustive()
    }
}
