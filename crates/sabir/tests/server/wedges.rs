//! Connections that hold their places without using them.

use std::time::Duration;

use sabir::{Connections, Http};
use tokio::io::AsyncWriteExt;

use crate::client::{Client, within};
use crate::frames::{HANDSHAKE, TEXT, frame};
use crate::open::{ADD, SUM, open};
use crate::server::router;
use crate::stop::holding;

const BRIEF: Duration = Duration::from_millis(300);

const HOLD: &str = r#"{"jsonrpc":"2.0","id":1,"method":"hold"}"#;

/// A server for few, all of whose places are taken by connections that are made like this.
async fn fill(connections: Connections, said: &[u8], shut: bool) -> (crate::open::Open, Vec<Client>) {
    let (router, running) = holding();
    let server = open("tcp", router, |server| server.connections(connections)).await;
    let mut clients = Vec::new();
    for _ in 0..connections.total {
        let mut client = Client::connect(server.port).await;
        client.send(said).await;
        if said.windows(4).any(|word| word == b"hold") {
            running.reaches(clients.len() + 1).await;
        }
        clients.push(client);
    }
    for client in clients.iter_mut().filter(|_| shut) {
        client.stream.shutdown().await.unwrap();
    }
    (server, clients)
}

const FEW: Connections = Connections {
    total: 8,
    per_address: 100,
    head: Duration::from_secs(60),
    idle: Duration::from_secs(60),
    evict_after: Duration::from_secs(60),
    message: Duration::from_secs(60),
    after_end: Duration::from_secs(60),
    streams: 256,
    connection_bytes: 64 << 20,
    total_bytes: 512 << 20,
};

/// Calls of a peer that has gone do not run for ever, and others get their places.
#[tokio::test]
async fn who_has_gone_is_given_up() {
    let connections = Connections { after_end: BRIEF, ..FEW };
    let (server, clients) = fill(connections, format!("{HOLD}\n").as_bytes(), false).await;
    drop(clients);
    server.assert_serves().await;
    server.stop().await;
}

/// One that has only said that it sends no more looks the same. What can be answered in time is.
#[tokio::test]
async fn half_a_stream_is_answered_in_time_or_not_at_all() {
    let connections = Connections { after_end: BRIEF, ..FEW };
    let hold = HOLD.replace("\"id\":1", "\"id\":2");
    let (server, clients) = fill(connections, format!("{hold}\n{ADD}\n").as_bytes(), true).await;
    for mut client in clients {
        let answers = client.rest().await;
        let lines: Vec<_> = answers.lines().collect();
        assert_eq!(lines.len(), 2, "{answers}");
        assert_eq!(lines[0], SUM);
        assert!(lines[1].starts_with(r#"{"jsonrpc":"2.0","id":2,"error":{"code":"#), "{answers}");
    }
    server.stop().await;
}

/// A message must end at some time.
#[tokio::test]
async fn a_message_that_never_ends_is_given_up() {
    for said in [
        &b"{"[..],
        b"[",
        b"\xEF\xBB\xBF{",
        b"Content-Length: 5\r\n\r\n{",
        b"Content-Length: 5",
        b"{}\n{\"jsonrpc\"",
    ] {
        let connections = Connections { message: BRIEF, head: BRIEF, ..FEW };
        let (server, clients) = fill(connections, said, false).await;
        server.assert_serves().await;
        for mut client in clients {
            client.ends().await;
        }
        server.stop().await;
    }
}

/// A slow message does not end a connection on which one follows another.
#[tokio::test]
async fn each_message_has_its_own_time() {
    // Long enough for a busy machine to be late by half of it.
    let message = BRIEF * 5;
    let connections = Connections { message, ..FEW };
    let server = open("tcp", router(), |server| server.connections(connections)).await;
    let mut client = Client::connect(server.port).await;
    let line = format!("{ADD}\n");
    // At no time is there no part of a message, and each takes half of its time.
    let (start, end) = line.split_at(20);
    client.send(start).await;
    for _ in 0..4 {
        tokio::time::sleep(message / 2).await;
        client.send(format!("{end}{start}")).await;
        assert_eq!(client.until("\n").await, SUM);
    }
    server.stop().await;
}

/// Whoever is idle keeps its place until others need it.
#[tokio::test]
async fn idle_connections_make_room_only_if_they_must() {
    let connections = Connections { evict_after: BRIEF, total: 2, ..FEW };
    let server = open("tcp", router(), |server| server.connections(connections)).await;
    let mut idle = Client::connect(server.port).await;
    idle.send(format!("{ADD}\n")).await;
    assert_eq!(idle.until("\n").await, SUM);
    tokio::time::sleep(BRIEF * 4).await;
    idle.send(format!("{ADD}\n")).await;
    assert_eq!(idle.until("\n").await, SUM);
    // Now all places are taken, and a third one comes.
    let mut second = Client::connect(server.port).await;
    second.send(format!("{ADD}\n")).await;
    assert_eq!(second.until("\n").await, SUM);
    let mut third = Client::connect(server.port).await;
    third.send(format!("{ADD}\n")).await;
    assert_eq!(within(third.until("\n")).await, SUM);
    server.stop().await;
}

fn post(body: &str) -> String {
    let length = body.len();
    format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

/// The same, with a length that only hyper reads.
fn chunked(body: &str) -> String {
    let length = body.len();
    format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n"
    )
}

fn socket(text: &str) -> Vec<u8> {
    let text = if text.is_empty() { Vec::new() } else { frame(TEXT, text.as_bytes()) };
    [HANDSHAKE.as_bytes(), &text].concat()
}

/// Whatever is said, or not, nobody keeps a place that it does not use when others need it.
#[tokio::test]
async fn those_that_do_nothing_make_room() {
    for (name, said) in [
        ("nothing", Vec::new()),
        ("a byte", b"{".to_vec()),
        ("half a head", b"POST / HTTP/1.1\r\nHost: localhost\r\n".to_vec()),
        ("a line", format!("{ADD}\n").into_bytes()),
        ("a POST", post(ADD).into_bytes()),
        ("a POST to hyper", chunked(ADD).into_bytes()),
        ("half a head to hyper", [chunked(ADD).as_bytes(), b"POST"].concat()),
        ("a WebSocket", socket("")),
        ("a WebSocket that was used", socket(ADD)),
    ] {
        let (server, clients) = fill(Connections { evict_after: BRIEF, ..FEW }, &said, false).await;
        within(server.assert_serves()).await;
        drop(clients);
        server.stop().await;
        eprintln!("{name}");
    }
}

/// The same of those that only wait for a call, after a longer time.
#[tokio::test]
async fn those_that_only_wait_for_calls_make_room() {
    for said in
        [format!("{HOLD}\n").into_bytes(), post(HOLD).into_bytes(), chunked(HOLD).into_bytes(), socket(HOLD)]
    {
        let (server, clients) = fill(Connections { idle: BRIEF, ..FEW }, &said, false).await;
        within(server.assert_serves()).await;
        drop(clients);
        server.stop().await;
    }
}

/// Pings are answered by every client, used or not: a WebSocket that is only kept alive makes room, and is told why.
#[tokio::test]
async fn a_websocket_is_told_that_it_makes_room() {
    let connections = Connections { evict_after: BRIEF, total: 1, ..FEW };
    let server = open("http", router(), |server| server.connections(connections)).await;
    let mut socket = Client::connect(server.port).await.upgrade("").await;
    let (served, code) = tokio::join!(server.assert_serves(), socket.close_code());
    assert_eq!((served, code), ((), Some(1001)));
    server.stop().await;
}

/// Who has used its connection last keeps it.
#[tokio::test]
async fn those_in_use_keep_their_places() {
    let connections = Connections { evict_after: BRIEF, total: 3, ..FEW };
    let server = open("tcp", router(), |server| server.connections(connections)).await;
    let mut line = Client::connect(server.port).await;
    let mut socket = Client::connect(server.port).await.upgrade("").await;
    let mut web = Client::connect(server.port).await;
    for round in 0..6 {
        line.send(format!("{ADD}\n")).await;
        assert_eq!(line.until("\n").await, SUM, "{round}");
        socket.send(frame(TEXT, ADD.as_bytes())).await;
        assert_eq!(socket.frame().await, (TEXT, SUM.as_bytes().to_vec()), "{round}");
        web.send(post(ADD)).await;
        assert_eq!(web.answer().await, (200, SUM.to_owned()), "{round}");
        // Another one comes, and waits: it finds no place within this time.
        let mut other = Client::connect(server.port).await;
        other.send(format!("{ADD}\n")).await;
        tokio::time::sleep(BRIEF / 6).await;
    }
    server.stop().await;
}

/// A message that was begun over a WebSocket must end, too.
#[tokio::test]
async fn half_a_message_of_a_websocket_is_given_up() {
    let http = Http::new().body_deadline(BRIEF);
    let server = open("http", router(), |server| server.http(http)).await;
    let mut socket = Client::connect(server.port).await.upgrade("").await;
    let message = frame(TEXT, &[b' '; 100_000]);
    socket.send(&message[..50_000]).await;
    assert_eq!(within(socket.close_code()).await, Some(1001));
    server.stop().await;
}
