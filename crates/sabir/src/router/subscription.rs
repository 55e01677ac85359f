//! Methods whose answer is a subscription.

use std::any::type_name;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;
use sabir_proto::{Cursor, Routing, SubscriptionStyle};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::handler::ctx::Ctx;
use crate::handler::feed::{Feed, IntoFeed};
use crate::handler::items::{BoxItems, StreamItems};
use crate::handler::sink::{PendingSink, accepted};
use crate::handler::task::{self, Awaiting, BoxTask};
use crate::router::handlers::{Handler, RawFuture, owned};
use crate::router::{Router, params};
use crate::{ErrorCode, ErrorObject, RawJson, Result};

/// What is done with a request in place of answering it with the handler's result.
pub(crate) enum InsteadOfReply {
    /// It is accepted as a subscription with these items.
    Accept { style: Arc<SubscriptionStyle>, token: Option<RawJson<'static>>, items: BoxItems },
    /// It ends the subscription that the params name.
    Unsubscribe(Option<RawJson<'static>>),
}

/// A handler that starts a subscription, with its types forgotten.
type Start = dyn Fn(Ctx, Option<&RawJson<'_>>) -> Result<StartFuture> + Send + Sync;
type StartFuture = Pin<Box<dyn Future<Output = Result<BoxItems>> + Send>>;

/// The handlers of one method that subscribes. Most have one; of others the first argument says which.
#[derive(Clone, Default)]
pub(crate) struct Subscribing {
    plain: Option<Source>,
    topics: BTreeMap<Cow<'static, str>, Source>,
}

#[derive(Clone)]
struct Source {
    style: Arc<SubscriptionStyle>,
    start: Arc<Start>,
}

/// Answers requests to unsubscribe.
struct Unsubscribing;

impl Router {
    /// Adds a subscription: the methods that `style` names, to subscribe and to unsubscribe. The handler returns a stream,
    /// or a [`Feed`], whose items are sent as they come.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use futures_core::Stream;
    /// use sabir::{Ctx, Router, SubscriptionStyle};
    ///
    /// # fn every(_: Duration) -> impl Stream<Item = u64> + Send + 'static { futures_util::stream::empty() }
    /// async fn ticks(_: Ctx, (ms,): (u64,)) -> sabir::Result<impl Stream<Item = u64> + Send + 'static> {
    ///     Ok(every(Duration::from_millis(ms)))
    /// }
    ///
    /// let style = SubscriptionStyle::new("subscribe_ticks", "ticks", "unsubscribe_ticks");
    /// let router = Router::new().subscription(style, ticks);
    /// assert_eq!(router.methods(), ["subscribe_ticks", "unsubscribe_ticks"]);
    /// ```
    ///
    /// - The answer, with the id, goes out before the first item. An error of the handler is the answer.
    /// - The stream is polled where the connection runs, when there is room for an item. It is dropped at once when the
    ///   peer unsubscribes or is gone, also while it has nothing to say.
    /// - The [style](SubscriptionStyle) decides what the peer is sent at the end. A panic is an error.
    /// - Answers never wait behind items. How many subscriptions there may be, and how much may wait for a peer that reads
    ///   slowly, [`Limits`](crate::Limits) says.
    /// - Layers and observers see a call whose result is null.
    /// - Where the peer cannot be told anything later, as over plain HTTP, the answer is `-32601`, with the reason.
    ///
    /// # Panics
    /// If the items are `Result`s, which [`try_subscription`](Self::try_subscription) is for; if the style has no method to
    /// subscribe; for names that begin with `rpc.`.
    #[must_use]
    pub fn subscription<F, P, Fut, S, T>(self, style: SubscriptionStyle, handler: F) -> Self
    where
        F: Fn(Ctx, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<S>> + Send + 'static,
        S: IntoFeed,
        S::Stream: Stream<Item = T> + Send + 'static,
        P: DeserializeOwned + 'static,
        T: Serialize + 'static,
    {
        let is_result =
            type_name::<T>().starts_with(type_name::<Result<()>>().split('<').next().unwrap_or("-"));
        assert!(!is_result, "items that are results need `try_subscription`: `{}`", style.subscribe);
        self.add_stream(style, handler, Ok)
    }

    /// Adds a subscription whose items may be errors: the first one ends it.
    #[must_use]
    pub fn try_subscription<F, P, Fut, S, T, E>(self, style: SubscriptionStyle, handler: F) -> Self
    where
        F: Fn(Ctx, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<S>> + Send + 'static,
        S: IntoFeed,
        S::Stream: Stream<Item = std::result::Result<T, E>> + Send + 'static,
        P: DeserializeOwned + 'static,
        T: Serialize + 'static,
        E: Into<ErrorObject> + 'static,
    {
        self.add_stream(style, handler, |item| item.map_err(Into::into))
    }

    /// Adds a subscription whose handler accepts it and sends its items by hand.
    ///
    /// ```
    /// use sabir::{Ctx, PendingSink, Router, SubscriptionStyle};
    ///
    /// async fn count(_: Ctx, to: u64, pending: PendingSink) -> sabir::Result<()> {
    ///     let sink = pending.accept().await;
    ///     for n in 0..to {
    ///         sink.send(&n).await?;
    ///     }
    ///     Ok(())
    /// }
    ///
    /// let style = SubscriptionStyle::new("subscribe_count", "count", "unsubscribe_count");
    /// let router = Router::new().subscription_sink(style, count);
    /// ```
    ///
    /// It ends when the [`Sink`](crate::Sink) is dropped, or the handler fails. The sink may go to another task. When the
    /// subscription ends otherwise, the handler is dropped at once; a sink elsewhere is [closed](crate::Sink::closed).
    #[must_use]
    pub fn subscription_sink<F, P, Fut>(self, style: SubscriptionStyle, handler: F) -> Self
    where
        F: Fn(Ctx, P, PendingSink) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<()>> + Send + 'static,
        P: DeserializeOwned + Send + 'static,
    {
        let handler = Arc::new(handler);
        self.add_source(style, move |ctx, raw| {
            let params = params::read::<P>(raw, ctx.meta.is_some())?;
            let handler = Arc::clone(&handler);
            Ok(Box::pin(accepted(move |pending| handler(ctx, params, pending))))
        })
    }

    fn add_stream<F, P, Fut, S, T>(
        self,
        style: SubscriptionStyle,
        handler: F,
        read: fn(<S::Stream as Stream>::Item) -> Result<T>,
    ) -> Self
    where
        F: Fn(Ctx, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<S>> + Send + 'static,
        S: IntoFeed,
        S::Stream: Stream + Send + 'static,
        P: DeserializeOwned + 'static,
        T: Serialize + 'static,
    {
        self.add_source(style, move |ctx, raw| {
            let params = params::read::<P>(raw, ctx.meta.is_some())?;
            let stream = handler(ctx, params);
            Ok(Box::pin(async move {
                let feed: Feed<S::Stream> = stream.await?.into_feed();
                Ok(StreamItems::boxed(feed, read))
            }))
        })
    }

    fn add_source(
        mut self,
        style: SubscriptionStyle,
        start: impl Fn(Ctx, Option<&RawJson<'_>>) -> Result<StartFuture> + Send + Sync + 'static,
    ) -> Self {
        assert!(!style.subscribe.is_empty(), "the style has no method to subscribe");
        let (subscribe, unsubscribe) = (style.subscribe.clone(), style.unsubscribe.clone());
        let style = Arc::new(style);
        let source = Source { style: Arc::clone(&style), start: Arc::new(start) };
        let mut all = self.routes.subscribing.remove(&subscribe).unwrap_or_default();
        match style.topic.clone() {
            Some(topic) => drop(all.topics.insert(topic, source)),
            None => all.plain = Some(source),
        }
        self.routes.subscribing.insert(subscribe.clone(), all.clone());
        #[cfg(feature = "http")]
        let (method, outlives_request) = (subscribe.clone(), all.outlives_request());
        self = self.add(subscribe, all);
        #[cfg(feature = "http")]
        if let Some(route) = self.routes.handlers.get_mut(&method) {
            route.subscribes = outlives_request;
        }
        if unsubscribe.is_empty() { self } else { self.add(unsubscribe, Unsubscribing) }
    }
}

impl Subscribing {
    #[cfg(feature = "http")]
    fn outlives_request(&self) -> bool {
        let mut all = self.plain.iter().chain(self.topics.values());
        all.any(|source| source.style.end != sabir_proto::EndSignal::Response)
    }

    fn start(&self, ctx: Ctx, raw: Option<&RawJson<'_>>) -> Result<RawFuture> {
        let Some(key) = ctx.key else {
            return Err(ErrorObject::because(ErrorCode::INVALID_REQUEST, "a subscription needs an id"));
        };
        let token = raw.and_then(|raw| raw.get("partialResultToken")).map(RawJson::into_owned);
        let shared = Arc::clone(&ctx.peer.shared);
        let (style, started) = match raw.and_then(topic) {
            Some((topic, rest)) if self.topics.contains_key(topic.as_ref()) => {
                let Source { style, start } = &self.topics[topic.as_ref()];
                (style, start(ctx, rest.as_ref()))
            }
            named => match &self.plain {
                Some(Source { style, start }) => (style, start(ctx, raw)),
                None => return Err(self.unknown(named.map(|(topic, _)| topic))),
            },
        };
        let (style, started) = (Arc::clone(style), started?);
        let token = token.filter(|_| style.routing == Routing::Token);
        Ok(Box::pin(async move {
            let items = started.await?;
            shared.reply_otherwise(key, InsteadOfReply::Accept { style, token, items });
            Ok(RawJson::NULL)
        }))
    }

    fn unknown(&self, topic: Option<Cow<'_, str>>) -> ErrorObject {
        let known: Vec<_> = self.topics.keys().map(|topic| format!("`{topic}`")).collect();
        let known = known.join(", ");
        let reason = match topic {
            Some(topic) => format!("there is no subscription `{topic}`, only {known}"),
            None => format!("the first argument must name a subscription: {known}"),
        };
        ErrorObject::because(ErrorCode::INVALID_PARAMS, reason)
    }
}

/// The first argument, if it is a string, and the others.
fn topic<'r>(raw: &'r RawJson<'_>) -> Option<(Cow<'r, str>, Option<RawJson<'static>>)> {
    let first = Cursor::new(raw).elements().next()?;
    let topic = sabir_proto::JsonStr::trusted(first)?.value()?;
    let rest: Vec<_> = Cursor::new(raw).elements().skip(1).collect();
    let rest = if rest.is_empty() { None } else { RawJson::new(format!("[{}]", rest.join(","))).ok() };
    Some((topic, rest))
}

impl Handler for Subscribing {
    fn task(&self) -> BoxTask {
        let subscribing = self.clone();
        let begin = move |ctx, _: &str, raw: Option<&RawJson<'_>>| subscribing.start(ctx, raw);
        Awaiting::boxed(begin, task::raw())
    }

    fn call(&self, ctx: Ctx, _: &str, params: Option<&RawJson<'_>>) -> Result<RawFuture> {
        self.start(ctx, params)
    }
}

impl Unsubscribing {
    fn leave(ctx: &Ctx, params: Option<&RawJson<'_>>) -> RawFuture {
        if let Some(key) = ctx.key {
            let params = params.map(owned);
            ctx.peer.shared.reply_otherwise(key, InsteadOfReply::Unsubscribe(params));
        }
        Box::pin(std::future::ready(Ok(RawJson::NULL)))
    }
}

impl Handler for Unsubscribing {
    fn task(&self) -> BoxTask {
        Awaiting::boxed(
            |ctx: Ctx, _: &str, raw: Option<&RawJson<'_>>| Ok(Unsubscribing::leave(&ctx, raw)),
            task::raw(),
        )
    }

    fn call(&self, ctx: Ctx, _: &str, params: Option<&RawJson<'_>>) -> Result<RawFuture> {
        Ok(Unsubscribing::leave(&ctx, params))
    }
}
