//! A call that was made, as its caller sees it.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use sabir_proto::{CallKey, CallOptions, TraceContext};
use serde::de::DeserializeOwned;

use crate::peer::Peer;
use crate::peer::commands::{CallWish, Wish, lock};
use crate::router::observe::{CallEnd, Observed, Side};
use crate::{CallError, RawJson};

/// Progress that nobody has looked at yet. The oldest is dropped first.
const KEPT_PROGRESS: usize = 256;

/// Where a connection puts what comes of a call.
#[derive(Default)]
pub(crate) struct CallSlot(Mutex<Slot>);

#[derive(Default)]
struct Slot {
    key: Option<CallKey>,
    outcome: Option<Result<RawJson<'static>, CallError>>,
    over: bool,
    progress: VecDeque<RawJson<'static>>,
    waker: Option<Waker>,
}

impl CallSlot {
    pub(crate) fn sent(&self, key: CallKey) {
        lock(&self.0).key = Some(key);
    }

    pub(crate) fn key(&self) -> Option<CallKey> {
        lock(&self.0).key
    }

    pub(crate) fn end(&self, outcome: Result<RawJson<'static>, CallError>) {
        let mut slot = lock(&self.0);
        if slot.over {
            return;
        }
        slot.over = true;
        slot.outcome = Some(outcome);
        if let Some(waker) = slot.waker.take() {
            drop(slot);
            waker.wake();
        }
    }

    pub(crate) fn progress(&self, value: RawJson<'static>) {
        let mut slot = lock(&self.0);
        if slot.progress.len() == KEPT_PROGRESS {
            slot.progress.pop_front();
        }
        slot.progress.push_back(value);
        if let Some(waker) = slot.waker.take() {
            drop(slot);
            waker.wake();
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        lock(&self.0).over
    }
}

/// A method and its params, if they could be written.
type Unsent = (Cow<'static, str>, Result<Option<RawJson<'static>>, CallError>);

/// What a call knows of its result, its error and its progress.
type Types<R, E, T> = PhantomData<fn() -> (R, E, T)>;

/// A call: await it for its result. It is sent when it is first awaited, and cancelled when it is dropped
/// before its end.
///
/// A typed client says more of it: `E` is what it fails with, `T` is its progress.
#[must_use = "a call is sent when it is awaited"]
pub struct Call<R, E = CallError, T = RawJson<'static>> {
    peer: Peer,
    slot: Arc<CallSlot>,
    unsent: Option<Unsent>,
    options: CallOptions<'static>,
    /// When it began, for those who observe.
    watched: Option<(Instant, String)>,
    types: Types<R, E, T>,
}

impl<R, E, T> Call<R, E, T> {
    pub(crate) fn new(
        peer: Peer,
        method: Cow<'static, str>,
        params: Result<Option<RawJson<'static>>, CallError>,
    ) -> Self {
        Call {
            peer,
            slot: Arc::default(),
            unsent: Some((method, params)),
            options: CallOptions::default(),
            watched: None,
            types: PhantomData,
        }
    }

    /// A call that was sent already, in a batch.
    pub(crate) fn in_batch(peer: Peer, method: &str, slot: Arc<CallSlot>) -> Self {
        let options = CallOptions::default();
        let mut call = Call { peer, slot, unsent: None, options, watched: None, types: PhantomData };
        call.watch(method);
        call
    }

    /// Tells those who observe that it begins.
    fn watch(&mut self, method: &str) {
        let routes = &self.peer.shared.routes;
        if routes.is_observed() {
            routes.tell(&Observed::CallStarted { side: Side::Ours, method, known: true });
            self.watched = Some((Instant::now(), method.to_owned()));
        }
    }

    /// And that it has ended.
    fn watched(&mut self, end: CallEnd) {
        if let Some((start, method)) = self.watched.take() {
            let ended = Observed::CallEnded {
                side: Side::Ours,
                method: &method,
                known: true,
                end,
                took: start.elapsed(),
            };
            self.peer.shared.routes.tell(&ended);
        }
    }

    /// Ends the call with [`CallError::TimedOut`] after this long, and cancels it.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// Lets each progress start the timeout anew, for `total` at the most.
    pub fn reset_on_progress(mut self, total: Duration) -> Self {
        self.options.reset_on_progress = true;
        self.options.progress = true;
        self.options.total_timeout = Some(total);
        self
    }

    /// Sends a trace context along, if the params are an object.
    pub fn trace(mut self, trace: TraceContext<'static>) -> Self {
        self.options.trace = Some(trace);
        self
    }

    /// Ends the call and tells the peer. Awaiting it gives [`CallError::Cancelled`].
    pub fn cancel(&self) {
        if !self.slot.is_over() {
            let _ = self.peer.shared.wish(Wish::Cancel(Arc::clone(&self.slot)));
            self.slot.end(Err(CallError::Cancelled));
        }
    }

    /// The next progress of the call, or `None` once it has ended. Call it before awaiting the result: it
    /// asks the peer for progress, which must be done when the call is sent.
    ///
    /// The type is read from all that the peer sent, or else from its member `progress`: a plain number will
    /// do where nothing more is wanted.
    pub async fn progress<U: DeserializeOwned>(&mut self) -> Option<U> {
        self.options.progress = true;
        self.send();
        poll_fn(|cx| {
            let mut slot = lock(&self.slot.0);
            while let Some(value) = slot.progress.pop_front() {
                let number = || value.get("progress").and_then(|number| number.parse().ok());
                if let Some(progress) = value.parse().ok().or_else(number) {
                    return Poll::Ready(Some(progress));
                }
            }
            if slot.over {
                return Poll::Ready(None);
            }
            slot.waker = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// The next [`progress`](Call::progress), in the type that the call has for it.
    pub async fn next_progress(&mut self) -> Option<T>
    where
        T: DeserializeOwned,
    {
        self.progress().await
    }

    fn send(&mut self) {
        let Some((method, params)) = self.unsent.take() else { return };
        self.watch(&method);
        let slot = Arc::clone(&self.slot);
        let sent = params.and_then(|params| {
            let options = std::mem::take(&mut self.options);
            let call = CallWish { method, params, options, slot };
            self.peer.shared.wish(Wish::Call { about: self.peer.about, call })
        });
        if let Err(error) = sent {
            self.slot.end(Err(error));
        }
    }
}

impl<R: DeserializeOwned, E: From<CallError>, T> Future for Call<R, E, T> {
    type Output = Result<R, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.send();
        let mut slot = lock(&self.slot.0);
        let Some(outcome) = slot.outcome.take() else {
            slot.waker = Some(cx.waker().clone());
            return Poll::Pending;
        };
        drop(slot);
        self.watched(CallEnd::of(&outcome));
        let read = outcome.and_then(|result| {
            result.parse().map_err(|e: serde_json::Error| CallError::Unfit(e.to_string().into()))
        });
        Poll::Ready(read.map_err(E::from))
    }
}

impl<R, E, T> Drop for Call<R, E, T> {
    fn drop(&mut self) {
        if self.unsent.is_none() {
            self.cancel();
            self.watched(CallEnd::Cancelled);
        }
    }
}

impl<R, E, T> std::fmt::Debug for Call<R, E, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call").field("sent", &self.unsent.is_none()).finish_non_exhaustive()
    }
}
