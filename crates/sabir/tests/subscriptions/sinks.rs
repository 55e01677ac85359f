//! Sinks that are fed by hand: their policies, and how they end.

use std::sync::{Arc, Mutex};

use sabir::{
    ErrorObject, Limits, Overflow, PendingSink, Router, Sink, SinkEnd, SinkError, SubscriptionEnd,
    SubscriptionStyle, transport,
};
use tokio::sync::mpsc;

use crate::support::{COUNT, LONG, Wire, all, client, limited};

const STYLE: SubscriptionStyle = SubscriptionStyle::new("watch", "item", "unwatch");

/// A router whose handler hands its sink out and waits.
fn handing_out(style: SubscriptionStyle) -> (Router, mpsc::UnboundedReceiver<Sink>) {
    let (tell, sinks) = mpsc::unbounded_channel();
    let router = Router::new().subscription_sink(style, move |_, (), pending: PendingSink| {
        let tell = tell.clone();
        async move {
            let sink = pending.accept().await;
            tell.send(sink).unwrap();
            std::future::pending().await
        }
    });
    (router, sinks)
}

#[tokio::test]
async fn a_sink_has_the_id_of_its_subscription() {
    for style in [STYLE, SubscriptionStyle::ethereum("newHeads"), SubscriptionStyle::solana("slot")] {
        let (router, mut sinks) = handing_out(style.clone());
        let peer = client(router).await;
        let items = peer.subscribe::<u64>(style.clone(), ()).await.unwrap();
        let sink = sinks.recv().await.unwrap();
        assert_eq!(sink.id(), items.id(), "{style:?}");
    }
}

#[tokio::test]
async fn a_sink_that_fails_says_so_behind_its_items() {
    let (router, mut sinks) = handing_out(STYLE);
    let peer = client(router).await;
    let mut items = peer.subscribe::<u64>(STYLE, ()).await.unwrap();
    let sink = sinks.recv().await.unwrap();
    for n in 0..3 {
        sink.send(&n).await.unwrap();
    }
    sink.fail(ErrorObject::new(7, "no more"));
    assert_eq!(all(&mut items).await, [Ok(0), Ok(1), Ok(2)]);
    assert_eq!(items.end(), Some(SubscriptionEnd::Error(ErrorObject::new(7, "no more"))));
}

/// Also to a peer that has not read yet: what was sent before a failure is not lost.
#[tokio::test]
async fn a_handler_that_fails_has_sent_what_it_has_sent() {
    let router = Router::new().subscription_sink(STYLE, |_, (), pending: PendingSink| async move {
        let sink = pending.accept().await;
        for n in 0..100 {
            sink.send(&n).await?;
        }
        Err(ErrorObject::new(7, "no more"))
    });
    let limits = Limits { subscription_items: 2, high_water: 256, ..Limits::default() };
    let mut wire = Wire::of(router, limits);
    wire.send(r#"{"jsonrpc":"2.0","id":1,"method":"watch"}"#).await;
    assert!(wire.next().await["result"].is_string());
    for n in 0..100 {
        assert_eq!(wire.next().await["params"]["result"], n);
    }
    assert_eq!(wire.next().await["params"]["error"]["code"], 7);
}

#[tokio::test]
async fn a_sink_elsewhere_learns_why_it_was_closed() {
    for (how, end) in [
        ("unsubscribe", Some(SinkEnd::Unsubscribed)),
        ("close", Some(SinkEnd::Disconnected)),
        ("lag", Some(SinkEnd::Lagged)),
        ("fail", None),
    ] {
        let (tell, mut sinks) = mpsc::unbounded_channel();
        let fails = Arc::new(tokio::sync::Notify::new());
        let failing = Arc::clone(&fails);
        let router = Router::new().subscription_sink(COUNT, move |_, (), pending: PendingSink| {
            let (tell, failing) = (tell.clone(), Arc::clone(&failing));
            async move {
                let sink = pending.overflow(Overflow::Close).capacity(4).accept().await;
                tell.send(sink).unwrap();
                failing.notified().await;
                Err(ErrorObject::new(7, "no"))
            }
        });
        // A client that takes no more than the limits let through to it.
        let limits = Limits { high_water: 256, ..Limits::default() };
        let (near, far) = tokio::io::duplex(64);
        let (read, write) = tokio::io::split(far);
        tokio::spawn(sabir::serve(transport::streams(read, write).limits(limits), router));
        let (read, mut write) = tokio::io::split(near);
        let subscribe = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscribe_count\"}\n";
        tokio::io::AsyncWriteExt::write_all(&mut write, subscribe).await.unwrap();
        let sink = sinks.recv().await.unwrap();
        match how {
            "unsubscribe" => {
                let leave = format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"unsubscribe_count\",\"params\":[{}]}}\n",
                    sink.id().text()
                );
                tokio::io::AsyncWriteExt::write_all(&mut write, leave.as_bytes()).await.unwrap();
            }
            "close" => drop((read, write)),
            "lag" => while sink.send(&"an item of some length").await.is_ok() {},
            _ => fails.notify_one(),
        }
        let closed = tokio::time::timeout(LONG, sink.closed()).await;
        assert_eq!(closed.expect("it is not closed"), end, "{how}");
        assert!(sink.is_closed());
        assert_eq!(sink.try_send(&1), Err(SinkError::Closed), "{how}");
    }
}

/// Items that come faster than the connection has its turn: the policy holds for them, too.
#[tokio::test]
async fn a_burst_is_dropped_by_the_policy() {
    for (overflow, kept) in [
        (Overflow::Wait, (0..16).collect::<Vec<_>>()),
        (Overflow::DropOldest, (84..100).collect()),
        (Overflow::KeepLatest, (84..100).collect()),
    ] {
        let refused = Arc::<Mutex<Vec<u64>>>::default();
        let noted = Arc::clone(&refused);
        let router = Router::new().subscription_sink(COUNT, move |_, (), pending: PendingSink| {
            let refused = Arc::clone(&noted);
            async move {
                let sink = pending.overflow(overflow).accept().await;
                for n in 0..100 {
                    if sink.try_send(&n) == Err(SinkError::Full) {
                        refused.lock().unwrap().push(n);
                    }
                }
                Ok(())
            }
        });
        let peer = limited(router, Limits::default()).await;
        let mut items = peer.subscribe::<u64>(COUNT, ()).await.unwrap();
        let items: Vec<_> = all(&mut items).await.into_iter().map(Result::unwrap).collect();
        assert_eq!(items, kept, "{overflow:?}");
        let refused = refused.lock().unwrap().clone();
        let expected = if overflow == Overflow::Wait { (16..100).collect() } else { Vec::new() };
        assert_eq!(refused, expected, "{overflow:?}");
    }
}

/// Keys of items that are sent by hand.
#[tokio::test]
async fn the_latest_of_each_key_is_kept() {
    let router = Router::new().subscription_sink(COUNT, |_, (), pending: PendingSink| async move {
        let sink = pending.overflow(Overflow::KeepLatest).accept().await;
        for n in 0..3000_u64 {
            sink.send_keyed(&(n % 3), &n).await?;
        }
        Ok(())
    });
    let mut wire = Wire::of(router, Limits { high_water: 256, ..Limits::default() });
    wire.send(r#"{"jsonrpc":"2.0","id":1,"method":"subscribe_count"}"#).await;
    assert!(wire.next().await["result"].is_string());
    let mut seen = Vec::new();
    while let Some(n) = wire.next().await["params"]["result"].as_u64() {
        seen.push(n);
    }
    let (_, last) = seen.split_at(seen.len() - 3);
    let mut last = last.to_vec();
    last.sort_unstable();
    assert_eq!(last, [2997, 2998, 2999], "the last of each key comes last");
    assert!(seen.len() < 1000, "most were replaced: {}", seen.len());
}
