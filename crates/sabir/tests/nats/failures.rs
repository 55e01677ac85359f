//! What breaks, and what callers are told of it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use sabir::{CallError, DeliveryFailure, Nats, Observed, Reconnect, Router, SubscriptionEnd, transport};

use crate::server::NatsServer;
use crate::service::{COUNT, Worker, WorkerProcess, caller, caller_with, options, router, until};

/// The reason why a call was not delivered.
pub(crate) fn undelivered<T: std::fmt::Debug>(outcome: &Result<T, CallError>) -> (DeliveryFailure, String) {
    match outcome {
        Err(CallError::Undelivered(reason)) => (reason.failure.clone(), reason.to_string()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_worker_that_is_killed_is_told_from_a_slow_one() {
    let server = NatsServer::start();
    let url = server.url("demo");
    let peer = caller(&url).await;
    let mut worker = WorkerProcess::ready(&url, &peer).await;
    // It takes longer than beats may be missed, and is only slow.
    assert_eq!(peer.call::<String>("sleep", (1500,)).await.as_deref(), Ok("slept"));
    let subscription = peer.subscribe::<u64>(COUNT, (0,)).await.unwrap();
    let call = tokio::spawn(peer.call::<String>("sleep", (60_000,)).into_future());
    // Its beats say that it is alive, for the subscription too.
    tokio::time::sleep(Duration::from_millis(300)).await;
    worker.kill();
    let (failure, reason) = undelivered(&call.await.unwrap());
    assert_eq!(failure, DeliveryFailure::Closed);
    assert!(reason.ends_with(": the call may have run") || reason.ends_with(": it may have run"), "{reason}");
    let mut subscription = subscription;
    while subscription.next().await.is_some() {}
    assert!(matches!(subscription.end(), Some(SubscriptionEnd::Disconnected(_))), "{:?}", subscription.end());
    // New calls learn at once that nobody is there.
    assert_eq!(undelivered(&peer.call::<i64>("add", (1, 2)).await).0, DeliveryFailure::NoWorker);
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_call_that_no_worker_accepts_is_given_up() {
    let server = NatsServer::start();
    // Somebody takes calls, and says nothing.
    let client = async_nats::connect(format!("127.0.0.1:{}", server.port)).await.unwrap();
    let mut silent = client.queue_subscribe("jr.demo.rpc", "q".to_owned()).await.unwrap();
    client.flush().await.unwrap();
    let nats = options().accept_within(Duration::from_millis(300));
    let reports = Arc::new(AtomicUsize::new(0));
    let told = Arc::clone(&reports);
    let transport = transport::url(server.url("demo")).nats(nats).on_report(move |_| {
        told.fetch_add(1, Ordering::SeqCst);
    });
    let peer = sabir::connect(transport, Router::new()).await.unwrap();
    let call = tokio::spawn(peer.call::<i64>("add", (1, 2)).into_future());
    let taken = silent.next().await.unwrap();
    let (failure, reason) = undelivered(&call.await.unwrap());
    assert_eq!(failure, DeliveryFailure::Closed);
    assert!(reason.starts_with("no worker has accepted the call within 0.3 s"), "{reason}");
    // Its answer is late, and is nobody's.
    client.publish(taken.reply.unwrap(), r#"{"jsonrpc":"2.0","id":1,"result":3}"#.into()).await.unwrap();
    let next = tokio::spawn(peer.call::<i64>("add", (3, 4)).into_future());
    let taken = silent.next().await.unwrap();
    client.publish(taken.reply.unwrap(), r#"{"jsonrpc":"2.0","id":2,"result":7}"#.into()).await.unwrap();
    assert_eq!(next.await.unwrap(), Ok(7));
    assert_eq!(reports.load(Ordering::SeqCst), 0, "what nobody waits for is not worth a report");
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_server_that_is_restarted_fails_what_is_open_and_nothing_else() {
    let mut server = NatsServer::start();
    let url = server.url("demo");
    let _worker = Worker::start(&url).await;
    let peer = caller(&url).await;
    let mut subscription = peer.subscribe::<u64>(COUNT, (0,)).await.unwrap();
    assert_eq!(subscription.next().await, Some(Ok(0)));
    let call = tokio::spawn(peer.call::<String>("sleep", (60_000,)).into_future());
    assert_eq!(peer.call::<i64>("add", (1, 2)).await, Ok(3));
    server.kill();
    let (failure, reason) = undelivered(&call.await.unwrap());
    assert_eq!(failure, DeliveryFailure::Closed);
    assert_eq!(reason, "the connection to NATS was lost: the call may have run");
    assert_eq!(subscription.next().await, None);
    assert!(matches!(subscription.end(), Some(SubscriptionEnd::Disconnected(_))), "{:?}", subscription.end());
    // While it is down, a call fails at once, and was not sent.
    let (failure, reason) = undelivered(&peer.call::<i64>("add", (1, 2)).await);
    assert_eq!(failure, DeliveryFailure::Connect);
    assert_eq!(reason, "there is no connection to NATS for now: the message was not sent");
    server.restart();
    // Both come back by themselves, with their subscriptions.
    until("calls are answered again", async || peer.call::<i64>("add", (1, 2)).await == Ok(3)).await;
    let mut again = peer.subscribe::<u64>(COUNT, (3,)).await.unwrap();
    assert_eq!(again.next().await, Some(Ok(0)));
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_server_that_is_stopped_is_noticed_by_pings() {
    let server = NatsServer::start();
    let url = server.url("demo");
    let _worker = Worker::start(&url).await;
    // No other timeout would end the call.
    let nats = options().accept_within(Duration::from_secs(60));
    let peer = caller_with(&url, nats, Router::new()).await;
    assert_eq!(peer.call::<i64>("add", (1, 2)).await, Ok(3));
    server.signal("-STOP");
    let stuck = tokio::time::timeout(Duration::from_secs(20), peer.call::<i64>("add", (1, 2)).into_future());
    let (failure, reason) = undelivered(&stuck.await.expect("it is given up"));
    assert_eq!(failure, DeliveryFailure::Closed);
    assert_eq!(reason, "the connection to NATS was lost: the call may have run");
    server.signal("-CONT");
    until("calls are answered again", async || peer.call::<i64>("add", (1, 2)).await == Ok(3)).await;
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn deadlines_travel() {
    let server = NatsServer::start();
    let url = server.url("demo");
    let worker = Worker::start(&url).await;
    // Nobody is left to send a cancel.
    let client = async_nats::connect(format!("127.0.0.1:{}", server.port)).await.unwrap();
    let mut headers = async_nats::HeaderMap::new();
    headers.insert("Jr-Deadline", "100");
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"sleep","params":[60000]}"#;
    client.publish_with_reply_and_headers("jr.demo.rpc", "nobody.x", headers, call.into()).await.unwrap();
    until("the handler is dropped", async || worker.seen.cancelled.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_call_that_may_run_twice_is_made_again() {
    let server = NatsServer::start();
    let url = server.url("demo");
    let address = url.clone();
    let caller = Reconnect::new(Router::new(), move || transport::url(address.clone()).nats(options()));
    // The first worker comes late.
    let begin = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        WorkerProcess::start(&url)
    };
    let (sum, mut first) = tokio::join!(caller.call_idempotent::<i64>("add", (1, 2)), begin);
    assert_eq!(sum.unwrap(), 3);
    // It is lost while it works, and another one takes its place.
    let replace = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        first.kill();
        Worker::start(&url).await
    };
    let (slept, second) = tokio::join!(caller.call_idempotent::<String>("sleep", (1500,)), replace);
    assert_eq!(slept.unwrap(), "slept");
    assert_eq!(second.seen.slept.load(Ordering::SeqCst), 1, "the worker that was killed has answered");
    second.stop().await;
}

/// What a worker's router was told of its connection.
pub(crate) type Told = Arc<Mutex<Vec<String>>>;

/// A worker whose router writes that down.
pub(crate) async fn observed_worker(url: &str, nats: Nats) -> (Worker, Told) {
    let (seen, told) = (Arc::default(), Told::default());
    let tell = Arc::clone(&told);
    let router = router(&seen).observe(move |event| {
        if let Observed::Worker(event) = event {
            tell.lock().unwrap().push(format!("{event:?}"));
        }
    });
    (Worker::run(sabir::listen(url, router).nats(nats).await.unwrap(), seen), told)
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_worker_is_told_of_its_connection() {
    let mut server = NatsServer::start();
    let url = server.url("demo");
    let (_worker, told) = observed_worker(&url, options()).await;
    let has = |part: &str| told.lock().unwrap().iter().any(|told| told.starts_with(part));
    server.kill();
    until("the connection is lost", async || has("ConnectionLost")).await;
    // Several attempts to open it again fail, which is nothing new.
    tokio::time::sleep(Duration::from_millis(500)).await;
    server.restart();
    until("the connection is back", async || has("ConnectionRestored")).await;
    assert_eq!(*told.lock().unwrap(), ["ConnectionLost", "ConnectionRestored"]);
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_worker_is_told_of_missing_rights() {
    let rights = r#"authorization { users = [
        { user: worker, password: w, permissions: { publish: ["jr.demo.rpc"], subscribe: ["jr.demo.>", "$SRV.>"] } }
        { user: caller, password: c }
    ] }
"#;
    let server = NatsServer::configured(rights);
    let url = server.url("demo");
    let (_worker, told) = observed_worker(&url, options().user("worker", "w")).await;
    let peer = caller_with(&url, options().user("caller", "c"), Router::new()).await;
    // It may not answer.
    let call = tokio::spawn(peer.call::<i64>("add", (1, 2)).into_future());
    let is_refusal = |told: &String| told.starts_with("Refused(") && told.contains("Permissions Violation");
    until("the answer is refused", async || told.lock().unwrap().iter().any(is_refusal)).await;
    call.abort();
}
