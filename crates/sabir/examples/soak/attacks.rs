//! What a hostile client may do. Each holds what it has until it is dropped.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::floods;
use crate::server::Target;

type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

#[derive(Clone, Copy)]
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// MiB that the server may hold: 128 for one connection, more for many.
    pub(crate) bound: usize,
    pub(crate) run: fn(Target) -> Running,
}

macro_rules! attack {
    ($name:literal, $bound:literal, $run:expr) => {
        Attack { name: $name, bound: $bound, run: |target| Box::pin($run(target.plain)) }
    };
    ($name:literal, $bound:literal, sessions: $run:expr) => {
        Attack { name: $name, bound: $bound, run: |target| Box::pin($run(target.sessions)) }
    };
}

pub(crate) const ALL: &[Attack] = &[
    attack!("requests with odd methods and lines as bodies", 128, odd_methods),
    attack!("lines: answers that nobody reads", 128, unread_lines),
    attack!("lines: one line without an end, then deep nesting", 128, giant_lines),
    attack!("lines: batches of 9,975 calls", 128, batches),
    attack!("lines: 400 that send batches of 9,999 numbers", 700, floods::junk_batches),
    attack!("headers: the same", 700, floods::junk_batches_with_headers),
    attack!("WebSocket: the same", 700, floods::junk_batches_by_websocket),
    attack!("HTTP/1.1: the same", 700, floods::junk_batches_by_http),
    attack!(
        "lines: 400 that send batches of 9,999 unknown methods, equal ids, wrong params",
        700,
        floods::refused_batches
    ),
    attack!("lines: 400 that send numbers", 700, floods::junk_lines),
    attack!("lines: calls and their cancels", 128, cancels),
    attack!("lines: 1,500 that call `sleep 1e12` and close", 256, sleepers),
    attack!("1,500 connections that send one byte", 256, silent),
    attack!("500 heads that trickle", 128, slow_heads),
    attack!("HTTP/1.1: sixty bodies of 15 MB that do not end", 700, bodies),
    attack!("HTTP/2: bodies that do not end", 128, http2_bodies),
    attack!("HTTP/2: answers that nobody takes", 128, http2_answers),
    attack!("HTTP/2: requests that are reset", 128, http2_resets),
    attack!("WebSocket: echoes of 15 MB that nobody reads", 128, websocket),
    attack!("HTTP/1.1: pipelined calls that work for 2 ms each", 128, floods::pipelined),
    attack!("HTTP/1.1 with sessions: the same", 128, sessions: floods::pipelined),
    attack!("HTTP/1.1 with sessions: odd methods, bodies that do not end", 700, sessions: web_of_sessions),
    attack!("HTTP/2: pings, settings and continuations", 128, floods::http2_frames),
    attack!("HTTP/2 with sessions: answers that nobody takes", 128, sessions: http2_answers),
    attack!("WebSocket: pings and fragments", 128, floods::websocket_frames),
    attack!("4,096 silent WebSockets", 256, floods::silent_websockets),
    attack!("4,096 lines that call `sleep 1e12` and stay", 256, floods::sleepers_that_stay),
    attack!("2,000 sessions from one address", 256, sessions: sessions),
    attack!("256 streams of a session that nobody reads", 256, sessions: floods::streams),
];

async fn web_of_sessions(address: SocketAddr) {
    tokio::join!(odd_methods(address), bodies(address));
}

pub(crate) async fn dial(address: SocketAddr) -> Option<TcpStream> {
    TcpStream::connect(address).await.ok()
}

/// Sends for as long as the server takes it. Whether it has taken all.
pub(crate) async fn send(stream: &mut TcpStream, bytes: &[u8]) -> bool {
    matches!(timeout(Duration::from_secs(1), stream.write_all(bytes)).await, Ok(Ok(())))
}

/// Holds on to something until the attack is over.
pub(crate) async fn hold<T>(held: T) {
    std::future::pending::<()>().await;
    drop(held);
}

pub(crate) fn call(id: usize, method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":[{params}]}}\n")
}

pub(crate) fn post(headers: &str, body: &str) -> String {
    format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

async fn odd_methods(address: SocketAddr) {
    let line = call(1, "big", "1000000");
    for method in ["FOO", "patch", "QUERY", "Content-Length"].into_iter().cycle().take(2000) {
        let Some(mut stream) = dial(address).await else { return };
        let head = format!("{method} / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 999\r\n\r\n\n");
        send(&mut stream, format!("{head}{line}{line}").as_bytes()).await;
        let mut answer = vec![0; 12];
        let _ = timeout(Duration::from_secs(1), stream.read_exact(&mut answer)).await;
        assert!(answer.starts_with(b"HTTP/1.1 4") || answer.starts_with(b"HTTP/1.1 5") || answer[0] == 0);
    }
}

async fn unread_lines(address: SocketAddr) {
    let Some(mut stream) = dial(address).await else { return };
    let message = call(1, "big", "1000000");
    while send(&mut stream, message.as_bytes()).await {}
    hold(stream).await;
}

async fn giant_lines(address: SocketAddr) {
    let Some(mut stream) = dial(address).await else { return };
    send(&mut stream, b"{\"jsonrpc\":\"2.0\",\"x\":\"").await;
    for _ in 0..64 {
        send(&mut stream, &[b'x'; 1 << 20]).await;
    }
    for bracket in [&b"["[..], b"{\"a\":"] {
        send(&mut stream, b"\n").await;
        send(&mut stream, &bracket.repeat(1 << 20)).await;
    }
    hold(stream).await;
}

async fn batches(address: SocketAddr) {
    let Some(mut stream) = dial(address).await else { return };
    let calls: Vec<String> = (0..9975).map(|id| call(id, "add", "1,2").trim_end().to_owned()).collect();
    let batch = format!("[{}]\n", calls.join(","));
    while send(&mut stream, batch.as_bytes()).await {}
    hold(stream).await;
}

async fn cancels(address: SocketAddr) {
    let Some(mut stream) = dial(address).await else { return };
    let sleeping: String = (0..10_000).map(|id| call(id, "sleep", "4000000000000")).collect();
    send(&mut stream, sleeping.as_bytes()).await;
    let pair = |id: usize| {
        let cancel =
            format!("{{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{{\"id\":{id}}}}}\n");
        call(id, "sleep", "4000000000000") + &cancel
    };
    let (mut read, mut write) = stream.into_split();
    let reading = async {
        let mut answers = vec![0; 1 << 16];
        while read.read(&mut answers).await.is_ok_and(|count| count > 0) {}
    };
    let writing = async {
        for start in (10_000..).step_by(500) {
            let pairs: String = (start..start + 500).map(pair).collect();
            if write.write_all(pairs.as_bytes()).await.is_err() {
                break;
            }
        }
    };
    tokio::join!(reading, writing);
}

async fn sleepers(address: SocketAddr) {
    for _ in 0..1500 {
        let Some(mut stream) = dial(address).await else { return };
        send(&mut stream, call(1, "sleep", "4000000000000").as_bytes()).await;
    }
}

async fn silent(address: SocketAddr) {
    let mut held = Vec::new();
    for number in 0..1500 {
        let Some(mut stream) = dial(address).await else { continue };
        send(&mut stream, [&b"{"[..], b"P", b"\n", b"\x16"][number % 4]).await;
        held.push(stream);
    }
    hold(held).await;
}

async fn slow_heads(address: SocketAddr) {
    let mut held = Vec::new();
    for _ in 0..500 {
        let Some(mut stream) = dial(address).await else { continue };
        send(&mut stream, b"POST / HTTP/1.1\r\nHost: localhost\r\nX: ").await;
        held.push(stream);
    }
    loop {
        for stream in &mut held {
            let _ = stream.write_all(b"x").await;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

async fn bodies(address: SocketAddr) {
    let body = vec![b' '; 15 << 20];
    let mut held = Vec::new();
    for _ in 0..60 {
        let Some(mut stream) = dial(address).await else { continue };
        let head = post("", "").replace("Length: 0", "Length: 15728641");
        send(&mut stream, head.as_bytes()).await;
        send(&mut stream, &body).await;
        held.push(stream);
    }
    hold(held).await;
}

type Body = BoxBody<Bytes, Infallible>;

async fn dial_http2(address: SocketAddr, window: u32) -> Option<http2::SendRequest<Body>> {
    let stream = TokioIo::new(dial(address).await?);
    let mut builder = http2::Builder::new(TokioExecutor::new());
    let (sender, connection) = builder.initial_stream_window_size(window).handshake(stream).await.ok()?;
    tokio::spawn(connection);
    Some(sender)
}

fn request(body: Body) -> Request<Body> {
    Request::post("http://localhost/").header("content-type", "application/json").body(body).unwrap()
}

async fn http2_bodies(address: SocketAddr) {
    let Some(sender) = dial_http2(address, 1 << 20).await else { return };
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..200 {
        let mut sender = sender.clone();
        calls.spawn(async move {
            let piece = |_| Ok::<_, Infallible>(Frame::data(Bytes::from_static(&[b' '; 1 << 16])));
            let pieces = futures_util::stream::iter((0..240).map(piece));
            let body = futures_util::StreamExt::chain(pieces, futures_util::stream::pending());
            let _ = sender.send_request(request(StreamBody::new(body).boxed())).await;
        });
    }
    while calls.join_next().await.is_some() {}
}

async fn http2_answers(address: SocketAddr) {
    let Some(mut sender) = dial_http2(address, 0).await else { return };
    let mut held = Vec::new();
    for id in 0..250 {
        let body = Full::from(call(id, "big", "2700000")).boxed();
        held.push(tokio::spawn(sender.send_request(request(body))));
    }
    hold(held).await;
}

async fn http2_resets(address: SocketAddr) {
    let Some(mut sender) = dial_http2(address, 1 << 16).await else { return };
    for id in 0..20_000 {
        let body = Full::from(call(id, "sleep", "4000000000000")).boxed();
        if sender.ready().await.is_err() {
            return;
        }
        let call = sender.send_request(request(body));
        let _ = timeout(Duration::from_micros(200), call).await;
    }
}

async fn websocket(address: SocketAddr) {
    let Some(mut stream) = dial(address).await else { return };
    let handshake = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    send(&mut stream, handshake.as_bytes()).await;
    let echo = call(1, "echo", &format!("\"{}\"", "x".repeat(15 << 20)));
    let mut frame = vec![0x81, 0xFF];
    frame.extend_from_slice(&(echo.len() as u64).to_be_bytes());
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(echo.as_bytes());
    while send(&mut stream, &frame).await {}
    hold(stream).await;
}

async fn sessions(address: SocketAddr) {
    let Some(mut stream) = dial(address).await else { return };
    let open =
        post("Accept: application/json\r\n", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}");
    for _ in 0..2000 {
        send(&mut stream, open.as_bytes()).await;
        let mut answer = [0; 1024];
        let _ = timeout(Duration::from_secs(1), stream.read(&mut answer)).await;
    }
    hold(stream).await;
}
