//! What observers of servers and clients are told of requests.

#![allow(clippy::unwrap_used)]

mod service;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use sabir::{Side, transport};
use sabir_mcp::{McpClient, McpOperation, McpRevision};
use serde_json::json;
use service::Add;

type Seen = Arc<Mutex<Vec<String>>>;

fn keep(seen: &Seen) -> impl Fn(&McpOperation<'_>) + Send + Sync + 'static {
    let seen = Arc::clone(seen);
    move |operation| {
        let McpOperation { side, method, target, revision, error_type, .. } = *operation;
        let side = if side == Side::Ours { "ours" } else { "theirs" };
        let revision = revision.map(|revision| revision.to_string());
        let (target, error) = (target.unwrap_or("-"), error_type.unwrap_or("ok"));
        let shown = format!("{side} {method} {target} {error} {}", revision.as_deref().unwrap_or("-"));
        seen.lock().unwrap().push(shown);
    }
}

#[tokio::test]
async fn each_request_is_told_once_on_either_side() {
    for revision in [McpRevision::V2025_11_25, McpRevision::V2026_07_28] {
        let (at_server, at_client) = (Seen::default(), Seen::default());
        let (ours, theirs) = transport::memory();
        let serving = tokio::spawn(service::server().observe(keep(&at_server)).serve(theirs));
        let client = McpClient::new("tester", "1.0.0").revision(revision).observe(keep(&at_client));
        let server = client.connect(ours).await.unwrap();
        server.call("add", Add { a: 1, b: 2 }).await.unwrap();
        server.call("add", json!({"a": "x"})).await.unwrap();
        server.call("nothing", json!({})).await.unwrap_err();
        server.request("made/up", None).await.unwrap_err();
        server.close(Duration::from_secs(1)).await;
        serving.await.unwrap().unwrap();

        let opening = if revision.is_modern() { "server/discover" } else { "initialize" };
        // A stranger cannot make up names: those that the server does not have are not told.
        let want = [
            format!("theirs {opening} - ok {revision}"),
            format!("theirs tools/call add ok {revision}"),
            format!("theirs tools/call add tool_error {revision}"),
            format!("theirs tools/call - -32602 {revision}"),
            format!("theirs _OTHER - -32601 {revision}"),
        ];
        assert_eq!(*at_server.lock().unwrap(), want);
        let want = [
            format!("ours tools/call add ok {revision}"),
            format!("ours tools/call add tool_error {revision}"),
            format!("ours tools/call nothing -32602 {revision}"),
            format!("ours made/up - -32601 {revision}"),
        ];
        assert_eq!(*at_client.lock().unwrap(), want);
    }
}

#[tokio::test]
async fn a_request_that_is_dropped_was_cancelled() {
    let seen = Seen::default();
    let (ours, theirs) = transport::memory();
    tokio::spawn(service::server().serve(theirs));
    let client = McpClient::new("tester", "1.0.0").observe(keep(&seen));
    let server = client.connect(ours).await.unwrap();
    let mut call = std::future::IntoFuture::into_future(server.call("add", Add { a: 1, b: 2 }));
    assert!(std::future::poll_fn(|cx| std::task::Poll::Ready(call.as_mut().poll(cx))).await.is_pending());
    drop(call);
    let revision = server.revision();
    assert_eq!(*seen.lock().unwrap(), [format!("ours tools/call add cancelled {revision}")]);
}
