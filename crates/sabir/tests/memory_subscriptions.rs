//! What a client that subscribes and never reads can make a server hold, in every protocol that carries subscriptions:
//! measured from outside. While items wait, the calls of others and its own are answered.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod fixture;

use std::time::Duration;

use fixture::{LONG, Listening, listening};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// KiB that one connection may make a server hold.
const MOST: usize = 128 * 1024;

/// KiB by which it may still grow once it has filled its buffers.
const FLAT: usize = 16 * 1024;

/// As many as a connection may have. Streams that are not held up make all their items: of these, fewer are enough.
fn subscriptions(policy: &str, bytes: usize) -> usize {
    if policy == "wait" || bytes < 10_000 { 1024 } else { 48 }
}

async fn dial(server: &Listening) -> TcpStream {
    TcpStream::connect(server.url.split_once("://").unwrap().1).await.unwrap()
}

fn request(id: usize, method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":[{params}]}}")
}

/// A message of WebSocket in one frame, without a mask to speak of.
fn frame(text: &str) -> Vec<u8> {
    let mut frame = vec![0x81, 0x80 | 126];
    frame.extend_from_slice(&(text.len() as u16).to_be_bytes());
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(text.as_bytes());
    frame
}

fn post(headers: &str, body: &str) -> String {
    format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Sends a request on a connection of its own or on one that is kept, and gives back what is answered until `end`.
async fn ask(stream: &mut TcpStream, request: &str, end: &str) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !String::from_utf8_lossy(&answer).contains(end) {
        let mut part = [0; 4096];
        let count = timeout(LONG, stream.read(&mut part)).await.expect("it waits").unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&part[..count]);
    }
    String::from_utf8(answer).unwrap()
}

/// Calls, and reads until the answer. Items have waited in front of it.
async fn call_behind_items(client: &mut TcpStream, request: &[u8], what: &str) {
    timeout(LONG, client.write_all(request)).await.unwrap().unwrap();
    let (answer, item) = (&b"\"id\":5000,\"result\":5}"[..], &b"\"method\":\"flood\""[..]);
    let (mut seen, mut part, mut items) = (Vec::new(), vec![0; 1 << 20], false);
    loop {
        let has = |what: &[u8]| memchr::memmem::find(&seen, what);
        items |= has(item).is_some_and(|at| has(answer).is_none_or(|answer| at < answer));
        if has(answer).is_some() {
            break;
        }
        let kept = seen.len().min(answer.len().max(item.len()));
        seen.drain(..seen.len() - kept);
        let count = timeout(LONG, client.read(&mut part)).await.expect("an answer").unwrap();
        assert!(count > 0, "{what}: the connection has ended");
        seen.extend_from_slice(&part[..count]);
    }
    assert!(items, "{what}: nothing waited");
}

/// An honest client is served, and the server holds little and no more than a second before.
async fn assert_flat(server: &Listening, what: &str) {
    sleep(Duration::from_millis(2500)).await;
    let before = server.memory("VmRSS");
    sleep(Duration::from_millis(1000)).await;
    let mut honest = dial(server).await;
    ask(&mut honest, &post("", &request(7, "echo", "3")), "\"id\":7,\"result\":[3]}").await;
    let (after, most) = (server.memory("VmRSS"), server.memory("VmHWM"));
    eprintln!("{what}: {} MiB, then {} MiB, {} MiB at the most", before / 1024, after / 1024, most / 1024);
    assert!(most < MOST, "{what}: {} MiB", most / 1024);
    assert!(after < before + FLAT, "{what}: from {} MiB to {} MiB", before / 1024, after / 1024);
}

/// Items that are small, and items of which a few are all that may wait.
const SIZES: [usize; 2] = [1000, 1 << 20];
const POLICIES: [&str; 4] = ["wait", "drop", "latest", "close"];

#[tokio::test]
async fn lines() {
    for (policy, bytes) in POLICIES.iter().flat_map(|policy| SIZES.map(|bytes| (policy, bytes))) {
        let server = listening("tcp://127.0.0.1:0");
        let mut client = dial(&server).await;
        for id in 0..subscriptions(policy, bytes) {
            let line = format!("{}\n", request(id, &format!("flood_{policy}"), &bytes.to_string()));
            timeout(LONG, client.write_all(line.as_bytes())).await.unwrap().unwrap();
        }
        let what = format!("lines, {policy}, items of {bytes}");
        assert_flat(&server, &what).await;
        let call = format!("{}\n", request(5000, "add", "2,3"));
        call_behind_items(&mut client, call.as_bytes(), &what).await;
    }
}

#[tokio::test]
async fn websocket() {
    for (policy, bytes) in POLICIES.iter().flat_map(|policy| SIZES.map(|bytes| (policy, bytes))) {
        let server = listening("tcp://127.0.0.1:0");
        let mut client = dial(&server).await;
        let upgrade = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
            Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        ask(&mut client, upgrade, "\r\n\r\n").await;
        for id in 0..subscriptions(policy, bytes) {
            let frame = frame(&request(id, &format!("flood_{policy}"), &bytes.to_string()));
            timeout(LONG, client.write_all(&frame)).await.unwrap().unwrap();
        }
        let what = format!("WebSocket, {policy}, items of {bytes}");
        assert_flat(&server, &what).await;
        call_behind_items(&mut client, &frame(&request(5000, "add", "2,3")), &what).await;
    }
}

/// With a stream for the items that is not read, and without one: what a session keeps for one that may come.
#[tokio::test]
async fn sessions() {
    for (policy, bytes) in POLICIES.iter().flat_map(|policy| SIZES.map(|bytes| (policy, bytes))) {
        for listens in [true, false] {
            let server = listening("session+tcp://127.0.0.1:0");
            let mut client = dial(&server).await;
            let opened = ask(&mut client, &post("", &request(0, "echo", "")), "\"result\"").await;
            let opened = opened.to_lowercase();
            let id = opened.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
            let session = format!("Mcp-Session-Id: {id}\r\n");
            let _stream = if listens {
                let mut stream = dial(&server).await;
                let get = format!(
                    "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{session}\r\n"
                );
                stream.write_all(get.as_bytes()).await.unwrap();
                Some(stream)
            } else {
                None
            };
            for id in 1..=subscriptions(policy, bytes).min(100) {
                let body = request(id, &format!("flood_{policy}"), &bytes.to_string());
                let end = format!("\"id\":{id},");
                let answer = ask(&mut client, &post(&session, &body), &end).await;
                assert!(answer.contains("200 OK"), "{answer}");
            }
            let what = format!("a session, {policy}, items of {bytes}, a stream: {listens}");
            assert_flat(&server, &what).await;
            let call = post(&session, &request(5000, "add", "2,3"));
            ask(&mut client, &call, "\"id\":5000,\"result\":5}").await;
        }
    }
}
