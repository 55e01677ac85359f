//! One call, one answer: every shape that an answer can have.

use std::sync::{Arc, Mutex};

use sabir::{CallError, ErrorObject, Report, Router, transport};

use crate::script::{Act, Script, events, full, json, status, three, within};

const THREE: &str = r#"{"jsonrpc":"2.0","id":1,"result":3}"#;

/// Calls `add` of a server that does one thing. URLs in what comes back are cut short.
async fn outcome(act: Act) -> Result<i64, String> {
    let script = Script::play([act]).await;
    let peer = sabir::connect(script.url(), Router::new()).await.unwrap();
    let outcome = within(peer.call::<i64>("add", (1, 2))).await;
    assert_eq!(peer.cause(), None, "the connection lives on");
    outcome.map_err(|error| error.to_string().replace(&script.url(), "URL"))
}

async fn check(name: &str, act: Act, want: Result<i64, &str>) {
    assert_eq!(outcome(act).await, want.map_err(str::to_owned), "{name}");
}

fn typed(kind: &str, body: &str) -> Act {
    Act::Send(full("200 OK", &format!("content-type: {kind}\r\n"), body))
}

#[tokio::test]
async fn answers_of_every_shape() {
    let sse = |text: &str| Act::Last(events("", text));
    let data = format!("data: {THREE}\n\n");
    let chunked = format!("{:x}\r\n{THREE}\r\n0\r\n\r\n", THREE.len());
    let chunked = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n{chunked}"
    );
    let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":7,"message":"no"}}"#;
    let nameless = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"no session"}}"#;
    let as_json = "content-type: application/json\r\n";
    let refused = |code: &str, body: &str| Act::Send(full(code, as_json, body));

    check("json", json(THREE), Ok(3)).await;
    check("json with parameters", typed("Application/JSON; charset=utf-8", THREE), Ok(3)).await;
    check("json-rpc", typed("application/json-rpc", THREE), Ok(3)).await;
    check("no type", Act::Send(full("200 OK", "", THREE)), Ok(3)).await;
    check("chunked", Act::Send(chunked.into_bytes()), Ok(3)).await;
    check("until the end", Act::Last(format!("HTTP/1.0 200 OK\r\n{as_json}\r\n{THREE}").into()), Ok(3)).await;
    check("an error", json(error), Err("7: no")).await;
    check("events", sse(&data), Ok(3)).await;
    check("events that go on", Act::Hold(events("", &data)), Ok(3)).await;
    let noisy = format!(": hello\r\nretry: 5\r\n\r\nevent: ping\r\ndata: x\r\n\r\nevent: message\r\n{data}");
    check("events with comments", sse(&noisy), Ok(3)).await;

    check("400 with the answer", refused("400 Bad Request", error), Err("7: no")).await;
    check("404 with the answer", refused("404 Not Found", error), Err("7: no")).await;
    check("503", status("503 Service Unavailable", ""), Err("HTTP 503 Service Unavailable from URL")).await;
    check("599", status("599 Odd", ""), Err("HTTP 599 from URL")).await;
    let told = "HTTP 400 Bad Request from URL: -32001: no session";
    check("400 with an error for nobody", refused("400 Bad Request", nameless), Err(told)).await;
    let another =
        r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Missing session ID"}}"#;
    let told = "HTTP 400 Bad Request from URL: -32600: Missing session ID";
    check("400 with an error for somebody else", refused("400 Bad Request", another), Err(told)).await;
    let told = "HTTP 400 Bad Request from URL: no such chain";
    check("400 with another object", refused("400 Bad Request", r#"{"detail":"no such chain"}"#), Err(told))
        .await;
    let told = "HTTP 403 Forbidden from URL: the server's \"bad\" \\u001b[31m host";
    let text =
        full("403 Forbidden", "content-type: text/plain\r\n", "the server's \"bad\" \x1b[31m host\nmore");
    check("403 with a line of text", Act::Send(text), Err(told)).await;
    let moved = status("301 Moved Permanently", "location: https://elsewhere/\r\n");
    let told = "HTTP 301 Moved Permanently from URL: moved to https://elsewhere/";
    check("301", moved, Err(told)).await;

    check("202", status("202 Accepted", ""), Err("the answer from URL is empty")).await;
    check("204", Act::Send(b"HTTP/1.1 204 No Content\r\n\r\n".into()), Err("the answer from URL is empty"))
        .await;
    check("html", typed("text/html", "<html>"), Err("the answer from URL is `text/html`, not JSON")).await;
    let told = "the answer from URL is not JSON: expected a value, at byte 0";
    check("not json", json("<html>"), Err(told)).await;
    let told = "the answer from URL is not a JSON-RPC message: there is no `method`, `result` or `error`";
    check("no message", json("{\"a\":1}"), Err(told)).await;
    let other = r#"{"jsonrpc":"2.0","id":77,"result":3}"#;
    check(
        "another's answer",
        json(other),
        Err("the answer from URL does not contain a response to this call"),
    )
    .await;
    // The response belongs to the request that it came for, with or without an id.
    check("an error without an id", json(nameless), Err("-32001: no session")).await;
    check("the same as an event", sse(&format!("data: {nameless}\n\n")), Err("-32001: no session")).await;
    let told = "the answer from URL ended without the answer";
    check("events without the answer", sse("data: {\"jsonrpc\":\"2.0\",\"method\":\"log\"}\n\n"), Err(told))
        .await;
}

/// The status can be asked for.
#[tokio::test]
async fn a_refusal_has_its_status() {
    let script = Script::play([status("401 Unauthorized", "")]).await;
    let peer = sabir::connect(script.url(), Router::new()).await.unwrap();
    match within(peer.call::<i64>("add", (1, 2))).await {
        Err(CallError::Undelivered(what)) => assert_eq!(what.status, Some(401)),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_a_request_looks_like() {
    let script = Script::answer(|seen| json(&three(seen))).await;
    let transport =
        transport::url(script.url()).header("X-Own", "yes").bearer("secret").on_post(|message, headers| {
            let method = message.get("method").unwrap().parse::<String>().unwrap();
            headers.insert("x-method", method.parse().unwrap());
        });
    let peer = sabir::connect(transport, Router::new()).await.unwrap();
    assert_eq!(within(peer.call("add", (1, 2))).await, Ok(3));
    peer.set_header("X-Own", "changed").unwrap();
    assert!(peer.set_header("not a name", "x").is_err());
    assert_eq!(within(peer.call("add", (1, 2))).await, Ok(3));
    let seen = script.seen(2).await;
    assert!(seen[0].head.starts_with("POST /rpc HTTP/1.1\r\n"), "{}", seen[0].head);
    for (name, want) in [
        ("host", Some(script.address.as_str())),
        ("content-type", Some("application/json")),
        ("accept", Some("application/json, text/event-stream")),
        ("accept-encoding", Some("identity")),
        ("authorization", Some("Bearer secret")),
        ("x-own", Some("yes")),
        ("x-method", Some("add")),
        ("mcp-session-id", None),
    ] {
        assert_eq!(seen[0].header(name), want, "{name}");
    }
    assert_eq!(seen[0].body, r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}"#);
    assert_eq!(seen[1].header("x-own"), Some("changed"));
    assert_eq!(seen[1].connection, seen[0].connection, "the connection is used again");
}

/// A connection that the server closed meanwhile is replaced without anybody noticing.
#[tokio::test]
async fn connections_grow_old() {
    for keep_alive in ["", "keep-alive: timeout=1\r\n", "connection: close\r\n"] {
        let script = Script::answer(move |seen| {
            let headers = format!("content-type: application/json\r\n{keep_alive}");
            Act::Last(full("200 OK", &headers, &three(seen)))
        })
        .await;
        let peer = sabir::connect(script.url(), Router::new()).await.unwrap();
        for call in 0..5 {
            assert_eq!(within(peer.call("add", (1, 2))).await, Ok(3));
            script.closed(call).await;
        }
    }
}

#[tokio::test]
async fn many_calls_at_once() {
    let script = Script::answer(|seen| json(&three(seen))).await;
    let peer = sabir::connect(script.url(), Router::new()).await.unwrap();
    let calls: Vec<_> = (0..1000)
        .map(|_| {
            let peer = peer.clone();
            tokio::spawn(async move { peer.call::<i64>("add", (1, 2)).await })
        })
        .collect();
    for call in calls {
        assert_eq!(within(call).await.unwrap(), Ok(3));
    }
    let seen = script.seen(1000).await;
    let connections = seen.iter().map(|seen| seen.connection).max().unwrap() + 1;
    assert!(connections <= 64 + 8, "{connections} connections");
}

#[tokio::test]
async fn batches() {
    let answers = r#"[{"jsonrpc":"2.0","id":2,"result":2},{"jsonrpc":"2.0","id":1,"result":1}]"#;
    let short = r#"[{"jsonrpc":"2.0","id":4,"result":4}]"#;
    let script = Script::play([json(answers), json(short), status("503 Busy", "")]).await;
    let peer = sabir::connect(script.url(), Router::new()).await.unwrap();
    let two = async || {
        let mut batch = peer.batch();
        let first = batch.call::<i64>("a", ());
        let second = batch.call::<i64>("b", ());
        batch.notify("c", ());
        batch.send().unwrap();
        (within(first).await, within(second).await)
    };
    assert_eq!(two().await, (Ok(1), Ok(2)));
    assert_eq!(two().await, (Err(CallError::Unanswered), Ok(4)));
    let (first, second) = two().await;
    assert!(matches!(first, Err(CallError::Undelivered(_))));
    assert_eq!(first, second);
    assert_eq!(script.seen(3).await.len(), 3);
}

/// What wants no answer is reported if it is refused, and the next message waits for it.
#[tokio::test]
async fn notifications_keep_their_place() {
    let script = Script::answer(|seen| match seen.body.contains("refused") {
        _ if seen.body.contains("\"id\"") => json(&three(seen)),
        true => status("400 Bad Request", ""),
        false => status("202 Accepted", ""),
    })
    .await;
    let reports = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&reports);
    let transport = transport::url(script.url()).on_report(move |report| {
        if let Report::Undelivered(what) = report {
            told.lock().unwrap().push(what.status);
        }
    });
    let peer = sabir::connect(transport, Router::new()).await.unwrap();
    for n in 0..20 {
        peer.notify("log", (n,)).await.unwrap();
    }
    peer.notify("refused", ()).await.unwrap();
    assert_eq!(within(peer.call("add", (1, 2))).await, Ok(3));
    let seen = script.seen(22).await;
    for (n, seen) in seen.iter().take(20).enumerate() {
        assert_eq!(seen.body, format!("{{\"jsonrpc\":\"2.0\",\"method\":\"log\",\"params\":[{n}]}}"));
    }
    assert!(seen[21].body.contains("add"));
    assert_eq!(*reports.lock().unwrap(), [Some(400)]);
}

/// What was said last is sent before the connection ends.
#[tokio::test]
async fn a_notification_before_the_end() {
    let script = Script::answer(|_| status("202 Accepted", "")).await;
    let peer = sabir::connect(script.url(), Router::new()).await.unwrap();
    peer.notify("log", ()).await.unwrap();
    within(peer.shutdown(std::time::Duration::from_secs(5))).await;
    assert_eq!(script.seen(1).await.len(), 1);
}

/// A request in a stream of events is answered by a request.
#[tokio::test]
async fn servers_ask_back() {
    let script = Script::answer(|seen| {
        if seen.body.contains("\"result\"") || seen.body.contains("\"error\"") {
            return status("202 Accepted", "");
        }
        let ask = r#"{"jsonrpc":"2.0","id":"q","method":"ask","params":["sure?"]}"#;
        let told = r#"{"jsonrpc":"2.0","method":"told","params":[]}"#;
        Act::Last(events("", &format!("data: {told}\n\ndata: {ask}\n\ndata: {}\n\n", three(seen))))
    })
    .await;
    let router = Router::new()
        .method("ask", |_, text: String| async move { Ok(text + " yes") })
        .method("told", |_, (): ()| async move { Ok(()) })
        .method("never", |_, (): ()| async move { Err::<(), _>(ErrorObject::new(1, "no")) });
    let peer = sabir::connect(script.url(), router).await.unwrap();
    assert_eq!(within(peer.call("add", (1, 2))).await, Ok(3));
    let seen = script.seen(2).await;
    assert_eq!(seen[1].body, r#"{"jsonrpc":"2.0","id":"q","result":"sure? yes"}"#);
}

/// A server that is away for a while: the call is made again, unless the server asks for more time than there is.
#[tokio::test]
async fn calls_that_may_run_twice_are_made_again_after_503() {
    for (name, refusals, want) in [
        ("once", vec![("503 Service Unavailable", "")], Ok(3)),
        ("with the time", vec![("503 Service Unavailable", "retry-after: 0\r\n")], Ok(3)),
        ("a gateway", vec![("502 Bad Gateway", ""), ("504 Gateway Timeout", "")], Ok(3)),
        ("too many", vec![("429 Too Many Requests", "")], Ok(3)),
        (
            "much later",
            vec![("503 Service Unavailable", "retry-after: 3600\r\n")],
            Err("HTTP 503 Service Unavailable from URL"),
        ),
        ("broken", vec![("500 Internal Server Error", "")], Err("HTTP 500 Internal Server Error from URL")),
    ] {
        let refusals = Mutex::new(refusals.into_iter());
        let script = Script::answer(move |seen| match refusals.lock().unwrap().next() {
            Some((code, headers)) => status(code, headers),
            None => json(&three(seen)),
        })
        .await;
        let url = script.url();
        let server = sabir::Reconnect::new(Router::new(), move || transport::url(url.as_str()));
        let outcome = within(server.call_idempotent::<i64>("add", (1, 2))).await;
        let outcome = outcome.map_err(|error| error.to_string().replace(&script.url(), "URL"));
        assert_eq!(outcome, want.map_err(str::to_owned), "{name}");
    }
}
