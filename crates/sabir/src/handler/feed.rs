//! A stream of items, and what is done with those that its subscriber does not read in time.

use std::hash::{BuildHasher, Hash, RandomState};

use futures_core::Stream;
use sabir_proto::Overflow;

/// A stream, and what is done with its items when the subscriber reads too slowly. A plain stream waits.
///
/// ```
/// use futures_core::Stream;
/// use sabir::{Ctx, Feed, IntoFeed, Router, SubscriptionStyle};
///
/// #[derive(serde::Serialize)]
/// struct Price {
///     symbol: String,
///     cents: u64,
/// }
///
/// # fn prices() -> impl Stream<Item = Price> + Send + 'static { futures_util::stream::empty() }
/// // A slow subscriber gets the latest price of each symbol.
/// let style = SubscriptionStyle::new("subscribe_prices", "prices", "unsubscribe_prices");
/// let router = Router::new().subscription(style, |_: Ctx, ()| async {
///     Ok(Feed::new(prices()).keep_latest(|price| price.symbol.clone()))
/// });
/// ```
pub struct Feed<S: Stream> {
    pub(crate) stream: S,
    pub(crate) overflow: Overflow,
    pub(crate) capacity: Option<usize>,
    pub(crate) key: Option<KeyOf<S::Item>>,
}

/// Which items replace each other.
type KeyOf<I> = Box<dyn Fn(&I) -> u64 + Send>;

/// What a handler of a subscription may return: a stream, or a [`Feed`].
pub trait IntoFeed {
    /// The stream.
    type Stream: Stream;

    /// The stream, with what is done when its subscriber is slow.
    fn into_feed(self) -> Feed<Self::Stream>;
}

impl<S: Stream> Feed<S> {
    /// The stream is polled only when there is room for its next item. So nothing is lost, and whatever makes the items
    /// sees that they are not taken.
    pub fn new(stream: S) -> Self {
        Feed { stream, overflow: Overflow::Wait, capacity: None, key: None }
    }

    /// The stream goes on, and the oldest item that waits is dropped for each new one.
    #[must_use]
    pub fn drop_oldest(self) -> Self {
        Feed { overflow: Overflow::DropOldest, ..self }
    }

    /// The stream goes on, and of the items with the same key only the latest waits. When there are too many keys, the
    /// oldest item is dropped.
    ///
    /// An item that replaces another one takes its place in the order: keys are sent in the order in which they began to
    /// wait, so that one which changes all the time is not put off for ever. Of `a1 b1 a2`, a slow subscriber gets `a2 b1`.
    #[must_use]
    pub fn keep_latest<K: Hash>(self, key: impl Fn(&S::Item) -> K + Send + 'static) -> Self {
        // Seeded, so that nobody can choose keys that replace those of others.
        let hasher = RandomState::new();
        let key = move |item: &S::Item| hasher.hash_one(key(item));
        Feed { overflow: Overflow::KeepLatest, key: Some(Box::new(key)), ..self }
    }

    /// The stream goes on, and the subscription ends once there is no room: the subscriber is told, if the style has a
    /// way to tell it, and otherwise loses its connection. So it never misses an item unknowingly.
    #[must_use]
    pub fn close(self) -> Self {
        Feed { overflow: Overflow::Close, ..self }
    }

    /// How many items may wait, if that is fewer than [`Limits::subscription_items`](crate::Limits::subscription_items).
    #[must_use]
    pub fn capacity(self, items: usize) -> Self {
        Feed { capacity: Some(items), ..self }
    }
}

impl<S: Stream> IntoFeed for S {
    type Stream = S;

    fn into_feed(self) -> Feed<S> {
        Feed::new(self)
    }
}

impl<S: Stream> IntoFeed for Feed<S> {
    type Stream = S;

    fn into_feed(self) -> Feed<S> {
        self
    }
}

impl<S: Stream> std::fmt::Debug for Feed<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Feed").field("overflow", &self.overflow).finish_non_exhaustive()
    }
}
