//! A subscription that is asked for again when it ends, and says so.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::peer::retry::{LONGEST_PAUSE, Pause, Pauses, wait_for};
use crate::peer::subscription::{Subscription, SubscriptionEnd, SubscriptionError};

/// Subscribes again whenever a subscription ends against its consumer's will: the connection was lost, the server ended it
/// with an error, or the consumer lagged behind. What happened between is unknown, so [`Followed::Gap`] comes between
/// the lives: the place to ask for what was missed.
///
/// `subscribe` is called for each life, and has the time that it needs. It is not for subscriptions whose beginning has an
/// effect of its own, such as those that send a transaction.
///
/// ```no_run
/// use sabir::{Error, Followed, Reconnect, Router, SubscriptionStyle, resubscribing, transport};
///
/// # #[derive(Debug, serde::Deserialize)] struct Head { number: String }
/// # async fn run() -> Result<(), Error> {
/// let server = Reconnect::new(Router::new(), || transport::tcp("127.0.0.1:8545"));
/// let mut heads = resubscribing(|| async {
///     let peer = server.peer().await?;
///     Ok::<_, Error>(peer.subscribe::<Head>(SubscriptionStyle::ethereum("newHeads"), ()).await?)
/// });
/// while let Some(next) = heads.next().await {
///     match next? {
///         Followed::Item(head) => println!("{}", head.number),
///         Followed::Missed(error) => println!("an item is missing: {error}"),
///         Followed::Gap(end) => println!("there may be heads between: {end}"),
///     }
/// }
/// # Ok(())
/// # }
/// ```
///
/// It ends only if the subscription [finishes](SubscriptionEnd::Finished). If `subscribe` fails, its error comes, and it is
/// called again behind a pause: stop polling to give up. There is a pause before each subscription but the first, behind
/// the gap or the error that says why: 50 ms, then twice as long each time, and 5 s at the most. A subscription that has
/// lasted for 5 s makes the next pause 50 ms again.
pub fn resubscribing<T, F, Fut, E>(subscribe: F) -> Resubscribing<T, F, Fut>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<Subscription<T>, E>>,
{
    Resubscribing {
        subscribe,
        asking: None,
        current: None,
        pauses: Pauses::new(),
        pause: None,
        finished: false,
    }
}

/// What [`resubscribing`] makes.
pub struct Resubscribing<T, F, Fut> {
    subscribe: F,
    asking: Option<Pin<Box<Fut>>>,
    /// The subscription, and since when it is there.
    current: Option<(Subscription<T>, Instant)>,
    pauses: Pauses,
    /// Before it is asked for again.
    pause: Option<Pause>,
    finished: bool,
}

/// What comes of a subscription with several lives.
#[derive(Debug, Clone, PartialEq)]
pub enum Followed<T> {
    /// An item.
    Item(T),
    /// An item that is not there, and why.
    Missed(SubscriptionError),
    /// The subscription has ended, and the next items are those of another one. Any number may be missing between.
    Gap(SubscriptionEnd),
}

impl<T, F, Fut, E> Resubscribing<T, F, Fut>
where
    T: DeserializeOwned,
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<Subscription<T>, E>>,
{
    /// What comes next; `None` once the subscription has finished.
    pub async fn next(&mut self) -> Option<Result<Followed<T>, E>> {
        poll_fn(|cx| self.poll_followed(cx)).await
    }

    fn poll_followed(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Followed<T>, E>>> {
        if self.finished {
            return Poll::Ready(None);
        }
        loop {
            if let Some((current, since)) = &mut self.current {
                let item = ready!(Pin::new(&mut *current).poll_next(cx));
                return Poll::Ready(Some(Ok(match item {
                    Some(Ok(item)) => Followed::Item(item),
                    Some(Err(error)) => Followed::Missed(error),
                    None => {
                        let end = current.end().unwrap_or(SubscriptionEnd::Finished(None));
                        if since.elapsed() >= LONGEST_PAUSE {
                            self.pauses = Pauses::new();
                        }
                        self.current = None;
                        if matches!(end, SubscriptionEnd::Finished(_) | SubscriptionEnd::Unsubscribed) {
                            self.finished = true;
                            return Poll::Ready(None);
                        }
                        self.begin_pause();
                        Followed::Gap(end)
                    }
                })));
            }
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(cx));
                self.pause = None;
            }
            let asking = self.asking.get_or_insert_with(|| Box::pin((self.subscribe)()));
            let outcome = ready!(asking.as_mut().poll(cx));
            self.asking = None;
            match outcome {
                Ok(subscription) => self.current = Some((subscription, Instant::now())),
                Err(error) => {
                    self.begin_pause();
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }

    fn begin_pause(&mut self) {
        self.pause = Some(wait_for(self.pauses.next(Duration::ZERO)));
    }
}

impl<T, F, Fut, E> Stream for Resubscribing<T, F, Fut>
where
    T: DeserializeOwned,
    F: FnMut() -> Fut + Unpin,
    Fut: Future<Output = Result<Subscription<T>, E>>,
{
    type Item = Result<Followed<T>, E>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_followed(cx)
    }
}

impl<T, F, Fut> fmt::Debug for Resubscribing<T, F, Fut> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let current = self.current.as_ref().map(|(current, _)| current);
        f.debug_struct("Resubscribing").field("current", &current).finish_non_exhaustive()
    }
}
