//! A client that listens for changes and never reads: what the server keeps for it is bounded, and calls are answered.

#![allow(clippy::unwrap_used)]

mod raw;

use std::time::Duration;

use raw::modern;
use sabir::{Router, SubscriptionEnd, SubscriptionStyle, Transport, transport};
use sabir_mcp::{Catalog, McpServer};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

/// Far more than anything here takes.
const LONG: Duration = Duration::from_secs(30);

/// Changes of a resource with a long name: 80 MB of notifications.
const CHANGES: usize = 10_000;
const NAME_BYTES: usize = 8 << 10;

/// More than is kept for anybody.
const MUCH: usize = 32 << 20;

fn uri() -> String {
    format!("file:///{}", "x".repeat(NAME_BYTES))
}

fn server() -> McpServer {
    McpServer::new("changing", "1.0.0")
        .tool("add", |_, ()| async { Ok(1) })
        .resource("file:///a", |_| async { Ok("a") })
}

fn request(id: u64, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": modern(params, json!({}))}).to_string()
}

fn listen() -> String {
    let wanted = json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": [uri()]}});
    request(1, "subscriptions/listen", wanted)
}

/// Each is told by itself, as long as the client reads.
async fn churn(catalog: &Catalog) {
    for _ in 0..CHANGES {
        catalog.resource_changed(uri());
        tokio::task::yield_now().await;
    }
}

/// Reads until this has come, and counts the bytes.
async fn read_until(from: &mut (impl AsyncRead + Unpin), end: &str) -> usize {
    let (mut seen, mut part, mut count) = (Vec::new(), vec![0; 1 << 16], 0);
    while !String::from_utf8_lossy(&seen).contains(end) {
        let kept = seen.len().min(end.len());
        seen.drain(..seen.len() - kept);
        let read = timeout(LONG, from.read(&mut part)).await.unwrap_or_else(|_| panic!("no {end}")).unwrap();
        assert!(read > 0, "the end, and no {end}");
        seen.extend_from_slice(&part[..read]);
        count += read;
    }
    count
}

#[tokio::test]
async fn on_lines() {
    let server = server();
    let catalog = server.catalog().clone();
    let router = server.into_router();
    let open = || {
        let (near, far) = tokio::io::duplex(4096);
        let (read, write) = tokio::io::split(far);
        let transport = transport::streams(read, write).dialect(sabir::MCP);
        tokio::spawn(sabir::serve(transport, router.clone()));
        near
    };
    let (mut deaf, mut other, hears) = (open(), open(), open());
    let (mut hears, mut says) = tokio::io::split(hears);
    deaf.write_all(format!("{}\n", listen()).as_bytes()).await.unwrap();
    read_until(&mut deaf, "subscriptions/acknowledged").await;
    says.write_all(format!("{}\n", listen()).as_bytes()).await.unwrap();
    let heard = tokio::spawn(async move { read_until(&mut hears, "\"id\":2,\"result\"").await });
    churn(&catalog).await;
    let list = format!("{}\n", request(2, "tools/list", json!({})));
    other.write_all(list.as_bytes()).await.unwrap();
    read_until(&mut other, "\"id\":2,\"result\"").await;
    says.write_all(list.as_bytes()).await.unwrap();
    let heard = heard.await.unwrap();
    assert!(heard > MUCH, "one that reads has heard {heard} bytes");
    // The call of the client itself is answered, behind what waits for it.
    timeout(LONG, deaf.write_all(list.as_bytes())).await.expect("it is not read").unwrap();
    let held = read_until(&mut deaf, "\"id\":2,\"result\"").await;
    assert!((NAME_BYTES..4 << 20).contains(&held), "{held} bytes were kept");
}

#[cfg(feature = "http")]
async fn post(stream: &mut tokio::net::TcpStream, method: &str, body: &str) {
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nMcp-Method: {method}\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes()).await.unwrap();
}

#[cfg(feature = "http")]
#[tokio::test]
async fn over_http() {
    use tokio::net::TcpStream;

    let server = server();
    let catalog = server.catalog().clone();
    let server = server.listen("http://127.0.0.1:0/mcp").await.unwrap();
    let address = server.url().strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap().to_owned();
    tokio::spawn(server.run());
    let mut deaf = TcpStream::connect(&address).await.unwrap();
    post(&mut deaf, "subscriptions/listen", &listen()).await;
    read_until(&mut deaf, "subscriptions/acknowledged").await;
    let mut hears = TcpStream::connect(&address).await.unwrap();
    post(&mut hears, "subscriptions/listen", &listen()).await;
    let heard = tokio::spawn(async move { read_until(&mut hears, "notifications/tools/list_changed").await });
    churn(&catalog).await;
    let mut other = TcpStream::connect(&address).await.unwrap();
    post(&mut other, "tools/list", &request(2, "tools/list", json!({}))).await;
    read_until(&mut other, "\"id\":2,\"result\"").await;
    // What was kept comes before this change; the kernel has kept some of it.
    catalog.add_tool("new", |_, ()| async { Ok(2) });
    let heard = heard.await.unwrap();
    assert!(heard > MUCH, "one that reads has heard {heard} bytes");
    let held = read_until(&mut deaf, "notifications/tools/list_changed").await;
    assert!((NAME_BYTES..24 << 20).contains(&held), "{held} bytes were kept");
}

/// Listens as any subscriber of the library does.
async fn follow(transport: Transport, catalog: &Catalog, name: &str) {
    let peer = sabir::connect(transport, Router::new()).await.unwrap();
    let wanted = json!({"toolsListChanged": true});
    let params = modern(json!({"notifications": wanted}), json!({}));
    let mut changes = peer.subscribe::<Value>(SubscriptionStyle::mcp_listen(), &params).await.unwrap();
    let id: Value = serde_json::from_str(changes.id().text()).unwrap();
    for (method, told) in [
        ("notifications/subscriptions/acknowledged", &wanted),
        ("notifications/tools/list_changed", &Value::Null),
    ] {
        let change = timeout(LONG, changes.next()).await.expect(method).unwrap().unwrap();
        assert_eq!(change["method"], method);
        assert_eq!(change["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id, "{change}");
        assert_eq!(&change["params"]["notifications"], told, "{change}");
        catalog.add_tool(name, |_, ()| async { Ok(2) });
    }
    assert!(changes.unsubscribe().await);
    assert_eq!(changes.end(), Some(SubscriptionEnd::Unsubscribed));
}

#[tokio::test]
async fn a_subscription_of_the_library_follows_it() {
    let server = server();
    let catalog = server.catalog().clone();
    let (near, far) = transport::memory();
    tokio::spawn(sabir::serve(far.dialect(sabir::MCP), server.into_router()));
    follow(near.dialect(sabir::MCP), &catalog, "lines").await;
}

#[cfg(feature = "http")]
#[tokio::test]
async fn a_subscription_of_the_library_follows_it_over_http() {
    let server = server();
    let catalog = server.catalog().clone();
    let server = server.listen("http://127.0.0.1:0/mcp").await.unwrap();
    let url = server.url().to_string();
    tokio::spawn(server.run());
    let transport = transport::url(url).await.unwrap().dialect(sabir::MCP);
    let transport =
        transport.header("MCP-Protocol-Version", "2026-07-28").header("Mcp-Method", "subscriptions/listen");
    follow(transport, &catalog, "http").await;
}
