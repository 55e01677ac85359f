//! Sessions that stick to one worker.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use sabir::{CallError, Cause, LSP, Router, transport};

use crate::server::NatsServer;
use crate::service::{Worker, WorkerProcess, caller, caller_with, options, until};

#[tokio::test]
#[ignore = "needs nats-server"]
async fn all_calls_of_a_sticky_session_go_to_one_worker() {
    let server = NatsServer::start();
    let url = server.url("demo");
    let mut workers = Vec::new();
    for _ in 0..3 {
        workers.push(Worker::start(&url).await);
    }
    let calls = |workers: &[Worker]| {
        let calls = workers.iter().map(|worker| worker.seen.calls.load(Ordering::SeqCst));
        calls.collect::<Vec<_>>()
    };
    // All at once: those behind the first wait until it is known who has that.
    let sticky = caller_with(&url, options().sticky(true), Router::new()).await;
    let sums = (0..100).map(|n| sticky.call::<i64>("add", (n, 0)).into_future());
    assert!(futures_util::future::join_all(sums).await.iter().all(Result::is_ok));
    let mut taken = calls(&workers);
    taken.sort_unstable();
    assert_eq!(taken, [0, 0, 100]);
    // Others are shared: three in a row to one worker happen, ninety-nine do not.
    let spread = caller(&url).await;
    for n in 0..99 {
        spread.call::<i64>("add", (n, 0)).await.unwrap();
    }
    assert!(calls(&workers).iter().all(|&taken| taken > 0), "{:?}", calls(&workers));
    // What has sessions sticks without being told.
    let transport = transport::url(url.clone()).dialect(LSP).nats(options());
    let lsp = sabir::connect(transport, Router::new()).await.unwrap();
    let before = calls(&workers);
    for n in 0..20 {
        lsp.call::<i64>("add", (n, 0)).await.unwrap();
    }
    let changed = calls(&workers).iter().zip(&before).filter(|(now, then)| now != then).count();
    assert_eq!(changed, 1);
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_sticky_session_may_begin_with_a_notification() {
    let server = NatsServer::start();
    let url = server.url("demo");
    let workers = [Worker::start(&url).await, Worker::start(&url).await, Worker::start(&url).await];
    let peer = caller_with(&url, options().sticky(true), Router::new()).await;
    for _ in 0..30 {
        peer.notify("note", ()).await.unwrap();
    }
    let notes = || workers.iter().map(|worker| worker.seen.notes.load(Ordering::SeqCst)).collect::<Vec<_>>();
    until("all have come", async || notes().iter().sum::<usize>() == 30).await;
    assert_eq!(notes().iter().filter(|&&notes| notes > 0).count(), 1, "{:?}", notes());
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_sticky_session_ends_with_its_worker() {
    let server = NatsServer::start();
    let url = server.url("demo");
    let any = caller(&url).await;
    for graceful in [true, false] {
        let peer = caller_with(&url, options().sticky(true), Router::new()).await;
        if graceful {
            let worker = Worker::start(&url).await;
            peer.call::<i64>("add", (1, 2)).await.unwrap();
            worker.stop().await;
        } else {
            let mut worker = WorkerProcess::ready(&url, &any).await;
            peer.call::<i64>("add", (1, 2)).await.unwrap();
            worker.kill();
        }
        // Nobody has to call for that.
        let cause = tokio::time::timeout(Duration::from_secs(10), peer.closed()).await.unwrap();
        assert!(matches!(cause, Cause::Lost(_)), "{cause:?}");
    }
    // One that is called finds out at once, long before its heartbeat is missed.
    let slow = options().heartbeat(Duration::from_secs(60), Duration::from_secs(60));
    let peer = caller_with(&url, slow.clone().sticky(true), Router::new()).await;
    let seen = Arc::default();
    let server = sabir::listen(&url, crate::service::router(&seen)).nats(slow).await.unwrap();
    let worker = tokio::spawn(server.run());
    peer.call::<i64>("add", (1, 2)).await.unwrap();
    worker.abort();
    until("nobody is there", async || any.call::<i64>("add", (1, 2)).await.is_err()).await;
    let call = tokio::time::timeout(Duration::from_secs(10), peer.call::<i64>("add", (1, 2)).into_future());
    let lost = call.await.unwrap();
    assert!(matches!(lost, Err(CallError::Closed(Cause::Lost(_)) | CallError::NotSent(_))), "{lost:?}");
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_caller_that_is_gone_is_noticed() {
    let server = NatsServer::start();
    let url = server.url("demo");
    let worker = Worker::start(&url).await;
    // It leaves nothing behind that could say goodbye.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let address = url.clone();
    runtime.spawn(async move {
        let peer = caller(&address).await;
        let _ = peer.call::<String>("sleep", (60_000,)).await;
    });
    until("the worker is at work", async || worker.seen.slept.load(Ordering::SeqCst) == 1).await;
    assert_eq!(worker.seen.cancelled.load(Ordering::SeqCst), 0);
    runtime.shutdown_background();
    until("its work is dropped", async || worker.seen.cancelled.load(Ordering::SeqCst) == 1).await;
}
