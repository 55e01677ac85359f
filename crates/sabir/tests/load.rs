//! Many connections, many calls, and clients that do not read, against a server process of which the memory is
//! looked at.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod fixture;

use std::collections::HashSet;
use std::time::Duration;

use fixture::{LONG, Listening, listening};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// KiB that a server may use at the very most.
const MOST_MEMORY: usize = 64 * 1024;

async fn dial(server: &Listening) -> TcpStream {
    TcpStream::connect(&server.url[6..]).await.unwrap()
}

fn call(id: impl std::fmt::Display, method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":[{params}]}}\n")
}

/// Reads one answer for each id, all of which end in the same way.
async fn answers(stream: TcpStream, ids: std::ops::Range<usize>, rest: &str) {
    let mut lines = BufReader::new(stream).lines();
    let mut open: HashSet<usize> = ids.collect();
    while !open.is_empty() {
        let line = timeout(LONG, lines.next_line()).await.expect("an answer is missing").unwrap().unwrap();
        let (id, end) = line.strip_prefix(r#"{"jsonrpc":"2.0","id":"#).unwrap().split_once(',').unwrap();
        assert!(open.remove(&id.parse().unwrap()), "twice: {line}");
        assert!(end.starts_with(rest), "{line}");
    }
}

#[tokio::test]
async fn a_client_that_never_reads_costs_little() {
    let server = listening("tcp://127.0.0.1:0");
    let echo = format!("\"{}\"", "x".repeat(100_000));
    for message in [call(1, "big", "1000000"), call(1, "echo", &echo)] {
        let mut client = dial(&server).await;
        let mut sent = 0;
        // Until the server takes no more.
        while sent < 32 << 20
            && timeout(Duration::from_millis(300), client.write_all(message.as_bytes())).await.is_ok()
        {
            sent += message.len();
        }
        let mut honest = dial(&server).await;
        honest.write_all(call(7, "add", "1,2").as_bytes()).await.unwrap();
        answers(honest, 7..8, r#""result":3}"#).await;
        let memory = server.memory("VmHWM");
        assert!(memory < MOST_MEMORY, "{memory} KiB after {sent} bytes");
    }
}

#[tokio::test]
async fn ten_thousand_sleeping_calls_are_cancelled_at_once() {
    const CALLS: usize = 10_000;
    let server = listening("tcp://127.0.0.1:0");
    let mut client = dial(&server).await;
    let sleep: String = (0..CALLS).map(|id| call(id, "sleep", "600000")).collect();
    client.write_all(sleep.as_bytes()).await.unwrap();
    let cancel =
        |id| format!("{{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{{\"id\":{id}}}}}\n");
    let cancels: String = (0..CALLS).map(cancel).collect();
    client.write_all(cancels.as_bytes()).await.unwrap();
    answers(client, 0..CALLS, r#""error":{"code":-32800"#).await;
    let memory = server.memory("VmHWM");
    assert!(memory < MOST_MEMORY, "{memory} KiB");
}

/// As many descriptors as allowed.
fn most_connections(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let more = Rlimit { current: limit.maximum, ..limit };
    let _ = setrlimit(Resource::Nofile, more);
    let allowed = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    wanted.min(usize::try_from(allowed).unwrap_or(usize::MAX).saturating_sub(100))
}

#[tokio::test]
async fn no_answer_is_lost_on_a_thousand_connections() {
    const CALLS: usize = 20;
    let count = most_connections(1000);
    let server = listening("tcp://127.0.0.1:0");
    let before = server.memory("VmRSS");
    let mut clients = Vec::new();
    for _ in 0..count {
        let mut client = dial(&server).await;
        client.write_all(call(0, "add", "1,2").as_bytes()).await.unwrap();
        client.readable().await.unwrap();
        clients.push(client);
    }
    let idle = (server.memory("VmRSS") - before) * 1024 / count;
    eprintln!("{count} connections of {idle} bytes each");
    let calls: String = (1..=CALLS).map(|id| call(id, "add", "1,2")).collect();
    let clients: Vec<_> = clients
        .into_iter()
        .map(|mut client| {
            let calls = calls.clone();
            tokio::spawn(async move {
                client.write_all(calls.as_bytes()).await.unwrap();
                answers(client, 0..CALLS + 1, r#""result":3}"#).await;
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    let memory = server.memory("VmHWM");
    assert!(memory < MOST_MEMORY, "{memory} KiB");
}
