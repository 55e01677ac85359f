//! Servers and clients for the tests.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use sabir::{Limits, Peer, Router, Subscription, SubscriptionError, SubscriptionStyle, transport};
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

pub(crate) const COUNT: SubscriptionStyle =
    SubscriptionStyle::notified("subscribe_count", "count", "unsubscribe_count");
pub(crate) const IDLE: SubscriptionStyle =
    SubscriptionStyle::new("subscribe_idle", "idle", "unsubscribe_idle");

/// Far more than anything here takes.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// Counts to a number, or on and on.
pub(crate) fn count(to: Option<u64>) -> impl Stream<Item = u64> + Send + 'static {
    stream::iter(0..to.unwrap_or(u64::MAX))
}

/// A server that counts, and that says nothing.
pub(crate) fn router(open: &Arc<AtomicUsize>) -> Router {
    let open = Arc::clone(open);
    Router::new()
        .subscription(COUNT, |_, to: Option<u64>| async move { Ok(count(to)) })
        .subscription(IDLE, move |_, ()| {
            let guard = Guard::new(&open);
            async move { Ok(guard.holds(stream::pending::<u64>())) }
        })
        .method("echo", |_, text: String| async move { Ok(text) })
}

pub(crate) async fn client(router: Router) -> Peer {
    limited(router, Limits::default()).await
}

/// A client of a server with these limits.
pub(crate) async fn limited(router: Router, limits: Limits) -> Peer {
    let (a, b) = transport::memory();
    tokio::spawn(sabir::serve(a.limits(limits), router));
    sabir::connect(b, Router::new()).await.unwrap()
}

/// A peer that writes and reads by hand.
pub(crate) struct Wire {
    read: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: WriteHalf<DuplexStream>,
}

impl Wire {
    pub(crate) fn of(router: Router, limits: Limits) -> Wire {
        let (ours, theirs) = tokio::io::duplex(256);
        let (read, write) = tokio::io::split(theirs);
        tokio::spawn(sabir::serve(transport::streams(read, write).limits(limits), router));
        let (read, write) = tokio::io::split(ours);
        Wire { read: BufReader::with_capacity(64, read).lines(), write }
    }

    pub(crate) async fn send(&mut self, message: &str) {
        self.write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn next(&mut self) -> serde_json::Value {
        self.next_or_end().await.expect("the end")
    }

    /// `None` if the server has closed the connection.
    pub(crate) async fn next_or_end(&mut self) -> Option<serde_json::Value> {
        let line = tokio::time::timeout(LONG, self.read.next_line()).await;
        let line = line.expect("nothing comes").unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }
}

/// Something that counts as open until it is dropped.
pub(crate) struct Guard(Arc<AtomicUsize>);

impl Guard {
    pub(crate) fn new(open: &Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::SeqCst);
        Guard(Arc::clone(open))
    }

    pub(crate) fn holds<S: Stream>(self, stream: S) -> Held<S> {
        Held { stream: Box::pin(stream), _guard: self }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

pub(crate) struct Held<S> {
    stream: Pin<Box<S>>,
    _guard: Guard,
}

impl<S: Stream> Stream for Held<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.stream.poll_next_unpin(cx)
    }
}

/// Waits until nothing counts as open any more.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waited = tokio::time::timeout(LONG, async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    assert!(waited.await.is_ok(), "not in time: {what}");
}

/// All items to the end.
pub(crate) async fn all<T: DeserializeOwned>(
    subscription: &mut Subscription<T>,
) -> Vec<Result<T, SubscriptionError>> {
    tokio::time::timeout(LONG, subscription.collect()).await.expect("it never ends")
}
