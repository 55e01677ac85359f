//! What every connection can do, over NATS.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use sabir::{CallError, DeliveryFailure, ErrorCode, ErrorObject, Router, SubscriptionEnd, TraceContext};

use crate::server::NatsServer;
use crate::service::{COUNT, Worker, caller, caller_with, options, until};

#[tokio::test]
#[ignore = "needs nats-server"]
async fn calls_are_answered() {
    let server = NatsServer::start();
    let worker = Worker::start(&server.url("demo")).await;
    let peer = caller(&server.url("demo")).await;
    assert_eq!(peer.call::<i64>("add", (1, 2)).await, Ok(3));
    let unknown = peer.call::<i64>("nonsense", ()).await;
    assert!(
        matches!(&unknown, Err(CallError::Error(e)) if e.code == ErrorCode::METHOD_NOT_FOUND),
        "{unknown:?}"
    );
    let calls = (0..1000).map(|n| peer.call::<i64>("add", (n, 1)));
    let sums = futures_util::future::join_all(calls.map(IntoFuture::into_future)).await;
    assert_eq!(sums, (1..=1000).map(Ok).collect::<Vec<_>>());
    assert_eq!(worker.seen.calls.load(Ordering::SeqCst), 1001);
    worker.stop().await;
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn notifications_and_batches_go_through() {
    let server = NatsServer::start();
    let worker = Worker::start(&server.url("demo")).await;
    let peer = caller(&server.url("demo")).await;
    peer.notify("note", ()).await.unwrap();
    let mut batch = peer.batch();
    let (one, two) = (batch.call::<i64>("add", (1, 2)), batch.call::<i64>("add", (3, 4)));
    batch.notify("note", ());
    batch.send().unwrap();
    assert_eq!((one.await, two.await), (Ok(3), Ok(7)));
    until("both notifications came", async || worker.seen.notes.load(Ordering::SeqCst) == 2).await;
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn progress_comes_before_the_answer() {
    let server = NatsServer::start();
    let _worker = Worker::start(&server.url("demo")).await;
    let peer = caller(&server.url("demo")).await;
    let mut steps = Vec::new();
    let mut told = peer.call::<u64>("steps", serde_json::json!({ "count": 3 })).with_progress();
    while let Some(step) = told.progress::<u64>().await {
        steps.push(step);
    }
    assert_eq!(told.await, Ok(3));
    assert_eq!(steps, [1, 2, 3]);
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_cancel_reaches_the_worker_that_has_the_call() {
    let server = NatsServer::start();
    let workers = [Worker::start(&server.url("demo")).await, Worker::start(&server.url("demo")).await];
    let peer = caller(&server.url("demo")).await;
    let cancelled =
        || workers.iter().map(|worker| worker.seen.cancelled.load(Ordering::SeqCst)).sum::<usize>();
    // Before it is known who has it, and after.
    for wait in [0, 200] {
        let before = cancelled();
        let call = peer.call::<String>("sleep", (60_000,));
        let mut call = Box::pin(call.into_future());
        let waited = tokio::time::timeout(Duration::from_millis(wait), &mut call).await;
        assert!(waited.is_err());
        drop(call);
        until("the handler is dropped", async || cancelled() == before + 1).await;
    }
    // The time is up.
    let late = peer.call::<String>("sleep", (60_000,)).timeout(Duration::from_millis(100)).await;
    assert_eq!(late, Err(CallError::TimedOut));
    until("the handler is dropped", async || cancelled() == 3).await;
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn workers_call_back() {
    let server = NatsServer::start();
    let url = server.url("demo");
    let _workers = [Worker::start(&url).await, Worker::start(&url).await, Worker::start(&url).await];
    let answers = Router::new().method("answer", |_, (question,): (String,)| async move {
        // Questions of all workers are open at once, and must not be taken for each other's.
        tokio::time::sleep(Duration::from_millis(20)).await;
        Ok(format!("{question}!"))
    });
    let peer = caller_with(&url, options(), answers).await;
    let calls = (0..50).map(|n| peer.call::<String>("ask", (format!("why {n}"),)).into_future());
    let answers = futures_util::future::join_all(calls).await;
    assert_eq!(answers, (0..50).map(|n| Ok(format!("why {n}!"))).collect::<Vec<_>>());
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn subscriptions_are_followed_and_left() {
    let server = NatsServer::start();
    let url = server.url("demo");
    let workers = [Worker::start(&url).await, Worker::start(&url).await, Worker::start(&url).await];
    let peer = caller(&url).await;
    let mut counted = peer.subscribe::<u64>(COUNT, (1000,)).await.unwrap();
    let mut items = Vec::new();
    while let Some(item) = counted.next().await {
        items.push(item.unwrap());
    }
    assert_eq!(items, (0..1000).collect::<Vec<_>>());
    assert_eq!(counted.end(), Some(SubscriptionEnd::Finished(None)));
    // Several are open, at any of the workers; each is left where it is.
    let ended = || workers.iter().map(|worker| worker.seen.streams.load(Ordering::SeqCst)).sum::<usize>();
    assert_eq!(ended(), 1);
    for n in 0..10 {
        let mut idle = peer.subscribe::<u64>(COUNT, (0,)).await.unwrap();
        assert_eq!(idle.next().await, Some(Ok(0)));
        assert!(idle.unsubscribe().await, "{n}");
        assert_eq!(ended(), n + 2);
    }
    // A caller that leaves takes its subscriptions with it.
    let idle = peer.subscribe::<u64>(COUNT, (0,)).await.unwrap();
    peer.close();
    until("the subscription has ended", async || ended() == 12).await;
    drop(idle);
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_trace_travels_in_headers() {
    let server = NatsServer::start();
    let _worker = Worker::start(&server.url("demo")).await;
    // Whoever traces looks at headers: here it is a caller that knows nothing of JSON-RPC.
    let client = async_nats::connect(format!("127.0.0.1:{}", server.port)).await.unwrap();
    let mut headers = async_nats::HeaderMap::new();
    let trace = [
        ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ("tracestate", "vendor=1,other=2"),
        ("baggage", "user=ada,plan=free"),
    ];
    let values = trace.map(|(_, value)| value);
    trace.into_iter().for_each(|(name, value)| headers.insert(name, value));
    let question = r#"{"jsonrpc":"2.0","id":1,"method":"trace"}"#;
    let answer = client.request_with_headers("jr.demo.rpc", headers, question.into()).await.unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&answer.payload).unwrap();
    assert_eq!(answer["result"], serde_json::json!(values));
    let [traceparent, tracestate, baggage] = values.map(Into::into);
    let ours = TraceContext { traceparent, tracestate: Some(tracestate), baggage: Some(baggage) };
    // One that is set for a call comes to the handler, although its params have no place for it.
    let peer = caller(&server.url("demo")).await;
    let call = peer.call::<[String; 3]>("trace", ()).trace(ours.clone());
    assert_eq!(call.await.unwrap(), values);
    // And ours is in the headers for others.
    let mut calls = client.subscribe("jr.traced.rpc").await.unwrap();
    client.flush().await.unwrap();
    let peer = caller(&server.url("traced")).await;
    let call = peer.call::<()>("x", serde_json::json!({})).trace(ours).timeout(Duration::from_secs(30));
    let call = tokio::spawn(call.into_future());
    let seen = calls.next().await.unwrap().headers.unwrap();
    assert_eq!(trace.map(|(name, _)| seen.get(name).unwrap().as_str()), values);
    let left: u64 = seen.get("Jr-Deadline").unwrap().as_str().parse().unwrap();
    assert!((1..=30_000).contains(&left), "{left}");
    call.abort();
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn without_a_worker_there_is_an_error_at_once() {
    let server = NatsServer::start();
    let reports = std::sync::Arc::new(AtomicUsize::new(0));
    let told = std::sync::Arc::clone(&reports);
    let transport = sabir::transport::url(server.url("nobody")).on_report(move |report| {
        assert!(matches!(report, sabir::Report::Undelivered(_)), "{report:?}");
        told.fetch_add(1, Ordering::SeqCst);
    });
    let peer = sabir::connect(transport, Router::new()).await.unwrap();
    for _ in 0..2 {
        let refused = peer.call::<i64>("add", (1, 2)).await;
        let Err(CallError::Undelivered(reason)) = &refused else { panic!("{refused:?}") };
        assert_eq!(reason.failure, DeliveryFailure::NoWorker);
        assert_eq!(reason.to_string(), "no worker of `nobody` is connected to NATS");
    }
    peer.notify("note", ()).await.unwrap();
    until("the loss is reported", async || reports.load(Ordering::SeqCst) == 1).await;
    // The connection is as good as before.
    let _worker = Worker::start(&server.url("nobody")).await;
    assert_eq!(peer.call::<i64>("add", (1, 2)).await, Ok(3));
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn others_may_ask_without_a_session() {
    let server = NatsServer::start();
    let _worker = Worker::start(&server.url("demo")).await;
    let client = async_nats::connect(format!("127.0.0.1:{}", server.port)).await.unwrap();
    for (question, answer) in [
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"add","params":[1,2]}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":3}"#,
        ),
        (
            r#"[{"jsonrpc":"2.0","id":7,"method":"add","params":[1,2]},{"jsonrpc":"2.0","method":"note"}]"#,
            r#"[{"jsonrpc":"2.0","id":7,"result":3}]"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"x","method":"steps","params":{"_meta":{"progressToken":1},"0":1}}"#,
            "-32602",
        ),
    ] {
        let got = client.request("jr.demo.rpc", question.into()).await.unwrap();
        let text = std::str::from_utf8(&got.payload).unwrap();
        match answer.starts_with('-') {
            false => assert_eq!(text, answer),
            true => {
                let error = got.headers.as_ref().and_then(|headers| headers.get("Nats-Service-Error-Code"));
                assert_eq!(error.map(|code| code.as_str()), Some(answer), "{text}");
            }
        }
    }
    // Such a caller cannot be asked back, and is told so.
    let question = r#"{"jsonrpc":"2.0","id":1,"method":"ask","params":["why"]}"#;
    let got = client.request("jr.demo.rpc", question.into()).await.unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&got.payload).unwrap();
    assert!(answer["error"].is_object(), "{answer}");
    let _: ErrorObject = serde_json::from_value(answer["error"].clone()).unwrap();
}
