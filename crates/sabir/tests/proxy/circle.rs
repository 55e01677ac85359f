//! Proxies that pass calls on to each other: nobody answers, and still each call ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sabir::{CallError, Connections, Ctx, ErrorCode, Limits, Peer, Router, transport};
use tokio::time::timeout;

use super::LONG;

/// A client of the first of two proxies, each of which is the upstream of the other.
async fn circle(limits: Limits) -> Peer {
    let mut ends = Vec::new();
    let mut upstreams = Vec::new();
    for _ in 0..2 {
        let (near, far) = transport::memory();
        upstreams.push(sabir::connect(near.limits(limits), Router::new()).await.unwrap());
        ends.push(far.limits(limits));
    }
    let routers: Vec<Router> =
        upstreams.iter().map(|upstream| Router::new().forward_to(upstream.clone())).collect();
    // The first passes on to the second, and the second to the first.
    for (end, router) in ends.into_iter().zip(routers.iter().rev()) {
        tokio::spawn(sabir::serve(end, router.clone()));
    }
    let (client, proxied) = transport::memory();
    tokio::spawn(sabir::serve(proxied, routers[0].clone()));
    sabir::connect(client, Router::new()).await.unwrap()
}

fn is_refused(outcome: &Result<(), CallError>) -> bool {
    let Err(CallError::Error(error)) = outcome else { return false };
    let reason = error.data.as_ref().map_or("", |data| data.as_str());
    error.code == ErrorCode::UPSTREAM_FAILED && reason.contains("in a circle")
}

#[tokio::test]
async fn a_circle_of_shared_upstreams_ends_with_an_error_that_says_so() {
    for limits in [Limits { calls: 100, ..Limits::default() }, Limits::default()] {
        let peer = circle(limits).await;
        for _ in 0..3 {
            let outcome = timeout(LONG, peer.call::<()>("round", ("and", "round"))).await;
            assert!(is_refused(outcome.as_ref().expect("the cycle never ends")), "{outcome:?}");
        }
        // One that is given up leaves nothing behind that would keep others from their turn.
        drop(timeout(std::time::Duration::from_millis(5), peer.call::<()>("round", ())).await);
        let outcome = timeout(LONG, peer.call::<()>("round", ())).await.expect("the cycle never ends");
        assert!(is_refused(&outcome), "{outcome:?}");
    }
}

/// Each round opens two connections: how many there may be is the bound.
#[tokio::test]
async fn a_circle_of_upstreams_for_each_client_ends_at_the_limit_of_connections() {
    let opened = Arc::new(AtomicUsize::new(0));
    let urls: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
    for to in [1, 0] {
        let (urls, opened) = (Arc::clone(&urls), Arc::clone(&opened));
        let known = Arc::clone(&urls);
        let router = Router::new().forward_each(move |_: &Ctx| {
            opened.fetch_add(1, Ordering::SeqCst);
            let url = known.lock().unwrap()[to].clone();
            async move { Ok::<_, sabir::Error>(transport::url(url)) }
        });
        let connections = Connections { per_address: 20, ..Connections::default() };
        let server = sabir::listen("tcp://127.0.0.1:0", router).connections(connections).await.unwrap();
        urls.lock().unwrap().push(server.url().to_owned());
        tokio::spawn(server.run());
    }
    let url = urls.lock().unwrap()[0].clone();
    let peer = sabir::connect(url.as_str(), Router::new()).await.unwrap();
    let outcome = timeout(LONG, peer.call::<()>("round", ())).await.expect("the cycle never ends");
    assert!(outcome.is_err());
    let opened = opened.load(Ordering::SeqCst);
    assert!((20..=42).contains(&opened), "{opened}");
}
