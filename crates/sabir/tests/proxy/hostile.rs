//! Clients that cancel, subscribe and leave as fast as they can, and a server that answers what it was not asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::{join_all, try_join_all};
use futures_util::stream;
use sabir::{Router, SubscriptionStyle, transport};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use super::{LONG, Wire, connected, joined, until};

/// Counts as running until it is dropped.
struct Running(Arc<AtomicUsize>);

impl Running {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Running(Arc::clone(count))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn health() -> Router {
    Router::new().method("health", |_, ()| async { Ok("well") })
}

/// Calls that are cancelled at once, some twice, among cancels for what never was.
#[tokio::test]
async fn a_storm_of_cancels_leaves_nothing_behind() {
    const MANY: usize = 3000;
    let running = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&running);
    let service = health().method("hold", move |_, ()| {
        let running = Running::new(&counted);
        async move {
            std::future::pending::<()>().await;
            drop(running);
            Ok(())
        }
    });
    let (mut client, near) = Wire::new();
    let (far, server) = transport::memory();
    tokio::spawn(sabir::proxy(near, far));
    tokio::spawn(sabir::serve(server, service));
    let reading = tokio::spawn(async move {
        let mut answers = 0;
        while answers < MANY {
            let line = client.read.next_line().await.unwrap().expect("the proxy has ended");
            assert!(line.contains("\"code\":-32800"), "{line}");
            answers += 1;
        }
        client.read
    });
    for id in 0..MANY {
        let call = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"hold"}}"#);
        let cancel = format!(r#"{{"jsonrpc":"2.0","method":"$/cancelRequest","params":{{"id":{id}}}}}"#);
        let other = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        );
        let unknown = r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"none"}}"#;
        let lines = [call, cancel, other, unknown.to_owned(), String::new()].join("\n");
        client.write.write_all(lines.as_bytes()).await.unwrap();
    }
    let read = timeout(LONG, reading).await.expect("all are answered").unwrap();
    until(|| running.load(Ordering::SeqCst) == 0).await;
    let mut client = Wire { read, write: client.write };
    client.send(r#"{"jsonrpc":"2.0","id":"h","method":"health"}"#).await;
    client.expect(r#"{"jsonrpc":"2.0","id":"h","result":"well"}"#).await;
}

/// Through a proxy, too, each subscription that is made and dropped is left.
#[tokio::test]
async fn subscriptions_that_come_and_go_are_all_left() {
    const STYLE: SubscriptionStyle = SubscriptionStyle::new("subscribe", "item", "unsubscribe");
    let open = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&open);
    let service = health().subscription(STYLE, move |_, ()| {
        let open = Running::new(&counted);
        async move {
            Ok(stream::unfold((0, open), |(n, open)| async move {
                if n == 3 {
                    std::future::pending::<()>().await;
                }
                Some((n, (n + 1, open)))
            }))
        }
    });
    let peer = connected(service, Router::new()).await;
    for _ in 0..10 {
        let some = try_join_all((0..100).map(|_| peer.subscribe::<u64>(STYLE, ()))).await.unwrap();
        let mut some = some.into_iter();
        // A third reads, a third unsubscribes, the rest is dropped.
        let firsts = some.by_ref().take(33).map(|mut one| async move { one.next().await });
        assert!(join_all(firsts).await.iter().all(|first| *first == Some(Ok(0))));
        let left = some.by_ref().take(33).map(|mut one| async move { one.unsubscribe().await });
        assert!(join_all(left).await.iter().all(|left| *left));
        drop(some);
    }
    until(|| open.load(Ordering::SeqCst) == 0).await;
    assert_eq!(peer.call::<String>("health", ()).await, Ok("well".to_owned()));
}

/// An upstream that answers what was never asked, twice, and with items for nobody.
#[tokio::test]
async fn answers_to_nothing_are_not_passed_on() {
    let (mut client, mut server) = joined();
    client.send(r#"{"jsonrpc":"2.0","id":"a","method":"m"}"#).await;
    server.expect(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#).await;
    for line in [
        r#"{"jsonrpc":"2.0","id":2,"result":"never asked"}"#,
        r#"{"jsonrpc":"2.0","id":"a","result":"the id of the client"}"#,
        r#"{"jsonrpc":"2.0","id":null,"result":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":"right"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":"twice"}"#,
        r#"{"jsonrpc":"2.0","method":"item","params":{"subscription":"nobody's","result":1}}"#,
    ] {
        server.send(line).await;
    }
    client.expect(r#"{"jsonrpc":"2.0","id":"a","result":"right"}"#).await;
    client
        .expect(r#"{"jsonrpc":"2.0","method":"item","params":{"subscription":"nobody's","result":1}}"#)
        .await;
    client.expect_nothing_but(&mut server).await;
}
