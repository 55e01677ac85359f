//! Subscriptions over WebSocket and HTTP: in a session they work, in a single POST they cannot.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sabir::{Ctx, Http, Router, Sessions, SubscriptionEnd, SubscriptionStyle, transport};

use crate::support::{COUNT, IDLE, all, router, until};

async fn serving(open: &Arc<AtomicUsize>) -> String {
    let router = router(open).method("initialize", |_, ()| async { Ok(1) });
    let http = Http::new().sessions(Sessions::opened_by("initialize"));
    let server = sabir::listen("http://127.0.0.1:0/rpc", router).http(http).await.unwrap();
    let url = server.url().to_string();
    tokio::spawn(server.run());
    url
}

#[tokio::test]
async fn websockets_and_sessions_carry_them() {
    let open = Arc::<AtomicUsize>::default();
    let url = serving(&open).await;
    for (url, opens) in [(url.replace("http:", "ws:"), false), (url, true)] {
        let peer = sabir::connect(transport::url(url.clone()), Router::new()).await.unwrap();
        if opens {
            peer.call::<u64>("initialize", ()).await.unwrap();
        }
        let mut numbers = peer.subscribe::<u64>(COUNT, 500).await.unwrap();
        assert_eq!(all(&mut numbers).await, (0..500).map(Ok).collect::<Vec<_>>(), "{url}");
        assert_eq!(numbers.end(), Some(SubscriptionEnd::Finished(None)));
        let mut idle = peer.subscribe::<u64>(IDLE, ()).await.unwrap();
        assert!(idle.unsubscribe().await, "{url}");
        let _left = peer.subscribe::<u64>(IDLE, ()).await.unwrap();
        peer.shutdown(std::time::Duration::from_secs(5)).await;
        until("the client has gone", || open.load(Ordering::SeqCst) == 0).await;
    }
}

#[tokio::test]
async fn a_single_post_is_told_why_it_cannot() {
    let open = Arc::<AtomicUsize>::default();
    let server = sabir::listen("http://127.0.0.1:0/rpc", router(&open)).await.unwrap();
    let url = server.url().to_string();
    tokio::spawn(server.run());
    let peer = sabir::connect(transport::url(url), Router::new()).await.unwrap();
    let refused = peer.subscribe::<u64>(COUNT, 3).await.unwrap_err().to_string();
    assert!(refused.starts_with("-32601: ") && refused.contains("stays open"), "{refused}");
    assert_eq!(peer.call::<String>("echo", "x").await, Ok("x".to_owned()));
}

/// Subscriptions that begin at the same time share the session that the first one opens, and other calls do not wait for it.
#[tokio::test]
async fn the_first_subscription_opens_the_session() {
    let open = Arc::<AtomicUsize>::default();
    let (begun, mut begins) = tokio::sync::watch::channel(false);
    let (answer, may_answer) = tokio::sync::watch::channel(false);
    let slow = SubscriptionStyle::notified("subscribe_slowly", "slow", "unsubscribe_slowly");
    let router = router(&open)
        .subscription(slow.clone(), move |_, ()| {
            let mut may_answer = may_answer.clone();
            begun.send_replace(true);
            async move {
                may_answer.wait_for(|may| *may).await.unwrap();
                Ok(crate::support::count(Some(3)))
            }
        })
        .method("ids", |ctx: Ctx, ()| async move {
            let id = ctx.http().and_then(|parts| parts.headers.get("mcp-session-id").cloned());
            Ok(id.map(|id| id.to_str().unwrap().to_owned()))
        });
    let http = Http::new().sessions(Sessions::opened_by_subscribing());
    let server = sabir::listen("http://127.0.0.1:0/rpc", router).http(http).await.unwrap();
    let peer = sabir::connect(transport::url(server.url().to_string()), Router::new()).await.unwrap();
    tokio::spawn(server.run());
    assert_eq!(peer.call::<Option<String>>("ids", ()).await, Ok(None));
    let first = tokio::spawn(peer.subscribe::<u64>(slow, ()));
    begins.wait_for(|begun| *begun).await.unwrap();
    let second = tokio::spawn(peer.subscribe::<u64>(COUNT, 500));
    let third = tokio::spawn(peer.subscribe::<u64>(IDLE, ()));
    assert_eq!(peer.call::<String>("echo", "x").await, Ok("x".to_owned()));
    answer.send_replace(true);
    let (first, second, third) = tokio::join!(first, second, third);
    let opened = |joined: Result<Result<_, _>, _>| joined.unwrap().unwrap();
    let (mut first, mut second, mut third) = (opened(first), opened(second), opened(third));
    assert_eq!(all(&mut first).await, (0..3).map(Ok).collect::<Vec<_>>());
    assert_eq!(all(&mut second).await, (0..500).map(Ok).collect::<Vec<_>>());
    assert!(peer.call::<Option<String>>("ids", ()).await.unwrap().is_some());
    assert!(third.unsubscribe().await);
}
