//! What makes the items of a subscription, as the connection polls it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use pin_project_lite::pin_project;
use sabir_proto::{Finish, ItemError, Overflow, Session, SinkEnd, SinkKey, Time};
use serde::Serialize;

use crate::handler::feed::Feed;
use crate::{ErrorCode, ErrorObject, Result};

/// Items that are sent in a row before others have their turn.
const BURST: usize = 32;

/// What makes items, with its types forgotten. Dropped as soon as nobody wants them.
pub(crate) trait Items: Send {
    /// Sends the items that are ready and for which there is room; ready once there will be no more, since this or the
    /// session has ended the subscription.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>, to: &mut SinkHandle<'_>) -> Poll<()>;

    fn overflow(&self) -> Overflow {
        Overflow::Wait
    }

    fn capacity(&self) -> Option<usize> {
        None
    }

    /// Items that were dropped before they got to the session.
    fn lost(&self) -> u64 {
        0
    }

    /// The session has ended the subscription. It is dropped next.
    fn closed(self: Pin<&mut Self>, _: SinkEnd) {}
}

pub(crate) type BoxItems = Pin<Box<dyn Items>>;

/// Where items go in.
pub(crate) struct SinkHandle<'a> {
    pub(crate) session: &'a mut Session,
    pub(crate) now: Time,
    pub(crate) sink: SinkKey,
    /// What makes the items has ended the subscription.
    pub(crate) finished: bool,
}

impl SinkHandle<'_> {
    pub(crate) fn has_room(&mut self) -> bool {
        self.session.has_room(self.sink)
    }

    /// Sends an item. Whether the subscription goes on: one that fails ends it.
    pub(crate) fn send<T: Serialize + ?Sized>(&mut self, key: u64, item: &T) -> bool {
        match self.session.send_item(self.now, self.sink, key, item) {
            Ok(()) | Err(ItemError::Full) => true,
            Err(ItemError::TooLarge) => self.fail(&ErrorObject::standard(ErrorCode::ANSWER_TOO_LARGE)),
            Err(ItemError::Unwritable(reason)) => {
                self.fail(&ErrorObject::because(ErrorCode::INTERNAL_ERROR, reason))
            }
            Err(_) => false,
        }
    }

    pub(crate) fn fail(&mut self, error: &ErrorObject) -> bool {
        self.finished |= self.session.finish(self.now, self.sink, Finish::Failed(error));
        false
    }

    pub(crate) fn finish(&mut self) {
        self.finished |= self.session.finish(self.now, self.sink, Finish::Finished);
    }
}

pin_project! {
    /// A stream whose items are sent as they come.
    pub(crate) struct StreamItems<S: Stream, T> {
        #[pin]
        stream: S,
        overflow: Overflow,
        capacity: Option<usize>,
        key: Option<Box<dyn Fn(&S::Item) -> u64 + Send>>,
        read: fn(S::Item) -> Result<T>,
    }
}

impl<S, T> StreamItems<S, T>
where
    S: Stream + Send + 'static,
    T: Serialize + 'static,
{
    pub(crate) fn boxed(feed: Feed<S>, read: fn(S::Item) -> Result<T>) -> BoxItems {
        let Feed { stream, overflow, capacity, key } = feed;
        Box::pin(StreamItems { stream, overflow, capacity, key, read })
    }
}

impl<S, T> Items for StreamItems<S, T>
where
    S: Stream + Send,
    T: Serialize,
{
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>, to: &mut SinkHandle<'_>) -> Poll<()> {
        let mut this = self.project();
        for _ in 0..BURST {
            if !to.has_room() {
                return Poll::Pending;
            }
            // The panic hook has printed it already.
            let next = catch_unwind(AssertUnwindSafe(|| this.stream.as_mut().poll_next(cx)));
            let item = match next {
                Ok(Poll::Pending) => return Poll::Pending,
                Ok(Poll::Ready(Some(item))) => item,
                Ok(Poll::Ready(None)) => {
                    to.finish();
                    return Poll::Ready(());
                }
                Err(_) => {
                    to.fail(&ErrorObject::standard(ErrorCode::INTERNAL_ERROR));
                    return Poll::Ready(());
                }
            };
            let key = this.key.as_ref().map_or(0, |key| key(&item));
            let goes_on = match (this.read)(item) {
                Ok(item) => to.send(key, &item),
                Err(error) => to.fail(&error),
            };
            if !goes_on {
                return Poll::Ready(());
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn overflow(&self) -> Overflow {
        self.overflow
    }

    fn capacity(&self) -> Option<usize> {
        self.capacity
    }
}
