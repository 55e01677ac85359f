//! Many calls, while workers come and go.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sabir::{CallError, Peer};
use tokio::task::JoinSet;

use crate::server::NatsServer;
use crate::service::{Worker, WorkerProcess, caller, until};

/// Keeps so many calls open until `count` were made; what each of them came to.
async fn calls(
    peer: &Peer,
    count: usize,
    at_once: usize,
    done: &Arc<AtomicUsize>,
) -> Vec<Result<i64, CallError>> {
    let mut tasks = JoinSet::new();
    let next = Arc::new(AtomicUsize::new(0));
    for _ in 0..at_once {
        let (peer, next, done) = (peer.clone(), Arc::clone(&next), Arc::clone(done));
        tasks.spawn(async move {
            let mut outcomes = Vec::new();
            loop {
                let n = next.fetch_add(1, Ordering::SeqCst) as i64;
                if n >= count as i64 {
                    return outcomes;
                }
                let outcome = peer.call::<i64>("add", (n, 1)).await;
                assert!(
                    outcome.as_ref().is_ok_and(|sum| *sum == n + 1) || outcome.is_err(),
                    "{n}: {outcome:?}"
                );
                outcomes.push(outcome);
                done.fetch_add(1, Ordering::SeqCst);
            }
        });
    }
    tasks.join_all().await.into_iter().flatten().collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs nats-server"]
async fn no_call_is_lost_when_a_worker_stops_gracefully() {
    let server = NatsServer::start();
    let url = server.url("demo");
    let mut workers = Vec::new();
    for _ in 0..3 {
        workers.push(Worker::start(&url).await);
    }
    let peer = caller(&url).await;
    let done = Arc::default();
    let calling = {
        let (peer, done) = (peer.clone(), Arc::clone(&done));
        tokio::spawn(async move { calls(&peer, 10_000, 256, &done).await })
    };
    // One stops and another one comes, twice.
    let mut seen = 0;
    for at in [2_000, 5_000] {
        until("calls are under way", async || done.load(Ordering::SeqCst) >= at).await;
        let leaving = workers.remove(0);
        seen += leaving.seen.calls.load(Ordering::SeqCst);
        let counted = Arc::clone(&leaving.seen);
        let before = counted.calls.load(Ordering::SeqCst);
        leaving.stop().await;
        seen += counted.calls.load(Ordering::SeqCst) - before;
        workers.push(Worker::start(&url).await);
    }
    let outcomes = calling.await.unwrap();
    let failed: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
    assert_eq!((outcomes.len(), failed.len()), (10_000, 0), "{:?}", failed.first());
    // Each was handled once.
    seen += workers.iter().map(|worker| worker.seen.calls.load(Ordering::SeqCst)).sum::<usize>();
    assert_eq!(seen, 10_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs nats-server"]
async fn each_call_ends_once_while_workers_are_killed() {
    let server = NatsServer::start();
    let url = server.url("demo");
    let peer = caller(&url).await;
    let mut workers = Vec::new();
    for _ in 0..3 {
        workers.push(WorkerProcess::ready(&url, &peer).await);
    }
    let done = Arc::default();
    let calling = {
        let (peer, done) = (peer.clone(), Arc::clone(&done));
        tokio::spawn(async move { calls(&peer, 10_000, 64, &done).await })
    };
    let mut killed = 0;
    while !calling.is_finished() {
        tokio::time::sleep(Duration::from_millis(if killed < 5 { 300 } else { 1000 })).await;
        let mut dying = workers.remove(0);
        dying.kill();
        killed += 1;
        workers.push(WorkerProcess::ready(&url, &peer).await);
    }
    let outcomes = calling.await.unwrap();
    let answered = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    let with_cause = outcomes.iter().filter(|o| matches!(o, Err(CallError::Undelivered(_)))).count();
    eprintln!("{answered} answered, {with_cause} ended with a cause, {killed} workers killed");
    assert_eq!(answered + with_cause, 10_000, "of {}", outcomes.len());
    assert!(killed > 0 && answered > 5_000, "{answered} answered, {killed} killed");
}
