//! Streams: what is on them, and who gets it, when connections come and go.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::stream;
use sabir::{Ctx, Http, HttpService, Router, Sessions, SubscriptionStyle};

use crate::client::{Client, within};
use crate::server::{router, serve};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize"}"#;
const SESSIONS: Sessions = Sessions::opened_by("initialize");

async fn serve_sessions(sessions: Sessions) -> u16 {
    serve(HttpService::new(router(), Http::new().sessions(sessions))).await
}

/// Opens a session. Returns the header that names it.
async fn open(port: u16) -> String {
    let mut client = Client::connect(port).await;
    client.post("", INITIALIZE).await;
    let head = client.head().await;
    assert_eq!(head.status(), 200, "{}", head.text);
    client.body(&head).await;
    format!("Mcp-Session-Id: {}\r\n", head.header("mcp-session-id").unwrap())
}

/// Sends one POST over a connection of its own. Returns the status and the body.
async fn post(port: u16, headers: &str, body: &str) -> (u16, String) {
    let mut client = Client::connect(port).await;
    client.post(headers, body).await;
    let head = client.head().await;
    (head.status(), client.body(&head).await)
}

/// Opens a stream of the session's own messages.
async fn listen(port: u16, headers: &str) -> Client {
    let mut client = Client::connect(port).await;
    client.get(headers).await;
    let head = client.head().await;
    assert_eq!(head.status(), 200, "{}", head.text);
    client
}

fn announce(text: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"announce","params":["{text}"]}}"#)
}

#[tokio::test]
async fn a_handler_asks_its_caller() {
    let port = serve_sessions(SESSIONS).await;
    let session = open(port).await;
    let mut client = Client::connect(port).await;
    client.post(&session, r#"{"jsonrpc":"2.0","id":5,"method":"ask"}"#).await;
    assert_eq!(client.head().await.header("content-type"), Some("text/event-stream"));
    assert_eq!(
        client.chunk().await,
        "id: p2-1\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"question\"}\n\n"
    );
    assert_eq!(
        post(port, &session, r#"{"jsonrpc":"2.0","id":1,"result":"yes"}"#).await,
        (202, String::new())
    );
    let answer = "id: p2-2\ndata: {\"jsonrpc\":\"2.0\",\"id\":5,\"result\":\"they say yes\"}\n\n";
    assert_eq!(client.chunk().await, answer);
    assert_eq!(client.chunk().await, "");
}

#[tokio::test]
async fn what_belongs_to_no_request_goes_to_one_stream_and_waits_for_it() {
    let port = serve_sessions(SESSIONS).await;
    let session = open(port).await;
    post(port, &session, &announce("one")).await;
    let mut first = listen(port, &session).await;
    assert!(first.chunk().await.contains("[\"one\"]"));
    let mut second = listen(port, &session).await;
    post(port, &session, &announce("two")).await;
    assert!(second.chunk().await.contains("[\"two\"]"));
    // The second has gone: the first, which got nothing in between, is the only one left.
    drop(second);
    post(port, &session, &announce("three")).await;
    let mut got = String::new();
    while !got.contains("three") {
        // It may have been sent while the second's end was not yet known.
        post(port, &session, &announce("three")).await;
        got = first.chunk().await;
    }
    assert!(!got.contains("two"), "{got}");
}

#[tokio::test]
async fn a_broken_stream_is_taken_up_where_it_broke() {
    let port = serve_sessions(SESSIONS).await;
    let session = open(port).await;
    let mut client = Client::connect(port).await;
    let headers = format!("{session}MCP-Protocol-Version: 2025-11-25\r\n");
    client.post(&headers, r#"{"jsonrpc":"2.0","id":5,"method":"ask"}"#).await;
    client.head().await;
    assert_eq!(client.chunk().await, "id: p2-0\nretry: 1000\ndata:\n\n");
    client.chunk().await;
    // A lost connection does not cancel: the handler still waits for its answer.
    drop(client);
    assert_eq!(post(port, &session, r#"{"jsonrpc":"2.0","id":1,"result":"yes"}"#).await.0, 202);
    let mut again = listen(port, &format!("{session}Last-Event-ID: p2-0\r\n")).await;
    assert!(again.chunk().await.contains("question"));
    assert!(again.chunk().await.contains("they say yes"));
    assert_eq!(again.chunk().await, "");
}

#[tokio::test]
async fn a_handler_hangs_up_on_a_caller_that_knows_how_to_come_back() {
    let port = serve_sessions(SESSIONS).await;
    let session = open(port).await;
    let leave = r#"{"jsonrpc":"2.0","id":5,"method":"leave"}"#;
    let answer = |id: u64| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"yes"}}"#);
    let headers = format!("{session}MCP-Protocol-Version: 2025-11-25\r\n");
    let mut client = Client::connect(port).await;
    client.post(&headers, leave).await;
    assert_eq!(client.head().await.header("content-type"), Some("text/event-stream"));
    assert_eq!(client.chunk().await, "id: p2-0\nretry: 1000\ndata:\n\n");
    assert_eq!(client.chunk().await, "");
    let mut again = listen(port, &format!("{session}Last-Event-ID: p2-0\r\n")).await;
    assert!(again.chunk().await.contains("question"));
    assert_eq!(post(port, &session, &answer(1)).await.0, 202);
    assert!(again.chunk().await.contains("[true,\"yes\"]"));
    assert_eq!(again.chunk().await, "");

    // Older clients are not told how.
    let mut client = Client::connect(port).await;
    client.post(&session, leave).await;
    client.head().await;
    assert!(client.chunk().await.contains("question"));
    assert_eq!(post(port, &session, &answer(2)).await.0, 202);
    assert!(client.chunk().await.contains("[false,\"yes\"]"));
}

#[tokio::test]
async fn a_call_is_cancelled_by_another_request() {
    let port = serve_sessions(SESSIONS).await;
    let session = open(port).await;
    let mut client = Client::connect(port).await;
    client.post(&session, r#"{"jsonrpc":"2.0","id":5,"method":"nap","params":[1000000]}"#).await;
    let cancel = r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":5}}"#;
    // The cancel may overtake the call, which has a connection of its own.
    let answered = async {
        let head = client.head().await;
        client.body(&head).await
    };
    let mut answered = std::pin::pin!(answered);
    let body = loop {
        tokio::select! {
            body = &mut answered => break body,
            _ = post(port, &session, cancel) => {}
        }
    };
    assert!(body.contains("-32800"), "{body}");
}

#[tokio::test]
async fn a_session_that_is_left_alone_ends() {
    let idle = Duration::from_millis(30);
    let port = serve_sessions(Sessions { idle, ..SESSIONS }).await;
    let session = open(port).await;
    within(async {
        loop {
            // Each request is a sign of life, so there must be some time between them.
            tokio::time::sleep(3 * idle).await;
            if post(port, &session, &announce("x")).await.0 == 404 {
                break;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn the_oldest_idle_session_makes_room() {
    let port = serve_sessions(Sessions { most: 2, ..SESSIONS }).await;
    let busy = open(port).await;
    let _stream = listen(port, &busy).await;
    let idle = open(port).await;
    // The connection that opened it may not be known to have ended.
    within(async {
        loop {
            let (status, _) = post(port, "", INITIALIZE).await;
            if status == 200 {
                break;
            }
            assert_eq!(status, 503);
        }
    })
    .await;
    assert_eq!(post(port, &idle, &announce("x")).await.0, 404);
    assert_eq!(post(port, &busy, &announce("x")).await.0, 200);
}

#[tokio::test]
async fn a_session_has_so_many_streams() {
    let port = serve_sessions(Sessions { streams: 2, ..SESSIONS }).await;
    let session = open(port).await;
    let _one = listen(port, &session).await;
    let _two = listen(port, &session).await;
    assert_eq!(post(port, &session, &announce("x")).await.0, 429);
}

#[tokio::test]
async fn a_stream_that_nobody_reads_makes_its_handler_wait() {
    for sessions in [None, Some(SESSIONS)] {
        let sent = Arc::new(AtomicUsize::new(0));
        let counting = Arc::clone(&sent);
        let router = router().method("pour", move |ctx: Ctx, (): ()| {
            let sent = Arc::clone(&counting);
            async move {
                loop {
                    ctx.peer().notify("drop", ("x".repeat(10_000),)).await?;
                    sent.fetch_add(1, Ordering::SeqCst);
                }
                #[expect(unreachable_code, reason = "it says what the handler returns")]
                Ok(())
            }
        });
        let http = Http::new();
        let http = match sessions {
            Some(sessions) => http.sessions(sessions),
            None => http,
        };
        let port = serve(HttpService::new(router, http)).await;
        let session = if sessions.is_some() { open(port).await } else { String::new() };
        let mut client = Client::connect(port).await;
        client.post(&session, r#"{"jsonrpc":"2.0","id":5,"method":"pour"}"#).await;
        client.head().await;
        // It pours until the buffers of both sides and of the socket are full.
        let full = within(async {
            loop {
                let before = sent.load(Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(200)).await;
                let now = sent.load(Ordering::SeqCst);
                if now == before && now > 0 {
                    break now;
                }
            }
        })
        .await;
        assert!(full * 10_000 < 16 << 20, "{full} messages");
    }
}

#[tokio::test]
async fn a_client_that_goes_away_takes_its_handler_along() {
    struct EventFlag(Option<tokio::sync::oneshot::Sender<()>>);
    impl Drop for EventFlag {
        fn drop(&mut self) {
            let _ = self.0.take().unwrap().send(());
        }
    }
    for accept in ["application/json", "text/event-stream"] {
        let (dropped, told) = tokio::sync::oneshot::channel();
        let dropped = Arc::new(std::sync::Mutex::new(Some(dropped)));
        let router = Router::new().method("wait", move |ctx: Ctx, (): ()| {
            let told = EventFlag(dropped.lock().unwrap().take());
            async move {
                let _told = told;
                ctx.peer().notify("started", ()).await?;
                std::future::pending::<()>().await;
                Ok(())
            }
        });
        let port = serve(HttpService::new(router, Http::new())).await;
        let mut client = Client::connect(port).await;
        let body = r#"{"jsonrpc":"2.0","id":5,"method":"wait"}"#;
        let length = body.len();
        client
            .send(&format!(
                "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                 Accept: {accept}\r\nContent-Length: {length}\r\n\r\n{body}"
            ))
            .await;
        if accept == "text/event-stream" {
            client.head().await;
            assert!(client.chunk().await.contains("started"));
        }
        drop(client);
        within(told).await.unwrap();
    }
}

#[tokio::test]
async fn a_silent_answer_becomes_a_stream_that_shows_life() {
    for sessions in [false, true] {
        let http = Http::new().keep_alive(Duration::from_millis(10));
        let http = if sessions { http.sessions(SESSIONS) } else { http };
        let port = serve(HttpService::new(router(), http)).await;
        let session = if sessions { open(port).await } else { String::new() };
        let mut client = Client::connect(port).await;
        client.post(&session, r#"{"jsonrpc":"2.0","id":5,"method":"nap","params":[200]}"#).await;
        assert_eq!(client.head().await.header("content-type"), Some("text/event-stream"));
        assert_eq!(client.chunk().await, ":\n\n");
        let mut last = String::new();
        within(async {
            while !last.contains("\"result\":200") {
                last = client.chunk().await;
            }
        })
        .await;
    }
}

#[tokio::test]
async fn stopping_ends_streams_and_sessions() {
    let service = HttpService::new(router(), Http::new().sessions(SESSIONS));
    let port = serve(service.clone()).await;
    let session = open(port).await;
    let mut stream = listen(port, &session).await;
    let mut call = Client::connect(port).await;
    call.post(&session, r#"{"jsonrpc":"2.0","id":5,"method":"nap","params":[100]}"#).await;
    // A call that is on its way is answered.
    let mut probe = Client::connect(port).await;
    probe.post(&session, &announce("x")).await;
    assert!(stream.chunk().await.contains("[\"x\"]"));
    service.stop();
    let head = call.head().await;
    let answered = call.body(&head).await;
    assert!(answered.contains("\"result\":100") || head.status() == 503, "{answered}");
    assert_eq!(stream.chunk().await, "");
    assert_eq!(post(port, &session, &announce("x")).await.0, 503);
}

/// Who takes no stream is told why that is needed; who does gets a session with the response, and so before any item. All
/// other requests are plain ones, also on a connection that never met hyper.
#[tokio::test]
async fn subscribing_opens_a_session() {
    let style = SubscriptionStyle::notified("subscribe", "item", "unsubscribe");
    let router = router().subscription(style, |_, to: u64| async move { Ok(stream::iter(0..to)) });
    let http = Http::new().sessions(Sessions::opened_by_subscribing());
    let server = sabir::listen("http://127.0.0.1:0", router).http(http).await.unwrap();
    let port: u16 = server.url().rsplit(':').next().unwrap().trim_end_matches('/').parse().unwrap();
    tokio::spawn(server.run());
    let subscribe =
        |id: u64, to: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"subscribe","params":[{to}]}}"#);

    let mut plain = Client::connect(port).await;
    for (body, wanted) in [
        (subscribe(1, "3"), "NATS, or a session"),
        (format!("[{}]", subscribe(1, "3")), "NATS, or a session"),
        (r#"{"jsonrpc":"2.0","id":2,"method":"add","params":[1,2]}"#.to_owned(), "\"result\":3"),
    ] {
        plain.post_accepting("application/json", "", &body).await;
        let head = plain.head().await;
        let answer = plain.body(&head).await;
        assert!(answer.contains(wanted), "{body}: {answer}");
        assert_eq!((head.status(), head.header("mcp-session-id")), (200, None), "{body}");
    }
    // Neither does what subscribes to nothing.
    for body in [subscribe(1, "\"x\""), r#"{"jsonrpc":"2.0","id":2,"method":"echo","params":["x"]}"#.into()] {
        plain.post("", &body).await;
        let head = plain.head().await;
        plain.body(&head).await;
        assert_eq!((head.status(), head.header("mcp-session-id")), (200, None), "{body}");
    }
    let mut bare = Client::connect(port).await;
    bare.get("").await;
    assert_eq!(bare.head().await.status(), 400);

    let mut client = Client::connect(port).await;
    client.post("", &subscribe(1, "2")).await;
    let head = client.head().await;
    let session = format!("Mcp-Session-Id: {}\r\n", head.header("mcp-session-id").unwrap());
    let response: serde_json::Value = serde_json::from_str(&client.body(&head).await).unwrap();
    let id = response["result"].as_str().unwrap();
    let mut stream = listen(port, &session).await;
    for n in 0..2 {
        let item = stream.chunk().await;
        let wanted = format!(r#""method":"item","params":{{"subscription":"{id}","result":{n}}}"#);
        assert!(item.contains(&wanted), "{item}");
    }
    assert!(stream.chunk().await.contains("-32014"));
    // The session takes more, over a connection that has had plain requests only.
    let mut other = Client::connect(port).await;
    let echo = r#"{"jsonrpc":"2.0","id":2,"method":"echo","params":["x"]}"#;
    other.post_accepting("application/json", "", echo).await;
    let head = other.head().await;
    other.body(&head).await;
    other.post_accepting("application/json", &session, &subscribe(2, "1")).await;
    let head = other.head().await;
    let answer = other.body(&head).await;
    assert!(answer.contains("\"result\":\""), "{answer}");
    assert!(stream.chunk().await.contains("\"result\":0"));
}
