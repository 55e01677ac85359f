//! Many calls, while workers come and go.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use sabir::{CallError, DeliveryFailure, Nats, Peer, Router};
use tokio::task::{JoinHandle, JoinSet};

use crate::rights::{PERMISSIONS, own_inbox};
use crate::server::NatsServer;
use crate::service::{Worker, WorkerProcess, caller, caller_with, options, until};

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

/// Three workers under load, of which one stops and another one comes, twice.
struct Leaving {
    server: NatsServer,
    worker: Nats,
    caller: Nats,
    /// The server is restarted before the load begins.
    restarts: bool,
}

impl Leaving {
    async fn loses_nothing(mut self) {
        let url = self.server.url("demo");
        let start = || Worker::with(&url, self.worker.clone(), Duration::from_secs(5));
        let mut workers = Vec::new();
        for _ in 0..3 {
            workers.push(start().await);
        }
        let peer = caller_with(&url, self.caller.clone(), Router::new()).await;
        let handled = |worker: &Worker| worker.seen.calls.load(Ordering::SeqCst);
        if self.restarts {
            self.server.restart();
            until("all workers have come back", async || {
                let _ = peer.call::<i64>("add", (1, 2)).await;
                workers.iter().all(|worker| handled(worker) > 0)
            })
            .await;
        }
        let before: usize = workers.iter().map(handled).sum();
        let done = Arc::default();
        let calling = {
            let (peer, done) = (peer.clone(), Arc::clone(&done));
            tokio::spawn(async move { calls(&peer, 10_000, 256, &done).await })
        };
        let mut seen = 0;
        for at in [2_000, 5_000] {
            until("calls are under way", async || done.load(Ordering::SeqCst) >= at).await;
            let leaving = workers.remove(0);
            let counts = Arc::clone(&leaving.seen);
            let asked = Instant::now();
            leaving.stop().await;
            assert!(
                asked.elapsed() < Duration::from_secs(4),
                "it has not left by itself: {:?}",
                asked.elapsed()
            );
            seen += counts.calls.load(Ordering::SeqCst);
            workers.push(start().await);
        }
        let outcomes = calling.await.unwrap();
        let failed: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
        assert_eq!((outcomes.len(), failed.len()), (10_000, 0), "{:?}", failed.first());
        // Each was handled once.
        seen += workers.iter().map(handled).sum::<usize>();
        assert_eq!(seen - before, 10_000);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs nats-server"]
async fn no_call_is_lost_when_a_worker_stops_gracefully() {
    let server = NatsServer::start();
    Leaving { server, worker: options(), caller: options(), restarts: false }.loses_nothing().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs nats-server"]
async fn none_is_lost_by_that_after_a_restart_of_the_server() {
    let server = NatsServer::start();
    Leaving { server, worker: options(), caller: options(), restarts: true }.loses_nothing().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs nats-server"]
async fn none_is_lost_by_that_with_the_smallest_rights() {
    let server = NatsServer::configured(PERMISSIONS);
    Leaving { server, worker: options().user("worker", "w"), caller: own_inbox(), restarts: true }
        .loses_nothing()
        .await;
}

/// What became of a call of `work`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Became {
    Answered,
    /// Not sent, or nobody was there: it did not run.
    NotRun,
    /// It may have run.
    Lost,
}

/// Counts the last answers to each reply subject of a service's callers, beside them.
async fn count_answers(server: &NatsServer) -> JoinHandle<HashMap<String, usize>> {
    let client = async_nats::connect(format!("127.0.0.1:{}", server.port)).await.unwrap();
    let mut answers = client.subscribe("_INBOX.>").await.unwrap();
    client.flush().await.unwrap();
    tokio::spawn(async move {
        let mut counts = HashMap::new();
        while let Some(answer) = answers.next().await {
            if answer.subject.ends_with(".over") {
                break;
            }
            let is_status = answer.headers.as_ref().is_some_and(|headers| headers.get("Jr-Status").is_some());
            if !is_status && !answer.payload.is_empty() {
                *counts.entry(answer.subject.to_string()).or_default() += 1;
            }
        }
        counts
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs nats-server"]
async fn each_call_ends_once_while_a_worker_is_killed_each_second() {
    const CALLS: u64 = 10_000;
    const AT_ONCE: usize = 40;
    let server = NatsServer::start();
    let url = server.url("demo");
    let peer = caller(&url).await;
    let record = std::env::temp_dir().join(format!("sabir-nats-record-{}", server.port));
    std::fs::File::create(&record).unwrap();
    let mut workers = Vec::new();
    for _ in 0..3 {
        let worker = WorkerProcess::recording(&url, &record);
        worker.wait(&peer).await;
        workers.push(worker);
    }
    let answers = count_answers(&server).await;
    let next = Arc::new(AtomicU64::new(0));
    let mut calling = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (peer, next) = (peer.clone(), Arc::clone(&next));
        calling.spawn(async move {
            let mut ended = Vec::new();
            loop {
                let n = next.fetch_add(1, Ordering::SeqCst);
                if n >= CALLS {
                    return ended;
                }
                let call = peer.call::<u64>("work", (n, 50)).timeout(Duration::from_secs(20));
                let outcome = tokio::time::timeout(Duration::from_secs(30), call.into_future()).await;
                let became = match outcome.unwrap_or_else(|_| panic!("{n} hangs")) {
                    Ok(answer) if answer == n => Became::Answered,
                    Err(CallError::Undelivered(reason)) => match reason.failure {
                        DeliveryFailure::NoWorker => Became::NotRun,
                        DeliveryFailure::Closed => Became::Lost,
                        other => panic!("{n}: {other:?}"),
                    },
                    other => panic!("{n}: {other:?}"),
                };
                ended.push((n, became));
            }
        });
    }
    let (calling, mut killed) = (tokio::spawn(calling.join_all()), 0);
    let mut second = tokio::time::interval(Duration::from_secs(1));
    second.tick().await;
    while !calling.is_finished() {
        second.tick().await;
        workers.remove(0).kill();
        killed += 1;
        workers.push(WorkerProcess::recording(&url, &record));
    }
    let ended: HashMap<u64, Became> = calling.await.unwrap().into_iter().flatten().collect();
    let client = async_nats::connect(format!("127.0.0.1:{}", server.port)).await.unwrap();
    client.publish("_INBOX.over", "".into()).await.unwrap();
    client.flush().await.unwrap();
    let answers = answers.await.unwrap();
    let runs = std::fs::read_to_string(&record).unwrap();
    let _ = std::fs::remove_file(&record);
    let mut ran = HashMap::<u64, usize>::new();
    for line in runs.lines() {
        *ran.entry(line.parse().unwrap()).or_default() += 1;
    }
    let count = |which: Became| ended.values().filter(|became| **became == which).count();
    let [answered, not_run, lost] = [Became::Answered, Became::NotRun, Became::Lost].map(count);
    let lost_and_run =
        ended.iter().filter(|(n, became)| **became == Became::Lost && ran.contains_key(n)).count();
    eprintln!(
        "{killed} workers killed: {answered} calls answered, {not_run} found no worker, {lost} were lost, of which {lost_and_run} had begun"
    );
    // Each call has one end, no more than one run and no more than one answer, and what it says of its run is true.
    assert_eq!(ended.len() as u64, CALLS);
    assert!(killed >= 8, "{killed} killed");
    assert!(ran.values().all(|&runs| runs == 1), "{:?}", ran.iter().find(|(_, runs)| **runs > 1));
    assert!(
        answers.values().all(|&answers| answers == 1),
        "{:?}",
        answers.iter().find(|(_, count)| **count > 1)
    );
    for (n, became) in &ended {
        match became {
            Became::Answered => assert!(ran.contains_key(n), "{n} was answered without a run"),
            Became::NotRun => assert!(!ran.contains_key(n), "{n} has run"),
            Became::Lost => {}
        }
    }
    // A worker that dies takes what it had with it, and nothing else.
    assert!(lost <= killed * AT_ONCE, "{lost} lost by {killed} workers");
}
