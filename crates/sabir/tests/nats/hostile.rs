//! Peers at the same server who mean harm, or know no better.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_nats::{Client, HeaderMap};
use futures_util::{FutureExt, StreamExt};
use sabir::transport::Url;
use sabir::transport::nats::services;
use sabir::{Connections, Router};
use serde_json::Value;

use crate::server::NatsServer;
use crate::service::{COUNT, Worker, WorkerProcess, caller, caller_with, options, router, until};

async fn stranger(server: &NatsServer) -> Client {
    async_nats::connect(format!("127.0.0.1:{}", server.port)).await.unwrap()
}

/// Where the only worker is reached.
async fn instance(server: &NatsServer) -> String {
    let found =
        services(&Url::parse(&server.url("demo")).unwrap(), options(), Duration::from_secs(1)).await.unwrap();
    format!("jr.demo.i.{}", found[0].instances[0].id)
}

fn headers(of: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in of {
        headers.insert(*name, *value);
    }
    headers
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn garbage_does_no_harm() {
    let server = NatsServer::start();
    let url = server.url("demo");
    let worker = Worker::start(&url).await;
    let peer = caller(&url).await;
    assert_eq!(peer.call::<i64>("add", (1, 2)).await, Ok(3));
    let (client, own) = (stranger(&server).await, instance(&server).await);
    let deep = "[".repeat(200_000);
    let payloads: [&[u8]; 8] = [
        b"",
        b"x",
        b"[",
        b"\xff\xfe\0",
        b"null",
        b"[[],1,\"a\"]",
        br#"{"jsonrpc":"2.0","id":1,"result":3}"#,
        deep.as_bytes(),
    ];
    let long = "x".repeat(400_000);
    let odd = [
        headers(&[]),
        headers(&[("Jr-Part", "0/0")]),
        headers(&[("Jr-Part", "1/999999")]),
        headers(&[("Jr-Part", "1/60000")]),
        headers(&[("Jr-Part", "3/2")]),
        headers(&[("Jr-Part", "2/3")]),
        headers(&[("Jr-Part", "-1/ /x")]),
        headers(&[("Jr-Deadline", "-5")]),
        headers(&[("Jr-Deadline", "99999999999999999999999")]),
        headers(&[("Jr-Deadline", "18446744073709551615")]),
        headers(&[("Jr-Status", "closed")]),
        headers(&[("Jr-Status", "gone"), ("Jr-Beat", "0")]),
        headers(&[("Jr-Sticky", "1")]),
        headers(&[("traceparent", &long), ("baggage", &long)]),
    ];
    let subjects =
        ["jr.demo.rpc".to_owned(), format!("{own}.nobody"), format!("{own}.jr-x"), "$SRV.PING".to_owned()];
    // The last two would come back to a worker.
    let replies = ["away.jr-x.1", "away.jr-y.nonsense", "away", "jr.demo.rpc", "$SRV.INFO"];
    for subject in &subjects {
        for payload in payloads {
            for headers in &odd {
                let payload = bytes::Bytes::copy_from_slice(payload);
                client.publish_with_headers(subject.clone(), headers.clone(), payload.clone()).await.unwrap();
                for reply in replies {
                    let sent = client.publish_with_reply_and_headers(
                        subject.clone(),
                        reply,
                        headers.clone(),
                        payload.clone(),
                    );
                    sent.await.unwrap();
                }
            }
        }
    }
    client.flush().await.unwrap();
    until("calls are answered", async || peer.call::<i64>("add", (1, 2)).await == Ok(3)).await;
    assert_eq!(instance(&server).await, own, "it is the same worker");
    worker.stop().await;
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn headers_that_cannot_be_read_cut_nobody_off_for_long() {
    let server = NatsServer::start();
    let url = server.url("demo");
    let _worker = Worker::start(&url).await;
    let peer = caller(&url).await;
    assert_eq!(peer.call::<i64>("add", (1, 2)).await, Ok(3));
    // The server passes on whatever a client says it is.
    let mut raw = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    raw.write_all(b"CONNECT {\"headers\":true,\"verbose\":false}\r\n").unwrap();
    for head in ["NATS/1.0\r\nno colon\r\n\r\n", "HTTP/1.1 200\r\n\r\n", "NATS/1.0 many\r\n\r\n"] {
        raw.write_all(format!("HPUB jr.demo.rpc {0} {0}\r\n{head}\r\n", head.len()).as_bytes()).unwrap();
    }
    raw.write_all(b"PING\r\n").unwrap();
    let mut lines = BufReader::new(raw).lines();
    assert!(lines.any(|line| line.unwrap() == "PONG"), "the server took them");
    until("calls are answered", async || peer.call::<i64>("add", (1, 2)).await == Ok(3)).await;
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn parts_that_never_end_are_forgotten() {
    let server = NatsServer::start();
    let url = server.url("demo");
    let nats = options().accept_within(Duration::from_millis(200));
    let worker = Worker::with(&url, nats, Duration::from_secs(60)).await;
    let client = stranger(&server).await;
    let mut answers = client.subscribe("away.jr-x.*").await.unwrap();
    let part = headers(&[("Jr-Part", "1/2")]);
    let sent = client.publish_with_reply_and_headers("jr.demo.rpc", "away.jr-x.1", part, "[".into());
    sent.await.unwrap();
    let refused = loop {
        let answer = answers.next().await.unwrap();
        if !answer.payload.is_empty() {
            break answer;
        }
    };
    let error: Value = serde_json::from_slice(&refused.payload).unwrap();
    assert_eq!(error["error"]["data"]["reason"], "the rest of a message in parts has not come", "{error}");
    // Nothing of it holds the worker up.
    worker.stop().await;
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_flood_of_notifications_is_survived() {
    let server = NatsServer::start();
    let url = server.url("demo");
    let worker = Worker::start(&url).await;
    let peer = caller(&url).await;
    let client = stranger(&server).await;
    let note = r#"{"jsonrpc":"2.0","method":"note"}"#;
    for _ in 0..50_000 {
        client.publish("jr.demo.rpc", note.into()).await.unwrap();
        client.publish_with_reply("jr.demo.rpc", "away.jr-x.n", note.into()).await.unwrap();
    }
    client.flush().await.unwrap();
    until("calls are answered", async || peer.call::<i64>("add", (1, 2)).await == Ok(3)).await;
    // Those of a session wait for their turn; of the others, some may find no room.
    until("notifications are taken", async || worker.seen.notes.load(Ordering::SeqCst) >= 50_000).await;
    worker.stop().await;
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn each_of_a_burst_of_bare_requests_is_answered_or_refused() {
    const CALLS: usize = 20_000;
    let server = NatsServer::start();
    let worker = Worker::start(&server.url("demo")).await;
    let client = stranger(&server).await;
    let inbox = client.new_inbox();
    let mut answers = client.subscribe(inbox.clone()).await.unwrap();
    let add = r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}"#;
    for _ in 0..CALLS {
        client.publish_with_reply("jr.demo.rpc", inbox.clone(), add.into()).await.unwrap();
    }
    let (mut answered, mut refused) = (0, 0);
    while answered + refused < CALLS {
        let answer = tokio::time::timeout(Duration::from_secs(20), answers.next()).await;
        let Ok(Some(answer)) = answer else { panic!("{answered} answered, {refused} refused, {CALLS} sent") };
        let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
        match answer["error"]["code"].as_i64() {
            None => answered += 1,
            Some(-32009) => refused += 1,
            Some(other) => panic!("{other}"),
        }
    }
    assert!(answered > 0);
    worker.stop().await;
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn sessions_that_nobody_uses_make_room() {
    let server = NatsServer::start();
    let url = server.url("demo");
    let seen = Arc::default();
    let few = Connections { total: 4, ..Connections::default() };
    let listening = sabir::listen(&url, router(&seen)).nats(options()).connections(few).await.unwrap();
    let _worker = Worker::run(listening, seen);
    let client = stranger(&server).await;
    for n in 0..100 {
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}"#;
        client.publish_with_reply("jr.demo.rpc", format!("away.jr-x{n}.1"), call.into()).await.unwrap();
    }
    client.flush().await.unwrap();
    let peer = caller(&url).await;
    until("there is room", async || peer.call::<i64>("add", (1, 2)).await == Ok(3)).await;
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn the_memory_of_a_worker_is_bounded_for_all_of_its_callers() {
    const MIB: usize = 1 << 20;
    let server = NatsServer::start();
    let url = server.url("demo");
    let peer = caller(&url).await;
    let worker = WorkerProcess::limited(&url, 64 * MIB);
    worker.wait(&peer).await;
    let client = stranger(&server).await;
    let idle = worker.peak_memory();
    // A thousand sessions.
    for n in 0..1_000 {
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}"#;
        client.publish_with_reply("jr.demo.rpc", format!("away.jr-x{n}.1"), call.into()).await.unwrap();
    }
    assert_eq!(peer.call::<i64>("add", (1, 2)).await, Ok(3));
    let with_sessions = worker.peak_memory();
    // Of a test program without optimization.
    assert!(with_sessions - idle < 1_000 * 64 * 1024, "{} bytes", with_sessions - idle);
    // Each of them has sent the first of two parts of something large: 500 MB altogether.
    let mut answers = client.subscribe("away.*.2").await.unwrap();
    let first = bytes::Bytes::from(vec![b'a'; 500_000]);
    let (mut taken, mut refused) = (0, 0);
    for n in 0..1_000 {
        let reply = format!("away.jr-x{n}.2");
        let part = headers(&[("Jr-Part", "1/2")]);
        client.publish_with_reply_and_headers("jr.demo.rpc", reply, part, first.clone()).await.unwrap();
        // That it has come, and that there is no room for it.
        match answers.next().await.unwrap().payload.is_empty() {
            true => taken += 1,
            false => refused += 1,
        }
    }
    until("calls are answered", async || peer.call::<i64>("add", (1, 2)).await == Ok(3)).await;
    while let Some(answer) = answers.next().now_or_never() {
        refused += usize::from(!answer.unwrap().payload.is_empty());
    }
    let flooded = worker.peak_memory() - with_sessions;
    assert!(flooded < 100 * MIB, "{flooded} bytes");
    // Those that found room are given up after three seconds, and make room for others.
    assert!(taken >= 60 && refused >= 60, "{taken} taken, {refused} refused");
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_caller_that_vanishes_takes_its_subscription_along() {
    let server = NatsServer::start();
    let url = server.url("demo");
    let worker = Worker::start(&url).await;
    // In a runtime of its own, which ends without a word.
    let gone = url.clone();
    let vanishing = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let peer = caller_with(&gone, options(), Router::new()).await;
            let mut idle = peer.subscribe::<u64>(COUNT, (0,)).await.unwrap();
            assert_eq!(idle.next().await, Some(Ok(0)));
            std::mem::forget((idle, peer));
        });
        runtime.shutdown_background();
    });
    vanishing.await.unwrap();
    until("the subscription has ended", async || worker.seen.streams.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn an_answer_of_no_use_ends_its_call() {
    let server = NatsServer::start();
    let client = stranger(&server).await;
    let mut calls = client.subscribe("jr.demo.rpc").await.unwrap();
    client.flush().await.unwrap();
    let peer = caller(&server.url("demo")).await;
    for answer in ["garbage", "", r#"{"jsonrpc":"2.0","id":"another","result":3}"#, "[]", "\u{0}"] {
        let call = tokio::spawn(peer.call::<i64>("add", (1, 2)).into_future());
        let asked = calls.next().await.unwrap();
        client.publish(asked.reply.unwrap(), answer.into()).await.unwrap();
        let Err(sabir::CallError::Undelivered(reason)) = call.await.unwrap() else { panic!("{answer}") };
        assert_eq!(
            reason.to_string(),
            "the worker has answered, but not this call: it may have run",
            "{answer}"
        );
    }
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_server_may_take_next_to_nothing() {
    let server = NatsServer::configured("max_payload: 2000\n");
    let url = server.url("demo");
    let _worker = Worker::start(&url).await;
    let peer = caller(&url).await;
    let text = "a".repeat(100_000);
    assert!(peer.call::<String>("echo", (&text,)).await == Ok(text));
}
