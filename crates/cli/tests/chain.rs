//! `sabir demo --chain` over WebSocket and HTTP, as the clients of chains use it.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sabir::{Peer, Router, Subscription, SubscriptionEnd, SubscriptionStyle, transport};
use serde_json::{Value, json};

struct Demo {
    process: Child,
    url: String,
}

impl Demo {
    /// The demo on a port of its own, which it names on standard error.
    fn start() -> Demo {
        let mut process = Command::new(env!("CARGO_BIN_EXE_sabir"))
            .args(["demo", "--chain", "--listen", "ws://127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim_end().rsplit(' ').next().unwrap().to_owned();
        Demo { process, url }
    }

    async fn connect(&self, scheme: &str) -> Peer {
        let url = self.url.replace("ws:", scheme);
        sabir::connect(transport::url(url), Router::new()).await.unwrap()
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

async fn next(items: &mut Subscription<Value>) -> Value {
    let item = tokio::time::timeout(Duration::from_secs(20), items.next()).await;
    item.expect("no head comes").expect("it has ended").unwrap()
}

fn number(head: &Value, member: &str) -> u64 {
    match &head[member] {
        Value::String(text) => u64::from_str_radix(text.strip_prefix("0x").unwrap(), 16).unwrap(),
        other => other.as_u64().unwrap_or_else(|| panic!("`{member}` of {head}")),
    }
}

#[tokio::test]
async fn heads_are_followed_in_each_style() {
    let demo = Demo::start();
    let (websocket, http) = (demo.connect("ws:").await, demo.connect("http:").await);
    let substrate =
        SubscriptionStyle::new("chain_subscribeNewHead", "chain_newHead", "chain_unsubscribeNewHead");
    for (peer, style, member) in [
        (&websocket, SubscriptionStyle::ethereum("newHeads"), "number"),
        (&websocket, substrate.clone(), "number"),
        (&websocket, SubscriptionStyle::solana("slot"), "slot"),
        (&http, SubscriptionStyle::ethereum("newHeads"), "number"),
        (&http, substrate, "number"),
        (&http, SubscriptionStyle::solana("slot"), "slot"),
    ] {
        let mut heads = peer.subscribe::<Value>(style, json!([])).await.unwrap();
        let (first, second) = (next(&mut heads).await, next(&mut heads).await);
        assert_eq!(number(&first, member) + 1, number(&second, member));
        if first["hash"].is_string() {
            assert_eq!(first["hash"], second["parentHash"]);
        }
        assert!(heads.unsubscribe().await);
        assert_eq!(heads.end(), Some(SubscriptionEnd::Unsubscribed));
    }
    let unsubscribe = |id: Value| websocket.call::<bool>("eth_unsubscribe", [id]);
    assert_eq!(unsubscribe(json!("0x1")).await, Ok(false));
}

#[tokio::test]
async fn the_calls_of_clients_are_answered() {
    let demo = Demo::start();
    let peer = demo.connect("ws:").await;
    for (method, params, result) in [
        ("eth_chainId", json!([]), json!("0x539")),
        ("net_version", json!(null), json!("1337")),
        ("eth_accounts", json!([]), json!([])),
        ("eth_getBlockByNumber", json!(["0xffffffffff", false]), json!(null)),
        ("add", json!([1, 2]), json!(3)),
    ] {
        assert_eq!(peer.call::<Value>(method, params).await, Ok(result), "{method}");
    }
    let head: String = peer.call("eth_blockNumber", ()).await.unwrap();
    let block: Value = peer.call("eth_getBlockByNumber", (&head, false)).await.unwrap();
    assert_eq!(block["number"], json!(head));
    for member in
        ["hash", "parentHash", "timestamp", "transactions", "gasLimit", "baseFeePerGas", "logsBloom"]
    {
        assert!(!block[member].is_null(), "`{member}` of {block}");
    }
    assert!(peer.call::<String>("web3_clientVersion", ()).await.unwrap().starts_with("Sabir/"));
    // What keeps some connections alive is not answered, and does no harm.
    peer.notify("ping", ()).await.unwrap();
    assert_eq!(peer.call::<i64>("add", (1, 2)).await, Ok(3));
}

/// A POST that takes no stream has no way for items.
#[test]
fn a_post_is_told_why_it_cannot_subscribe() {
    let demo = Demo::start();
    let address = demo.url.strip_prefix("ws://").unwrap().trim_end_matches('/');
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}"#;
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(
        stream,
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("-32601") && answer.contains("stays open"), "{answer}");
}

#[test]
fn the_program_follows_it_over_http() {
    let demo = Demo::start();
    let url = demo.url.replace("ws:", "http:");
    for words in
        [["eth_subscribe", "newHeads"].as_slice(), &["slotSubscribe"], &["subscribe_ticks", "n:=3", "ms:=1"]]
    {
        let run = Command::new(env!("CARGO_BIN_EXE_sabir"))
            .args(["subscribe", &url, "--count", "2", "--wait", "20s"])
            .args(words)
            .output()
            .unwrap();
        let (printed, told) =
            (String::from_utf8(run.stdout).unwrap(), String::from_utf8(run.stderr).unwrap());
        assert_eq!(run.status.code(), Some(0), "{words:?}: {told}");
        if words[0] == "subscribe_ticks" {
            assert_eq!(printed, "0\n1\n");
        }
    }
}
