//! Subscriptions that are made through a proxy: items, unsubscribes and ends pass, and nobody waits for an upstream
//! that is gone.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use futures_util::{Stream, StreamExt, stream};
use sabir::{
    Ctx, ErrorCode, Peer, Router, Subscription, SubscriptionEnd, SubscriptionStyle, Transport, transport,
};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::{LONG, Wire, until};

const COUNT: SubscriptionStyle = SubscriptionStyle::notified("subscribe_count", "count", "unsubscribe_count");
const TICKS: SubscriptionStyle = SubscriptionStyle::new("subscribe_ticks", "ticks", "unsubscribe_ticks");
const HEADS: SubscriptionStyle = SubscriptionStyle::ethereum("newHeads");
/// Nothing in these names says what they do.
const WATCH: SubscriptionStyle = SubscriptionStyle::new("watch", "file", "unwatch");

/// Counts as open until it is dropped.
struct Held<S>(Pin<Box<S>>, Arc<AtomicUsize>);

impl<S: Stream> Stream for Held<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.0.poll_next_unpin(cx)
    }
}

impl<S> Drop for Held<S> {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A service whose streams have some items, and then nothing.
fn service(open: &Arc<AtomicUsize>) -> Router {
    let mut router = Router::new()
        .subscription(COUNT, |_, to: u64| async move { Ok(stream::iter(0..to)) })
        .method("echo", |_, text: String| async move { Ok(text) });
    for style in [TICKS, HEADS, WATCH] {
        let open = Arc::clone(open);
        router = router.subscription(style, move |_, items: u64| {
            open.fetch_add(1, Ordering::SeqCst);
            let held = Held(Box::pin(stream::iter(0..items).chain(stream::pending())), Arc::clone(&open));
            async move { Ok(held) }
        });
    }
    router
}

/// How a client comes to its upstream.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    To,
    Each,
    Join,
}

/// Clients of a service behind a proxy, and the service.
async fn proxied(way: Way, service: Router, clients: usize) -> (Vec<Peer>, JoinHandle<()>, Option<Peer>) {
    let (far, near) = transport::memory();
    let server = tokio::spawn(async move { drop(sabir::serve(far, service).await) });
    let mut shared = None;
    let near = std::sync::Mutex::new(Some(near));
    let router = match way {
        Way::To => {
            let near = near.lock().unwrap().take().unwrap();
            let upstream = sabir::connect(near, Router::new()).await.unwrap();
            shared = Some(upstream.clone());
            Some(Router::new().forward_to(upstream))
        }
        Way::Each => {
            let near: Arc<std::sync::Mutex<Option<Transport>>> = Arc::new(near);
            Some(Router::new().forward_each(move |_: &Ctx| {
                let near = near.lock().unwrap().take();
                async { near.ok_or(std::io::Error::other("there is only one")) }
            }))
        }
        Way::Join => {
            let (client, proxied) = transport::memory();
            let near = near.lock().unwrap().take().unwrap();
            tokio::spawn(sabir::proxy(proxied, near));
            return (vec![sabir::connect(client, Router::new()).await.unwrap()], server, None);
        }
    };
    let router = router.unwrap().forward_subscription(WATCH);
    let mut peers = Vec::new();
    for _ in 0..clients {
        let (client, proxied) = transport::memory();
        tokio::spawn(sabir::serve(proxied, router.clone()));
        peers.push(sabir::connect(client, Router::new()).await.unwrap());
    }
    (peers, server, shared)
}

async fn next(subscription: &mut Subscription<u64>) -> Option<u64> {
    timeout(LONG, subscription.next()).await.expect("the subscriber hears nothing").map(Result::unwrap)
}

#[tokio::test]
async fn items_unsubscribes_and_ends_pass() {
    for way in [Way::To, Way::Each, Way::Join] {
        let open = Arc::new(AtomicUsize::new(0));
        let (peers, _server, _) = proxied(way, service(&open), 1).await;
        let peer = &peers[0];
        let mut count = peer.subscribe::<u64>(COUNT, 20).await.unwrap();
        for n in 0..20 {
            assert_eq!(next(&mut count).await, Some(n), "{way:?}");
        }
        assert_eq!(next(&mut count).await, None, "{way:?}");
        assert_eq!(count.end(), Some(SubscriptionEnd::Finished(None)), "{way:?}");
        for style in [TICKS, HEADS, WATCH] {
            if way == Way::Join && style == WATCH {
                continue;
            }
            let mut some = peer.subscribe::<u64>(style.clone(), 2).await.unwrap();
            assert_eq!(
                (next(&mut some).await, next(&mut some).await),
                (Some(0), Some(1)),
                "{way:?} {style:?}"
            );
            assert!(some.unsubscribe().await, "{way:?} {style:?}");
            until(|| open.load(Ordering::SeqCst) == 0).await;
            drop(peer.subscribe::<u64>(style, 1).await.unwrap());
            until(|| open.load(Ordering::SeqCst) == 0).await;
        }
    }
}

/// By the message that the style has for it, or by the end of the connection where it has none.
#[tokio::test]
async fn a_subscriber_hears_of_the_end_of_its_upstream() {
    for way in [Way::To, Way::Each, Way::Join] {
        for (style, items, told) in [
            (TICKS, 2, true),
            (WATCH, 1, true),
            // Nothing has come yet, and so only a declaration says how its items are called.
            (WATCH, 0, true),
            (TICKS, 0, false),
            (HEADS, 1, false),
        ] {
            if way == Way::Join && style == WATCH {
                continue;
            }
            let what = format!("{way:?} {style:?} {items}");
            let open = Arc::new(AtomicUsize::new(0));
            let (peers, server, _) = proxied(way, service(&open), 1).await;
            let mut some = peers[0].subscribe::<u64>(style, items).await.unwrap();
            for n in 0..items {
                assert_eq!(next(&mut some).await, Some(n), "{what}");
            }
            server.abort();
            assert_eq!(next(&mut some).await, None, "{what}");
            match some.end() {
                Some(SubscriptionEnd::Error(error)) if told => {
                    assert_eq!(error.code, ErrorCode::UPSTREAM_FAILED, "{what}");
                    assert!(error.data.unwrap().as_str().contains("the upstream has ended"), "{what}");
                    // The connection stays.
                    assert!(peers[0].call::<String>("echo", "x").await.is_err());
                    assert!(peers[0].cause().is_none(), "{what}");
                }
                Some(SubscriptionEnd::Disconnected(_)) if !told => {}
                other => panic!("{what}: {other:?}"),
            }
        }
    }
}

/// Clients that share an upstream get their own items, cannot end those of others, and leave what they had.
#[tokio::test]
async fn clients_of_one_upstream_do_not_meet() {
    let open = Arc::new(AtomicUsize::new(0));
    let (peers, _server, upstream) = proxied(Way::To, service(&open), 2).await;
    let mut ada = peers[0].subscribe::<u64>(TICKS, 1).await.unwrap();
    let mut ben = peers[1].subscribe::<u64>(TICKS, 2).await.unwrap();
    assert_eq!(next(&mut ada).await, Some(0));
    assert_eq!((next(&mut ben).await, next(&mut ben).await), (Some(0), Some(1)));
    let id = ben.id().text().to_owned();
    let params = sabir::RawJson::new(format!("[{id}]")).unwrap();
    let ended = peers[0].call_raw("unsubscribe_ticks", Some(params)).await.unwrap();
    assert_eq!((ended.as_str(), open.load(Ordering::SeqCst)), ("false", 2));
    // One client goes, without a word.
    peers[1].shutdown(LONG).await;
    until(|| open.load(Ordering::SeqCst) == 1).await;
    assert_eq!(peers[0].call::<String>("echo", "still here").await.unwrap(), "still here");
    drop(ada);
    until(|| open.load(Ordering::SeqCst) == 0).await;
    assert!(upstream.unwrap().cause().is_none());
}

fn item(id: &str, n: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"tick","params":{{ "subscription" : {id}, "result":{n}, "more":1.0 }}}}"#
    )
}

/// On the wire: items behind the answer, byte for byte, also those that came before it; and nothing that was not asked
/// for goes to a method that only looks like one that subscribes.
#[tokio::test]
async fn what_is_sent_on_the_wire() {
    let (mut server, far) = Wire::new();
    let upstream = sabir::connect(far, Router::new()).await.unwrap();
    let (mut client, near) = Wire::new();
    let proxy = tokio::spawn(sabir::serve(near, Router::new().forward_to(upstream)));

    client.send(r#"{"jsonrpc":"2.0","id":"a","method":"tick_subscribe","params":[1.0]}"#).await;
    server.expect(r#"{"jsonrpc":"2.0","id":1,"method":"tick_subscribe","params":[1.0]}"#).await;
    for line in [item("7", 1), r#"{"jsonrpc":"2.0","id":1,"result":7}"#.to_owned(), item("7", 2)] {
        server.send(&line).await;
    }
    client.expect(r#"{"jsonrpc":"2.0","id":"a","result":7}"#).await;
    client.expect(&item("7", 1)).await;
    client.expect(&item("7", 2)).await;

    client.send(r#"{"jsonrpc":"2.0","id":"b","method":"news_subscribe","params":["me"]}"#).await;
    server.expect(r#"{"jsonrpc":"2.0","id":2,"method":"news_subscribe","params":["me"]}"#).await;
    server.send(r#"{"jsonrpc":"2.0","id":2,"result":"done"}"#).await;
    client.expect(r#"{"jsonrpc":"2.0","id":"b","result":"done"}"#).await;

    // A cancelled one is left, once its items show that it is one.
    client.send(r#"{"jsonrpc":"2.0","id":"c","method":"tick_subscribe"}"#).await;
    server.expect(r#"{"jsonrpc":"2.0","id":3,"method":"tick_subscribe"}"#).await;
    client.send(r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"c"}}"#).await;
    assert!(client.receive().await.contains("-32800"));
    server.send(r#"{"jsonrpc":"2.0","id":3,"result":"x"}"#).await;
    server.send(&item(r#""x""#, 1)).await;
    server.expect(r#"{"jsonrpc":"2.0","id":4,"method":"tick_unsubscribe","params":["x"]}"#).await;

    proxy.abort();
    server.expect(r#"{"jsonrpc":"2.0","id":5,"method":"tick_unsubscribe","params":[7]}"#).await;
    // The news were no subscription: nobody may end them.
    server.send(r#"{"jsonrpc":"2.0","id":"last","method":"any"}"#).await;
    assert!(server.receive().await.contains("-32601"));
}

/// Items that came before the answer show how they are called, too: the subscriber is told of the end in their method.
#[tokio::test]
async fn early_items_say_how_the_end_is_told() {
    let (mut server, far) = Wire::new();
    let upstream = sabir::connect(far, Router::new()).await.unwrap();
    let (mut client, near) = Wire::new();
    tokio::spawn(sabir::serve(near, Router::new().forward_to(upstream)));
    client.send(r#"{"jsonrpc":"2.0","id":"a","method":"tick_subscribe"}"#).await;
    server.receive().await;
    server.send(&item("7", 1)).await;
    server.send(r#"{"jsonrpc":"2.0","id":1,"result":7}"#).await;
    client.expect(r#"{"jsonrpc":"2.0","id":"a","result":7}"#).await;
    client.expect(&item("7", 1)).await;
    drop(server);
    let told = client.receive().await;
    assert!(told.contains(r#""method":"tick","params":{"subscription":7,"error":{"code":-32016"#), "{told}");
}

/// What has ended makes room, however the end was told: by an unsubscribe whose params have names, and by the only item
/// of Solana's subscriptions to a signature.
#[tokio::test]
async fn subscriptions_that_are_over_do_not_count() {
    let (mut server, far) = Wire::new();
    let upstream = sabir::connect(far, Router::new()).await.unwrap();
    let (mut client, near) = Wire::new();
    tokio::spawn(sabir::serve(near, Router::new().forward_to(upstream)));
    for n in 0..1025 {
        let notification = |value: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"signatureNotification","params":{{"subscription":{n},"result":{{"value":{value}}}}}}}"#
            )
        };
        client.send(r#"{"jsonrpc":"2.0","id":1,"method":"signatureSubscribe"}"#).await;
        let call: serde_json::Value = serde_json::from_str(&server.receive().await).unwrap();
        server.send(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{n}}}"#, call["id"])).await;
        client.expect(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{n}}}"#)).await;
        for value in [r#""receivedSignature""#, r#"{"err":null}"#] {
            server.send(&notification(value)).await;
            client.expect(&notification(value)).await;
        }
    }
    for n in 0..1025 {
        client.send(r#"{"jsonrpc":"2.0","id":1,"method":"tick_subscribe"}"#).await;
        let call: serde_json::Value = serde_json::from_str(&server.receive().await).unwrap();
        server.send(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":"{n}"}}"#, call["id"])).await;
        client.expect(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":"{n}"}}"#)).await;
        let item = item(&format!(r#""{n}""#), 1);
        server.send(&item).await;
        client.expect(&item).await;
        let name = ["subscription", "id"][n % 2];
        client
            .send(&format!(
                r#"{{"jsonrpc":"2.0","id":2,"method":"tick_unsubscribe","params":{{"{name}":"{n}"}}}}"#
            ))
            .await;
        let call: serde_json::Value = serde_json::from_str(&server.receive().await).unwrap();
        server.send(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":true}}"#, call["id"])).await;
        client.expect(r#"{"jsonrpc":"2.0","id":2,"result":true}"#).await;
    }
}

/// However its id is written, a subscription is ended by the client that has it only.
#[tokio::test]
async fn nobody_unsubscribes_another_client() {
    let (mut server, far) = Wire::new();
    let upstream = sabir::connect(far, Router::new()).await.unwrap();
    let router = Router::new().forward_to(upstream);
    let (mut client, near) = Wire::new();
    tokio::spawn(sabir::serve(near, router.clone()));
    let (mut other, near) = Wire::new();
    tokio::spawn(sabir::serve(near, router));
    client.send(r#"{"jsonrpc":"2.0","id":1,"method":"tick_subscribe"}"#).await;
    server.receive().await;
    server.send(r#"{"jsonrpc":"2.0","id":1,"result":"s"}"#).await;
    client.receive().await;
    for params in [r#"["s"]"#, r#"["\u0073",1]"#, r#"{"subscription":"s"}"#, r#"{"id":"s"}"#] {
        other
            .send(&format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tick_unsubscribe","params":{params}}}"#))
            .await;
        other.expect(r#"{"jsonrpc":"2.0","id":2,"result":false}"#).await;
    }
    other.send(r#"{"jsonrpc":"2.0","id":3,"method":"last"}"#).await;
    server.expect(r#"{"jsonrpc":"2.0","id":2,"method":"last"}"#).await;
}

/// One that does not read does not stop the others: it is told, and left.
#[tokio::test]
async fn a_slow_subscriber_of_a_shared_upstream_is_left() {
    let (mut server, far) = Wire::new();
    let upstream = sabir::connect(far, Router::new()).await.unwrap();
    let (mut slow, near) = Wire::new();
    tokio::spawn(sabir::serve(near, Router::new().forward_to(upstream)));
    slow.send(r#"{"jsonrpc":"2.0","id":1,"method":"subscribe"}"#).await;
    server.receive().await;
    server.send(r#"{"jsonrpc":"2.0","id":1,"result":"s"}"#).await;
    slow.receive().await;
    let text = "x".repeat(10_000);
    let unsubscribed = async {
        loop {
            let item = format!(
                r#"{{"jsonrpc":"2.0","method":"item","params":{{"subscription":"s","result":"{text}"}}}}"#
            );
            tokio::select! {
                biased;
                line = server.read.next_line() => break line.unwrap().unwrap(),
                () = async { tokio::io::AsyncWriteExt::write_all(&mut server.write, format!("{item}\n").as_bytes()).await.unwrap() } => {}
            }
        }
    };
    let line = timeout(LONG, unsubscribed).await.expect("it is never left");
    assert_eq!(line, r#"{"jsonrpc":"2.0","id":2,"method":"unsubscribe","params":["s"]}"#);
    loop {
        let line = slow.receive().await;
        if line.contains("error") {
            assert!(
                line.contains(r#""method":"item","params":{"subscription":"s","error":{"code":-32015"#),
                "{line}"
            );
            break;
        }
    }
}

/// The answers of a batch go together: no item goes before, also if its upstream ends in between.
#[tokio::test]
async fn items_wait_for_the_batch_that_their_answer_is_in() {
    for (way, items, ends) in [
        (Way::To, 2, false),
        (Way::Each, 2, false),
        (Way::To, 2, true),
        (Way::Each, 2, true),
        (Way::Each, 100, false),
    ] {
        let what = format!("{way:?} {items} {ends}");
        let (mut server, far) = Wire::new();
        let router = match way {
            Way::To => Router::new().forward_to(sabir::connect(far, Router::new()).await.unwrap()),
            _ => {
                let far = std::sync::Mutex::new(Some(far));
                Router::new().forward_each(move |_: &Ctx| {
                    let far = far.lock().unwrap().take();
                    async { far.ok_or(std::io::Error::other("there is only one")) }
                })
            }
        };
        let (mut client, near) = Wire::new();
        tokio::spawn(sabir::serve(near, router));
        client
            .send(r#"[{"jsonrpc":"2.0","id":"a","method":"tick_subscribe"},{"jsonrpc":"2.0","id":"b","method":"slow"}]"#)
            .await;
        server.expect(r#"{"jsonrpc":"2.0","id":1,"method":"tick_subscribe"}"#).await;
        server.expect(r#"{"jsonrpc":"2.0","id":2,"method":"slow"}"#).await;
        server.send(r#"{"jsonrpc":"2.0","id":1,"result":7}"#).await;
        for n in 0..items {
            server.send(&item("7", n)).await;
        }
        if items > 64 {
            // Too many wait: it is left, and hears of that in its turn.
            server.expect(r#"{"jsonrpc":"2.0","id":3,"method":"tick_unsubscribe","params":[7]}"#).await;
        }
        if ends {
            drop(server);
        } else {
            server.send(r#"{"jsonrpc":"2.0","id":2,"result":"done"}"#).await;
        }
        let answers = client.receive().await;
        assert!(
            answers.starts_with(r#"[{"jsonrpc":"2.0","id":"a","result":7},{"jsonrpc":"2.0","id":"b","#),
            "{what}: {answers}"
        );
        for n in 0..items.min(64) {
            assert_eq!(client.receive().await, item("7", n), "{what}");
        }
        if ends || items > 64 {
            let code = if ends { "-32016" } else { "-32015" };
            let told = client.receive().await;
            assert!(
                told.contains(&format!(r#""params":{{"subscription":7,"error":{{"code":{code}"#)),
                "{what}: {told}"
            );
        }
    }
}

/// One that cannot be told anything but answers is refused, as by a server of ours; a method of MCP is not meant so.
#[cfg(feature = "http")]
#[tokio::test]
async fn a_plain_post_does_not_subscribe() {
    let (far, near) = transport::memory();
    let open = Arc::new(AtomicUsize::new(0));
    let listens = service(&open).method("resources/subscribe", |_, ()| async { Ok("by another way") });
    tokio::spawn(sabir::serve(far, listens));
    let upstream = sabir::connect(near, Router::new()).await.unwrap();
    let server = sabir::listen("http://127.0.0.1:0", Router::new().forward_to(upstream)).await.unwrap();
    let url = server.url().to_owned();
    tokio::spawn(server.run());
    let peer = sabir::connect(url.as_str(), Router::new()).await.unwrap();
    for style in [TICKS, HEADS] {
        let refused = peer.subscribe::<u64>(style, 1).await.unwrap_err().to_string();
        assert!(refused.contains("a subscription needs a connection that stays open"), "{refused}");
    }
    assert_eq!(open.load(Ordering::SeqCst), 0);
    assert_eq!(peer.call::<String>("resources/subscribe", ()).await.unwrap(), "by another way");
}
