//! Beginnings and ends: who hears of them, and when.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use sabir::{
    CallError, Cause, Ctx, ErrorObject, Limits, PendingSink, Router, SubscriptionEnd, SubscriptionError,
    SubscriptionStyle, transport,
};

use crate::support::{COUNT, IDLE, all, client, limited, router, until};

fn none() -> Arc<AtomicUsize> {
    Arc::default()
}

#[tokio::test]
async fn a_stream_is_followed_to_its_end() {
    let peer = client(router(&none())).await;
    let mut numbers = peer.subscribe::<u64>(COUNT, 1000).await.unwrap();
    assert!(numbers.id().as_str().is_some_and(|id| id.len() == 16), "{}", numbers.id());
    let items = all(&mut numbers).await;
    assert_eq!(items, (0..1000).map(Ok).collect::<Vec<_>>());
    assert_eq!(numbers.end(), Some(SubscriptionEnd::Finished(None)));
    assert!(!numbers.unsubscribe().await, "it is not there any more");
}

#[tokio::test]
async fn a_stream_is_dropped_when_nobody_wants_it() {
    let open = none();
    let peer = client(router(&open)).await;
    let mut idle = peer.subscribe::<u64>(IDLE, ()).await.unwrap();
    assert_eq!(open.load(Ordering::SeqCst), 1);
    assert!(idle.unsubscribe().await);
    assert_eq!(open.load(Ordering::SeqCst), 0, "before the answer");
    assert_eq!(idle.end(), Some(SubscriptionEnd::Unsubscribed));
    assert!(idle.next().await.is_none());

    drop(peer.subscribe::<u64>(IDLE, ()).await.unwrap());
    until("the subscription was dropped", || open.load(Ordering::SeqCst) == 0).await;

    let left = peer.subscribe::<u64>(IDLE, ()).await.unwrap();
    peer.close();
    until("the client has gone", || open.load(Ordering::SeqCst) == 0).await;
    assert_eq!(left.end(), Some(SubscriptionEnd::Disconnected(Cause::Shutdown)));
}

#[tokio::test]
async fn a_server_that_stops_ends_all() {
    let open = none();
    let (a, b) = transport::memory();
    let server = sabir::connect(a, router(&open)).await.unwrap();
    let peer = sabir::connect(b, Router::new()).await.unwrap();
    let mut idle = peer.subscribe::<u64>(IDLE, ()).await.unwrap();
    server.shutdown(Duration::from_secs(5)).await;
    assert_eq!(open.load(Ordering::SeqCst), 0);
    assert!(idle.next().await.is_none());
    assert!(matches!(idle.end(), Some(SubscriptionEnd::Disconnected(_))), "{:?}", idle.end());
}

#[tokio::test]
async fn what_is_left_before_its_response_is_left_behind_it() {
    let open = none();
    let started = none();
    let (counted, guarded) = (Arc::clone(&started), Arc::clone(&open));
    let router = Router::new().subscription(IDLE, move |_, ()| {
        counted.fetch_add(1, Ordering::SeqCst);
        let guard = crate::support::Guard::new(&guarded);
        async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            Ok(guard.holds(stream::pending::<u64>()))
        }
    });
    let peer = client(router).await;
    let subscribe = peer.subscribe::<u64>(IDLE, ());
    let given_up = tokio::time::timeout(Duration::from_millis(1), subscribe).await;
    assert!(given_up.is_err());
    let timed_out = peer.subscribe::<u64>(IDLE, ()).timeout(Duration::from_millis(1)).await;
    assert_eq!(timed_out.map(|_| ()), Err(CallError::TimedOut));
    until("both have started", || started.load(Ordering::SeqCst) == 2).await;
    until("both have ended", || open.load(Ordering::SeqCst) == 0).await;
}

#[tokio::test]
async fn errors_are_answered_or_end_it() {
    let style = |name: &'static str| SubscriptionStyle::new(name, "item", "leave");
    let router = Router::new()
        .subscription(style("refused"), |_, ()| async {
            Err::<stream::Empty<u8>, _>(ErrorObject::new(7, "no"))
        })
        .try_subscription(style("fails"), |_, ()| async {
            Ok(stream::iter([Ok(1), Err(ErrorObject::new(8, "broken")), Ok(2)]))
        })
        .subscription(style("panics"), |_, ()| async {
            Ok(stream::iter(0..3).map(|n| if n == 2 { panic!("of no concern to the caller") } else { n }))
        })
        .subscription_sink(style("rejects"), |_, (), pending: PendingSink| async move {
            pending.reject(ErrorObject::new(9, "not you"));
            Ok(())
        })
        .subscription_sink(style("forgets"), |_, (), _: PendingSink| async { Ok(()) });
    let peer = client(router).await;
    for (name, code) in [("refused", 7), ("rejects", 9), ("forgets", -32603)] {
        let refused = peer.subscribe::<u8>(style(name), ()).await.map(|_| ());
        assert!(
            matches!(&refused, Err(CallError::Error(error)) if error.code.0 == code),
            "{name}: {refused:?}"
        );
    }
    for (name, kept, code) in [("fails", vec![1], 8), ("panics", vec![0, 1], -32603)] {
        let mut items = peer.subscribe::<u8>(style(name), ()).await.unwrap();
        assert_eq!(all(&mut items).await, kept.into_iter().map(Ok).collect::<Vec<_>>());
        let end = items.end();
        assert!(
            matches!(&end, Some(SubscriptionEnd::Error(error)) if error.code.0 == code),
            "{name}: {end:?}"
        );
    }
}

#[tokio::test]
async fn a_sink_is_fed_by_hand() {
    async fn feed(_: Ctx, to: u64, pending: PendingSink) -> sabir::Result<()> {
        let sink = pending.accept().await;
        // It may go anywhere, and outlive the handler.
        tokio::spawn(async move {
            for n in 0..to {
                sink.send(&n).await?;
            }
            Ok::<_, sabir::SinkError>(())
        });
        Ok(())
    }
    let closed = none();
    let ended = Arc::clone(&closed);
    let waits = SubscriptionStyle::new("waits", "waiting", "stop");
    let router = Router::new().subscription_sink(COUNT, feed).subscription_sink(
        waits.clone(),
        move |_, (), pending: PendingSink| {
            let ended = Arc::clone(&ended);
            async move {
                let sink = pending.accept().await;
                tokio::spawn(async move {
                    sink.closed().await;
                    assert_eq!(sink.try_send(&1), Err(sabir::SinkError::Closed));
                    ended.fetch_add(1, Ordering::SeqCst);
                });
                std::future::pending().await
            }
        },
    );
    let peer = client(router).await;
    let mut numbers = peer.subscribe::<u64>(COUNT, 1000).await.unwrap();
    assert_eq!(all(&mut numbers).await, (0..1000).map(Ok).collect::<Vec<_>>());
    drop(peer.subscribe::<u64>(waits, ()).await.unwrap());
    until("the sink is closed", || closed.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn what_does_not_fit_is_an_error_in_its_place() {
    let style = SubscriptionStyle::notified("mixed", "mix", "stop");
    let router = Router::new().subscription(style.clone(), |_, ()| async {
        Ok(stream::iter(["1", "x", "3"]).map(|s| s.parse::<u8>().ok()))
    });
    let peer = client(router).await;
    let mut items = peer.subscribe::<u8>(style, ()).await.unwrap();
    let items = all(&mut items).await;
    assert!(
        matches!(&items[..], [Ok(1), Err(SubscriptionError::Decode { item, .. }), Ok(3)] if item.as_str() == "null"),
        "{items:?}"
    );
}

#[tokio::test]
async fn there_are_only_so_many() {
    let open = none();
    let peer = limited(router(&open), Limits { subscriptions: 3, ..Limits::default() }).await;
    let mut kept = Vec::new();
    for _ in 0..3 {
        kept.push(peer.subscribe::<u64>(IDLE, ()).await.unwrap());
    }
    let refused = peer.subscribe::<u64>(IDLE, ()).await.unwrap_err();
    let text = "-32006: Too many subscriptions on the connection";
    assert_eq!(refused.to_string(), text);
    kept.pop();
    until("one has left", || open.load(Ordering::SeqCst) == 2).await;
    assert!(peer.subscribe::<u64>(IDLE, ()).await.is_ok());
}

#[tokio::test]
async fn a_thousand_that_are_dropped_are_all_left() {
    let open = none();
    let peer = client(router(&open)).await;
    let subscribing = (0..1000).map(|_| peer.subscribe::<u64>(IDLE, ()));
    let all = futures_util::future::try_join_all(subscribing).await.unwrap();
    assert_eq!(open.load(Ordering::SeqCst), 1000);
    drop(all);
    until("all are left", || open.load(Ordering::SeqCst) == 0).await;
    assert_eq!(peer.call::<String>("echo", "x").await, Ok("x".to_owned()));
}

#[test]
#[should_panic(expected = "items that are results need `try_subscription`")]
fn results_are_not_items() {
    let style = SubscriptionStyle::new("a", "b", "c");
    let _ = Router::new().subscription(style, |_, ()| async { Ok(stream::iter([Ok::<_, String>(1)])) });
}

#[tokio::test]
async fn a_subscription_keeps_the_connection_of_a_dropped_peer() {
    let (tell, told) = tokio::sync::oneshot::channel::<u64>();
    let told = std::sync::Mutex::new(Some(told));
    let router = Router::new().subscription(COUNT, move |_, ()| {
        let told = told.lock().unwrap().take().unwrap();
        async move { Ok(stream::once(async move { told.await.unwrap() })) }
    });
    let peer = client(router).await;
    let mut items = peer.subscribe::<u64>(COUNT, ()).await.unwrap();
    drop(peer);
    // Whatever follows from that has happened.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(items.end(), None);
    tell.send(7).unwrap();
    assert_eq!(all(&mut items).await, [Ok(7)]);
    assert_eq!(items.end(), Some(SubscriptionEnd::Finished(None)));
}
