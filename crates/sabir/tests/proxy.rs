//! Calls and notifications that are passed on: what arrives, byte for byte, and what becomes of them.

#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::try_join_all;
use sabir::{CallError, Ctx, ErrorCode, MCP, Peer, RawJson, Router, TraceContext, Transport, transport};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, split};
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(60);

/// One end of a proxy, as bytes.
struct Wire {
    read: Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: WriteHalf<DuplexStream>,
}

impl Wire {
    fn new() -> (Wire, Transport) {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (read, write) = split(near);
        let (far_read, far_write) = split(far);
        (Wire { read: BufReader::new(read).lines(), write }, transport::streams(far_read, far_write))
    }

    async fn send(&mut self, line: &str) {
        self.write.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn receive(&mut self) -> String {
        timeout(LONG, self.read.next_line()).await.expect("nothing comes").unwrap().expect("it has ended")
    }

    async fn expect(&mut self, line: &str) {
        assert_eq!(self.receive().await, line);
    }

    /// Nothing has come that was not expected: what is sent now is the next to come.
    async fn expect_nothing_but(&mut self, other: &mut Wire) {
        other.send(r#"{"jsonrpc":"2.0","method":"last"}"#).await;
        self.expect(r#"{"jsonrpc":"2.0","method":"last"}"#).await;
    }
}

/// A client and a server that only the proxy has in between.
fn joined() -> (Wire, Wire) {
    let (client, near) = Wire::new();
    let (server, far) = Wire::new();
    tokio::spawn(sabir::proxy(near, far));
    (client, server)
}

/// A client of a router that is behind a proxy.
async fn connected(service: Router, back: Router) -> Peer {
    let (client, near) = transport::memory();
    let (far, server) = transport::memory();
    tokio::spawn(sabir::proxy(near, far));
    tokio::spawn(sabir::serve(server, service));
    sabir::connect(client, back).await.unwrap()
}

async fn until(mut done: impl FnMut() -> bool) {
    let waiting = async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(LONG, waiting).await.expect("it does not happen");
}

#[tokio::test]
async fn everything_but_the_envelope_goes_on_byte_for_byte() {
    let (mut client, mut server) = joined();
    let ids = ["1.0", "9007199254740993123456789", r#""a\u0041\n""#, "-0", "null", r#""7""#];
    let params = [
        r#"{ "b" : 1.50 , "a":[1e5,  -0.0], "b" : "\u00e9\/é" }"#,
        r#"[ 1, 12345678901234567890123 ]"#,
        r#"{"_meta":{"x": 1 },"list":[]}"#,
        "{}",
        "[]",
        r#"{"_meta":null}"#,
    ];
    let answers = [
        r#""result":{ "z":1.0, "a" : "\u0041" }"#,
        r#""result":null"#,
        r#""error":{ "message":"\u00e9", "code":-32000, "data":{ "x" : 1.0 }, "more": true }"#,
        r#""error":{"code":7,"message":"plain"}"#,
        r#""error":{"code":7,"message":"with","data":[1.0]}"#,
        r#""result":"\ud800""#,
    ];
    for (n, ((id, params), answer)) in ids.into_iter().zip(params).zip(answers).enumerate() {
        client
            .send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"some/thing","params":{params}}}"#))
            .await;
        let ours = n + 1;
        server
            .expect(&format!(r#"{{"jsonrpc":"2.0","id":{ours},"method":"some/thing","params":{params}}}"#))
            .await;
        server.send(&format!(r#"{{"jsonrpc":"2.0","id":{ours},{answer}}}"#)).await;
        client.expect(&format!(r#"{{"jsonrpc":"2.0","id":{id},{answer}}}"#)).await;
    }
    // The other way, and without params.
    for (n, (id, answer)) in ids.into_iter().zip(answers).enumerate() {
        server.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ask"}}"#)).await;
        client.expect(&format!(r#"{{"jsonrpc":"2.0","id":{},"method":"ask"}}"#, n + 1)).await;
        client.send(&format!(r#"{{"jsonrpc":"2.0","id":{},{answer}}}"#, n + 1)).await;
        server.expect(&format!(r#"{{"jsonrpc":"2.0","id":{id},{answer}}}"#)).await;
    }
    for line in [
        r#"{"jsonrpc":"2.0","method":"tell","params":{ "a" : 1.0 }}"#,
        r#"{"jsonrpc":"2.0","method":"$/progress","params":{"token":1,"value":{"kind":"end"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#,
    ] {
        client.send(line).await;
        server.expect(line).await;
        server.send(line).await;
        client.expect(line).await;
    }
}

#[tokio::test]
async fn cancels_name_the_call_of_their_own_side_in_the_words_of_who_cancels() {
    let cases = [
        (
            r#""$/cancelRequest","params":{"id":"x"}"#,
            r#""$/cancelRequest","params":{"id":ID}"#,
            Some(r#"{"jsonrpc":"2.0","id":"x","error":{"code":-32800,"message":"Request cancelled"}}"#),
        ),
        (
            r#""notifications/cancelled","params":{"requestId":"x","reason":"no \"time\""}"#,
            r#""notifications/cancelled","params":{"requestId":ID,"reason":"no \"time\""}"#,
            None,
        ),
    ];
    let (mut asks, mut is_asked) = joined();
    for _ in 0..2 {
        for (id, (cancel, arrives, answer)) in (1..).zip(cases) {
            asks.send(r#"{"jsonrpc":"2.0","id":"x","method":"work"}"#).await;
            is_asked.expect(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"work"}}"#)).await;
            asks.send(&format!(r#"{{"jsonrpc":"2.0","method":{cancel}}}"#)).await;
            let arrives = arrives.replace("ID", &id.to_string());
            is_asked.expect(&format!(r#"{{"jsonrpc":"2.0","method":{arrives}}}"#)).await;
            // A late answer is dropped.
            is_asked.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"late"}}"#)).await;
            if let Some(answer) = answer {
                asks.expect(answer).await;
            }
            asks.expect_nothing_but(&mut is_asked).await;
            // To cancel what is not open is nothing.
            asks.send(&format!(r#"{{"jsonrpc":"2.0","method":{cancel}}}"#)).await;
            is_asked.expect_nothing_but(&mut asks).await;
        }
        // The other way.
        (asks, is_asked) = (is_asked, asks);
    }
}

#[tokio::test]
async fn progress_has_the_token_of_the_caller_in_its_own_type() {
    let (mut client, mut server) = joined();
    for (n, token) in [r#""a\u0041""#, "7", "1", "9007199254740993", r#""1""#].into_iter().enumerate() {
        let ours = n + 1;
        let params =
            |token: &str| format!(r#"{{"name":"t", "_meta":{{ "progressToken" : {token}, "x":1.0 }}}}"#);
        client
            .send(&format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"work","params":{}}}"#, params(token)))
            .await;
        let ours_text = ours.to_string();
        server
            .expect(&format!(
                r#"{{"jsonrpc":"2.0","id":{ours},"method":"work","params":{}}}"#,
                params(&ours_text)
            ))
            .await;
        let progress = |token: &str, done: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{ "progress":{done}, "progressToken":{token} , "message":"\u0041"}}}}"#
            )
        };
        for done in ["1.0", "2"] {
            server.send(&progress(&ours_text, done)).await;
            client.expect(&progress(token, done)).await;
        }
        // Of no call, and of one that has ended.
        server.send(&progress("4711", "1")).await;
        server.send(&progress(token, "1").replace(&format!(":{ours_text} "), ":4712 ")).await;
        server.send(&format!(r#"{{"jsonrpc":"2.0","id":{ours},"result":{n}}}"#)).await;
        server.send(&progress(&ours_text, "3")).await;
        client.expect(&format!(r#"{{"jsonrpc":"2.0","id":{n},"result":{n}}}"#)).await;
        client.expect_nothing_but(&mut server).await;
    }
}

#[tokio::test]
async fn a_trace_goes_on_and_can_be_continued() {
    let caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let own = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
    let seen =
        Router::new().method_raw("seen", |_, params| async move { Ok(params.unwrap_or(RawJson::NULL)) });
    let (near, far) = transport::memory();
    tokio::spawn(sabir::serve(far, seen));
    let upstream = sabir::connect(near, Router::new()).await.unwrap();
    let plain = Router::new().forward_to(upstream);
    let tracing = plain.clone().forward_trace(move |ctx| {
        let trace = ctx.trace()?.into_owned();
        Some(TraceContext { traceparent: own.into(), ..trace })
    });
    let call = async |router: &Router, params: &str| -> String {
        let params: RawJson<'static> = serde_json::from_str(params).unwrap();
        router.call::<RawJson<'static>>("seen", params).await.unwrap().as_str().to_owned()
    };
    let traced =
        |parent: &str| format!(r#"{{"_meta":{{"tracestate":"a=b","traceparent":"{parent}"}},"x":1.0}}"#);
    assert_eq!(call(&plain, &traced(caller)).await, traced(caller));
    assert_eq!(call(&tracing, &traced(caller)).await, traced(own));
    // What the caller did not send is not added.
    for params in [r#"{"x":1.0}"#, r#"{"_meta":{}}"#, "[1.0]"] {
        assert_eq!(call(&tracing, params).await, params);
    }
}

#[tokio::test]
async fn batches_are_answered_as_batches() {
    let (mut client, mut server) = joined();
    client
        .send(r#"[{"jsonrpc":"2.0","id":"a","method":"one"},{"jsonrpc":"2.0","method":"tell"},{"jsonrpc":"2.0","id":2.0,"method":"two"},7]"#)
        .await;
    server.expect(r#"{"jsonrpc":"2.0","id":1,"method":"one"}"#).await;
    server.expect(r#"{"jsonrpc":"2.0","method":"tell"}"#).await;
    server.expect(r#"{"jsonrpc":"2.0","id":2,"method":"two"}"#).await;
    server.send(r#"{"jsonrpc":"2.0","id":2,"result":"second"}"#).await;
    server.send(r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"first"}}"#).await;
    let answers = client.receive().await;
    assert!(answers.starts_with(r#"[{"jsonrpc":"2.0","id":null,"error":{"code":-32600"#), "{answers}");
    assert!(
        answers.ends_with(
            r#"{"jsonrpc":"2.0","id":2.0,"result":"second"},{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":"first"}}]"#
        ),
        "{answers}"
    );
}

#[tokio::test]
async fn a_dead_upstream_ends_each_call_with_its_cause() {
    let (near, far) = transport::memory();
    let (client, proxied) = transport::memory();
    tokio::spawn(sabir::proxy(proxied, near));
    let (started, has_started) = oneshot::channel();
    let started = Mutex::new(Some(started));
    let service = Router::new().method("hang", move |_, ()| {
        if let Some(started) = started.lock().unwrap().take() {
            started.send(()).unwrap();
        }
        std::future::pending::<sabir::Result<()>>()
    });
    let server = tokio::spawn(sabir::serve(far, service));
    let peer = sabir::connect(client, Router::new()).await.unwrap();
    let open = peer.clone();
    let open = tokio::spawn(async move { open.call::<()>("hang", ()).await });
    has_started.await.unwrap();
    server.abort();
    let outcomes = [open.await.unwrap(), peer.call("hang", ()).await, peer.call("other", ()).await];
    for (outcome, what) in outcomes.into_iter().zip(["no answer: ", "not sent: ", "not sent: "]) {
        match outcome {
            Err(CallError::Error(error)) => {
                assert_eq!(error.code, ErrorCode::UPSTREAM_FAILED);
                let reason: String = error.data.unwrap().get("reason").unwrap().parse().unwrap();
                assert!(reason.starts_with(what), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
    // Nobody waits for an answer.
    peer.notify("tell", ()).await.unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn the_cause_says_how_a_process_ended() {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "read line; exit 3"]);
    let (client, near) = transport::memory();
    tokio::spawn(sabir::proxy(near, transport::child(command).unwrap()));
    let peer = sabir::connect(client, Router::new()).await.unwrap();
    match timeout(LONG, peer.call::<()>("any", ())).await.unwrap() {
        Err(CallError::Error(error)) => {
            let reason: String = error.data.unwrap().get("reason").unwrap().parse().unwrap();
            assert!(reason.contains("exit status: 3"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}

#[cfg(unix)]
#[tokio::test]
async fn the_process_ends_with_the_client() {
    let (client, near) = transport::memory();
    let proxy =
        tokio::spawn(sabir::proxy(near, transport::child(std::process::Command::new("cat")).unwrap()));
    let peer = sabir::connect(client, Router::new()).await.unwrap();
    peer.notify("tell", ()).await.unwrap();
    peer.shutdown(LONG).await;
    timeout(LONG / 2, proxy).await.expect("the proxy waits for the process").unwrap().unwrap();
}

#[tokio::test]
async fn an_upstream_that_cannot_be_opened_fails_the_call_and_is_tried_again() {
    let attempts = Arc::new(AtomicUsize::new(0));
    let tried = Arc::clone(&attempts);
    let router = Router::new().method("own", |_, ()| async { Ok("here") }).forward_each(move |_: &Ctx| {
        let attempt = tried.fetch_add(1, Ordering::SeqCst);
        async move {
            if attempt == 0 {
                return Err(sabir::Error::from(std::io::Error::other("not today")));
            }
            let (near, far) = transport::memory();
            tokio::spawn(sabir::serve(
                far,
                Router::new().method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) }),
            ));
            Ok(near)
        }
    });
    let (near, far) = transport::memory();
    tokio::spawn(sabir::serve(far, router));
    let peer = sabir::connect(near, Router::new()).await.unwrap();
    assert_eq!(peer.call::<String>("own", ()).await.unwrap(), "here");
    assert_eq!(attempts.load(Ordering::SeqCst), 0);
    match peer.call::<i64>("add", (1, 2)).await {
        Err(CallError::Error(error)) => {
            assert_eq!(error.code, ErrorCode::UPSTREAM_FAILED);
            assert!(error.data.unwrap().as_str().contains("not today"));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(peer.call::<i64>("add", (1, 2)).await.unwrap(), 3);
    assert_eq!(peer.call::<i64>("add", (2, 2)).await.unwrap(), 4);
    assert_eq!(attempts.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn each_client_has_an_upstream_of_its_own_that_ends_with_it() {
    let ended = Arc::new(AtomicUsize::new(0));
    let over = Arc::clone(&ended);
    let router = Router::new().forward_each(move |_: &Ctx| {
        let over = Arc::clone(&over);
        async move {
            let (near, far) = transport::memory();
            let calls = AtomicUsize::new(0);
            let service = Router::new().method("count", move |ctx: Ctx, ()| {
                let count = calls.fetch_add(1, Ordering::SeqCst) + 1;
                async move {
                    let name: String = ctx.peer().call("name", ()).await?;
                    Ok(format!("{name} {count}"))
                }
            });
            tokio::spawn(async move {
                sabir::serve(far, service).await.unwrap();
                over.fetch_add(1, Ordering::SeqCst);
            });
            Ok::<_, sabir::Error>(near)
        }
    });
    let server = sabir::listen("tcp://127.0.0.1:0", router).await.unwrap();
    let url = server.url().to_owned();
    tokio::spawn(server.run());
    let client = async |name: &'static str| {
        let back = Router::new().method("name", move |_, ()| async move { Ok(name) });
        sabir::connect(url.as_str(), back).await.unwrap()
    };
    let (ada, ben) = (client("Ada").await, client("Ben").await);
    for count in 1..4 {
        assert_eq!(ada.call::<String>("count", ()).await.unwrap(), format!("Ada {count}"));
        assert_eq!(ben.call::<String>("count", ()).await.unwrap(), format!("Ben {count}"));
    }
    ada.shutdown(LONG).await;
    until(|| ended.load(Ordering::SeqCst) == 1).await;
    assert_eq!(ben.call::<String>("count", ()).await.unwrap(), "Ben 4");
}

/// Sets a flag when its call is dropped.
struct Stopped(Arc<Notify>);

impl Drop for Stopped {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[tokio::test]
async fn a_client_that_vanishes_cancels_upstream() {
    let (started, stopped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begun, guard) = (Arc::clone(&started), Arc::clone(&stopped));
    let service = Router::new().method("hang", move |_, ()| {
        let (begun, guard) = (Arc::clone(&begun), Stopped(Arc::clone(&guard)));
        async move {
            begun.notify_one();
            std::future::pending::<()>().await;
            drop(guard);
            Ok(())
        }
    });
    // An upstream that many share: it does not end with the client.
    let (near, far) = transport::memory();
    tokio::spawn(sabir::serve(far, service));
    let upstream = sabir::connect(near, Router::new()).await.unwrap();
    let (client, proxied) = transport::memory();
    let proxy = tokio::spawn(sabir::serve(proxied, Router::new().forward_to(upstream.clone())));
    let peer = sabir::connect(client, Router::new()).await.unwrap();
    let call = tokio::spawn(async move { peer.call::<()>("hang", ()).await });
    timeout(LONG, started.notified()).await.unwrap();
    proxy.abort();
    timeout(LONG, stopped.notified()).await.expect("the work goes on");
    assert!(call.await.unwrap().is_err());
    assert!(upstream.cause().is_none());
}

/// Calls itself on the other side, so many times.
fn deep() -> Router {
    Router::new().method("deep", |ctx: Ctx, depth: u64| async move {
        match depth {
            0 => Ok(0),
            _ => Ok(1 + ctx.peer().call::<u64>("deep", depth - 1).await?),
        }
    })
}

#[tokio::test]
async fn calls_nest_in_both_directions() {
    let peer = connected(deep(), deep()).await;
    let depth = timeout(LONG, peer.call::<u64>("deep", 2000)).await.expect("deadlock");
    assert_eq!(depth.unwrap(), 2000);
}

#[tokio::test]
async fn ten_thousand_calls_are_in_flight_at_once() {
    let (waiting, all) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let service = Router::new().method("wait", move |_, n: u64| {
        let (waiting, all) = (Arc::clone(&waiting), Arc::clone(&all));
        async move {
            let wait = all.notified();
            tokio::pin!(wait);
            wait.as_mut().enable();
            if waiting.fetch_add(1, Ordering::SeqCst) + 1 == 10_000 {
                all.notify_waiters();
            }
            wait.await;
            Ok(n)
        }
    });
    let peer = connected(service, Router::new()).await;
    let calls = try_join_all((0..10_000).map(|n| peer.call::<u64>("wait", n)));
    assert_eq!(timeout(LONG, calls).await.unwrap(), Ok((0..10_000).collect()));
}

#[tokio::test]
async fn large_messages_pass() {
    let echo = || Router::new().method("echo", |_, text: String| async move { Ok(text) });
    let back = Router::new().method("big", |ctx: Ctx, text: String| async move {
        ctx.peer().call::<String>("echo", [text]).await.map_err(Into::into)
    });
    let peer = connected(back, echo()).await;
    let text = "x".repeat(10_000_000);
    assert_eq!(timeout(LONG, peer.call::<String>("big", [&text])).await.unwrap().unwrap().len(), text.len());
}

#[tokio::test]
async fn notifications_wait_for_a_client_that_does_not_read_and_none_is_lost() {
    const COUNT: usize = 20_000;
    let (near, far) = tokio::io::duplex(1 << 12);
    let (mut read, _write) = split(near);
    let (proxied_read, proxied_write) = split(far);
    let (mut server, upstream) = Wire::new();
    tokio::spawn(sabir::proxy(transport::streams(proxied_read, proxied_write), upstream));
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    let padding = "x".repeat(1000);
    let flood = tokio::spawn(async move {
        for n in 0..COUNT {
            server.send(&format!(r#"{{"jsonrpc":"2.0","method":"item","params":[{n},"{padding}"]}}"#)).await;
            counted.store(n + 1, Ordering::SeqCst);
        }
        server
    });
    // Until nothing moves.
    let mut last = usize::MAX;
    while last != sent.load(Ordering::SeqCst) {
        last = sent.load(Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert!(last < COUNT / 2, "{last} of {COUNT} were taken in, and nobody has read one");
    let mut lines = BufReader::new(&mut read).lines();
    for n in 0..COUNT {
        let line = timeout(LONG, lines.next_line()).await.unwrap().unwrap().unwrap();
        assert!(line.starts_with(&format!(r#"{{"jsonrpc":"2.0","method":"item","params":[{n},"#)), "{line}");
    }
    drop(flood.await.unwrap());
}

#[tokio::test]
async fn a_dialect_is_kept_on_each_side() {
    // A client that vanishes cancels in the dialect of the upstream.
    let (mut server, far) = Wire::new();
    let upstream = sabir::connect(far.dialect(MCP), Router::new()).await.unwrap();
    let (client, proxied) = transport::memory();
    let proxy = tokio::spawn(sabir::serve(proxied, Router::new().forward_to(upstream)));
    let peer = sabir::connect(client, Router::new()).await.unwrap();
    let _call = tokio::spawn(async move { peer.call::<()>("tools/call", ()).await });
    server.expect(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#).await;
    proxy.abort();
    server.expect(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#).await;
}

#[path = "proxy/circle.rs"]
mod circle;
#[path = "proxy/hostile.rs"]
mod hostile;
#[path = "proxy/subscriptions.rs"]
mod subscriptions;
#[cfg(feature = "tracing")]
#[path = "proxy/traced.rs"]
mod traced;
#[path = "proxy/upstreams.rs"]
mod upstreams;
