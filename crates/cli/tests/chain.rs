//! `sabir demo --chain` over WebSocket, as the clients of chains use it.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
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

    async fn connect(&self) -> Peer {
        sabir::connect(transport::url(self.url.clone()), Router::new()).await.unwrap()
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
    let peer = demo.connect().await;
    let substrate =
        SubscriptionStyle::new("chain_subscribeNewHead", "chain_newHead", "chain_unsubscribeNewHead");
    for (style, member) in [
        (SubscriptionStyle::ethereum("newHeads"), "number"),
        (substrate, "number"),
        (SubscriptionStyle::solana("slot"), "slot"),
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
    let unsubscribe = |id: Value| peer.call::<bool>("eth_unsubscribe", [id]);
    assert_eq!(unsubscribe(json!("0x1")).await, Ok(false));
}

#[tokio::test]
async fn the_calls_of_clients_are_answered() {
    let demo = Demo::start();
    let peer = demo.connect().await;
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

/// Without a session, HTTP has no way to carry items.
#[tokio::test]
async fn a_post_is_told_why_it_cannot_subscribe() {
    let demo = Demo::start();
    let peer = sabir::connect(transport::url(demo.url.replace("ws:", "http:")), Router::new()).await.unwrap();
    let refused = peer.subscribe::<Value>(SubscriptionStyle::ethereum("newHeads"), ()).await.unwrap_err();
    let text = refused.to_string();
    assert!(text.starts_with("-32601: ") && text.contains("stays open"), "{text}");
}
