//! Callers and workers that read too slowly: the server gives up on them, or their own client does.
//!
//! The library reads at once; what is slow here is the process. Whoever is to be slow has a thread of its own, which stands
//! still for a while.

use std::thread::JoinHandle;
use std::time::Duration;

use async_nats::{Client, RequestErrorKind};
use futures_util::StreamExt;
use sabir::{CallError, DeliveryFailure};
use serde_json::Value;

use crate::failures::{Told, observed_worker, undelivered};
use crate::server::NatsServer;
use crate::service::{Worker, caller, options, until};

/// A server that soon gives up on those who do not read.
fn impatient() -> NatsServer {
    NatsServer::configured("write_deadline: \"200ms\"\nmax_pending: 1048576\n")
}

/// More messages than a client keeps for a subscription, 65,536, by far.
const FLOOD: usize = 250_000;

const STANDS_STILL: Duration = Duration::from_secs(2);

/// Runs in a thread of its own, which does nothing else.
fn alone<T: Send + 'static>(run: impl AsyncFnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(run())
    })
}

async fn joined<T: Send + 'static>(thread: JoinHandle<T>) -> T {
    tokio::task::spawn_blocking(move || thread.join().unwrap()).await.unwrap()
}

async fn stranger(server: &NatsServer) -> Client {
    async_nats::connect(format!("127.0.0.1:{}", server.port)).await.unwrap()
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_caller_that_the_server_gives_up_is_told() {
    let server = impatient();
    let url = server.url("demo");
    let worker = Worker::start(&url).await;
    let thread = alone(async move || {
        let peer = caller(&url).await;
        peer.call::<i64>("add", (1, 2)).await.unwrap();
        let calls: Vec<_> =
            (0..40).map(|_| tokio::spawn(peer.call::<String>("repeat", (900_000,)).into_future())).collect();
        tokio::time::sleep(Duration::from_millis(20)).await;
        std::thread::sleep(STANDS_STILL);
        let mut failed = 0;
        for call in calls {
            match call.await.unwrap() {
                Ok(text) => assert_eq!(text.len(), 900_000),
                outcome => {
                    assert_eq!(undelivered(&outcome).0, DeliveryFailure::Closed);
                    failed += 1;
                }
            }
        }
        until("calls are answered again", async || peer.call::<i64>("add", (1, 2)).await == Ok(3)).await;
        failed
    });
    assert!(joined(thread).await > 0, "the server has not given it up");
    worker.stop().await;
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_caller_whose_client_drops_messages_is_told() {
    let server = NatsServer::start();
    let client = stranger(&server).await;
    let mut calls = client.queue_subscribe("jr.demo.rpc", "q".to_owned()).await.unwrap();
    client.flush().await.unwrap();
    let url = server.url("demo");
    let (flood, flooded) = std::sync::mpsc::channel::<()>();
    let thread = alone(async move || {
        let peer = caller(&url).await;
        let call = tokio::spawn(peer.call::<i64>("add", (1, 2)).into_future());
        tokio::time::sleep(Duration::from_millis(100)).await;
        // Until all of it is with the server.
        flooded.recv().unwrap();
        call.await.unwrap()
    });
    let reply = calls.next().await.unwrap().reply.unwrap();
    // To where nobody looks at it: what matters is how much it is.
    let nobody = format!("{}.o", reply.rsplit_once('.').unwrap().0);
    for _ in 0..FLOOD {
        client.publish(nobody.clone(), "x".into()).await.unwrap();
    }
    client.flush().await.unwrap();
    flood.send(()).unwrap();
    let (failure, reason) = undelivered(&joined::<Result<i64, CallError>>(thread).await);
    assert_eq!(failure, DeliveryFailure::Other);
    assert!(reason.starts_with("messages were dropped, as they came faster than they were read"), "{reason}");
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_worker_whose_client_drops_messages_counts_that() {
    let server = NatsServer::start();
    let url = server.url("demo");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let (stand, still) = std::sync::mpsc::channel::<()>();
    let own = url.clone();
    let (begin, begun) = tokio::sync::oneshot::channel::<()>();
    let thread = alone(async move || {
        let worker = Worker::start(&own).await;
        begin.send(()).unwrap();
        // Until all of it is with the server.
        still.recv().unwrap();
        let _ = stopped.await;
        worker.stop().await;
    });
    begun.await.unwrap();
    let client = stranger(&server).await;
    for _ in 0..FLOOD {
        client
            .publish_with_reply("jr.demo.rpc", "away.jr-x.n", r#"{"jsonrpc":"2.0","method":"note"}"#.into())
            .await
            .unwrap();
    }
    client.flush().await.unwrap();
    stand.send(()).unwrap();
    let peer = caller(&url).await;
    until("calls are answered", async || peer.call::<i64>("add", (1, 2)).await == Ok(3)).await;
    let stats = client.request("$SRV.STATS.demo", "".into()).await.unwrap();
    let stats: Value = serde_json::from_slice(&stats.payload).unwrap();
    assert!(stats["endpoints"][0]["num_errors"].as_u64().unwrap() > 0, "{stats}");
    assert!(stats.to_string().contains("slow consumer"), "{stats}");
    stop.send(()).unwrap();
    joined(thread).await;
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_worker_that_the_server_gives_up_comes_back() {
    let server = impatient();
    let url = server.url("demo");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let (stand, still) = std::sync::mpsc::channel::<()>();
    let (begin, begun) = tokio::sync::oneshot::channel::<Told>();
    let own = url.clone();
    let thread = alone(async move || {
        let (worker, told) = observed_worker(&own, options()).await;
        begin.send(told).unwrap();
        // Until the server has given it up.
        still.recv().unwrap();
        let _ = stopped.await;
        worker.stop().await;
    });
    let told = begun.await.unwrap();
    let client = stranger(&server).await;
    let note = format!(r#"{{"jsonrpc":"2.0","method":"note","params":["{}"]}}"#, "x".repeat(900_000));
    for _ in 0..40 {
        client.publish_with_reply("jr.demo.rpc", "away.jr-x.n", note.clone().into()).await.unwrap();
    }
    client.flush().await.unwrap();
    // The server closes the connection when its deadline for writing has passed, and then nobody is in the group.
    until("the worker is given up", async || {
        let asked = client.request("jr.demo.rpc", "".into());
        let asked = tokio::time::timeout(Duration::from_millis(100), asked).await;
        matches!(asked, Ok(Err(error)) if error.kind() == RequestErrorKind::NoResponders)
    })
    .await;
    stand.send(()).unwrap();
    let has = |part: &str| told.lock().unwrap().iter().any(|told| told == part);
    until("it is told", async || has("ConnectionLost") && has("ConnectionRestored")).await;
    let peer = caller(&url).await;
    until("calls are answered again", async || peer.call::<i64>("add", (1, 2)).await == Ok(3)).await;
    stop.send(()).unwrap();
    joined(thread).await;
}
