//! Requests that are refused, and the connections that they came over.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use sabir::{Connections, Http};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{Client, within};
use crate::open::{ADD, SUM, open};
use crate::server::router;

/// A body that nobody wants is read, or the connection is said to end: no request is left without an answer.
#[tokio::test]
async fn every_request_behind_a_refused_one_is_answered() {
    let server = open("http", router(), |server| server).await;
    let length = ADD.len();
    let refused = |line: &str, kind: &str, body: &str| {
        format!(
            "{line} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let large = "x".repeat(30_000);
    let requests = [
        refused("POST /", "text/plain", &large),
        refused("POST /elsewhere", "application/json", ADD),
        refused("PUT /", "application/json", &large),
        refused("FOO /", "text/plain", ADD),
        format!(
            "POST / HTTP/1.1\r\nHost: elsewhere\r\nTransfer-Encoding: chunked\r\n\r\n{length:x}\r\n{ADD}\r\n0\r\n\r\n"
        ),
        refused("POST /", "application/json", ADD),
    ];
    let statuses = [415, 404, 405, 405, 421, 200];
    let all = requests.concat();
    // However the bytes are cut, with a little time in between.
    for cut in (0..all.len()).step_by(1501) {
        let mut client = Client::connect(server.port).await;
        client.send(&all[..cut]).await;
        tokio::time::sleep(Duration::from_millis(2)).await;
        client.send(&all[cut..]).await;
        for (number, status) in statuses.iter().enumerate() {
            let head = client.head().await;
            assert_eq!(head.status(), *status, "request {number}, cut at {cut}: {}", head.text);
            assert_eq!(head.header("connection"), None, "request {number}, cut at {cut}");
            client.body(&head).await;
        }
    }
    server.stop().await;
}

/// A client that sends no more has all its answers, also where the last of its requests is refused.
#[tokio::test]
async fn half_closed_connections_have_all_their_answers() {
    let server = open("http", router(), |server| server).await;
    let request = |line: &str| {
        format!(
            "{line} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{ADD}",
            ADD.len()
        )
    };
    for lines in [
        &["POST /elsewhere"][..],
        &["PUT /"],
        &["POST /", "POST /elsewhere"],
        &["POST /elsewhere", "PUT /", "POST /elsewhere", "POST /"],
    ] {
        for _ in 0..20 {
            let mut client = Client::connect(server.port).await;
            // The end is there before anything is read.
            client.send(lines.iter().map(|line| request(line)).collect::<String>()).await;
            client.stream.shutdown().await.unwrap();
            let answers = client.rest().await;
            assert_eq!(answers.matches("HTTP/1.1 ").count(), lines.len(), "{lines:?}: {answers}");
        }
    }
    server.stop().await;
}

/// One whose body does not come is told that the connection ends.
#[tokio::test]
async fn a_refused_request_without_its_body_ends_the_connection() {
    let server = open("http", router(), |server| server).await;
    for headers in [
        "Content-Length: 100\r\n",
        "Content-Length: 9000000\r\n",
        "Content-Length: 5\r\nExpect: 100-continue\r\n",
    ] {
        let mut client = Client::connect(server.port).await;
        client
            .send(format!("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n{headers}\r\n"))
            .await;
        let head = client.head().await;
        assert_eq!((head.status(), head.header("connection")), (415, Some("close")), "{headers}");
        client.body(&head).await;
        assert!(client.is_closed().await, "{headers}");
    }
    server.stop().await;
}

/// What a body is wrapped in beside chunks cannot be taken off here.
#[tokio::test]
async fn other_codings_than_chunks_are_refused() {
    let server = open("http", router(), |server| server).await;
    let chunked = format!("{:x}\r\n{ADD}\r\n0\r\n\r\n", ADD.len());
    for coding in
        ["gzip, chunked", "chunked, chunked", "identity, chunked", "chunked\r\nTransfer-Encoding: chunked"]
    {
        let mut client = Client::connect(server.port).await;
        let head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
        client.send(format!("{head}Transfer-Encoding: {coding}\r\n\r\n{chunked}")).await;
        let answer = client.rest().await;
        assert!(
            answer.starts_with("HTTP/1.1 501 ") || answer.starts_with("HTTP/1.1 400 "),
            "{coding}: {answer}"
        );
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{coding}: {answer}");
    }
    server.stop().await;
}

/// Where a server can be reached by others, their names for it are given.
#[tokio::test]
async fn hosts_beyond_this_machine_are_named() {
    for (http, good, bad) in [
        (Http::new(), "localhost", "rebound.example"),
        (Http::new().allow_host("rpc.example"), "rpc.example", "rebound.example"),
    ] {
        let server = sabir::listen("http://0.0.0.0:0", router()).http(http).await.unwrap();
        let port: u16 = server.url().rsplit(':').next().unwrap().parse().unwrap();
        let (stopper, running) = (server.stopper(), tokio::spawn(server.run()));
        for (host, status) in [(good, 200), (bad, 421)] {
            for origin in [String::new(), format!("Origin: http://{host}:{port}\r\n")] {
                let mut client = Client::connect(port).await;
                client
                    .send(format!(
                        "POST / HTTP/1.1\r\nHost: {host}:{port}\r\n{origin}Content-Type: application/json\r\n\
                         Content-Length: {}\r\n\r\n{ADD}",
                        ADD.len()
                    ))
                    .await;
                assert_eq!(client.answer().await.0, status, "{host} {origin}");
            }
        }
        stopper.stop();
        within(running).await.unwrap().unwrap();
    }
}

#[test]
#[should_panic(expected = "a bearer token must not be empty")]
fn an_empty_token_is_refused() {
    let _ = Http::new().bearer("");
}

/// Frames that belong to no request are not a slow request. An idle connection ends with a GOAWAY.
#[tokio::test]
async fn an_idle_connection_of_http2_is_told_that_it_ends() {
    const WINDOW_UPDATE: &[u8] = b"\0\0\x04\x08\0\0\0\0\0\0\0\0\x01";
    let connections = Connections {
        head: Duration::from_millis(100),
        idle: Duration::from_secs(5),
        ..Connections::default()
    };
    let server = open("http", router(), |server| server.connections(connections)).await;
    // The frames are passed through a pipe, so that one can be put in between.
    let (client, mut inside) = tokio::io::duplex(64 * 1024);
    let mut socket = TcpStream::connect(("127.0.0.1", server.port)).await.unwrap();
    let piping = tokio::spawn(async move {
        let mut seen = Vec::new();
        let (mut up, mut down, mut updated) = ([0; 4096], [0; 4096], false);
        loop {
            tokio::select! {
                count = inside.read(&mut up) => match count {
                    Ok(0) | Err(_) => return seen,
                    Ok(count) => socket.write_all(&up[..count]).await.unwrap(),
                },
                count = socket.read(&mut down) => match count {
                    Ok(0) | Err(_) => return seen,
                    Ok(count) => {
                        seen.extend_from_slice(&down[..count]);
                        let _ = inside.write_all(&down[..count]).await;
                        if !updated && seen.windows(SUM.len()).any(|window| window == SUM.as_bytes()) {
                            updated = true;
                            tokio::time::sleep(Duration::from_millis(50)).await;
                            socket.write_all(WINDOW_UPDATE).await.unwrap();
                        }
                    }
                },
            }
        }
    });
    let mut sender = crate::http2::dial(client).await;
    let request = || crate::http2::request("application/json", ADD);
    let response = within(sender.send_request(request())).await.unwrap();
    let body: Full<Bytes> =
        Full::new(http_body_util::BodyExt::collect(response.into_body()).await.unwrap().to_bytes());
    drop(body);
    // Longer than a head may take, and than the next look at it.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!(within(sender.send_request(request())).await.unwrap().status(), 200);
    let seen = within(piping).await.unwrap();
    const GOAWAY: u8 = 7;
    assert!(frames(&seen).contains(&GOAWAY), "{:?}", frames(&seen));
    server.stop().await;
}

/// The kinds of the frames in these bytes.
fn frames(mut bytes: &[u8]) -> Vec<u8> {
    let mut kinds = Vec::new();
    while let [a, b, c, kind, _, _, _, _, _, rest @ ..] = bytes {
        kinds.push(*kind);
        let length = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
        bytes = rest.get(length..).unwrap_or_default();
    }
    kinds
}
