//! Upstreams that end, and what follows them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use sabir::{CallError, Ctx, ErrorCode, Peer, Reconnect, Router, Transport, transport};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::LONG;

/// Starts a new server for each connection, and ends the last one.
#[derive(Clone, Default)]
struct Servers {
    started: Arc<AtomicUsize>,
    last: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl Servers {
    fn start(&self) -> Transport {
        let (near, far) = transport::memory();
        let number = self.started.fetch_add(1, Ordering::SeqCst) + 1;
        let router = Router::new()
            .method("number", move |_, ()| async move { Ok(number) })
            .method("initialize", |_, ()| async { Ok("begun") })
            .method("wait", |_, ()| std::future::pending::<sabir::Result<()>>());
        let serving = tokio::spawn(async move { drop(sabir::serve(far, router).await) });
        *self.last.lock().unwrap() = Some(serving);
        near
    }

    fn end(&self) {
        self.last.lock().unwrap().take().unwrap().abort();
    }
}

/// A client of a router that passes everything on.
async fn client(router: Router) -> Peer {
    let (client, proxied) = transport::memory();
    tokio::spawn(sabir::serve(proxied, router));
    sabir::connect(client, Router::new()).await.unwrap()
}

fn each(servers: &Servers) -> Router {
    let servers = servers.clone();
    Router::new().forward_each(move |_: &Ctx| {
        let server = servers.start();
        async { Ok::<_, sabir::Error>(server) }
    })
}

fn reconnecting(servers: &Servers) -> Router {
    let servers = servers.clone();
    let server = Arc::new(Reconnect::new(Router::new(), move || servers.start()));
    Router::new().forward_to(Arc::clone(&server))
}

/// A call that is open when the upstream ends fails; the next ones have another upstream.
#[tokio::test]
async fn the_next_call_has_another_upstream() {
    for (name, way) in [("each", each as fn(&Servers) -> Router), ("reconnect", reconnecting)] {
        let servers = Servers::default();
        let peer = client(way(&servers)).await;
        for number in 1..4 {
            let answered = timeout(LONG, peer.call::<usize>("number", ())).await.expect(name);
            assert_eq!(answered.unwrap(), number, "{name}");
            assert_eq!(peer.call::<usize>("number", ()).await.unwrap(), number, "{name}");
            let open = tokio::spawn(peer.call::<()>("wait", ()));
            // Behind it.
            peer.call::<usize>("number", ()).await.unwrap();
            servers.end();
            match timeout(LONG, open).await.expect(name).unwrap() {
                Err(CallError::Error(error)) => assert_eq!(error.code, ErrorCode::UPSTREAM_FAILED, "{name}"),
                other => panic!("{name}: {other:?}"),
            }
        }
        assert!(peer.cause().is_none(), "{name}");
    }
}

/// Nobody but the client can repeat an `initialize`: it sees the end, after the answers to what it has open.
#[tokio::test]
async fn the_client_of_a_session_ends_with_its_upstream() {
    let servers = Servers::default();
    let peer = client(each(&servers)).await;
    peer.call::<String>("initialize", ()).await.unwrap();
    let open = tokio::spawn(peer.call::<()>("wait", ()));
    peer.call::<usize>("number", ()).await.unwrap();
    servers.end();
    match timeout(LONG, open).await.expect("an answer").unwrap() {
        Err(CallError::Error(error)) => assert_eq!(error.code, ErrorCode::UPSTREAM_FAILED),
        other => panic!("{other:?}"),
    }
    timeout(LONG, peer.closed()).await.expect("the end of the connection");
    assert_eq!(servers.started.load(Ordering::SeqCst), 1);
}

/// What cannot be opened fails the call, and the next one tries again.
#[tokio::test]
async fn a_server_that_is_away_is_waited_for() {
    let servers = Servers::default();
    let tries = Arc::<AtomicUsize>::default();
    let (tried, starts) = (Arc::clone(&tries), servers.clone());
    let server = Reconnect::new(Router::new(), move || {
        let server = (tried.fetch_add(1, Ordering::SeqCst) > 1).then(|| starts.start());
        async { server.ok_or(std::io::Error::from(std::io::ErrorKind::ConnectionRefused)) }
    });
    let peer = client(Router::new().forward_to(server)).await;
    assert_eq!(timeout(LONG, peer.call::<usize>("number", ())).await.expect("an answer").unwrap(), 1);
    assert_eq!(tries.load(Ordering::SeqCst), 3);
}
