//! Subscriptions that are accepted and fed by hand.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::hash::{BuildHasher, Hash, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use sabir_proto::{Id, Overflow, SinkEnd};
use serde::Serialize;
use tokio::sync::Notify;

use crate::handler::items::{BoxItems, Items, SinkHandle};
use crate::sync::lock;
use crate::{ErrorCode, ErrorObject, RawJson, Result};

/// Items between the handler and the connection. What waits for the peer waits in the connection.
const HANDED_OVER: usize = 16;

/// A request to subscribe that is not answered yet: see [`Router::subscription_sink`](crate::Router::subscription_sink).
/// Dropped, it is answered `-32603`.
#[derive(Debug)]
pub struct PendingSink {
    slot: Arc<SinkSlot>,
}

/// Where the items of one subscription go in. Dropped, the subscription ends.
///
/// It is not `Clone`: there is one place where a subscription ends. Tasks that share one put it into an `Arc`.
#[derive(Debug)]
pub struct Sink {
    slot: Arc<SinkSlot>,
    id: Id<'static>,
    /// Seeded, so that nobody can choose keys that replace those of others.
    hasher: RandomState,
}

/// Why an item was not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SinkError {
    /// The subscription has ended: [`Sink::closed`] says why.
    Closed,
    /// There is no room: the peer reads too slowly.
    Full,
    /// It cannot be written as JSON.
    Unwritable(String),
}

#[derive(Debug, Default)]
struct SinkSlot {
    state: Mutex<State>,
    /// The handler waits here: for the answer to be sent, for room, or for the end.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    overflow: Overflow,
    capacity: Option<usize>,
    /// The handler has accepted, and then: the answer is on its way.
    accepted: bool,
    id: Option<Id<'static>>,
    rejected: Option<ErrorObject>,
    items: VecDeque<Item>,
    /// Items that were dropped here.
    lost: u64,
    /// The subscription has ended, and if the handler did not end it, why.
    closed: bool,
    end: Option<SinkEnd>,
    /// The sink was dropped, or the subscription has failed.
    finished: bool,
    failed: Option<ErrorObject>,
    /// Wakes the connection.
    waker: Option<Waker>,
}

#[derive(Debug)]
struct Item {
    key: u64,
    text: RawJson<'static>,
}

impl PendingSink {
    /// What is done with an item for which there is no room: [`Overflow::Wait`] if nothing is said. As for a
    /// [`Feed`](crate::Feed), the subscription of a slow peer may wait, miss items, or end.
    ///
    /// ```
    /// use sabir::{Ctx, Overflow, PendingSink};
    ///
    /// async fn prices(_: Ctx, _: (), pending: PendingSink) -> sabir::Result<()> {
    ///     let sink = pending.overflow(Overflow::KeepLatest).capacity(16).accept().await;
    ///     for (symbol, cents) in [("A", 100), ("B", 7), ("A", 101)] {
    ///         sink.send_keyed(&symbol, &(symbol, cents)).await?;
    ///     }
    ///     Ok(())
    /// }
    /// ```
    #[must_use]
    pub fn overflow(self, overflow: Overflow) -> Self {
        lock(&self.slot.state).overflow = overflow;
        self
    }

    /// How many items may wait, if that is fewer than [`Limits::subscription_items`](crate::Limits::subscription_items).
    #[must_use]
    pub fn capacity(self, items: usize) -> Self {
        lock(&self.slot.state).capacity = Some(items);
        self
    }

    /// Accepts the subscription: the peer gets its id, and then the items. If that is refused, since the peer has too
    /// many subscriptions, say, the handler is dropped here.
    pub async fn accept(self) -> Sink {
        let slot = Arc::clone(&self.slot);
        lock(&slot.state).accepted = true;
        let mut id = None;
        slot.wait(|state| {
            id.clone_from(&state.id);
            id.is_some() || state.closed
        })
        .await;
        Sink { slot, id: id.unwrap_or(Id::NULL), hasher: RandomState::new() }
    }

    /// Answers with an error.
    pub fn reject(self, error: ErrorObject) {
        lock(&self.slot.state).rejected = Some(error);
    }
}

impl Sink {
    /// The id that the peer has for it; null if it was refused.
    pub fn id(&self) -> &Id<'static> {
        &self.id
    }

    /// Sends an item. Waits while there is no room for it, so that what makes the items is slowed down to what the peer
    /// reads. With another [policy](PendingSink::overflow) than [`Overflow::Wait`] it waits for the connection to have its
    /// turn, and never for the peer.
    pub fn send<'s, T: Serialize + ?Sized>(
        &'s self,
        item: &T,
    ) -> impl Future<Output = std::result::Result<(), SinkError>> + Send + use<'s, T> {
        self.send_item(0, item)
    }

    /// The same. Under [`Overflow::KeepLatest`], it replaces the item that waits and has the same key; items that are sent
    /// without a key replace each other.
    pub fn send_keyed<'s, K: Hash + ?Sized, T: Serialize + ?Sized>(
        &'s self,
        key: &K,
        item: &T,
    ) -> impl Future<Output = std::result::Result<(), SinkError>> + Send + use<'s, K, T> {
        self.send_item(self.hasher.hash_one(key), item)
    }

    fn send_item<'s, T: Serialize + ?Sized>(
        &'s self,
        key: u64,
        item: &T,
    ) -> impl Future<Output = std::result::Result<(), SinkError>> + Send + use<'s, T> {
        // Written before anything is awaited: the item need not be `Send`.
        let text = RawJson::from_value(item).map_err(|error| SinkError::Unwritable(error.to_string()));
        async move { self.hand_over(Item { key, text: text? }).await }
    }

    pub(crate) async fn send_raw(&self, text: RawJson<'static>) -> std::result::Result<(), SinkError> {
        self.hand_over(Item { key: 0, text }).await
    }

    async fn hand_over(&self, item: Item) -> std::result::Result<(), SinkError> {
        let mut item = Some(item);
        self.slot
            .wait(|state| {
                if state.closed {
                    return true;
                }
                if state.items.len() < HANDED_OVER {
                    state.items.extend(item.take());
                }
                item.is_none()
            })
            .await;
        match item {
            None => {
                self.slot.wake();
                Ok(())
            }
            Some(_) => Err(SinkError::Closed),
        }
    }

    /// Sends an item if there is room for it. Where items may be [dropped](PendingSink::overflow), there always is.
    pub fn try_send<T: Serialize + ?Sized>(&self, item: &T) -> std::result::Result<(), SinkError> {
        let text = RawJson::from_value(item).map_err(|error| SinkError::Unwritable(error.to_string()))?;
        let mut state = lock(&self.slot.state);
        if state.closed {
            return Err(SinkError::Closed);
        }
        // The connection had no turn since: what it would drop is dropped here.
        if state.items.len() >= HANDED_OVER {
            if matches!(state.overflow, Overflow::Wait | Overflow::Close) {
                return Err(SinkError::Full);
            }
            state.items.pop_front();
            state.lost += 1;
        }
        state.items.push_back(Item { key: 0, text });
        drop(state);
        self.slot.wake();
        Ok(())
    }

    /// Ends the subscription with an error, behind the items that were sent. The [style](crate::SubscriptionStyle) decides
    /// what the peer is told.
    pub fn fail(self, error: ErrorObject) {
        lock(&self.slot.state).failed.get_or_insert(error);
    }

    /// Waits until the subscription has ended, and says why: the peer has unsubscribed, has read too slowly, or is gone,
    /// or the style lets no item follow the last one; `None` if its handler has failed. It is for tasks that took the sink: the handler is dropped then, and what stands
    /// behind this does not run there.
    pub async fn closed(&self) -> Option<SinkEnd> {
        let mut end = None;
        self.slot
            .wait(|state| {
                end = state.end;
                state.closed
            })
            .await;
        end
    }

    /// Whether the subscription has ended.
    pub fn is_closed(&self) -> bool {
        lock(&self.slot.state).closed
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        lock(&self.slot.state).finished = true;
        self.slot.wake();
    }
}

impl SinkSlot {
    /// Waits until `done` says so. It is asked whenever something has changed.
    async fn wait(&self, mut done: impl FnMut(&mut State) -> bool) {
        loop {
            let changed = self.changed.notified();
            let mut changed = std::pin::pin!(changed);
            changed.as_mut().enable();
            if done(&mut lock(&self.state)) {
                return;
            }
            changed.await;
        }
    }

    /// Lets the connection look.
    fn wake(&self) {
        let waker = lock(&self.state).waker.clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Runs a handler until it has accepted, and from then on as the source of its items.
pub(crate) async fn accepted<Fut>(start: impl FnOnce(PendingSink) -> Fut) -> Result<BoxItems>
where
    Fut: Future<Output = Result<()>> + Send + 'static,
{
    let slot = Arc::<SinkSlot>::default();
    let mut handler = Box::pin(start(PendingSink { slot: Arc::clone(&slot) }));
    let early = poll_fn(|cx| match handler.as_mut().poll(cx) {
        Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
        Poll::Pending if lock(&slot.state).accepted => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    })
    .await;
    let Some(outcome) = early else {
        return Ok(Box::pin(SinkItems { handler: Some(handler), slot }));
    };
    outcome?;
    let mut state = lock(&slot.state);
    Err(state.rejected.take().unwrap_or_else(|| {
        ErrorObject::because(ErrorCode::INTERNAL_ERROR, "the subscription was not accepted")
    }))
}

/// The handler of an accepted subscription, and what it has put into its sink.
struct SinkItems<Fut> {
    handler: Option<Pin<Box<Fut>>>,
    slot: Arc<SinkSlot>,
}

impl<Fut> Items for SinkItems<Fut>
where
    Fut: Future<Output = Result<()>> + Send,
{
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>, to: &mut SinkHandle<'_>) -> Poll<()> {
        let this = &mut *self;
        let mut state = lock(&this.slot.state);
        state.waker = Some(cx.waker().clone());
        state.id.get_or_insert_with(|| {
            let id = to.session.sink_id(to.sink).and_then(Id::from_json);
            id.map_or(Id::NULL, Id::into_owned)
        });
        drop(state);
        this.slot.changed.notify_waiters();
        if let Some(handler) = &mut this.handler {
            let failed = match catch_unwind(AssertUnwindSafe(|| handler.as_mut().poll(cx))) {
                Ok(Poll::Pending) => None,
                Ok(Poll::Ready(outcome)) => {
                    this.handler = None;
                    outcome.err()
                }
                Err(_) => {
                    this.handler = None;
                    Some(ErrorObject::standard(ErrorCode::INTERNAL_ERROR))
                }
            };
            if let Some(failed) = failed {
                let mut state = lock(&this.slot.state);
                state.failed.get_or_insert(failed);
                // What it has sent goes out; nothing more is taken.
                (state.finished, state.closed) = (true, true);
            }
        }
        while to.has_room() {
            let Some(Item { key, text }) = lock(&this.slot.state).items.pop_front() else { break };
            if !to.send(key, &text) {
                return Poll::Ready(());
            }
        }
        this.slot.changed.notify_waiters();
        let mut state = lock(&this.slot.state);
        if !state.finished || !state.items.is_empty() {
            return Poll::Pending;
        }
        let failed = state.failed.take();
        drop(state);
        match failed {
            Some(error) => drop(to.fail(&error)),
            None => to.finish(),
        }
        Poll::Ready(())
    }

    fn overflow(&self) -> Overflow {
        lock(&self.slot.state).overflow
    }

    fn capacity(&self) -> Option<usize> {
        lock(&self.slot.state).capacity
    }

    fn lost(&self) -> u64 {
        lock(&self.slot.state).lost
    }

    fn closed(self: Pin<&mut Self>, end: SinkEnd) {
        lock(&self.slot.state).end = Some(end);
    }
}

impl<Fut> Drop for SinkItems<Fut> {
    fn drop(&mut self) {
        let mut state = lock(&self.slot.state);
        if state.id.is_some() && !state.finished {
            // Nobody said why: the connection was dropped as a whole.
            state.end.get_or_insert(SinkEnd::Disconnected);
        }
        state.closed = true;
        state.items.clear();
        state.waker = None;
        drop(state);
        self.slot.changed.notify_waiters();
    }
}

impl std::fmt::Display for SinkError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SinkError::Closed => f.write_str("the subscription has ended"),
            SinkError::Full => f.write_str("the subscriber reads too slowly"),
            SinkError::Unwritable(reason) => write!(f, "the item cannot be written as JSON: {reason}"),
        }
    }
}

impl std::error::Error for SinkError {}
