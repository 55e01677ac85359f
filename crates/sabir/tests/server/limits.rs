//! Too large, too many, too long.

use sabir::{Connections, Limits};
use tokio::io::AsyncWriteExt;

use crate::client::{Client, within};
use crate::open::{ADD, SUM, open};
use crate::server::router;

const LIMIT: usize = 64 * 1024;

#[tokio::test]
async fn heads_without_end_are_refused() {
    let server = open("http", router(), |server| server).await;
    let host = "Host: localhost\r\n";
    let many: String = (0..200).map(|n| format!("X-{n}: y\r\n")).collect();
    for (name, head, status) in [
        ("one header", format!("POST / HTTP/1.1\r\n{host}X: {}\r\n\r\n", "x".repeat(33_000)), 431),
        ("one header that never ends", format!("POST / HTTP/1.1\r\n{host}X: {}", "x".repeat(200_000)), 431),
        ("a name", format!("POST / HTTP/1.1\r\n{host}{}: y\r\n\r\n", "x".repeat(100_000)), 431),
        ("many headers", format!("POST / HTTP/1.1\r\n{host}{many}\r\n"), 431),
        ("a target", format!("POST /{} HTTP/1.1\r\n{host}\r\n", "x".repeat(33_000)), 431),
        ("a target that never ends", format!("POST /{}", "x".repeat(200_000)), 431),
    ] {
        let mut client = Client::connect(server.port).await;
        let (status_got, _) = sending(&mut client, head.as_bytes()).await;
        assert_eq!(status_got, status, "{name}");
    }
    // What is large but not too large is taken.
    let mut client = Client::connect(server.port).await;
    client.post(&format!("X: {}\r\n", "x".repeat(30_000)), ADD).await;
    assert_eq!(client.answer().await, (200, SUM.to_owned()));
    server.stop().await;
}

/// The answer to what may still be on its way when it is refused.
async fn sending(client: &mut Client, bytes: &[u8]) -> (u16, String) {
    let stream = std::mem::replace(&mut client.stream, Box::new(tokio::io::empty()));
    let (read, mut write) = tokio::io::split(stream);
    let mut reading = Client::over(tokio::io::join(read, tokio::io::sink()));
    let (answer, _) = within(async { tokio::join!(reading.answer(), write.write_all(bytes)) }).await;
    answer
}

#[tokio::test]
async fn bodies_over_the_limit_are_refused_while_they_come() {
    let limits = Limits { message_bytes: LIMIT, ..Limits::default() };
    let server = open("http", router(), |server| server.limits(limits)).await;
    let post = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    for bytes in [LIMIT + 1, 4 << 20] {
        let body = format!("{ADD}{}", " ".repeat(bytes - ADD.len()));
        for request in [
            format!("{post}Content-Length: {bytes}\r\n\r\n{body}"),
            format!("{post}Transfer-Encoding: chunked\r\n\r\n{bytes:x}\r\n{body}\r\n0\r\n\r\n"),
        ] {
            let mut client = Client::connect(server.port).await;
            let (status, answer) = sending(&mut client, request.as_bytes()).await;
            assert_eq!(status, 413, "{answer}");
        }
        // Who sends everything before it listens gets to know too, unless that is far too much.
        if bytes <= LIMIT + 1 {
            let mut client = Client::connect(server.port).await;
            client.post("", &body).await;
            assert_eq!(client.answer().await.0, 413);
        }
    }
    let just = format!("{ADD}{}", " ".repeat(LIMIT - ADD.len()));
    let mut client = Client::connect(server.port).await;
    client.post("", &just).await;
    assert_eq!(client.answer().await, (200, SUM.to_owned()));
    server.stop().await;
}

#[tokio::test]
async fn an_address_has_so_many_connections() {
    let connections = Connections { per_address: 2, ..Connections::default() };
    let server = open("http", router(), |server| server.connections(connections)).await;
    let mut one = Client::connect(server.port).await;
    let two = Client::connect(server.port).await.upgrade("").await;
    let mut three = Client::connect(server.port).await;
    assert!(three.is_closed().await);
    one.post("", ADD).await;
    assert_eq!(one.answer().await, (200, SUM.to_owned()));
    // One that leaves makes room, once that is known.
    drop(two);
    within(async {
        loop {
            let mut next = Client::connect(server.port).await;
            next.post("", ADD).await;
            if next.answer().await.0 == 200 {
                break;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn more_than_the_total_wait_for_their_turn() {
    let connections = Connections { total: 2, ..Connections::default() };
    let server = open("http", router(), |server| server.connections(connections)).await;
    let mut inside = Vec::new();
    for _ in 0..2 {
        let mut client = Client::connect(server.port).await;
        client.post("", ADD).await;
        assert_eq!(client.answer().await.0, 200);
        inside.push(client);
    }
    let mut waiting = Client::connect(server.port).await;
    waiting.post("", ADD).await;
    {
        let mut answered = std::pin::pin!(waiting.answer());
        // Those inside are served while it waits.
        for client in &mut inside {
            client.post("", ADD).await;
            tokio::select! {
                biased;
                _ = &mut answered => panic!("there was no room"),
                (status, _) = client.answer() => assert_eq!(status, 200),
            }
        }
        inside.pop();
        assert_eq!(within(answered).await, (200, SUM.to_owned()));
    }
    drop(inside);
    drop(waiting);
    server.stop().await;
}
