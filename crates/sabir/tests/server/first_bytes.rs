//! What is spoken is told by the first bytes, however they come.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sabir::{Denied, Http, Protocols, Router};

use crate::client::Client;
use crate::frames::HANDSHAKE;
use crate::open::{ADD, Certificate, SUM, open};
use crate::server::router;

/// What a client says first, and what it gets if it is understood.
struct Speech {
    name: &'static str,
    says: String,
    gets: String,
}

fn framed(message: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{message}", message.len())
}

fn speeches() -> [Speech; 5] {
    let speech = |name, says: &str, gets: &str| Speech { name, says: says.to_owned(), gets: gets.to_owned() };
    let post = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{ADD}",
        ADD.len()
    );
    [
        speech("lines", &format!("{ADD}\n"), &format!("{SUM}\n")),
        speech("headers", &framed(ADD), &framed(SUM)),
        speech("HTTP/1", &post, SUM),
        speech("WebSocket", HANDSHAKE, "HTTP/1.1 101 "),
        // A preface with empty settings, and the acknowledgement of these.
        speech("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", "\0\0\0\x04\x01\0\0\0\0"),
    ]
}

async fn say(client: &mut Client, bytes: &[u8], at_once: usize) {
    for piece in bytes.chunks(at_once) {
        client.send(piece).await;
        // The other side reads it before the next comes.
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
    }
}

async fn assert_understood(mut client: Client, speech: &Speech, at_once: usize) {
    say(&mut client, speech.says.as_bytes(), at_once).await;
    client.until(&speech.gets).await;
    // Whatever was not found was taken whole.
    let found = !client.ended();
    assert!(found, "{}, {at_once} bytes at once", speech.name);
}

#[tokio::test]
async fn each_is_told_apart_on_one_port() {
    let certificate = Certificate::new();
    let server = open("tcp", router(), |server| server.tls(certificate.server())).await;
    for speech in speeches() {
        for at_once in [1, 7, usize::MAX] {
            assert_understood(Client::connect(server.port).await, &speech, at_once).await;
            let tls = certificate.connect(server.port, &[]).await;
            assert_understood(Client::over(tls), &speech, at_once).await;
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_tls_server_accepts_nothing_else() {
    let certificate = Certificate::new();
    for scheme in ["https", "wss", "tls"] {
        let protocols = Protocols::default();
        let server =
            open(scheme, router(), |server| server.tls(certificate.server()).protocols(protocols)).await;
        for speech in speeches() {
            let tls = certificate.connect(server.port, &[]).await;
            assert_understood(Client::over(tls), &speech, usize::MAX).await;
            let mut plain = Client::connect(server.port).await;
            plain.send(&speech.says).await;
            assert_eq!(plain.rest().await, "", "{}", speech.name);
        }
        server.stop().await;
    }
}

#[tokio::test]
async fn without_a_certificate_tls_is_hung_up_on() {
    let server = open("http", router(), |server| server).await;
    for hello in [&b"\x16\x03\x01\x02\x00\x01\x00"[..], b"\x16"] {
        let mut client = Client::connect(server.port).await;
        client.send(hello).await;
        assert_eq!(client.rest().await, "");
    }
}

#[tokio::test]
async fn each_can_be_switched_off() {
    const ALL: Protocols = Protocols { lines: true, headers: true, http: true, websocket: true };
    const NONE: Protocols = Protocols { lines: false, headers: false, http: false, websocket: false };
    for (protocols, off) in [
        (Protocols { lines: false, ..ALL }, &["lines"][..]),
        (Protocols { headers: false, ..ALL }, &["headers"]),
        (Protocols { lines: false, headers: false, ..ALL }, &["lines", "headers"]),
        (Protocols { http: false, ..ALL }, &["HTTP/1"]),
        (Protocols { websocket: false, ..ALL }, &["WebSocket"]),
        (Protocols { http: false, websocket: false, ..ALL }, &["HTTP/1", "HTTP/2", "WebSocket"]),
        (NONE, &["lines", "headers", "HTTP/1", "HTTP/2", "WebSocket"]),
    ] {
        let server = open("tcp", router(), |server| server.protocols(protocols)).await;
        for speech in speeches() {
            let mut client = Client::connect(server.port).await;
            if !off.contains(&speech.name) {
                assert_understood(client, &speech, usize::MAX).await;
                continue;
            }
            client.send(&speech.says).await;
            let answer = match speech.name {
                "HTTP/1" | "WebSocket" => client.head().await.text,
                // Nothing more is to come, so that there is an end.
                _ => {
                    let _ = tokio::io::AsyncWriteExt::shutdown(&mut client.stream).await;
                    client.rest().await
                }
            };
            let (name, is_http) = (speech.name, ["HTTP/1", "WebSocket"].contains(&speech.name));
            assert!(!answer.contains(&speech.gets), "{name}: {answer}");
            assert_eq!(answer.starts_with("HTTP/1.1 501 "), is_http, "{name}: {answer}");
        }
    }
}

/// A stream that is not served is told so once, in its own framing.
#[track_caller]
fn assert_refused(answer: &str, name: &str) {
    assert_eq!(answer.starts_with("Content-Length: "), name == "headers", "{answer}");
    assert_eq!(answer.matches("not served here").count(), 1, "{answer}");
    assert_eq!(answer.matches("jsonrpc").count(), 1, "{answer}");
}

/// What a URL says is what is served, unless more is asked for.
#[tokio::test]
async fn a_url_of_the_web_serves_no_streams_unless_asked() {
    for scheme in ["http", "ws"] {
        let server = open(scheme, router(), |server| server).await;
        for speech in speeches() {
            let mut client = Client::connect(server.port).await;
            if !["lines", "headers"].contains(&speech.name) {
                assert_understood(client, &speech, usize::MAX).await;
                continue;
            }
            client.send(&speech.says).await;
            assert_refused(&client.rest().await, speech.name);
        }
        let mut client = Client::connect(server.port).await;
        client.send("nonsense\n").await;
        assert!(client.rest().await.starts_with("HTTP/1.1 400 "));
        server.stop().await;
        let server = open(scheme, router(), |server| server.protocols(Protocols::default())).await;
        for speech in speeches() {
            assert_understood(Client::connect(server.port).await, &speech, usize::MAX).await;
        }
        server.stop().await;
    }
}

/// A page on a name that leads here can send any method with any body. No line of that may be executed.
#[tokio::test]
async fn the_body_of_a_request_is_never_a_stream() {
    let (router, calls) = counting();
    for scheme in ["tcp", "http"] {
        let server = open(scheme, router.clone(), |server| server).await;
        let line = r#"{"jsonrpc":"2.0","id":1,"method":"count"}"#;
        let body = format!("\n{line}\n{line}\n");
        for method in ["FOO", "patch", "QUERY", "Content-Length", "{}", "PRI", "PROPFIND", "POST", "GET", "x"]
        {
            for start in ["", "\r\n", "\n\n\n", " ", "\t\n ", "\u{feff}"] {
                for host in ["localhost", "evil.example"] {
                    let request = format!(
                        "{start}{method} / HTTP/1.1\r\nHost: {host}\r\nContent-Type: text/plain\r\n\
                         Content-Length: {}\r\n\r\n{body}",
                        body.len()
                    );
                    // This one cannot be the method of a request.
                    if method == "{}" && scheme == "tcp" {
                        continue;
                    }
                    for at_once in [1, usize::MAX] {
                        let mut client = Client::connect(server.port).await;
                        say(&mut client, request.as_bytes(), at_once).await;
                        let _ = tokio::io::AsyncWriteExt::shutdown(&mut client.stream).await;
                        let answer = client.rest().await;
                        assert!(!answer.contains("result"), "{request}\n{answer}");
                        assert!(!answer.starts_with("HTTP/1.1 2"), "{request}\n{answer}");
                    }
                }
            }
        }
        server.stop().await;
    }
    assert_eq!(calls.load(Ordering::Relaxed), 0);
}

/// A router that counts the calls of its one method.
fn counting() -> (Router, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let router = Router::new().method("count", move |_, (): ()| {
        counted.fetch_add(1, Ordering::Relaxed);
        async { Ok(()) }
    });
    (router, calls)
}

/// What begins like no message is answered once; an invalid message later harms nothing.
#[tokio::test]
async fn a_stream_must_begin_like_one() {
    let server = open("tcp", router(), |server| server).await;
    for start in ["nonsense\n", "\"text\"\n", "1\n", "Host: localhost\r\n\r\n", "\0\0\0\0", "\u{feff}x"] {
        let mut client = Client::connect(server.port).await;
        client.send(format!("{start}\n{ADD}\n{ADD}\n")).await;
        let answer = client.rest().await;
        assert!(
            answer.starts_with(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"#),
            "{start}: {answer}"
        );
        assert_eq!(answer.lines().count(), 1, "{start}: {answer}");
    }
    for start in ["{", "[", " {", "\u{feff}{", "\n\r\n\t{"] {
        let mut client = Client::connect(server.port).await;
        client.send(format!("{start}broken\nnonsense\n{ADD}\n")).await;
        client.until(&format!("{SUM}\n")).await;
        assert!(!client.ended(), "{start}");
    }
    server.stop().await;
}

/// Streams have no place for a token.
#[tokio::test]
async fn where_callers_must_say_who_they_are_no_stream_is_served() {
    let server = open("tcp", router(), |server| server.http(Http::new().bearer("sesame"))).await;
    for speech in speeches() {
        let mut client = Client::connect(server.port).await;
        client.send(&speech.says).await;
        match speech.name {
            "lines" | "headers" => assert_refused(&client.rest().await, speech.name),
            "HTTP/2" => {}
            _ => assert_eq!(client.head().await.status(), 401, "{}", speech.name),
        }
    }
    let mut client = Client::connect(server.port).await;
    client.post("Authorization: Bearer sesame\r\n", ADD).await;
    assert_eq!(client.answer().await, (200, SUM.to_owned()));
}

/// Nor for what a permission is asked by.
#[tokio::test]
async fn where_calls_need_a_permission_no_stream_is_served() {
    let http = Http::new().permit(|parts, _: Option<&()>, _, _| {
        parts.headers.contains_key("x-admin").then_some(()).ok_or(Denied::forbidden())
    });
    let server = open("tcp", router(), |server| server.http(http)).await;
    for speech in speeches().into_iter().filter(|speech| matches!(speech.name, "lines" | "headers")) {
        let mut client = Client::connect(server.port).await;
        client.send(&speech.says).await;
        assert_refused(&client.rest().await, speech.name);
    }
    for (header, status) in [("", 403), ("X-Admin: 1\r\n", 200)] {
        let mut client = Client::connect(server.port).await;
        client.post(header, ADD).await;
        assert_eq!(client.answer().await.0, status, "{header}");
    }
}
