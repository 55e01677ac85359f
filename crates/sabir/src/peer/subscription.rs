//! Subscriptions of ours, as their consumers see them.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_core::Stream;
use sabir_proto::{
    CallOptions, Cause, Id, SendError, SubscriptionClosed, SubscriptionKey, SubscriptionStyle, TraceContext,
    Undelivered,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::peer::commands::Command;
#[cfg(feature = "tracing")]
use crate::peer::subscribe_span::SubscribeSpan;
use crate::peer::{Peer, written};
use crate::sync::lock;
use crate::{CallError, ErrorObject, RawJson};

/// Items that may wait for a consumer, and bytes of them, unless it says otherwise.
const CAPACITY: usize = 1024;
const CAPACITY_BYTES: usize = 4 << 20;

/// What is done when a consumer does not take its items in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Lag {
    /// The subscription is left, and ends with [`SubscriptionEnd::Lagged`] behind the items that were kept.
    #[default]
    Close,
    /// The oldest items are dropped, and [`SubscriptionError::Lagged`] says in their place how many.
    DropOldest,
    /// Nothing more is read from the connection until there is room. Everything else on it waits too: also answers
    /// that the consumer may be waiting for.
    Wait,
}

/// Why an item is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubscriptionError {
    /// It does not fit the type that the consumer wants. The next one may.
    Decode {
        /// Why not.
        reason: String,
        /// What came.
        item: RawJson<'static>,
    },
    /// So many items were dropped here, since nobody took them in time.
    Lagged(u64),
}

/// Why a subscription has ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SubscriptionEnd {
    /// This side has left it.
    Unsubscribed,
    /// There are no more items. Where the end is a response, this is its result.
    Finished(Option<RawJson<'static>>),
    /// The peer ended it with this error.
    Error(ErrorObject),
    /// So many items were dropped, since nobody took them in time, and it was left.
    Lagged(u64),
    /// The connection has ended.
    Disconnected(Cause),
    /// Its items cannot come, and this says why: the server has no stream for them, over HTTP. It was left.
    Undelivered(Undelivered),
}

/// Where a connection puts what comes of a subscription.
#[derive(Default)]
pub(crate) struct SubscriptionSlot(Mutex<Slot>);

#[derive(Default)]
struct Slot {
    key: Option<SubscriptionKey>,
    /// Nobody wants it any more.
    dropped: bool,
    outcome: Option<Result<Id<'static>, CallError>>,
    items: VecDeque<RawJson<'static>>,
    bytes: usize,
    lag: Lag,
    capacity: Option<usize>,
    capacity_bytes: Option<usize>,
    /// Items that were dropped before the first one that is left.
    lost: u64,
    /// The connection does not read, since there is no room here.
    paused: bool,
    end: Option<SubscriptionEnd>,
    /// What the peer has answered to the unsubscribe.
    left: Option<bool>,
    waker: Option<Waker>,
}

/// What the connection is to do after an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pushed {
    Kept,
    /// The consumer should have a turn soon.
    Filling,
    /// Nothing more is to be read.
    Pause,
    /// The subscription is to be left.
    Leave,
}

impl SubscriptionSlot {
    fn change<R>(&self, change: impl FnOnce(&mut Slot) -> R) -> R {
        let mut slot = lock(&self.0);
        let changed = change(&mut slot);
        let waker = slot.waker.take();
        drop(slot);
        if let Some(waker) = waker {
            waker.wake();
        }
        changed
    }

    pub(crate) fn key(&self) -> Option<SubscriptionKey> {
        lock(&self.0).key
    }

    pub(crate) fn is_dropped(&self) -> bool {
        lock(&self.0).dropped
    }

    pub(crate) fn sent(&self, key: SubscriptionKey) {
        lock(&self.0).key = Some(key);
    }

    /// The response has come, or will not.
    pub(crate) fn subscribed(&self, outcome: Result<Id<'static>, CallError>) {
        self.change(|slot| slot.outcome.get_or_insert(outcome).is_ok());
    }

    pub(crate) fn push(&self, item: RawJson<'static>) -> Pushed {
        self.change(|slot| slot.push(item))
    }

    /// Items were lost before they came here.
    pub(crate) fn lost(&self, count: u64) -> Pushed {
        self.change(|slot| {
            slot.lost += count;
            if slot.lag == Lag::DropOldest { Pushed::Kept } else { slot.lagged() }
        })
    }

    pub(crate) fn ended(&self, end: SubscriptionClosed<'_>) {
        let end = match end.into_owned() {
            SubscriptionClosed::Finished(result) => SubscriptionEnd::Finished(result),
            SubscriptionClosed::Error(error) => SubscriptionEnd::Error(error),
            SubscriptionClosed::Disconnected(cause) => SubscriptionEnd::Disconnected(cause),
            SubscriptionClosed::Undelivered(reason) => SubscriptionEnd::Undelivered(reason),
            _ => SubscriptionEnd::Finished(None),
        };
        self.end(end);
    }

    pub(crate) fn end(&self, end: SubscriptionEnd) {
        self.change(|slot| {
            slot.left.get_or_insert(false);
            slot.end.get_or_insert(end);
        });
    }

    /// The connection is over.
    pub(crate) fn closed(&self, why: &CallError) {
        self.subscribed(Err(why.clone()));
        if let Some(cause) = why.connection_end() {
            self.end(SubscriptionEnd::Disconnected(cause.clone()));
        }
    }

    pub(crate) fn left(&self, existed: bool) {
        self.change(|slot| slot.left = Some(existed));
    }

    /// The connection may read again. Whether it did not for this one's sake.
    pub(crate) fn take_paused(&self) -> bool {
        std::mem::take(&mut lock(&self.0).paused)
    }
}

impl Slot {
    fn capacity(&self) -> usize {
        self.capacity.unwrap_or(CAPACITY).max(1)
    }

    fn is_full(&self) -> bool {
        self.items.len() >= self.capacity() || self.bytes >= self.capacity_bytes.unwrap_or(CAPACITY_BYTES)
    }

    fn push(&mut self, item: RawJson<'static>) -> Pushed {
        if self.end.is_some() {
            return Pushed::Kept;
        }
        let before = self.items.len();
        if self.is_full() {
            match self.lag {
                Lag::Close => {
                    self.lost += 1;
                    return self.lagged();
                }
                Lag::DropOldest => {
                    while self.is_full() && self.pop().is_some() {
                        self.lost += 1;
                    }
                }
                Lag::Wait => {}
            }
        }
        self.bytes += item.as_str().len();
        self.items.push_back(item);
        if self.lag == Lag::Wait && self.is_full() && !self.paused {
            self.paused = true;
            return Pushed::Pause;
        }
        // Each of these is met once while it fills: a consumer that is behind does not slow the connection down.
        let reached = |level: usize| before < level && self.items.len() >= level;
        if reached(self.capacity() / 2) || reached(self.capacity()) { Pushed::Filling } else { Pushed::Kept }
    }

    fn lagged(&mut self) -> Pushed {
        if self.end.is_some() {
            return Pushed::Kept;
        }
        self.end = Some(SubscriptionEnd::Lagged(std::mem::take(&mut self.lost)));
        self.left = Some(false);
        Pushed::Leave
    }

    fn pop(&mut self) -> Option<RawJson<'static>> {
        let item = self.items.pop_front()?;
        self.bytes -= item.as_str().len();
        if self.items.is_empty() && self.items.capacity() > CAPACITY {
            self.items = VecDeque::new();
        }
        Some(item)
    }
}

/// A request to subscribe: await it for the [`Subscription`]. It is sent when it is first awaited. Dropped before its
/// response has come, it leaves what the response gives.
#[must_use = "a request to subscribe is sent when it is awaited"]
pub struct Subscribe<T> {
    peer: Peer,
    slot: Arc<SubscriptionSlot>,
    unsent: Option<SubscribeCommand>,
    params: Result<(), CallError>,
    over: bool,
    #[cfg(feature = "tracing")]
    span: SubscribeSpan,
    item: PhantomData<fn() -> T>,
}

/// A request to subscribe, on its way to the connection.
pub(crate) struct SubscribeCommand {
    pub(crate) style: SubscriptionStyle,
    pub(crate) params: Option<RawJson<'static>>,
    pub(crate) options: CallOptions<'static>,
    pub(crate) slot: Arc<SubscriptionSlot>,
}

impl Peer {
    /// Subscribes in this style: see [`SubscriptionStyle`].
    ///
    /// ```
    /// use sabir::SubscriptionStyle;
    ///
    /// # #[derive(serde::Deserialize)] struct Head { number: String }
    /// # async fn run(peer: sabir::Peer) -> Result<(), Box<dyn std::error::Error>> {
    /// let mut heads = peer.subscribe::<Head>(SubscriptionStyle::ethereum("newHeads"), ()).await?;
    /// while let Some(head) = heads.next().await {
    ///     println!("{}", head?.number);
    /// }
    /// println!("ended: {}", heads.end().unwrap());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Items that come before the response are kept, up to [`Limits::subscription_items`](crate::Limits::subscription_items).
    pub fn subscribe<T: DeserializeOwned>(
        &self,
        style: SubscriptionStyle,
        params: impl Serialize,
    ) -> Subscribe<T> {
        let slot = Arc::<SubscriptionSlot>::default();
        let (params, checked) = match written(&params) {
            Ok(params) => (params, Ok(())),
            Err(error) => (None, Err(error)),
        };
        let options = CallOptions::default();
        let unsent = Some(SubscribeCommand { style, params, options, slot: Arc::clone(&slot) });
        Subscribe {
            peer: self.clone(),
            slot,
            unsent,
            params: checked,
            over: false,
            #[cfg(feature = "tracing")]
            span: SubscribeSpan::default(),
            item: PhantomData,
        }
    }
}

impl<T> Subscribe<T> {
    /// What is done when the items are not taken in time. [`Lag::Close`] if nothing is said.
    pub fn lag(self, lag: Lag) -> Self {
        lock(&self.slot.0).lag = lag;
        self
    }

    /// How many items may wait to be taken: 1,024 if nothing is said.
    pub fn capacity(self, items: usize) -> Self {
        lock(&self.slot.0).capacity = Some(items);
        self
    }

    /// How many bytes of items may wait to be taken: 4 MiB if nothing is said. The last of them may be larger.
    pub fn capacity_bytes(self, bytes: usize) -> Self {
        lock(&self.slot.0).capacity_bytes = Some(bytes);
        self
    }

    /// Gives up if the response has not come after this long. If it comes later, the subscription is left.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.set(|options| options.timeout = Some(timeout))
    }

    /// Sends a trace context along, if the params are an object.
    pub fn trace(self, trace: TraceContext<'static>) -> Self {
        self.set(|options| options.trace = Some(trace))
    }

    fn set(mut self, change: impl FnOnce(&mut CallOptions<'static>)) -> Self {
        if let Some(unsent) = &mut self.unsent {
            change(&mut unsent.options);
        }
        self
    }

    fn send(&mut self) {
        #[cfg_attr(not(feature = "tracing"), expect(unused_mut, reason = "only a span changes it"))]
        let Some(mut subscribe) = self.unsent.take() else { return };
        #[cfg(feature = "tracing")]
        self.span.begin(&self.peer, &mut subscribe);
        let sent = self.params.clone().and_then(|()| {
            let on_behalf_of = self.peer.on_behalf_of;
            self.peer.shared.command(Command::Subscribe { on_behalf_of, subscribe: Box::new(subscribe) })
        });
        if let Err(error) = sent {
            self.slot.subscribed(Err(error));
        }
    }
}

impl<T> Future for Subscribe<T> {
    type Output = Result<Subscription<T>, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.send();
        let mut slot = lock(&self.slot.0);
        let Some(outcome) = slot.outcome.clone() else {
            slot.waker = Some(cx.waker().clone());
            return Poll::Pending;
        };
        drop(slot);
        self.over = true;
        #[cfg(feature = "tracing")]
        self.span.end(outcome.as_ref().err());
        Poll::Ready(outcome.map(|id| Subscription {
            peer: self.peer.clone(),
            slot: Arc::clone(&self.slot),
            id,
            item: PhantomData,
        }))
    }
}

impl<T> Drop for Subscribe<T> {
    fn drop(&mut self) {
        if self.unsent.is_none() && !self.over {
            #[cfg(feature = "tracing")]
            self.span.end(Some(&CallError::Cancelled));
            leave(&self.peer, &self.slot);
        }
    }
}

/// Lets the connection leave a subscription. It does so as soon as it can; nobody waits for it.
fn leave(peer: &Peer, slot: &Arc<SubscriptionSlot>) {
    let mut state = lock(&slot.0);
    state.dropped = true;
    let over = state.end.is_some() && !state.paused;
    state.items = VecDeque::new();
    drop(state);
    if !over {
        let _ = peer.shared.command(Command::Unsubscribe(Arc::clone(slot)));
    }
}

/// A subscription: a stream of items. Dropped, it is left, and the peer is told, reliably and without waiting.
///
/// The stream yields `None` once the subscription has ended and all items are taken; [`end`](Self::end) then says why.
/// An item that does not fit `T` is an error in its place, and not the end.
pub struct Subscription<T> {
    peer: Peer,
    slot: Arc<SubscriptionSlot>,
    id: Id<'static>,
    item: PhantomData<fn() -> T>,
}

impl<T> Subscription<T> {
    /// The id that the peer gave it; of the request, where that is the subscription; null if there is none.
    pub fn id(&self) -> &Id<'static> {
        &self.id
    }

    /// Why it has ended, if it has. Items that came before may still be there to take.
    pub fn end(&self) -> Option<SubscriptionEnd> {
        lock(&self.slot.0).end.clone()
    }

    /// Leaves it, and waits for the peer's answer: whether the peer still had it. Items that were kept can still be
    /// taken.
    pub async fn unsubscribe(&mut self) -> bool {
        {
            let mut slot = lock(&self.slot.0);
            if let Some(left) = slot.left {
                return left;
            }
            slot.end.get_or_insert(SubscriptionEnd::Unsubscribed);
        }
        let _ = self.peer.shared.command(Command::Unsubscribe(Arc::clone(&self.slot)));
        poll_fn(|cx| {
            let mut slot = lock(&self.slot.0);
            match slot.left {
                Some(left) => Poll::Ready(left),
                None => {
                    slot.waker = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

impl<T: DeserializeOwned> Subscription<T> {
    /// The next item, or `None` at the end. The same as the stream gives, for those who need no other methods of streams.
    pub async fn next(&mut self) -> Option<Result<T, SubscriptionError>> {
        poll_fn(|cx| self.poll_item(cx)).await
    }

    fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, SubscriptionError>>> {
        let mut slot = lock(&self.slot.0);
        if slot.lag == Lag::DropOldest && slot.lost > 0 {
            return Poll::Ready(Some(Err(SubscriptionError::Lagged(std::mem::take(&mut slot.lost)))));
        }
        let Some(item) = slot.pop() else {
            if slot.end.is_some() {
                return Poll::Ready(None);
            }
            slot.waker = Some(cx.waker().clone());
            return Poll::Pending;
        };
        let resumes = slot.paused && slot.items.len() <= slot.capacity() / 2;
        drop(slot);
        if resumes {
            let _ = self.peer.shared.command(Command::Resume(Arc::clone(&self.slot)));
        }
        Poll::Ready(Some(item.parse().map_err(|error: serde_json::Error| {
            let reason = error.to_string();
            SubscriptionError::Decode { reason, item: item.clone() }
        })))
    }
}

impl<T: DeserializeOwned> Stream for Subscription<T> {
    type Item = Result<T, SubscriptionError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_item(cx)
    }
}

impl<T> Drop for Subscription<T> {
    fn drop(&mut self) {
        leave(&self.peer, &self.slot);
    }
}

impl<T> fmt::Debug for Subscription<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("id", &self.id).field("end", &self.end()).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Subscribe<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscribe").field("sent", &self.unsent.is_none()).finish_non_exhaustive()
    }
}

impl fmt::Display for SubscriptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SubscriptionError::Decode { reason, .. } => {
                write!(f, "the item is not what was expected: {reason}")
            }
            SubscriptionError::Lagged(count) => {
                write!(f, "{count} items were dropped: they were not taken in time")
            }
        }
    }
}

impl std::error::Error for SubscriptionError {}

impl fmt::Display for SubscriptionEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SubscriptionEnd::Unsubscribed => f.write_str("unsubscribed"),
            SubscriptionEnd::Finished(_) => f.write_str("finished"),
            SubscriptionEnd::Error(error) => error.fmt(f),
            SubscriptionEnd::Lagged(count) => write!(f, "{count} items were not taken in time"),
            SubscriptionEnd::Disconnected(cause) => cause.fmt(f),
            SubscriptionEnd::Undelivered(reason) => reason.fmt(f),
        }
    }
}

impl Drop for SubscribeCommand {
    fn drop(&mut self) {
        if self.slot.key().is_none() {
            self.slot.subscribed(Err(CallError::NotSent(SendError::Unsent)));
        }
    }
}
