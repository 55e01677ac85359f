//! What an observer is told of subscriptions: why each ended, and what it has sent and lost.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use sabir::{
    ErrorObject, Feed, Limits, Observed, Overflow, PendingSink, Router, SinkEnd, SubscriptionStyle, transport,
};
use serde_json::{Value, json};

use crate::support::{Wire, count, until};

/// The end of a subscription: why, how many were sent, and how many lost.
type End = (Option<SinkEnd>, u64, u64);

/// What an observer of a router was told.
#[derive(Clone, Default)]
struct Told {
    begun: Arc<Mutex<Vec<String>>>,
    ended: Arc<Mutex<Vec<(String, End)>>>,
}

impl Told {
    fn by(&self, router: Router) -> Router {
        let Told { begun, ended } = self.clone();
        router.observe(move |event| match event {
            Observed::Subscribed { method } => begun.lock().unwrap().push((*method).to_owned()),
            Observed::SubscriptionEnded { method, end, sent, lost } => {
                ended.lock().unwrap().push(((*method).to_owned(), (*end, *sent, *lost)));
            }
            _ => {}
        })
    }

    /// The end of the only subscription, which has begun before.
    async fn end(&self, method: &str) -> End {
        until(&format!("{method} has ended"), || !self.ended.lock().unwrap().is_empty()).await;
        assert_eq!(*self.begun.lock().unwrap(), [method]);
        let ended = std::mem::take(&mut *self.ended.lock().unwrap());
        self.begun.lock().unwrap().clear();
        let [(name, end)] = &ended[..] else { panic!("it ends once: {ended:?}") };
        assert_eq!(name, method);
        *end
    }
}

fn style(name: &'static str) -> SubscriptionStyle {
    SubscriptionStyle::new(name, "item", "leave")
}

#[tokio::test]
async fn ends_of_the_server() {
    let told = Told::default();
    let router = Router::new()
        .subscription(style("finishes"), |_, ()| async { Ok(count(Some(5))) })
        .try_subscription(style("fails"), |_, ()| async {
            Ok(stream::iter([Ok(1), Ok(2), Err(ErrorObject::new(8, "broken"))]))
        })
        .subscription(style("panics"), |_, ()| async {
            Ok(stream::iter(0..9).map(|n| if n == 3 { panic!("of no concern to the caller") } else { n }))
        })
        .subscription_sink(style("sends"), |_, (), pending: PendingSink| async move {
            let sink = pending.accept().await;
            for n in 0..4 {
                sink.send(&n).await?;
            }
            Ok(())
        });
    let (near, far) = transport::memory();
    tokio::spawn(sabir::serve(far, told.by(router)));
    let peer = sabir::connect(near, Router::new()).await.unwrap();
    for (name, sent) in [("finishes", 5), ("fails", 2), ("panics", 3), ("sends", 4)] {
        let _items = peer.subscribe::<u64>(style(name), ()).await.unwrap();
        assert_eq!(told.end(name).await, (None, sent, 0), "{name}");
    }
    assert!(peer.subscribe::<u64>(style("unknown"), ()).await.is_err());
    assert!(told.begun.lock().unwrap().is_empty(), "what was refused has not begun");
}

#[tokio::test]
async fn ends_of_the_subscriber_and_the_connection() {
    let some = || stream::iter(0..3_u64).chain(stream::pending());
    for how in ["unsubscribe", "drop", "close", "server stops"] {
        let told = Told::default();
        let router = Router::new().subscription(style("some"), move |_, ()| async move { Ok(some()) });
        let (near, far) = transport::memory();
        let server = sabir::connect(far, told.by(router)).await.unwrap();
        let peer = sabir::connect(near, Router::new()).await.unwrap();
        let mut items = peer.subscribe::<u64>(style("some"), ()).await.unwrap();
        for n in 0..3 {
            assert_eq!(items.next().await, Some(Ok(n)));
        }
        let end = match how {
            "unsubscribe" => {
                assert!(items.unsubscribe().await);
                SinkEnd::Unsubscribed
            }
            "drop" => {
                drop(items);
                SinkEnd::Unsubscribed
            }
            "close" => {
                peer.close();
                SinkEnd::Disconnected
            }
            _ => {
                server.shutdown(Duration::from_secs(5)).await;
                SinkEnd::Disconnected
            }
        };
        assert_eq!(told.end("some").await, (Some(end), 3, 0), "{how}");
    }
}

/// A stream of so many items by a policy, as a stream or by hand.
fn flooding(
    style: &SubscriptionStyle,
    made: &Arc<AtomicU64>,
    to: u64,
    overflow: Overflow,
    by_hand: bool,
) -> Router {
    let made = Arc::clone(made);
    let items = move || {
        let made = Arc::clone(&made);
        count(Some(to)).inspect(move |n| made.store(n + 1, Ordering::SeqCst))
    };
    let router = Router::new().method("echo", |_, text: String| async move { Ok(text) });
    if by_hand {
        return router.subscription_sink(style.clone(), move |_, (), pending: PendingSink| {
            let mut items = Box::pin(items());
            async move {
                let sink = pending.overflow(overflow).accept().await;
                while let Some(n) = items.next().await {
                    sink.send_keyed(&(n % 4), &n).await?;
                }
                Ok(())
            }
        });
    }
    router.subscription(style.clone(), move |_, ()| {
        let feed = Feed::new(items());
        let feed = match overflow {
            Overflow::DropOldest => feed.drop_oldest(),
            Overflow::KeepLatest => feed.keep_latest(|n| n % 4),
            Overflow::Close => feed.close(),
            _ => feed,
        };
        async move { Ok(feed) }
    })
}

const NARROW: fn() -> Limits = || Limits { subscription_items: 8, high_water: 4096, ..Limits::default() };

fn subscribe(style: &SubscriptionStyle) -> String {
    let topic = style.topic.iter().collect::<Vec<_>>();
    json!({"jsonrpc": "2.0", "id": 1, "method": style.subscribe, "params": topic}).to_string()
}

fn is_item(message: &Value) -> bool {
    message["params"].get("result").is_some()
}

/// A subscriber that reads only once its subscription has made all items, or has ended: what it then gets is what was
/// sent.
#[tokio::test]
async fn policies_count_what_they_drop() {
    const MANY: u64 = 5000;
    let style = SubscriptionStyle::notified("flood", "item", "leave");
    for overflow in [Overflow::DropOldest, Overflow::KeepLatest, Overflow::Close] {
        for by_hand in [false, true] {
            let what = format!("{overflow:?}, by hand: {by_hand}");
            let (told, made) = (Told::default(), Arc::<AtomicU64>::default());
            let router = flooding(&style, &made, MANY, overflow, by_hand);
            let mut wire = Wire::of(told.by(router), NARROW());
            wire.send(&subscribe(&style)).await;
            assert!(wire.next().await["result"].is_string(), "{what}");
            let (end, sent, lost) = told.end("flood").await;
            let mut read = 0;
            let last = loop {
                let message = wire.next().await;
                if !is_item(&message) {
                    break message;
                }
                read += 1;
            };
            assert_eq!(sent, read, "{what}: what was sent is what was read");
            let code = match overflow {
                Overflow::Close => {
                    assert_eq!(end, Some(SinkEnd::Lagged), "{what}");
                    let made = made.load(Ordering::SeqCst);
                    // By hand, some may have been on their way to the connection.
                    let counted = if by_hand { sent + lost <= made } else { sent + lost == made };
                    assert!(counted && lost > 8, "{what}: {made} were made, {sent} sent, {lost} lost");
                    -32015
                }
                _ => {
                    assert_eq!((end, sent + lost), (None, MANY), "{what}");
                    assert!(lost > MANY / 2, "{what}: {lost} were lost");
                    -32014
                }
            };
            assert_eq!(last["params"]["error"]["code"], code, "{what}: {last}");
            // The connection goes on.
            wire.send(r#"{"jsonrpc":"2.0","id":2,"method":"echo","params":["x"]}"#).await;
            assert_eq!(wire.next().await["result"], "x", "{what}");
        }
    }
}

/// Where the style has no word for it, the connection ends, and the reason is the same.
#[tokio::test]
async fn a_silent_style_loses_its_connection_and_says_why() {
    let style = SubscriptionStyle::ethereum("newHeads");
    let (told, made) = (Told::default(), Arc::<AtomicU64>::default());
    let mut wire = Wire::of(told.by(flooding(&style, &made, u64::MAX, Overflow::Close, false)), NARROW());
    wire.send(&subscribe(&style)).await;
    let (end, sent, lost) = told.end("eth_subscribe").await;
    assert_eq!((end, sent + lost), (Some(SinkEnd::Lagged), made.load(Ordering::SeqCst)));
    while wire.next_or_end().await.is_some() {}
}

/// A stream that waits for its subscriber, which leaves with items underway: only what went out was sent.
#[tokio::test]
async fn what_waits_for_a_subscriber_that_leaves_was_not_sent() {
    let style = SubscriptionStyle::notified("flood", "item", "leave");
    let (told, made) = (Told::default(), Arc::<AtomicU64>::default());
    let mut wire = Wire::of(told.by(flooding(&style, &made, u64::MAX, Overflow::Wait, false)), NARROW());
    wire.send(&subscribe(&style)).await;
    let id = wire.next().await["result"].clone();
    let mut last = 0;
    until("the stream is held up", || {
        std::mem::replace(&mut last, made.load(Ordering::SeqCst)) == last && last > 8
    })
    .await;
    let leave = json!({"jsonrpc": "2.0", "id": 2, "method": "leave", "params": [id]});
    wire.send(&leave.to_string()).await;
    let mut read = 0;
    while is_item(&wire.next().await) {
        read += 1;
    }
    assert_eq!(told.end("flood").await, (Some(SinkEnd::Unsubscribed), read, 0));
    assert!(read < made.load(Ordering::SeqCst), "nothing waited");
}

/// One that is left while it makes items, and another that takes its place at once: both are told as they were.
#[tokio::test]
async fn each_end_has_its_own_counts() {
    let told = Told::default();
    let router = Router::new().subscription(style("some"), |_, to: u64| async move {
        Ok(stream::iter(0..to).chain(stream::pending()))
    });
    let (near, far) = transport::memory();
    tokio::spawn(sabir::serve(far, told.by(router)));
    let peer = sabir::connect(near, Router::new()).await.unwrap();
    for n in 1..=20 {
        let mut items = peer.subscribe::<u64>(style("some"), n).await.unwrap();
        assert_eq!(items.next().await, Some(Ok(0)));
        // The unsubscribe and the next subscribe go out together.
        drop(items);
    }
    let last = peer.subscribe::<u64>(SubscriptionStyle::notified("some", "item", "leave"), 7).await.unwrap();
    until("all others have ended", || told.ended.lock().unwrap().len() == 20).await;
    let ended = told.ended.lock().unwrap().clone();
    let expected: Vec<_> =
        (1..=20).map(|n| ("some".to_owned(), (Some(SinkEnd::Unsubscribed), n, 0))).collect();
    assert_eq!(ended, expected);
    drop(last);
    until("the last one has ended", || told.ended.lock().unwrap().len() == 21).await;
}
