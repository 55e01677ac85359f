//! Plain POSTs, which are answered without hyper, and the way from them to everything else.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sabir::{Connections, Ctx, Denied, Http, HttpService, Limits, Remote};
use tokio::io::AsyncWriteExt;

use crate::client::Client;
use crate::open::{ADD, Certificate, SUM, open};
use crate::server::router;
use crate::stop::holding;

fn plain(headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

/// The same with a length that only hyper can read.
fn chunked(body: &str) -> String {
    let length = body.len();
    format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n"
    )
}

/// Whoever answers, the answer is the same.
#[tokio::test]
async fn answers_are_those_of_hyper() {
    let server = open("http", router(), |server| server).await;
    for body in [
        ADD,
        r#"{"jsonrpc":"2.0","id":1,"method":"nap","params":[5]}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"fail"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"nowhere"}"#,
        r#"{"jsonrpc":"2.0","method":"log"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"remote"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tell"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ask"}"#,
        r#"[{"jsonrpc":"2.0","id":1,"method":"log"},{"jsonrpc":"2.0","id":2,"method":"add","params":[1,2]}]"#,
        r#"[]"#,
        r#"{"jsonrpc":"2.0","id":1,"method":1}"#,
        "{",
        "",
        "\u{7f}",
    ] {
        let mut answers = Vec::new();
        for request in [plain("", body), chunked(body)] {
            let mut client = Client::connect(server.port).await;
            client.send(request).await;
            let head = client.head().await;
            answers.push((client.body(&head).await, head.text));
        }
        assert_eq!(answers[0], answers[1], "{body}");
    }
    server.stop().await;
}

#[tokio::test]
async fn it_does_not_matter_how_they_come() {
    let certificate = Certificate::new();
    let server = open("http", router(), |server| server.tls(certificate.server())).await;
    let nap = r#"{"jsonrpc":"2.0","id":2,"method":"nap","params":[1]}"#;
    let napped = r#"{"jsonrpc":"2.0","id":2,"result":1}"#;
    let requests = [plain("", ADD), plain("X: y\r\n", nap), plain("", ADD), chunked(ADD), plain("", nap)];
    let all = requests.concat();
    for at_once in [1, 7, 100, 200, usize::MAX] {
        for is_tls in [false, true] {
            let mut client = match is_tls {
                true => Client::over(certificate.connect(server.port, &[]).await),
                false => Client::connect(server.port).await,
            };
            for piece in all.as_bytes().chunks(at_once) {
                client.send(piece).await;
                tokio::task::yield_now().await;
            }
            for answer in [SUM, napped, SUM, SUM, napped] {
                assert_eq!(client.answer().await, (200, answer.to_owned()), "{at_once}, {is_tls}");
            }
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_large_one_is_taken_and_answered_whole() {
    let server = open("http", router(), |server| server).await;
    let text = "x".repeat(3 << 20);
    let echo = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"echo","params":["{text}"]}}"#);
    let echoed = format!(r#"{{"jsonrpc":"2.0","id":1,"result":"{text}"}}"#);
    let mut client = Client::connect(server.port).await;
    for _ in 0..3 {
        client.send(plain("", &echo)).await;
        let (status, answer) = client.answer().await;
        assert!(status == 200 && answer == echoed, "{status}, {} bytes", answer.len());
    }
    server.stop().await;
}

/// Many answers wait to be read: none is lost, and none comes before its turn.
#[tokio::test]
async fn answers_that_are_read_late_are_all_there() {
    let server = open("http", router(), |server| server).await;
    let text = "x".repeat(10_000);
    let echo = move |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"echo","params":["{text}"]}}"#);
    let stream = tokio::net::TcpStream::connect(("127.0.0.1", server.port)).await.unwrap();
    let (read, mut write) = stream.into_split();
    let mut client = Client::over(tokio::io::join(read, tokio::io::sink()));
    let writing = tokio::spawn(async move {
        for id in 0..500 {
            write.write_all(plain("", &echo(id)).as_bytes()).await.unwrap();
        }
        // The last one is answered by a stream, which is hyper's.
        let tell = plain("Accept: text/event-stream\r\n", r#"{"jsonrpc":"2.0","id":1,"method":"tell"}"#);
        write.write_all(tell.as_bytes()).await.unwrap();
        write
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    for id in 0..500 {
        let (status, answer) = client.answer().await;
        assert!(status == 200 && answer.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"#)), "{id}");
    }
    let (status, events) = client.answer().await;
    assert!(status == 200 && events.matches("data: ").count() == 2, "{status}, {events}");
    drop(writing.await.unwrap());
    assert!(client.is_closed().await);
    server.stop().await;
}

#[tokio::test]
async fn answers_that_nobody_reads_are_given_up() {
    let limits = Limits { stall: Some(Duration::from_millis(200)), ..Limits::default() };
    let server = open("http", router(), |server| server.limits(limits)).await;
    let echo = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"echo","params":["{}"]}}"#, "x".repeat(1 << 20));
    let mut client = Client::connect(server.port).await;
    let sending = async { while client.stream.write_all(plain("", &echo).as_bytes()).await.is_ok() {} };
    crate::client::within(sending).await;
    server.assert_serves().await;
    server.stop().await;
}

/// What was asked before a client sends no more is answered, if that can be done at once.
#[tokio::test]
async fn the_last_question_is_answered() {
    let server = open("http", router(), |server| server).await;
    for requests in [vec![plain("", ADD)], vec![plain("", ADD), plain("", ADD)]] {
        let mut client = Client::connect(server.port).await;
        client.send(requests.concat()).await;
        client.stream.shutdown().await.unwrap();
        for _ in &requests {
            assert_eq!(client.answer().await, (200, SUM.to_owned()));
        }
        assert!(client.is_closed().await);
    }
    server.stop().await;
}

#[tokio::test]
async fn whoever_leaves_takes_its_call_along() {
    let (router, running) = holding();
    let server = open("http", router, |server| server).await;
    let mut client = Client::connect(server.port).await;
    client.send(plain("", r#"{"jsonrpc":"2.0","id":1,"method":"hold"}"#)).await;
    running.reaches(1).await;
    drop(client);
    running.reaches(0).await;
    server.stop().await;
}

#[tokio::test]
async fn a_caller_is_asked_once_who_it_is() {
    for later in [false, true] {
        let asked = Arc::new(AtomicUsize::new(0));
        let counting = Arc::clone(&asked);
        let who = move |parts: &sabir::http::request::Parts| {
            counting.fetch_add(1, Ordering::Relaxed);
            assert!(parts.extensions.get::<Remote>().is_some());
            let name = parts.headers.get("x-user").and_then(|name| name.to_str().ok());
            name.map(str::to_owned).ok_or(Denied::unauthorized("Basic"))
        };
        let http = match later {
            false => Http::new().auth(who),
            true => Http::new().auth_async(move |parts| {
                let name = who(parts);
                async {
                    tokio::task::yield_now().await;
                    name
                }
            }),
        };
        asked_once(http, &asked).await;
    }
}

async fn asked_once(http: Http, asked: &AtomicUsize) {
    let router = router().method("path", |ctx: Ctx, (): ()| async move {
        let parts = ctx.http().unwrap();
        Ok((parts.method.to_string(), parts.uri.to_string(), parts.headers.len()))
    });
    let server = open("http", router, |server| server.http(http)).await;
    let mut client = Client::connect(server.port).await;
    let who = r#"{"jsonrpc":"2.0","id":1,"method":"who"}"#;
    let path = r#"{"jsonrpc":"2.0","id":1,"method":"path"}"#;
    for (headers, body, status, answer) in [
        ("X-User: ann\r\n", who, 200, r#"{"jsonrpc":"2.0","id":1,"result":"ann"}"#),
        ("", who, 401, "authentication required: see WWW-Authenticate\n"),
        ("X-User: bob\r\n", who, 200, r#"{"jsonrpc":"2.0","id":1,"result":"bob"}"#),
        ("X-User: bob\r\n", path, 200, r#"{"jsonrpc":"2.0","id":1,"result":["POST","/",4]}"#),
    ] {
        asked.store(0, Ordering::Relaxed);
        client.send(plain(headers, body)).await;
        assert_eq!(client.answer().await, (status, answer.to_owned()), "{headers}");
        assert_eq!(asked.load(Ordering::Relaxed), 1, "{headers}");
    }
    // One who may not call is told so before it has sent everything.
    client.send(plain("", who).strip_suffix(who).unwrap()).await;
    assert_eq!(client.answer().await.0, 401);
    server.stop().await;
}

#[tokio::test]
async fn a_connection_is_idle_only_for_so_long() {
    let brief = Duration::from_millis(300);
    let connections = Connections { idle: brief, ..Connections::default() };
    let server = open("http", router(), |server| server.connections(connections)).await;
    let mut client = Client::connect(server.port).await;
    let nap = r#"{"jsonrpc":"2.0","id":2,"method":"nap","params":[500]}"#;
    for body in [ADD, nap, ADD] {
        tokio::time::sleep(brief / 2).await;
        client.send(plain("", body)).await;
        assert_eq!(client.answer().await.0, 200);
    }
    assert!(client.is_closed().await);
    server.stop().await;
}

#[tokio::test]
async fn a_server_that_stops_answers_what_it_was_asked() {
    for (grace, answered) in [(15_000, true), (100, false)] {
        let (router, running) = holding();
        let server = open("http", router, |server| server.grace(Duration::from_millis(grace))).await;
        let mut waiting = Client::connect(server.port).await;
        waiting.send(plain("", r#"{"jsonrpc":"2.0","id":1,"method":"hold"}"#)).await;
        let mut idle = Client::connect(server.port).await;
        idle.send(plain("", ADD)).await;
        assert_eq!(idle.answer().await.0, 200);
        let mut half = Client::connect(server.port).await;
        half.send("POST / HTTP/1.1\r\nHost: loc").await;
        running.reaches(1).await;
        server.stopper.stop();
        assert!(idle.is_closed().await && half.is_closed().await);
        running.release(answered);
        let head = waiting.head().await;
        assert_eq!((head.status(), head.header("connection")), (200, Some("close")));
        let want = if answered { r#""result":"held""# } else { r#""error":"# };
        let body = waiting.body(&head).await;
        assert!(body.contains(want), "{body}");
        assert!(waiting.is_closed().await);
        server.stop().await;
        running.reaches(0).await;
    }
}

/// A request with something wrong, or only unusual, in its head. The length of the body stays readable, so
/// that there is an end.
fn mutated(seed: usize) -> Vec<u8> {
    const START: usize = "POST ".len();
    const BYTES: &[u8] = b"\0\t\n\r :\"#%?/;,.\x7f\x80aZ0-";
    // Any generator will do that goes everywhere.
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1);
    let mut below = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    let whole = plain("Accept: application/json\r\nX-Any: of: it\r\nUser-Agent: me\r\n", ADD);
    let (head, rest) = whole.split_at(whole.find("Content-Length: ").unwrap());
    let mut head = head.as_bytes().to_vec();
    for _ in 0..=below(2) {
        // That it is HTTP is told by its start.
        let at = START + below(head.len() - START);
        match below(4) {
            0 => drop(head.remove(at)),
            1 => head.insert(at, BYTES[below(BYTES.len())]),
            2 => head[at] = BYTES[below(BYTES.len())],
            _ => {
                let line = head.split_inclusive(|&byte| byte == b'\n').nth(below(5)).unwrap_or(b"").to_vec();
                head.splice(at..at, line);
            }
        }
    }
    let end = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    [&head[..], rest.as_bytes(), end.as_bytes()].concat()
}

/// What is taken for plain means the same to hyper.
#[tokio::test]
async fn odd_heads_are_read_as_hyper_reads_them() {
    let server = open("http", router(), |server| server).await;
    let hyper = crate::server::serve(HttpService::new(router(), Http::new().path("/"))).await;
    let mut plain = 0;
    for seed in 0..1500 {
        let request = mutated(seed);
        let mut answers = Vec::new();
        for port in [server.port, hyper] {
            let mut client = Client::connect(port).await;
            client.send(&request).await;
            let rest = client.rest().await;
            let statuses = rest.split("HTTP/1.1 ").skip(1).map(|answer| answer[..3].to_owned());
            answers.push(statuses.collect::<Vec<_>>());
        }
        plain += usize::from(answers[0] == ["200", "405"]);
        assert_eq!(answers[0], answers[1], "{seed}: {}", request.escape_ascii());
    }
    assert!((100..1000).contains(&plain), "{plain} of them were right");
    server.stop().await;
}
