//! Clients that take their time, or take nothing.

use std::time::Duration;

use sabir::{Connections, Ctx, Http, Limits, Router, Sessions};
use tokio::net::TcpStream;

use crate::client::{Client, within};
use crate::frames::{HANDSHAKE, TEXT, frame};
use crate::open::{Certificate, open};
use crate::server::router;
use crate::stop::Running;

#[tokio::test]
async fn three_hundred_that_dawdle_are_cut_off_while_others_are_served() {
    let brief = Duration::from_secs(1);
    let certificate = Certificate::new();
    let connections = Connections { head: brief, idle: brief, ..Connections::default() };
    let server =
        open("http", router(), |server| server.connections(connections).tls(certificate.server())).await;
    let head = b"Host: localhost\r\nX-Long: ";
    let mut slow = tokio::task::JoinSet::new();
    for n in 0..300 {
        // One after the other, so that each is accepted before the next comes.
        let mut client = Client::connect(server.port).await;
        slow.spawn(async move {
            // Those that say nothing wait for their end; the others go on and on.
            let start: &[u8] = match n % 6 {
                0 => b"",
                1 => b"P",
                2 => b"\x16\x03\x01",
                3 => b"POST / HTTP/1.1\r\n",
                4 => b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                _ => b"\r\n\r\n\r\n",
            };
            client.send(start).await;
            if n % 6 != 3 {
                // One more byte is not a head yet.
                return (n, client.rest().await);
            }
            for byte in head.iter().chain(std::iter::repeat(&b'x')) {
                client.send([*byte]).await;
                if tokio::time::timeout(Duration::from_millis(20), client.ends()).await.is_ok() {
                    break;
                }
            }
            (n, String::new())
        });
    }
    // Each of these is a client of its own, with a connection of its own.
    for _ in 0..20 {
        server.assert_serves().await;
    }
    within(async {
        while let Some(ended) = slow.join_next().await {
            let (n, got) = ended.unwrap();
            assert!(!got.contains(" 200 "), "{n}: {got}");
        }
    })
    .await;
    server.assert_serves().await;
    server.stop().await;
}

/// The first bytes, all together, may take as long as a head.
#[tokio::test]
async fn first_bytes_that_trickle_are_cut_off() {
    let brief = Duration::from_millis(400);
    let connections = Connections { head: brief, ..Connections::default() };
    let server = open("http", router(), |server| server.connections(connections)).await;
    let mut client = Client::connect(server.port).await;
    let mut said = 0;
    // Each in time by itself.
    while said < 20 {
        client.send("\n").await;
        said += 1;
        if tokio::time::timeout(brief / 2, client.ends()).await.is_ok() {
            break;
        }
    }
    assert!(said < 20, "it waits for each byte anew");
}

#[tokio::test]
async fn a_body_that_trickles_is_cut_off() {
    let http = Http::new().body_deadline(Duration::from_millis(300));
    let server = open("http", router(), |server| server.http(http)).await;
    for length in ["Content-Length: 1000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n5\r\n"] {
        let mut client = Client::connect(server.port).await;
        client
            .send(format!(
                "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{length}{{"
            ))
            .await;
        assert_eq!(client.answer().await.0, 408);
        assert!(client.is_closed().await);
    }
    server.stop().await;
}

const POUR: &str = r#"{"jsonrpc":"2.0","id":1,"method":"pour"}"#;

/// A router whose method `pour` says more and more.
fn pouring() -> (Router, Running) {
    let running = Running::new();
    let counting = running.clone();
    let router = router().method("pour", move |ctx: Ctx, (): ()| {
        let run = counting.begin();
        async move {
            let _run = run;
            loop {
                ctx.peer().notify("drop", ("x".repeat(100_000),)).await?;
            }
            #[expect(unreachable_code, reason = "it says what the handler returns")]
            Ok(())
        }
    });
    (router, running)
}

fn stall() -> Limits {
    Limits { stall: Some(Duration::from_millis(1500)), ..Limits::default() }
}

#[tokio::test]
async fn what_nobody_reads_is_given_up() {
    let (router, running) = pouring();
    let server = open("tcp", router, |server| server.limits(stall())).await;
    let post = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: text/event-stream\r\nContent-Length: {}\r\n\r\n{POUR}",
        POUR.len()
    );
    let socket = [HANDSHAKE.as_bytes(), &frame(TEXT, POUR.as_bytes())].concat();
    let mut clients = Vec::new();
    for said in [post.into_bytes(), socket, format!("{POUR}\n").into_bytes()] {
        let mut client = Client::connect(server.port).await;
        client.send(said).await;
        clients.push(client);
        running.reaches(clients.len()).await;
    }
    server.assert_serves().await;
    running.reaches(0).await;
    server.stop().await;
}

/// Its connection is read all the time, only the answer is not.
#[tokio::test]
async fn an_answer_of_http2_that_nobody_reads_is_given_up() {
    let (router, running) = pouring();
    let server = open("http", router, |server| server.limits(stall())).await;
    let stream = TcpStream::connect(("127.0.0.1", server.port)).await.unwrap();
    let mut sender = crate::http2::dial(stream).await;
    let request = crate::http2::request("text/event-stream", POUR);
    let _unread = within(sender.send_request(request)).await.unwrap();
    running.reaches(1).await;
    server.assert_serves().await;
    running.reaches(0).await;
    server.stop().await;
}

/// A stream can be taken up again: it ends with its session.
#[tokio::test]
async fn a_session_that_nobody_reads_is_given_up() {
    let (router, running) = pouring();
    let sessions = Sessions { idle: Duration::from_millis(300), ..Sessions::opened_by("pour") };
    let server =
        open("http", router, |server| server.http(Http::new().sessions(sessions)).limits(stall())).await;
    let mut client = Client::connect(server.port).await;
    client.post("", POUR).await;
    running.reaches(1).await;
    running.reaches(0).await;
    server.stop().await;
}
