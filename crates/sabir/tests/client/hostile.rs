//! Servers that are broken, or mean: every call ends, and the connection lives on.

use std::time::Duration;

use sabir::{CallError, Limits, Router, transport};

use crate::script::{Act, Script, events, full, json, three, within};

/// The first call meets the act, and its end begins with `want`; the second one is answered.
async fn check(name: &str, act: Act, want: &str) {
    let script = Script::answer(move |seen| match seen.body.contains("first") {
        true => act.clone(),
        false => json(&three(seen)),
    })
    .await;
    let limits = Limits { message_bytes: 100_000, ..Limits::default() };
    let transport = transport::url(script.url()).limits(limits);
    let peer = sabir::connect(transport, Router::new()).await.unwrap();
    let error = within(peer.call::<i64>("first", ())).await.unwrap_err();
    let error = error.to_string().replace(&script.url(), "URL");
    assert!(error.starts_with(want), "{name}: {error}");
    assert_eq!(within(peer.call("second", ())).await, Ok(3), "{name}");
}

#[tokio::test]
async fn whatever_a_server_does_the_call_ends() {
    let head = |headers: &str| format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{headers}\r\n");
    let x = |count: usize| "x".repeat(count);
    check("closes at once", Act::Last(Vec::new()), "URL closed the connection without an answer").await;
    check("closes in the head", Act::Last(b"HTTP/1.1 200".to_vec()), "").await;
    check("no HTTP", Act::Last(b"{\"jsonrpc\":\"2.0\"}\n".to_vec()), "URL does not speak HTTP").await;
    let endless = Act::Flood(b"HTTP/1.1 200 OK\r\n".to_vec(), format!("x: {}\r\n", x(4096)).into());
    let large = "the answer from URL is not valid HTTP: its head is too large, or its Content-Length";
    check("an endless head", endless, large).await;
    let torn = head("content-length: 100\r\n") + "{\"jsonrpc\"";
    check(
        "closes in the body",
        Act::Last(torn.into()),
        "the answer from URL is incomplete: the connection was closed early",
    )
    .await;
    let torn = head("transfer-encoding: chunked\r\n") + "zz\r\n{}\r\n";
    check("broken chunks", Act::Last(torn.into()), "the answer from URL is incomplete: ").await;
    let announced = head("content-length: 9000000000\r\n");
    check("a giant announced", Act::Hold(announced.into()), "the answer from URL is larger than 100 kB")
        .await;
    let mut giant = head("transfer-encoding: chunked\r\n").into_bytes();
    giant.extend(format!("10000\r\n{}\r\n", x(65536)).repeat(2).into_bytes());
    check("a giant", Act::Hold(giant), "the answer from URL is larger than 100 kB").await;
    let line = events("", &format!("data: {}", x(200_000)));
    let mut ended = line.clone();
    ended.extend(b"\n\n");
    check("a giant event", Act::Hold(ended), "the answer from URL is larger than 100 kB").await;
    check("half of a giant event", Act::Hold(line), "the answer from URL is larger than 100 kB").await;
    let half = events("", "data: {\"jsonrpc\"");
    check("half an event", Act::Last(half), "the answer from URL ended without the answer").await;
    let zipped = full("200 OK", "content-type: application/json\r\ncontent-encoding: gzip\r\n", "\u{1f}");
    check("gzip", Act::Send(zipped), "the answer from URL is compressed (gzip)").await;
    let continued = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(10).into_iter();
    let continued: Vec<_> = continued.chain(full("500 Odd", "", "")).collect();
    check("many 100s", Act::Send(continued), "HTTP 500").await;
}

#[tokio::test]
async fn silence_is_ended_by_the_caller() {
    let script = Script::answer(|seen| match seen.body.contains("second") {
        true => json(&three(seen)),
        false => Act::Hold(Vec::new()),
    })
    .await;
    let peer = sabir::connect(script.url(), Router::new()).await.unwrap();
    let call = peer.call::<i64>("first", ()).timeout(Duration::from_millis(20));
    assert_eq!(within(call).await, Err(CallError::TimedOut));
    // Closing the connection is the cancel: nothing else is said.
    script.closed(0).await;
    assert_eq!(within(peer.call("second", ())).await, Ok(3));
    assert_eq!(script.seen(2).await.len(), 2);
}

/// An endless line of a stream is not kept.
#[tokio::test]
async fn an_endless_event_takes_no_memory() {
    let script = Script::answer(|seen| match seen.body.contains("second") {
        true => json(&three(seen)),
        false => Act::Flood(events("", "data: "), vec![b'x'; 1 << 16]),
    })
    .await;
    let limits = Limits { message_bytes: 100_000, ..Limits::default() };
    let peer = sabir::connect(transport::url(script.url()).limits(limits), Router::new()).await.unwrap();
    let Err(CallError::Undelivered(lost)) = within(peer.call::<i64>("first", ())).await else {
        panic!("it never ends")
    };
    assert_eq!(lost.too_large, Some(100_000));
    assert_eq!(within(peer.call("second", ())).await, Ok(3));
}

/// What goes on without end is ended by the caller's own deadline, and leaves time for others meanwhile.
#[tokio::test]
async fn what_never_ends_is_ended_by_the_caller() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    let notice = b"data: {\"jsonrpc\":\"2.0\",\"method\":\"news\"}\n\n".repeat(100);
    for (name, act) in [
        ("100s", Act::Flood(Vec::new(), b"HTTP/1.1 100 Continue\r\n\r\n".repeat(100))),
        ("a head that trickles", Act::Trickle(b"HTTP/1.1 200 OK\r\nx: ".to_vec(), b'x')),
        ("a body that trickles", Act::Trickle(format!("{head}content-length: 90000\r\n\r\n").into(), b' ')),
        (
            "chunks of space",
            Act::Flood(format!("{head}transfer-encoding: chunked\r\n\r\n").into(), b"1\r\n \r\n".to_vec()),
        ),
        ("an event that trickles", Act::Trickle(events("", "data: "), b' ')),
        ("comments", Act::Flood(events("", ""), b":\n\n".repeat(1000))),
        ("notifications", Act::Flood(events("", ""), notice)),
        (
            "a refusal that trickles",
            Act::Trickle(b"HTTP/1.1 500 Odd\r\ncontent-type: text/plain\r\n\r\n".to_vec(), b'x'),
        ),
    ] {
        let script = Script::answer(move |seen| match seen.body.contains("second") {
            true => json(&three(seen)),
            false => act.clone(),
        })
        .await;
        let limits = Limits { message_bytes: 100_000, ..Limits::default() };
        let peer = sabir::connect(transport::url(script.url()).limits(limits), Router::new()).await.unwrap();
        let call = peer.call::<i64>("first", ()).timeout(Duration::from_millis(300));
        within(call).await.unwrap_err();
        assert_eq!(within(peer.call("second", ())).await, Ok(3), "{name}");
    }
}

/// What follows an answer on the same connection is not the answer to the next call.
#[tokio::test]
async fn an_answer_nobody_asked_for_is_not_taken() {
    let script = Script::answer(|seen| {
        let Act::Send(mut answer) = json(&three(seen)) else { unreachable!() };
        let forged = r#"{"jsonrpc":"2.0","id":2,"result":666}"#;
        answer.extend(full("200 OK", "content-type: application/json\r\n", forged));
        Act::Send(answer)
    })
    .await;
    for _ in 0..20 {
        let peer = sabir::connect(script.url(), Router::new()).await.unwrap();
        assert_eq!(within(peer.call("first", ())).await, Ok(3));
        let second = within(peer.call::<i64>("second", ())).await;
        assert!(!matches!(second, Ok(666)), "the answer came before the call");
    }
}

/// A hundred calls that are never answered keep nobody out who is cancelled or answers.
#[tokio::test]
async fn a_full_table_lets_cancels_through() {
    let script = Script::answer(|_| Act::Hold(Vec::new())).await;
    let peer = sabir::connect(script.url(), Router::new()).await.unwrap();
    let calls: Vec<_> = (0..100)
        .map(|_| {
            let call = peer.call::<i64>("first", ()).timeout(Duration::from_millis(200));
            tokio::spawn(call.into_future())
        })
        .collect();
    for call in calls {
        assert_eq!(within(call).await.unwrap(), Err(CallError::TimedOut));
    }
    for connection in 0..script.seen(64).await.len() {
        script.closed(connection).await;
    }
}
