//! What clients of others rely on: the order on the wire, and items that come early.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::stream;
use sabir::{Limits, Router, SubscriptionStyle, transport};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

const STYLE: SubscriptionStyle = SubscriptionStyle::new("subscribe", "item", "unsubscribe");

/// What each of these lines is answered with, until `count` messages have come.
async fn exchange(router: Router, limits: Limits, lines: String, count: usize) -> Vec<Value> {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(theirs);
    tokio::spawn(sabir::serve(transport::streams(read, write).limits(limits), router));
    let (read, mut write) = tokio::io::split(ours);
    let writing = tokio::spawn(async move {
        write.write_all(lines.as_bytes()).await.unwrap();
        write
    });
    let mut read = BufReader::new(read).lines();
    let mut messages = Vec::new();
    while messages.len() < count {
        let line = tokio::time::timeout(Duration::from_secs(30), read.next_line()).await;
        let line = line.unwrap_or_else(|_| panic!("{} of {count} came", messages.len()));
        messages.push(serde_json::from_str(&line.unwrap().unwrap()).unwrap());
    }
    drop(writing.await.unwrap());
    messages
}

fn request(id: impl Into<Value>, method: &str, params: impl Into<Value>) -> String {
    let (id, params): (Value, Value) = (id.into(), params.into());
    format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

#[tokio::test]
async fn no_item_comes_before_its_response() {
    const MANY: usize = 10_000;
    let router = Router::new().subscription(STYLE, |_, n: u64| async move { Ok(stream::iter([n, n + 1])) });
    let limits = Limits { subscriptions: MANY, ..Limits::default() };
    let lines = (0..MANY).map(|n| request(json!(n), "subscribe", json!([n]))).collect();
    let messages = exchange(router, limits, lines, 3 * MANY).await;
    let mut open = HashSet::new();
    for message in &messages {
        match message["params"]["subscription"].as_str() {
            Some(id) => assert!(open.contains(id), "an item of {id} before its response"),
            None => assert!(open.insert(message["result"].as_str().unwrap().to_owned()), "{message}"),
        }
    }
    assert_eq!(open.len(), MANY);
}

#[tokio::test]
async fn items_wait_for_the_batch_that_subscribes() {
    let router = Router::new().subscription(STYLE, |_, ()| async { Ok(stream::iter([1])) }).method(
        "later",
        |_, ()| async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            Ok(())
        },
    );
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "subscribe"},
        {"jsonrpc": "2.0", "id": 2, "method": "later"},
    ]);
    let messages = exchange(router, Limits::default(), format!("{batch}\n"), 2).await;
    assert!(messages[0].is_array(), "{messages:?}");
    assert_eq!(messages[1]["method"], "item");
}

#[tokio::test]
async fn keep_alives_of_others_are_answered() {
    let router = Router::new()
        .subscription(STYLE, |_, ()| async { Ok(stream::pending::<u8>()) })
        .method("net_version", |_, ()| async { Ok("1337") });
    let lines = [
        request(json!(1), "subscribe", json!([])),
        request(Value::Null, "net_version", json!([])),
        request(json!("x"), "unsubscribe", json!(["unknown"])),
        request(json!(3), "unsubscribe", json!([])),
    ];
    let messages = exchange(router, Limits::default(), lines.concat(), 4).await;
    assert_eq!(messages[1], json!({"jsonrpc": "2.0", "id": null, "result": "1337"}));
    assert_eq!(messages[2], json!({"jsonrpc": "2.0", "id": "x", "result": false}));
    assert_eq!(messages[3]["error"]["code"], -32602);
}

/// A server by hand, as others are: it sends items before the response, and after the unsubscribe.
#[tokio::test]
async fn early_items_are_kept_and_late_ones_dropped() {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(theirs);
    let strange = Router::new().fallback(|_, method, _| async move { panic!("`{method}` is not routed") });
    let peer = sabir::connect(transport::streams(read, write), strange).await.unwrap();
    let (read, mut write) = tokio::io::split(ours);
    let server = tokio::spawn(async move {
        let mut read = BufReader::new(read).lines();
        let item = |n: u64| {
            let params = json!({"subscription": "0x1", "result": n});
            format!("{}\n", json!({"jsonrpc": "2.0", "method": "item", "params": params}))
        };
        read.next_line().await.unwrap().unwrap();
        let answer = format!("{}\n", json!({"jsonrpc": "2.0", "id": 1, "result": "0x1"}));
        let sent = [item(1), item(2), answer, item(3)].concat();
        write.write_all(sent.as_bytes()).await.unwrap();
        let line: Value = serde_json::from_str(&read.next_line().await.unwrap().unwrap()).unwrap();
        assert_eq!((&line["method"], &line["params"]), (&json!("unsubscribe"), &json!(["0x1"])));
        let answer = format!("{}\n", json!({"jsonrpc": "2.0", "id": line["id"], "result": true}));
        write.write_all([item(4), answer].concat().as_bytes()).await.unwrap();
        (read, write)
    });
    let mut items = peer.subscribe::<u64>(STYLE, ()).await.unwrap();
    for n in 1..=3 {
        assert_eq!(items.next().await, Some(Ok(n)));
    }
    assert!(items.unsubscribe().await);
    assert_eq!(items.next().await, None);
    drop(server.await.unwrap());
}
