//! Calls in both directions over a connection in memory.

#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sabir::{CallError, Cause, Ctx, ErrorObject, Method, Next, Peer, RawJson, Router, SendError, transport};
use serde::Deserialize;
use tokio::io::AsyncWriteExt;

/// A client of a server with these methods.
async fn connected(server: Router, client: Router) -> Peer {
    let (a, b) = transport::memory();
    tokio::spawn(sabir::serve(a, server));
    sabir::connect(b, client).await.unwrap()
}

async fn client(server: Router) -> Peer {
    connected(server, Router::new()).await
}

fn code(error: CallError) -> (i64, String) {
    match error {
        CallError::Error(error) => (error.code.0, error.message.into_owned()),
        other => panic!("expected an answer, got {other:?}"),
    }
}

#[derive(Deserialize)]
struct Greet {
    name: String,
}

async fn greet(_: Ctx, p: Greet) -> sabir::Result<String> {
    Ok(format!("hello, {}", p.name))
}

#[tokio::test]
async fn closures_and_functions_are_handlers() {
    const ADD: Method<(i64, i64), i64> = Method::new("add");
    let peer =
        client(Router::new().method(ADD, |_, (a, b)| async move { Ok(a + b) }).method("greet", greet)).await;
    assert_eq!(peer.call_method(ADD, (1, 2)).await, Ok(3));
    let hello: String = peer.call("greet", serde_json::json!({"name": "you"})).await.unwrap();
    assert_eq!(hello, "hello, you");
    let hello: String = peer.call("greet", "by position").await.unwrap();
    assert_eq!(hello, "hello, by position");
}

#[tokio::test]
async fn failures_are_answered() {
    let router = Router::new()
        .method("parse", |_, text: String| async move { Ok(text.parse::<i64>()?) })
        .method("refuse", |_, ()| async { Err::<(), _>(ErrorObject::new(7, "no")) })
        .method("panic", |_, ()| async {
            if true {
                panic!("of no concern to the caller")
            }
            Ok(())
        })
        .method("panic early", |_, ()| {
            if true {
                panic!("before the future is there")
            }
            async { Ok(()) }
        });
    let peer = client(router).await;
    let error = peer.call::<i64>("parse", "x").await.unwrap_err();
    let CallError::Error(object) = &error else { panic!("{error}") };
    assert_eq!(object.data, None);
    assert_eq!(code(error), (-32603, "invalid digit found in string".to_owned()));
    assert_eq!(code(peer.call::<()>("refuse", ()).await.unwrap_err()), (7, "no".to_owned()));
    assert_eq!(code(peer.call::<()>("none", ()).await.unwrap_err()).0, -32601);
    assert_eq!(code(peer.call::<()>("refuse", (1,)).await.unwrap_err()).0, -32602);
    for method in ["panic", "panic early"] {
        let error = peer.call::<()>(method, ()).await.unwrap_err();
        assert_eq!(code(error), (-32603, "Internal error".to_owned()));
    }
    assert_eq!(peer.call::<i64>("parse", "5").await, Ok(5));
}

#[tokio::test]
async fn an_error_of_a_call_back_goes_on_as_it_came() {
    let server = Router::new().method("ask", |ctx: Ctx, ()| async move {
        Ok(ctx.peer().call::<RawJson<'static>>("deny", ()).await?)
    });
    let denying =
        Router::new().method("deny", |_, ()| async { Err::<(), _>(ErrorObject::new(-5, "denied")) });
    let peer = connected(server, denying).await;
    assert_eq!(code(peer.call::<()>("ask", ()).await.unwrap_err()), (-5, "denied".to_owned()));
}

#[tokio::test]
async fn progress_comes_before_the_result() {
    let router = Router::new().method("count", |ctx: Ctx, n: serde_json::Value| async move {
        let n = n["n"].as_u64().unwrap_or(0);
        for i in 1..=n {
            ctx.progress(i).await;
        }
        Ok(n)
    });
    let peer = client(router).await;
    let mut call = peer.call::<u64>("count", serde_json::json!({"n": 5}));
    let mut seen = Vec::new();
    while let Some(n) = call.progress::<u64>().await {
        seen.push(n);
    }
    assert_eq!((seen, call.await), (vec![1, 2, 3, 4, 5], Ok(5)));
}

struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_dropped_call_stops_its_handler() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let (counter, started) = (Arc::clone(&dropped), Arc::new(tokio::sync::Notify::new()));
    let start = Arc::clone(&started);
    let router = Router::new().method("hang", move |_, ()| {
        let (guard, start) = (Dropped(Arc::clone(&counter)), Arc::clone(&start));
        async move {
            let _guard = guard;
            start.notify_one();
            std::future::pending::<sabir::Result<()>>().await
        }
    });
    let peer = client(router).await;
    let calling = peer.clone();
    let call = tokio::spawn(async move { calling.call::<()>("hang", ()).await });
    started.notified().await;
    call.abort();
    while dropped.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_handler_may_deal_with_cancel_itself() {
    let router = Router::new().method("careful", |ctx: Ctx, ()| async move {
        ctx.progress(1).await;
        ctx.cancelled().await;
        Ok("cleaned up")
    });
    let peer = client(router).await;
    let mut call = peer.call::<String>("careful", serde_json::json!({}));
    assert_eq!(call.progress::<u8>().await, Some(1));
    call.cancel();
    assert_eq!(call.await, Err(CallError::Cancelled));
}

#[tokio::test(start_paused = true)]
async fn timeouts_may_start_anew_with_progress() {
    let router = Router::new().method("slow", |ctx: Ctx, _: serde_json::Value| async move {
        for step in 1..=3 {
            tokio::time::sleep(Duration::from_secs(4)).await;
            ctx.progress(step).await;
        }
        Ok("done")
    });
    let peer = client(router).await;
    let call = |params| peer.call::<String>("slow", params).timeout(Duration::from_secs(5));
    let params = serde_json::json!({"a": 1});
    assert_eq!(call(params.clone()).await, Err(CallError::TimedOut));
    let patient = call(params.clone()).reset_on_progress(Duration::from_secs(60)).await;
    assert_eq!(patient.as_deref(), Ok("done"));
    assert_eq!(call(params).reset_on_progress(Duration::from_secs(9)).await, Err(CallError::TimedOut));
}

/// What is sent before a handler returns goes out before its answer; what its hook sends, after it.
#[tokio::test]
async fn the_wire_keeps_the_order_of_the_program() {
    let server = Router::new().method("work", |ctx: Ctx, ()| async move {
        ctx.peer().notify("before", ()).await?;
        ctx.after_reply(|peer| drop(peer.try_notify("after", ())));
        Ok(())
    });
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = |name: &'static str| {
        let seen = Arc::clone(&seen);
        move |_: Ctx, ()| {
            seen.lock().unwrap().push(name);
            async { Ok(()) }
        }
    };
    let client = Router::new().method("before", note("before")).method("after", note("after"));
    let peer = connected(server, client).await;
    let heard = Arc::clone(&seen);
    tokio::spawn(async move {
        peer.call::<()>("work", ()).await.unwrap();
        heard.lock().unwrap().push("reply");
        peer.closed().await;
    });
    while seen.lock().unwrap().len() < 3 {
        tokio::task::yield_now().await;
    }
    assert_eq!(*seen.lock().unwrap(), ["before", "reply", "after"]);
}

#[tokio::test]
async fn notifications_finish_in_order() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let pushed = Arc::clone(&seen);
    let router = Router::new()
        .method("change", move |_, n: u64| {
            let seen = Arc::clone(&pushed);
            async move {
                tokio::time::sleep(Duration::from_millis(20 - n * 5)).await;
                seen.lock().unwrap().push(n);
                Ok(())
            }
        })
        .method("sync", |_, ()| async { Ok(()) });
    let peer = client(router).await;
    for n in 0..4u64 {
        peer.notify("change", n).await.unwrap();
    }
    peer.call::<()>("sync", ()).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [0, 1, 2, 3]);
}

#[tokio::test]
async fn who_wants_nothing_takes_any_result() {
    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Ack;
    let router = Router::new().method_raw("echo", |_, params: Option<RawJson<'static>>| async move {
        Ok(params.and_then(|params| Some(params.get("result")?.into_owned())).unwrap_or(RawJson::NULL))
    });
    let peer = client(router).await;
    for result in ["null", "5", r#""pong""#, "[1,2]", r#"{"a":{"b":[]}}"#, "true"] {
        let params = || RawJson::new(format!(r#"{{"result":{result}}}"#)).unwrap().into_owned();
        peer.call::<()>("echo", params()).await.unwrap();
        // Whoever names a type gets that or an error: nothing else swallows a result that does not fit.
        assert_eq!(peer.call::<Ack>("echo", params()).await.is_ok(), result == "null", "{result}");
        let option = peer.call::<Option<i64>>("echo", params()).await;
        assert_eq!(option.is_ok(), matches!(result, "null" | "5"), "{result}");
    }
    let mut batch = peer.batch();
    let ignored = batch.call::<()>("echo", serde_json::json!({"result": 7}));
    batch.send().unwrap();
    assert_eq!(ignored.await, Ok(()));
}

#[tokio::test]
async fn methods_are_called_and_notified_by_their_types() {
    const SUM: Method<Vec<i64>, i64> = Method::new("sum");
    const LOG: Method<(String,), ()> = Method::new("log");
    let logged = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&logged);
    let router = Router::new()
        .method(SUM, |_, numbers| async move { Ok(numbers.iter().sum::<i64>()) })
        .method(LOG, move |_, (line,)| {
            count.fetch_add(line.len(), Ordering::SeqCst);
            async { Ok(()) }
        });
    let peer = client(router).await;
    peer.notify_method(LOG, ("one".to_owned(),)).await.unwrap();
    peer.notify_raw("log", Some(RawJson::new(r#"["four"]"#).unwrap().into_owned())).await.unwrap();
    let mut batch = peer.batch();
    let sum = batch.call_method(SUM, vec![1, 2, 3]);
    batch.notify_method(LOG, ("three".to_owned(),));
    batch.send().unwrap();
    assert_eq!(sum.await, Ok(6));
    assert_eq!(peer.call_method(SUM, vec![]).await, Ok(0));
    assert_eq!(logged.load(Ordering::SeqCst), 3 + 4 + 5);
}

#[tokio::test]
async fn layers_wrap_single_calls_inside_batches_and_outside() {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    let router = Router::new().method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) }).layer(
        move |_: Ctx, next: Next| {
            counter.fetch_add(1, Ordering::SeqCst);
            async move { next.run().await }
        },
    );
    let peer = client(router).await;
    assert_eq!(peer.call::<i64>("add", (1, 2)).await, Ok(3));
    let mut batch = peer.batch();
    let (a, b) = (batch.call::<i64>("add", (1, 1)), batch.call::<i64>("add", (2, 2)));
    batch.notify("add", (0, 0));
    batch.send().unwrap();
    assert_eq!((a.await, b.await), (Ok(2), Ok(4)));
    peer.call::<i64>("add", (0, 0)).await.unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 5);
}

#[tokio::test]
async fn state_is_shared_and_raw_passes_untouched() {
    let router = Router::new()
        .state(AtomicUsize::new(0))
        .method("next", |ctx: Ctx, ()| async move {
            Ok(ctx.state::<AtomicUsize>().fetch_add(1, Ordering::SeqCst))
        })
        .method_raw("echo", |_, params| async move { Ok(params.unwrap_or(RawJson::NULL)) })
        .fallback(|_, method, _| async move { Ok(RawJson::from_value(&method)?) });
    let peer = client(router).await;
    assert_eq!(peer.call::<usize>("next", ()).await, Ok(0));
    assert_eq!(peer.call::<usize>("next", ()).await, Ok(1));
    let odd = RawJson::new(r#"[1.0, 123456789012345678901234567890, "\u0041"]"#).unwrap();
    assert_eq!(peer.call_raw("echo", Some(odd.clone())).await, Ok(odd));
    assert_eq!(peer.call::<String>("anything", ()).await.as_deref(), Ok("anything"));
}

#[tokio::test]
async fn every_call_ends_with_the_connection() {
    let (a, b) = transport::memory();
    let peer = sabir::connect(a, Router::new()).await.unwrap();
    let calls: Vec<_> = (0..10)
        .map(|_| {
            let peer = peer.clone();
            tokio::spawn(async move { peer.call::<()>("x", ()).await })
        })
        .collect();
    tokio::task::yield_now().await;
    drop(b);
    for call in calls {
        assert_eq!(call.await.unwrap(), Err(CallError::Closed(Cause::Ended)));
    }
    assert_eq!(peer.closed().await, Cause::Ended);
}

/// The outcomes of everything that can be asked of a connection.
async fn asked(peer: &Peer) -> [CallError; 5] {
    let style = sabir::SubscriptionStyle::new("subscribe", "item", "unsubscribe");
    let mut batch = peer.batch();
    let batched = batch.call::<()>("x", ());
    let sent = batch.send();
    [
        peer.call::<()>("x", ()).await.unwrap_err(),
        peer.call::<()>("x", ()).wait_for_room().await.unwrap_err(),
        batched.await.and(sent).unwrap_err(),
        peer.subscribe::<()>(style, ()).await.err().unwrap(),
        peer.notify("x", ()).await.map_err(CallError::NotSent).unwrap_err(),
    ]
}

/// What comes too late was not sent, and says why, at every stage of the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_after_the_end_was_not_sent() {
    let not_sent = |cause: &Cause| CallError::NotSent(SendError::Closed(cause.clone()));
    for round in 0..60 {
        let (near, far) = transport::memory();
        let server = tokio::spawn(sabir::serve(far, Router::new()));
        let peer = sabir::connect(near, Router::new()).await.unwrap();
        match round % 3 {
            0 => server.abort(),
            1 => drop(peer.shutdown(Duration::ZERO).await),
            _ => peer.close(),
        }
        let cause = peer.closed().await;
        assert!(asked(&peer).await.iter().all(|error| *error == not_sent(&cause)), "{cause:?}");
    }

    // The peer sends no more, and is still to get an answer.
    let (near, far) = tokio::io::duplex(1 << 10);
    let (read, write) = tokio::io::split(near);
    let hang = Router::new().method("hang", |_, ()| std::future::pending::<sabir::Result<()>>());
    let peer = sabir::connect(transport::streams(read, write), hang).await.unwrap();
    let (_read, mut write) = tokio::io::split(far);
    write.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hang\"}\n").await.unwrap();
    write.shutdown().await.unwrap();
    peer.closing().await;
    let calls = [peer.call::<()>("x", ()).await, peer.call::<()>("x", ()).wait_for_room().await];
    assert!(calls.iter().all(|outcome| *outcome == Err(not_sent(&Cause::Ended))), "{calls:?}");
    assert!(peer.cause().is_none(), "it has not ended yet");
}

#[tokio::test]
async fn what_a_protocol_on_top_needs() {
    let router = Router::new()
        .method_borrowed("length", |_, params: Option<&RawJson<'_>>| {
            let length = params.map_or(0, |params| params.as_str().len());
            Ok(async move { Ok(length) })
        })
        .method_borrowed("refuse", |_, _| {
            Err::<std::future::Ready<sabir::Result<()>>, _>(ErrorObject::new(7, "no"))
        })
        .method("id", |ctx: Ctx, ()| async move { Ok(ctx.id().await.map(|id| id.text().to_owned())) })
        .method("count", |ctx: Ctx, ()| async move {
            Ok(ctx.peer().extension::<AtomicUsize>().fetch_add(1, Ordering::Relaxed))
        })
        .method("strict", |ctx: Ctx, ()| async move {
            ctx.peer().set_dialect(sabir::MCP);
            Ok(())
        });
    let (one, other) = (client(router.clone()).await, client(router).await);
    assert_eq!(one.call("length", (1, 2)).await, Ok(5));
    assert_eq!(code(one.call::<()>("refuse", ()).await.unwrap_err()), (7, "no".to_owned()));
    assert_eq!(one.call("id", ()).await, Ok(Some("3".to_owned())));
    // Each connection keeps its own.
    assert_eq!(one.call("count", ()).await, Ok(0));
    assert_eq!(one.call("count", ()).await, Ok(1));
    assert_eq!(other.call("count", ()).await, Ok(0));
    one.call::<()>("strict", ()).await.unwrap();
    let refused = one.call::<usize>("length", (1, 2)).await.unwrap_err();
    assert_eq!(code(refused).0, -32600, "MCP has no params by position");
    let weak = one.downgrade();
    assert!(weak.upgrade().is_some());
    one.shutdown(Duration::ZERO).await;
    assert!(weak.upgrade().is_none());
}
