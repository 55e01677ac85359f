//! Subscriptions that are accepted and fed by hand.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

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
}

/// Why an item was not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SinkError {
    /// The subscription has ended: the peer has unsubscribed or is gone.
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
    /// The handler has accepted, and then: the answer is on its way.
    accepted: bool,
    open: bool,
    rejected: Option<ErrorObject>,
    items: VecDeque<RawJson<'static>>,
    /// The subscription has ended.
    closed: bool,
    /// The sink was dropped.
    finished: bool,
    /// Wakes the connection.
    waker: Option<Waker>,
}

impl PendingSink {
    /// Accepts the subscription: the peer gets its id, and then the items. If that is refused, since the peer has too
    /// many subscriptions, say, the handler is dropped here.
    pub async fn accept(self) -> Sink {
        let slot = Arc::clone(&self.slot);
        lock(&slot.state).accepted = true;
        slot.wait(|state| state.open || state.closed).await;
        Sink { slot }
    }

    /// Answers with an error.
    pub fn reject(self, error: ErrorObject) {
        lock(&self.slot.state).rejected = Some(error);
    }
}

impl Sink {
    /// Sends an item. Waits while there is no room for it, so that what makes the items is slowed down to what the peer
    /// reads.
    pub fn send<'s, T: Serialize + ?Sized>(
        &'s self,
        item: &T,
    ) -> impl Future<Output = std::result::Result<(), SinkError>> + Send + use<'s, T> {
        // Written before anything is awaited: the item need not be `Send`.
        let item = RawJson::from_value(item).map_err(|error| SinkError::Unwritable(error.to_string()));
        async move { self.send_raw(item?).await }
    }

    pub(crate) async fn send_raw(&self, item: RawJson<'static>) -> std::result::Result<(), SinkError> {
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

    /// Sends an item if there is room for it.
    pub fn try_send<T: Serialize + ?Sized>(&self, item: &T) -> std::result::Result<(), SinkError> {
        let item = RawJson::from_value(item).map_err(|error| SinkError::Unwritable(error.to_string()))?;
        let mut state = lock(&self.slot.state);
        match () {
            () if state.closed => return Err(SinkError::Closed),
            () if state.items.len() >= HANDED_OVER => return Err(SinkError::Full),
            () => state.items.push_back(item),
        }
        drop(state);
        self.slot.wake();
        Ok(())
    }

    /// Waits until the subscription has ended: the peer has unsubscribed, or is gone. It is for tasks that took the sink: the
    /// handler is dropped then, and what stands behind this does not run there.
    pub async fn closed(&self) {
        self.slot.wait(|state| state.closed).await;
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
        state.open = true;
        drop(state);
        this.slot.changed.notify_waiters();
        let mut failed = None;
        if let Some(handler) = &mut this.handler {
            match catch_unwind(AssertUnwindSafe(|| handler.as_mut().poll(cx))) {
                Ok(Poll::Pending) => {}
                Ok(Poll::Ready(outcome)) => {
                    failed = outcome.err();
                    this.handler = None;
                }
                Err(_) => {
                    failed = Some(ErrorObject::standard(ErrorCode::INTERNAL_ERROR));
                    this.handler = None;
                }
            }
        }
        // A handler that failed has sent what it has sent.
        while failed.is_some() || to.has_room() {
            let Some(item) = lock(&this.slot.state).items.pop_front() else { break };
            this.slot.changed.notify_waiters();
            if !to.send(0, &item) {
                return Poll::Ready(());
            }
        }
        if let Some(error) = failed {
            to.fail(&error);
            return Poll::Ready(());
        }
        let state = lock(&this.slot.state);
        if state.finished && state.items.is_empty() {
            drop(state);
            to.finish();
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

impl<Fut> Drop for SinkItems<Fut> {
    fn drop(&mut self) {
        let mut state = lock(&self.slot.state);
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
