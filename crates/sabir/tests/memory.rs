//! What one connection can make a server hold, in every protocol: less than 128 MiB, measured from outside.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod fixture;

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use fixture::{LONG, Listening, listening};
use http::{Request, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// KiB that one connection may make a server hold.
const MOST: usize = 128 * 1024;

/// The most that one body may have.
const BODY: usize = 15 << 20;

/// Long enough for what is sent to be dealt with.
const SETTLED: Duration = Duration::from_millis(500);

fn address(server: &Listening) -> &str {
    server.url.split_once("://").unwrap().1
}

async fn dial(server: &Listening) -> TcpStream {
    TcpStream::connect(address(server)).await.unwrap()
}

fn call(id: usize, method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":[{params}]}}")
}

/// Sends for as long as the server takes it, but not for ever.
async fn send(stream: &mut TcpStream, bytes: &[u8]) -> bool {
    matches!(timeout(SETTLED, stream.write_all(bytes)).await, Ok(Ok(())))
}

/// The server has held less than a connection may, and serves others.
async fn assert_bounded(server: &Listening, what: &str) {
    let mut honest = dial(server).await;
    let body = call(7, "add", "1,2");
    let length = body.len();
    let post = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    );
    honest.write_all(post.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(LONG, honest.read_to_string(&mut answer)).await.expect("an honest client waits").unwrap();
    assert!(answer.ends_with("\"id\":7,\"result\":3}"), "{what}: {answer}");
    let most = server.memory("VmHWM");
    eprintln!("{what}: {} MiB", most / 1024);
    assert!(most < MOST, "{what}: {} MiB", most / 1024);
}

/// A call that is never answered, and wants progress by a token of this many bytes.
fn held_with_token(bytes: usize) -> String {
    let token = "t".repeat(bytes);
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"hold","params":{{"_meta":{{"progressToken":"{token}"}}}}}}"#
    )
}

const SLEEP: &str = "4000000000000";

#[tokio::test]
async fn lines() {
    let echo = format!("\"{}\"", "x".repeat(1 << 20));
    for (what, message) in [
        ("large answers that nobody reads", call(1, "big", "1000000")),
        ("large echoes that nobody reads", call(1, "echo", &echo)),
        (
            "calls that sleep, with large params",
            call(1, "sleep", SLEEP).replace(SLEEP, &format!("{SLEEP},{echo}")),
        ),
        ("many calls that sleep", call(1, "sleep", SLEEP)),
        ("calls with short progress tokens", held_with_token(900)),
        ("calls with long progress tokens", held_with_token(100_000)),
    ] {
        let server = listening("tcp://127.0.0.1:0");
        let mut client = dial(&server).await;
        let mut sent = 0;
        for id in 0..100_000 {
            let message = message.replacen("\"id\":1", &format!("\"id\":{id}"), 1);
            sent += message.len();
            if sent > 200 << 20 || !send(&mut client, format!("{message}\n").as_bytes()).await {
                break;
            }
        }
        assert_bounded(&server, &format!("lines: {what}")).await;
    }
}

#[tokio::test]
async fn headers() {
    let server = listening("tcp://127.0.0.1:0");
    let mut client = dial(&server).await;
    let echo = call(1, "echo", &format!("\"{}\"", "x".repeat(BODY)));
    for _ in 0..10 {
        let message = format!("Content-Length: {}\r\n\r\n{echo}", echo.len());
        if !send(&mut client, message.as_bytes()).await {
            break;
        }
    }
    assert_bounded(&server, "headers: large echoes that nobody reads").await;
}

#[tokio::test]
async fn http1() {
    let server = listening("tcp://127.0.0.1:0");
    let mut client = dial(&server).await;
    let echo = call(1, "echo", &format!("\"{}\"", "x".repeat(BODY)));
    let post = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{echo}",
        echo.len()
    );
    for _ in 0..10 {
        if !send(&mut client, post.as_bytes()).await {
            break;
        }
    }
    assert_bounded(&server, "HTTP/1.1: large echoes that nobody reads").await;
    let server = listening("tcp://127.0.0.1:0");
    let mut client = dial(&server).await;
    let chunked = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
        Transfer-Encoding: chunked\r\n\r\n";
    client.write_all(format!("{chunked}{BODY:x}\r\n").as_bytes()).await.unwrap();
    send(&mut client, echo.as_bytes()).await;
    assert_bounded(&server, "HTTP/1.1: a body in chunks that does not end").await;
}

/// Forty bodies on forty connections are within what the server as a whole may hold.
#[tokio::test]
async fn many_connections() {
    const TOTAL: usize = 700 * 1024;
    let server = listening("tcp://127.0.0.1:0");
    let body = "x".repeat(BODY);
    let mut clients = Vec::new();
    let mut refused = 0;
    for _ in 0..60 {
        let mut client = dial(&server).await;
        let head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
        client.write_all(format!("{head}Content-Length: {}\r\n\r\n", BODY + 1).as_bytes()).await.unwrap();
        send(&mut client, body.as_bytes()).await;
        let mut start = [0; 12];
        if let Ok(Ok(_)) = timeout(Duration::from_millis(20), client.read_exact(&mut start)).await {
            assert_eq!(&start, b"HTTP/1.1 503");
            refused += 1;
        }
        clients.push(client);
    }
    assert!(refused >= 20, "{refused} of 60 were refused");
    let most = server.memory("VmHWM");
    eprintln!("sixty connections: {} MiB, {refused} refused", most / 1024);
    assert!(most < TOTAL, "{} MiB", most / 1024);
    // Those who need little are served.
    let mut honest = dial(&server).await;
    honest.write_all(format!("{}\n", call(7, "add", "1,2")).as_bytes()).await.unwrap();
    let mut answer = [0; 35];
    timeout(LONG, honest.read_exact(&mut answer)).await.unwrap().unwrap();
    assert_eq!(&answer, br#"{"jsonrpc":"2.0","id":7,"result":3}"#);
}

type Body = BoxBody<Bytes, Infallible>;

fn post(body: Body) -> Request<Body> {
    Request::post("http://localhost/").header(header::CONTENT_TYPE, "application/json").body(body).unwrap()
}

async fn dial_http2(server: &Listening, window: u32) -> http2::SendRequest<Body> {
    let stream = TokioIo::new(dial(server).await);
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(window)
        .max_concurrent_reset_streams(1000)
        .handshake(stream)
        .await
        .unwrap();
    tokio::spawn(connection);
    sender
}

#[tokio::test]
async fn http2_bodies_that_do_not_end() {
    let server = listening("tcp://127.0.0.1:0");
    let sender = dial_http2(&server, 1 << 20).await;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..60 {
        let mut sender = sender.clone();
        calls.spawn(async move {
            let pieces = futures_util::stream::iter(
                (0..BODY >> 16)
                    .map(|_| Ok::<_, Infallible>(Frame::data(Bytes::from_static(&[b' '; 1 << 16])))),
            );
            let never = futures_util::stream::pending();
            let body = StreamBody::new(futures_util::StreamExt::chain(pieces, never)).boxed();
            sender.send_request(post(body)).await.map(|response| response.status())
        });
    }
    let mut refused = 0;
    let _ = timeout(Duration::from_secs(5), async {
        while let Some(ended) = calls.join_next().await {
            refused += usize::from(matches!(ended.unwrap(), Ok(StatusCode::SERVICE_UNAVAILABLE)));
        }
    })
    .await;
    assert!(refused > 0, "none was refused");
    assert_bounded(&server, "HTTP/2: bodies that do not end").await;
}

#[tokio::test]
async fn http2_answers_that_nobody_takes() {
    for window in [0, 1] {
        let server = listening("tcp://127.0.0.1:0");
        let sender = dial_http2(&server, window).await;
        let mut calls = tokio::task::JoinSet::new();
        // Together they are well over what one connection may hold.
        for id in 0..60 {
            let mut sender = sender.clone();
            calls.spawn(async move {
                let body = Full::from(call(id, "big", "2700000")).boxed();
                sender.send_request(post(body)).await
            });
        }
        let mut answers = Vec::new();
        let _ = timeout(Duration::from_secs(5), async {
            while let Some(answer) = calls.join_next().await {
                answers.push(answer);
            }
        })
        .await;
        assert_bounded(&server, &format!("HTTP/2: answers that nobody takes, window {window}")).await;
    }
}

#[tokio::test]
async fn websocket() {
    let handshake = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let frame = |first: u8, text: &str| {
        let mut frame = vec![first, 0x80 | 127];
        frame.extend_from_slice(&(text.len() as u64).to_be_bytes());
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(text.as_bytes());
        frame
    };
    let echo = call(1, "echo", &format!("\"{}\"", "x".repeat(BODY)));
    for (what, message) in [
        ("large echoes that nobody reads", frame(0x81, &echo)),
        ("parts of a message", frame(0x01, &echo[..1 << 20])),
        ("large answers that nobody reads", frame(0x81, &call(1, "big", "5000000"))),
    ] {
        let server = listening("tcp://127.0.0.1:0");
        let mut client = dial(&server).await;
        client.write_all(handshake.as_bytes()).await.unwrap();
        for _ in 0..40 {
            if !send(&mut client, &message).await {
                break;
            }
        }
        assert_bounded(&server, &format!("WebSocket: {what}")).await;
    }
}

/// Streams of one session, none of which is read.
#[tokio::test]
async fn a_session() {
    let server = listening("session+tcp://127.0.0.1:0");
    let head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
        Accept: application/json, text/event-stream\r\n";
    let post =
        |headers: &str, body: &str| format!("{head}{headers}Content-Length: {}\r\n\r\n{body}", body.len());
    let mut client = dial(&server).await;
    client.write_all(post("", &call(0, "echo", "")).as_bytes()).await.unwrap();
    let mut answer = vec![0; 4096];
    let count = timeout(LONG, client.read(&mut answer)).await.unwrap().unwrap();
    let answer = String::from_utf8_lossy(&answer[..count]).to_lowercase();
    let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let session = format!("Mcp-Session-Id: {id}\r\n");
    let mut clients = Vec::new();
    for id in 1..200 {
        let mut client = dial(&server).await;
        client.write_all(post(&session, &call(id, "big", "2700000")).as_bytes()).await.unwrap();
        clients.push(client);
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let most = server.memory("VmHWM");
    eprintln!("a session: {} MiB", most / 1024);
    // What is on its way on two hundred connections is beside what the session holds.
    assert!(most < 4 * MOST, "{} MiB", most / 1024);
}

/// Small batches whose answers are large, from many connections that read nothing, are within what the server as a whole
/// may hold.
#[tokio::test]
async fn batches_whose_answers_are_large() {
    const TOTAL: usize = 700 * 1024;
    const ENTRIES: usize = 9999;
    let batch = |entry: &dyn Fn(usize) -> String| {
        let entries: Vec<String> = (0..ENTRIES).map(entry).collect();
        format!("[{}]", entries.join(","))
    };
    let numbers = batch(&|_| "1".to_owned());
    let framed = format!("Content-Length: {}\r\n\r\n{numbers}", numbers.len());
    for (what, message, times) in [
        ("numbers in lines", format!("{numbers}\n"), 20),
        ("numbers with headers", framed, 20),
        ("numbers one by one", "1\n".repeat(ENTRIES), 20),
        ("unknown methods", batch(&|id| call(id, "nothing", "")) + "\n", 2),
        ("the same id", batch(&|_| call(1, "add", "1,2")) + "\n", 2),
        ("wrong params", batch(&|id| call(id, "add", "\"x\"")) + "\n", 2),
    ] {
        let server = listening("tcp://127.0.0.1:0");
        let mut clients = tokio::task::JoinSet::new();
        for _ in 0..200 {
            let mut client = dial(&server).await;
            let message = message.repeat(times);
            clients.spawn(async move {
                send(&mut client, message.as_bytes()).await;
                client
            });
        }
        let clients = clients.join_all().await;
        let mut honest = dial(&server).await;
        honest.write_all(format!("{}\n", call(7, "add", "1,2")).as_bytes()).await.unwrap();
        let mut answer = [0; 36];
        timeout(LONG, honest.read_exact(&mut answer)).await.expect("an honest client waits").unwrap();
        assert!(answer.starts_with(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":3}"));
        let most = server.memory("VmHWM");
        eprintln!("{what}: {} MiB", most / 1024);
        assert!(most < TOTAL, "{what}: {} MiB", most / 1024);
        drop(clients);
    }
}
