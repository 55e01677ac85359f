//! Frames that are wrong, too large or too many.

use std::time::Duration;

use sabir::{Http, Limits, WebSocket};
use tokio::io::AsyncWriteExt;

use crate::client::{Client, within};
use crate::frames::{BINARY, CLOSE, PING, PONG, TEXT, frame, start};
use crate::open::{ADD, Open, SUM, open};
use crate::server::router;

const LIMIT: usize = 1000;

async fn serve(websocket: WebSocket) -> Open {
    let limits = Limits { message_bytes: LIMIT, ..Limits::default() };
    let http = Http::new().websocket(websocket).auth(|parts| {
        let user = parts.headers.get("x-user").and_then(|user| user.to_str().ok());
        Ok(user.unwrap_or("nobody").to_owned())
    });
    open("ws", router(), |server| server.limits(limits).http(http)).await
}

async fn dial(server: &Open) -> Client {
    Client::connect(server.port).await.upgrade("X-User: ann\r\n").await
}

async fn assert_serves(client: &mut Client) {
    client.send(frame(TEXT, ADD.as_bytes())).await;
    assert_eq!(client.frame().await, (TEXT, SUM.as_bytes().to_vec()));
}

#[tokio::test]
async fn wrong_frames_are_told_why_they_end_it() {
    const START: u8 = 0x01;
    const MORE: u8 = 0x00;
    const LAST: u8 = 0x80;
    let server = serve(WebSocket::default()).await;
    let unmasked = [&[TEXT, ADD.len() as u8][..], ADD.as_bytes()].concat();
    let halves = |first: &[u8], last: &[u8]| [frame(START, first), frame(LAST, last)].concat();
    for (name, sent, code) in [
        ("no UTF-8", frame(TEXT, b"\"\xff\""), 1007),
        ("half a character", frame(TEXT, b"\"\xe2\x82"), 1007),
        ("no UTF-8 in the second part", halves(b"\"", b"\xff\""), 1007),
        ("a surrogate", frame(TEXT, b"\"\xed\xa0\x80\""), 1007),
        ("without a mask", unmasked, 1002),
        ("a reserved kind of data", frame(0x83, b"x"), 1002),
        ("a reserved kind of control", frame(0x8B, b""), 1002),
        ("a reserved bit", frame(0xC1, ADD.as_bytes()), 1002),
        ("a ping in parts", frame(0x09, b"x"), 1002),
        ("a long ping", frame(PING, &[b'x'; 126]), 1002),
        ("a part of nothing", frame(LAST, b"x"), 1002),
        ("a message within a message", [frame(START, b"{"), frame(TEXT, b"{}")].concat(), 1002),
        ("half a close code", frame(CLOSE, b"\x03"), 1002),
        ("binary", frame(BINARY, ADD.as_bytes()), 1003),
        ("too large", frame(TEXT, &[b' '; LIMIT + 1]), 1009),
        ("said to be enormous", start(TEXT, 1 << 62), 1009),
        ("too large in parts", [frame(START, &[b' '; 600]), frame(MORE, &[b' '; 600])].concat(), 1009),
    ] {
        let mut client = dial(&server).await;
        assert_serves(&mut client).await;
        client.send(sent).await;
        assert_eq!(client.close_code().await, Some(code), "{name}");
        // Once it is answered, nothing is left.
        client.send(frame(CLOSE, &u16::to_be_bytes(code))).await;
        assert!(client.is_closed().await, "{name}");
    }
    server.stop().await;
}

#[tokio::test]
async fn messages_come_as_they_like() {
    let server = serve(WebSocket { binary: true, ..WebSocket::default() }).await;
    let (first, rest) = ADD.split_at(20);
    let text =
        |first: &str, rest: &str| [frame(0x01, first.as_bytes()), frame(0x80, rest.as_bytes())].concat();
    let between = [frame(0x01, first.as_bytes()), frame(PING, b"hi"), frame(0x80, rest.as_bytes())].concat();
    let padded = format!("{ADD}{}", " ".repeat(LIMIT - ADD.len()));
    for (sent, kinds) in [
        (text(first, rest), &[TEXT][..]),
        (text("", ADD), &[TEXT]),
        (between, &[PONG, TEXT]),
        (frame(TEXT, padded.as_bytes()), &[TEXT]),
        (frame(BINARY, ADD.as_bytes()), &[BINARY]),
    ] {
        let mut client = dial(&server).await;
        // Byte by byte too.
        for piece in sent.chunks(if kinds.len() > 1 { 1 } else { sent.len() }) {
            client.send(piece).await;
        }
        for &kind in kinds {
            let payload = if kind == PONG { "hi" } else { SUM };
            assert_eq!(client.frame().await, (kind, payload.as_bytes().to_vec()));
        }
        client.send(frame(CLOSE, &1000u16.to_be_bytes())).await;
        assert_eq!(client.close_code().await, Some(1000));
        assert!(client.is_closed().await);
    }
    server.stop().await;
}

#[tokio::test]
async fn handlers_know_who_opened_it() {
    let server = serve(WebSocket::default()).await;
    for (headers, who) in [("X-User: ann\r\n", "ann"), ("", "nobody")] {
        let mut client = Client::connect(server.port).await.upgrade(headers).await;
        for (method, result) in [("who", who), ("remote", "127.0.0.1")] {
            let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
            client.send(frame(TEXT, call.as_bytes())).await;
            let (_, answer) = client.frame().await;
            let want = format!(r#"{{"jsonrpc":"2.0","id":1,"result":"{result}"}}"#);
            assert_eq!(String::from_utf8(answer).unwrap(), want);
        }
        let mut client = Client::connect(server.port).await;
        client.post(headers, r#"{"jsonrpc":"2.0","id":1,"method":"who"}"#).await;
        assert!(client.answer().await.1.ends_with(&format!("\"result\":\"{who}\"}}")));
    }
}

#[tokio::test]
async fn a_flood_of_pings_is_lived_through() {
    let server = serve(WebSocket::default()).await;
    let mut client = dial(&server).await;
    let flood = frame(PING, b"").repeat(10_000);
    client.send([flood, frame(TEXT, ADD.as_bytes())].concat()).await;
    let mut pongs = 0;
    let answer = loop {
        match client.frame().await {
            (PONG, _) => pongs += 1,
            other => break other,
        }
    };
    assert_eq!(answer, (TEXT, SUM.as_bytes().to_vec()));
    assert!(pongs <= 10_000, "{pongs}");
    assert_serves(&mut client).await;
}

/// What is not read must not pile up in the server: it stops to read instead.
#[tokio::test]
async fn pongs_that_nobody_reads_do_not_pile_up() {
    let server = serve(WebSocket::default()).await;
    let client = dial(&server).await;
    let (_read, mut write) = tokio::io::split(client.stream);
    let flood = frame(PING, &[b'x'; 125]).repeat(1000);
    let mut sent = 0;
    // The buffers of both sockets, which the system makes larger as it likes, take some.
    let most = 64 << 20;
    while sent < most
        && tokio::time::timeout(Duration::from_millis(500), write.write_all(&flood)).await.is_ok()
    {
        sent += flood.len();
    }
    assert!(sent < most, "the server takes pings without end");
    let mut other = dial(&server).await;
    assert_serves(&mut other).await;
}

#[tokio::test]
async fn a_silent_peer_is_pinged_and_given_up() {
    let every = Duration::from_millis(50);
    let server = serve(WebSocket { ping_every: Some(every), ..WebSocket::default() }).await;
    let mut silent = dial(&server).await;
    assert_eq!(silent.frame().await.0, PING);
    assert_eq!(silent.close_code().await, None);

    let every = Duration::from_secs(1);
    let server = serve(WebSocket { ping_every: Some(every), ..WebSocket::default() }).await;
    let mut alive = dial(&server).await;
    for _ in 0..2 {
        assert_eq!(alive.frame().await.0, PING);
        alive.send(frame(PONG, b"")).await;
    }
    assert_serves(&mut alive).await;
}

#[tokio::test]
async fn handlers_end_with_a_socket_that_does() {
    let (router, running) = crate::stop::holding();
    let server = open("ws", router, |server| server).await;
    for goodbye in [None, Some(frame(CLOSE, &1001u16.to_be_bytes()))] {
        let mut client = Client::connect(server.port).await.upgrade("").await;
        let hold = br#"{"jsonrpc":"2.0","id":1,"method":"hold"}"#;
        client.send(frame(TEXT, hold)).await;
        running.reaches(1).await;
        if let Some(goodbye) = &goodbye {
            client.send(goodbye).await;
        } else {
            drop(client);
        }
        running.reaches(0).await;
    }
    within(server.stop()).await;
}
