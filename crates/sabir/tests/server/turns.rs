//! Requests that follow one another on one connection leave others their turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sabir::Http;

use crate::client::Client;
use crate::open::{ADD, SUM, open};
use crate::server::router;

const REQUESTS: usize = 40;

/// How many of the requests that came together on one connection were worked on before another one had its answer.
async fn before_another(http: Http) -> usize {
    let done = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&done);
    let router = router().method("work", move |_, (): ()| {
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(3) {}
        counting.fetch_add(1, Ordering::Relaxed);
        async { Ok(()) }
    });
    let server = open("http", router, |server| server.http(http)).await;
    let (mut busy, mut other) = (Client::connect(server.port).await, Client::connect(server.port).await);
    for client in [&mut busy, &mut other] {
        client.post("", ADD).await;
        assert_eq!(client.answer().await, (200, SUM.to_owned()));
    }
    let work = r#"{"jsonrpc":"2.0","id":1,"method":"work"}"#;
    let one = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{work}",
        work.len()
    );
    busy.send(one.repeat(REQUESTS)).await;
    other.post("", ADD).await;
    assert_eq!(other.answer().await, (200, SUM.to_owned()));
    let before = done.load(Ordering::Relaxed);
    for _ in 0..REQUESTS {
        assert_eq!(busy.answer().await.0, 200);
    }
    assert_eq!(done.load(Ordering::Relaxed), REQUESTS);
    server.stop().await;
    before
}

#[tokio::test]
async fn requests_that_came_together_leave_others_their_turn() {
    for http in [Http::new(), Http::new().hyper_only()] {
        let before = before_another(http).await;
        assert!(before < REQUESTS / 2, "{before} of {REQUESTS} came first");
    }
}
