//! Streamable HTTP: sessions, the server's own stream, and streams that are taken up again.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sabir::{CallError, Cause, MCP_2025_11_25, Router, transport};
use tokio::sync::mpsc;

use crate::script::{Act, Script, Seen, events, full, json, status, three, within};

/// Opens a session with the first call, accepts notifications, has no stream of its own.
fn session(seen: &Seen) -> Act {
    match (seen.method(), seen.body.as_str()) {
        ("POST", body) if body.contains("\"initialize\"") => {
            let headers = "content-type: application/json\r\nMcp-Session-Id: s-1\r\n";
            Act::Send(full("200 OK", headers, &three(seen)))
        }
        ("POST", body) if body.contains("\"id\"") && body.contains("\"method\"") => json(&three(seen)),
        ("POST", _) => status("202 Accepted", ""),
        ("DELETE", _) => status("200 OK", ""),
        _ => status("405 Method Not Allowed", "allow: POST, DELETE\r\n"),
    }
}

#[tokio::test]
async fn a_session_from_its_beginning_to_its_end() {
    let script = Script::answer(session).await;
    let peer = sabir::connect(script.url(), Router::new()).await.unwrap();
    assert_eq!(within(peer.call("initialize", ())).await, Ok(3));
    peer.set_header("MCP-Protocol-Version", "2025-06-18").unwrap();
    peer.notify("initialized", ()).await.unwrap();
    assert_eq!(within(peer.call("add", (1, 2))).await, Ok(3));
    script.seen(4).await;
    within(peer.shutdown(Duration::from_secs(5))).await;
    let mut seen = script.seen(5).await;
    assert_eq!(seen[0].header("mcp-session-id"), None);
    let kinds = |seen: &[Seen]| seen.iter().map(|seen| seen.method().to_owned()).collect::<Vec<_>>();
    for seen in &seen[1..] {
        assert_eq!(seen.header("mcp-session-id"), Some("s-1"), "{}", seen.head);
        assert_eq!(seen.header("mcp-protocol-version"), Some("2025-06-18"), "{}", seen.head);
    }
    // The stream is asked for while the next call is made.
    seen[2..4].sort_by_key(|seen| seen.method().to_owned());
    assert_eq!(kinds(&seen), ["POST", "POST", "GET", "POST", "DELETE"]);
}

/// A server that closes the connection after each answer, whether it says so or not, is told of the end all the same.
#[tokio::test]
async fn a_session_is_ended_over_a_connection_of_its_own() {
    for headers in ["", "connection: close\r\n"] {
        let script = Script::answer(move |seen| match session(seen) {
            Act::Send(answer) => {
                let answer = String::from_utf8(answer).unwrap();
                Act::Last(answer.replacen("\r\n", &format!("\r\n{headers}"), 1).into_bytes())
            }
            other => other,
        })
        .await;
        for round in 1..=20 {
            let peer = sabir::connect(script.url(), Router::new()).await.unwrap();
            assert_eq!(within(peer.call("initialize", ())).await, Ok(3));
            within(peer.shutdown(Duration::from_secs(5))).await;
            let seen = script.seen(2 * round).await;
            assert_eq!(seen.last().unwrap().method(), "DELETE", "{headers:?}, {round}");
        }
    }
}

#[tokio::test]
async fn a_session_that_is_lost_ends_the_connection() {
    let script = Script::answer(|seen| match seen.body.contains("gone") {
        true => status("404 Not Found", ""),
        false if seen.body.contains("silent") => Act::Hold(Vec::new()),
        false => session(seen),
    })
    .await;
    let peer = sabir::connect(script.url(), Router::new()).await.unwrap();
    assert_eq!(within(peer.call("initialize", ())).await, Ok(3));
    let silent = tokio::spawn(peer.call::<i64>("silent", ()).into_future());
    script.seen(2).await;
    let error = within(peer.call::<i64>("gone", ())).await.unwrap_err();
    let cause = within(peer.closed()).await;
    assert_eq!(
        cause.to_string(),
        "the server has ended the session, or forgotten it: connect again",
        "{error}"
    );
    assert_eq!(within(silent).await.unwrap(), Err(CallError::Closed(cause)));
    // Nothing is left to be deleted.
    assert!(script.seen(3).await.iter().all(|seen| seen.method() == "POST"));
}

/// With a session, the server is told of a cancel, and then the connection is closed.
#[tokio::test]
async fn a_cancel_within_a_session() {
    let script = Script::answer(|seen| match seen.body.contains("silent") {
        true => Act::Hold(Vec::new()),
        false => session(seen),
    })
    .await;
    let transport = transport::url(script.url()).dialect(MCP_2025_11_25);
    let peer = sabir::connect(transport, Router::new()).await.unwrap();
    assert_eq!(within(peer.call("initialize", ())).await, Ok(3));
    let call = peer.call::<i64>("silent", ()).timeout(Duration::from_millis(20));
    assert_eq!(within(call).await, Err(CallError::TimedOut));
    let seen = script.seen(3).await;
    assert_eq!(
        seen[2].body,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#
    );
    script.closed(seen[1].connection).await;
}

/// What the server says by itself is heard, and heard on once its stream broke.
#[tokio::test]
async fn the_stream_of_the_server() {
    let streams = AtomicUsize::new(0);
    let script = Script::answer(move |seen| match seen.method() {
        "GET" => {
            let n = streams.fetch_add(1, Ordering::Relaxed);
            let event = format!(
                "id: e{n}\nretry: 1\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"news\",\"params\":[{n}]}}\n\n"
            );
            match n {
                0 | 1 => Act::Last(events("", &event)),
                2 => status("503 Busy", ""),
                _ => Act::Hold(events("", &event)),
            }
        }
        _ => session(seen),
    })
    .await;
    let (heard, mut news) = mpsc::unbounded_channel();
    let router = Router::new().method("news", move |_, n: u32| {
        heard.send(n).unwrap();
        async { Ok(()) }
    });
    let peer = sabir::connect(script.url(), router).await.unwrap();
    assert_eq!(within(peer.call("initialize", ())).await, Ok(3));
    peer.notify("initialized", ()).await.unwrap();
    for want in [0, 1, 3] {
        assert_eq!(within(news.recv()).await, Some(want));
    }
    let seen = script.seen(6).await;
    let streams = seen.iter().filter(|seen| seen.method() == "GET");
    let after: Vec<_> = streams.map(|seen| seen.header("last-event-id")).collect();
    assert_eq!(after, [None, Some("e0"), Some("e1"), Some("e1")]);
    within(peer.shutdown(Duration::from_secs(5))).await;
}

/// The first answers of a call, one for each connection, and what comes of it.
async fn resumed(acts: Vec<Act>) -> (Result<i64, String>, Vec<Seen>) {
    let acts = Mutex::new(acts.into_iter());
    let script = Script::answer(move |_| acts.lock().unwrap().next().unwrap_or(Act::Hold(Vec::new()))).await;
    let peer = sabir::connect(script.url(), Router::new()).await.unwrap();
    let outcome = within(peer.call::<i64>("add", (1, 2))).await;
    let outcome = outcome.map_err(|error| error.to_string().replace(&script.url(), "URL"));
    assert_eq!(peer.cause(), None::<Cause>);
    (outcome, script.seen(1).await)
}

#[tokio::test]
async fn an_answer_is_taken_up_where_it_broke_off() {
    let three = "id: c\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":3}\n\n";
    let primed = "id: a\nretry: 1\ndata:\n\n";
    let (outcome, seen) = resumed(vec![
        Act::Last(events("", primed)),
        Act::Last(events("", "id: b\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n")),
        Act::Last(events("", three)),
    ])
    .await;
    assert_eq!(outcome, Ok(3));
    let asked: Vec<_> = seen.iter().map(|seen| (seen.method(), seen.header("last-event-id"))).collect();
    assert_eq!(asked, [("POST", None), ("GET", Some("a")), ("GET", Some("b"))]);

    for (acts, want) in [
        (
            vec![Act::Last(events("", primed)), status("405 Method Not Allowed", "")],
            "the answer from URL ended without the answer, and cannot be resumed (HTTP 405)",
        ),
        (
            vec![Act::Last(events("", primed)), json("{}")],
            "the answer from URL ended without the answer, and cannot be resumed",
        ),
        (
            std::iter::repeat_n(Act::Last(events("", primed)), 20).collect(),
            "the answer from URL ended without the answer",
        ),
    ] {
        let (outcome, _) = resumed(acts).await;
        assert_eq!(outcome, Err(want.to_owned()));
    }
}
