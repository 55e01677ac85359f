//! HTTP/1 as it should not be, and as it may be.

use tokio::io::AsyncWriteExt;

use crate::client::Client;
use crate::frames::HANDSHAKE;
use crate::open::{ADD, SUM, open};
use crate::server::router;

/// What begins every request here.
const POST: &str = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";

/// A request that must never be answered, for it is in the body of another.
const HIDDEN: &str = "GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[tokio::test]
async fn what_two_readers_may_read_in_two_ways_is_refused() {
    let server = open("http", router(), |server| server).await;
    let length = ADD.len();
    let chunked = format!("{length:x}\r\n{ADD}\r\n0\r\n\r\n");
    for (headers, body) in [
        // Both lengths.
        (format!("Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n"), chunked.clone()),
        (format!("Transfer-Encoding: chunked\r\nContent-Length: {length}\r\n"), chunked.clone()),
        (format!("transfer-encoding:chunked\r\nX: y\r\nCONTENT-LENGTH:{length}\r\n"), chunked.clone()),
        ("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n".to_owned(), chunked.clone()),
        // Lengths that differ, or are none.
        (format!("Content-Length: {length}\r\nContent-Length: 5\r\n"), ADD.to_owned()),
        (format!("Content-Length: {length}, 5\r\n"), ADD.to_owned()),
        (format!("Content-Length: +{length}\r\n"), ADD.to_owned()),
        ("Content-Length: -1\r\n".to_owned(), ADD.to_owned()),
        ("Content-Length: 0x36\r\n".to_owned(), ADD.to_owned()),
        ("Content-Length: \r\n".to_owned(), ADD.to_owned()),
        ("Content-Length: 99999999999999999999\r\n".to_owned(), ADD.to_owned()),
        // Names that are none.
        ("Transfer-Encoding : chunked\r\n".to_owned(), chunked.clone()),
        (format!("Content-Length : {length}\r\n"), ADD.to_owned()),
        (format!("X: y\r\n Content-Length: {length}\r\n"), ADD.to_owned()),
        (format!("Content-Length: {length}\r\nX\0: y\r\n"), ADD.to_owned()),
        (format!("Content-Length: {length}\r\nX: y\0z\r\n"), ADD.to_owned()),
        // Codings that are not the last word.
        ("Transfer-Encoding: chunked, identity\r\n".to_owned(), chunked.clone()),
        ("Transfer-Encoding: xchunked\r\n".to_owned(), chunked.clone()),
        ("Transfer-Encoding: gzip\r\n".to_owned(), chunked.clone()),
        // Chunks that are none.
        ("Transfer-Encoding: chunked\r\n".to_owned(), "zz\r\n{}\r\n0\r\n\r\n".to_owned()),
        ("Transfer-Encoding: chunked\r\n".to_owned(), "-1\r\n{}\r\n0\r\n\r\n".to_owned()),
        ("Transfer-Encoding: chunked\r\n".to_owned(), "\r\n{}\r\n0\r\n\r\n".to_owned()),
        ("Transfer-Encoding: chunked\r\n".to_owned(), format!("2\r\n{ADD}\r\n0\r\n\r\n")),
        ("Transfer-Encoding: chunked\r\n".to_owned(), "fffffffffffffffff1\r\n{}\r\n0\r\n\r\n".to_owned()),
        (
            "Transfer-Encoding: chunked\r\n".to_owned(),
            format!("{length:x};{}\r\n{ADD}\r\n0\r\n\r\n", "x".repeat(20_000)),
        ),
        // Nobody is called, or two are.
        (format!("Host: elsewhere\r\nContent-Length: {length}\r\n"), ADD.to_owned()),
    ] {
        for at_once in [usize::MAX, 1] {
            // A body that is long need not come byte by byte.
            let at_once = if body.len() > 1000 { usize::MAX } else { at_once };
            let mut client = Client::connect(server.port).await;
            let request = format!("{POST}{headers}\r\n{body}{HIDDEN}");
            for piece in request.as_bytes().chunks(at_once) {
                client.send(piece).await;
                tokio::task::yield_now().await;
            }
            let answers = client.rest().await;
            assert!(answers.starts_with("HTTP/1.1 400 "), "{headers}{body}\n{answers}");
            assert_eq!(answers.matches("HTTP/1.1 ").count(), 1, "{headers}{body}\n{answers}");
        }
    }
    server.assert_serves().await;
    server.stop().await;
}

#[tokio::test]
async fn fifty_requests_at_once_have_fifty_answers_in_order() {
    let server = open("http", router(), |server| server).await;
    let mut client = Client::connect(server.port).await;
    let call = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"add","params":[{id},1]}}"#);
    // Each third one takes a little longer, and each other one comes in chunks.
    let request = |id: u32| {
        let body =
            if id.is_multiple_of(3) { call(id).replace("add", "nap").replace(",1]", "]") } else { call(id) };
        let length = body.len();
        match id % 2 {
            0 => format!("{POST}Content-Length: {length}\r\n\r\n{body}"),
            _ => format!(
                "{POST}Transfer-Encoding: chunked\r\n\r\n{length:x};a=b\r\n{body}\r\n0\r\nX: y\r\n\r\n"
            ),
        }
    };
    let requests: String = (0..50).map(request).collect();
    client.send(requests).await;
    for id in 0..50 {
        let result = if id % 3 == 0 { id } else { id + 1 };
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        assert_eq!(client.answer().await, (200, answer));
    }
    // And the connection is kept.
    client.post("", ADD).await;
    assert_eq!(client.answer().await, (200, SUM.to_owned()));
    client.post("Connection: close\r\n", ADD).await;
    assert_eq!(client.answer().await, (200, SUM.to_owned()));
    assert!(client.is_closed().await);
    server.stop().await;
}

#[tokio::test]
async fn the_old_version_is_spoken_too() {
    let server = open("http", router(), |server| server).await;
    let old = "POST / HTTP/1.0\r\nContent-Type: application/json\r\n";
    let length = ADD.len();
    let mut client = Client::connect(server.port).await;
    for headers in ["Connection: keep-alive\r\n", ""] {
        client.send(format!("{old}{headers}Content-Length: {length}\r\n\r\n{ADD}")).await;
        assert_eq!(client.answer().await, (200, SUM.to_owned()), "{headers}");
    }
    assert!(client.is_closed().await);
    // It has no chunks and no events in chunks: the end of the connection is the end of the answer.
    let mut client = Client::connect(server.port).await;
    let tell = r#"{"jsonrpc":"2.0","id":1,"method":"tell"}"#;
    let length = tell.len();
    client.send(format!("{old}Accept: text/event-stream\r\nContent-Length: {length}\r\n\r\n{tell}")).await;
    let answer = client.rest().await;
    assert!(!answer.contains("chunked") && answer.ends_with("\"result\":\"told\"}\n\n"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn who_asks_before_sending_is_told_to_go_on() {
    let server = open("http", router(), |server| server).await;
    let length = ADD.len();
    let mut client = Client::connect(server.port).await;
    client.send(format!("{POST}Expect: 100-continue\r\nContent-Length: {length}\r\n\r\n")).await;
    assert_eq!(client.head().await.text, "HTTP/1.1 100 Continue");
    client.send(ADD).await;
    assert_eq!(client.answer().await, (200, SUM.to_owned()));
    // One that would be refused is refused at once.
    client.send(format!("{POST}Expect: 100-continue\r\nContent-Length: 99999999\r\n\r\n")).await;
    assert_eq!(client.answer().await.0, 413);
    assert!(client.is_closed().await);
    server.stop().await;
}

/// A client that sends nothing more has gone, as far as HTTP knows: what it asked for may be answered, or
/// not; but nothing of it is left.
#[tokio::test]
async fn half_a_connection_ends() {
    let (router, running) = crate::stop::holding();
    let server = open("http", router, |server| server).await;
    let hold = r#"{"jsonrpc":"2.0","id":1,"method":"hold"}"#;
    for (request, answer) in [
        (format!("{POST}Content-Length: {}\r\n\r\n{hold}", hold.len()), ""),
        (format!("{POST}Content-Length: 1000\r\n\r\n{hold}"), "HTTP/1.1 400 "),
        (format!("{POST}Transfer-Encoding: chunked\r\n\r\n5\r\n[1"), "HTTP/1.1 400 "),
        (POST.to_owned(), ""),
        // This may have become anything, but nothing that is served.
        ("POST".to_owned(), "HTTP/1.1 400 "),
    ] {
        let mut client = Client::connect(server.port).await;
        client.send(&request).await;
        if request.ends_with(hold) && answer.is_empty() {
            running.reaches(1).await;
        }
        client.stream.shutdown().await.unwrap();
        let got = client.rest().await;
        assert!(got.starts_with(answer) && got.is_empty() == answer.is_empty(), "{request}\n{got}");
        running.reaches(0).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn half_a_stream_is_answered() {
    let server = open("tcp", router(), |server| server).await;
    let call = r#"{"jsonrpc":"2.0","id":7,"method":"nap","params":[100]}"#;
    let answer = r#"{"jsonrpc":"2.0","id":7,"result":100}"#;
    let framed = |text: &str| format!("Content-Length: {}\r\n\r\n{text}", text.len());
    for (request, answer) in [
        (format!("{call}\n"), format!("{answer}\n")),
        (call.to_owned(), format!("{answer}\n")),
        (framed(call), framed(answer)),
    ] {
        let mut client = Client::connect(server.port).await;
        client.send(&request).await;
        client.stream.shutdown().await.unwrap();
        assert_eq!(client.rest().await, answer, "{request}");
    }
    server.stop().await;
}

/// What docs/http.md says of requests that are allowed but rare.
#[tokio::test]
async fn what_is_unusual_is_judged_as_documented() {
    let server = open("http", router(), |server| server).await;
    let length = ADD.len();
    let host = "Host: localhost\r\n";
    let json = "Content-Type: application/json\r\n";
    let sized = format!("Content-Length: {length}\r\n");
    for (name, request, status) in [
        ("LF", format!("POST / HTTP/1.1\r\n{host}{json}{sized}\r\n").replace("\r\n", "\n") + ADD, 200),
        ("equal lengths", format!("{POST}{sized}{sized}\r\n{ADD}"), 200),
        ("a list of lengths", format!("{POST}Content-Length: {length}, {length}\r\n\r\n{ADD}"), 400),
        ("an unknown Expect", format!("{POST}Expect: 200-maybe\r\n{sized}\r\n{ADD}"), 200),
        ("1.0 without a Host", format!("POST / HTTP/1.0\r\n{json}{sized}\r\n{ADD}"), 200),
        (
            "1.0 from a page",
            format!("POST / HTTP/1.0\r\n{json}Origin: http://evil.example\r\n{sized}\r\n{ADD}"),
            403,
        ),
        ("1.1 without a Host", format!("POST / HTTP/1.1\r\n{json}{sized}\r\n{ADD}"), 400),
        ("an empty port", format!("POST / HTTP/1.1\r\nHost: localhost:\r\n{json}{sized}\r\n{ADD}"), 200),
    ] {
        for http in [true, false] {
            let mut client = Client::connect(server.port).await;
            // Behind another request it is hyper's or not, as that one was.
            let before = if http { format!("{POST}{sized}\r\n{ADD}") } else { String::new() };
            client.send(format!("{before}{request}")).await;
            if http {
                assert_eq!(client.answer().await, (200, SUM.to_owned()));
            }
            let (got, answer) = client.answer().await;
            assert_eq!(got, status, "{name}: {answer}");
            assert!(status != 200 || answer == SUM, "{name}: {answer}");
        }
    }
    server.stop().await;
}

/// What follows the head of a handshake is frames. Were it a body for whoever is in between, the two would not agree on
/// where it ends.
#[tokio::test]
async fn a_handshake_has_no_body() {
    let server = open("http", router(), |server| server).await;
    for (headers, status) in [
        ("", 101),
        ("Content-Length: 0\r\n", 101),
        ("Content-Length: 5\r\n", 400),
        ("Transfer-Encoding: chunked\r\n", 400),
    ] {
        let mut client = Client::connect(server.port).await;
        client.send(HANDSHAKE.replacen("\r\n\r\n", &format!("\r\n{headers}\r\n"), 1)).await;
        let (got, answer) = client.answer().await;
        assert_eq!(got, status, "{headers}: {answer}");
    }
    server.stop().await;
}
