//! Three servers that know each other, of which some are killed or stopped.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use sabir::{CallError, Peer, Router};
use tokio::task::JoinHandle;

use crate::server::{NatsServer, cluster};
use crate::service::{COUNT, Worker, WorkerProcess, caller, caller_with, options, until};

async fn works(peer: &Peer) -> bool {
    let call = peer.call::<i64>("add", (1, 2)).timeout(Duration::from_secs(2));
    call.await == Ok(3)
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_worker_is_called_through_another_server() {
    let nodes = cluster();
    let _worker = Worker::start(&nodes[1].url("demo")).await;
    let peer = caller(&nodes[0].url("demo")).await;
    until("calls are answered", async || works(&peer).await).await;
    let large = "a".repeat(3_000_000);
    assert!(peer.call::<String>("echo", (&large,)).await == Ok(large));
}

/// How a call of `sleep` has ended that was open when something happened.
async fn outcome(call: JoinHandle<Result<String, CallError>>) -> Result<String, String> {
    let outcome =
        tokio::time::timeout(Duration::from_secs(20), call).await.expect("it does not hang").unwrap();
    outcome.map_err(|error| error.to_string())
}

fn sleep(peer: &Peer, millis: u64) -> JoinHandle<Result<String, CallError>> {
    tokio::spawn(peer.call::<String>("sleep", (millis,)).into_future())
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_worker_outlives_its_server_with_what_it_has() {
    let mut nodes = cluster();
    let worker = Worker::start(&nodes[1].url("demo")).await;
    let peer = caller(&nodes[0].url("demo")).await;
    until("calls are answered", async || works(&peer).await).await;
    let call = sleep(&peer, 1_500);
    until("it is at work", async || worker.seen.slept.load(Ordering::SeqCst) == 1).await;
    nodes[1].kill();
    // It finds another server, and answers there.
    assert_eq!(outcome(call).await.as_deref(), Ok("slept"));
    until("calls are answered again", async || works(&peer).await).await;
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_node_that_is_lost_with_its_worker_is_missed() {
    let mut nodes = cluster();
    let peer = caller(&nodes[0].url("demo")).await;
    let mut worker = WorkerProcess::ready(&nodes[1].url("demo"), &peer).await;
    let call = sleep(&peer, 60_000);
    // It has said that it is at work: after 50 ms.
    tokio::time::sleep(Duration::from_millis(300)).await;
    nodes[1].kill();
    worker.kill();
    let lost = outcome(call).await;
    assert_eq!(lost.unwrap_err(), "the worker is lost, its heartbeat has stopped: the call may have run");
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_caller_that_loses_its_server_is_told_and_finds_another_one() {
    let mut nodes = cluster();
    let _worker = Worker::start(&nodes[1].url("demo")).await;
    let peer = caller(&nodes[0].url("demo")).await;
    until("calls are answered", async || works(&peer).await).await;
    let call = sleep(&peer, 60_000);
    assert!(works(&peer).await);
    nodes[0].kill();
    assert_eq!(outcome(call).await.unwrap_err(), "the connection to NATS was lost: the call may have run");
    until("calls are answered again", async || works(&peer).await).await;
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_partition_ends() {
    let nodes = cluster();
    let _worker = Worker::start(&nodes[0].url("demo")).await;
    let peer = caller(&nodes[1].url("demo")).await;
    until("calls are answered", async || works(&peer).await).await;
    // The worker's server stands still: its clients and the other servers hear nothing of it.
    nodes[0].signal("-STOP");
    let outcome =
        tokio::time::timeout(Duration::from_secs(30), peer.call::<i64>("add", (1, 2)).into_future());
    assert!(matches!(outcome.await.expect("it does not hang"), Err(CallError::Undelivered(_))));
    nodes[0].signal("-CONT");
    until("calls are answered again", async || works(&peer).await).await;
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_server_that_is_about_to_stop_is_left_without_loss() {
    let mut nodes = cluster();
    let _worker = Worker::start(&nodes[0].url("demo")).await;
    let peer = caller(&nodes[0].url("demo")).await;
    until("calls are answered", async || works(&peer).await).await;
    let calls: Vec<_> = (0..20).map(|n| sleep(&peer, 50 + n * 20)).collect();
    until("both are here", async || nodes[0].clients() == 2).await;
    nodes[0].signal("-USR2");
    let asked = Instant::now();
    for call in calls {
        assert_eq!(outcome(call).await.as_deref(), Ok("slept"));
    }
    for n in 0..200 {
        assert_eq!(peer.call::<i64>("add", (n, 1)).await, Ok(n + 1));
    }
    // It waits ten seconds before it closes connections.
    until("both have left", async || nodes[0].clients() == 0).await;
    assert!(asked.elapsed() < Duration::from_secs(8), "the server had to close them");
    nodes[0].kill();
    assert_eq!(peer.call::<i64>("add", (1, 2)).await, Ok(3));
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_call_that_takes_long_keeps_its_server_while_that_lasts() {
    let nodes = cluster();
    let _worker = Worker::start(&nodes[1].url("demo")).await;
    let peer = caller(&nodes[0].url("demo")).await;
    until("calls are answered", async || works(&peer).await).await;
    let call = sleep(&peer, 7_000);
    assert!(works(&peer).await);
    nodes[0].signal("-USR2");
    // Others wait for it for a moment, and then go on.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    for n in 0..200 {
        assert_eq!(peer.call::<i64>("add", (n, 1)).await, Ok(n + 1));
    }
    assert_eq!(nodes[0].clients(), 1);
    assert_eq!(outcome(call).await.as_deref(), Ok("slept"));
    until("the caller has left", async || nodes[0].clients() == 0).await;
    assert!(works(&peer).await);
}

/// A caller at the first server, a worker at the second: what a subscription and a session are told when one of them stops.
async fn told_when_one_stops(node: usize) -> (String, String, Peer, [NatsServer; 3], Worker) {
    let nodes = cluster();
    let worker = Worker::start(&nodes[1].url("demo")).await;
    let peer = caller(&nodes[0].url("demo")).await;
    until("calls are answered", async || works(&peer).await).await;
    let mut subscription = peer.subscribe::<u64>(COUNT, (0,)).await.unwrap();
    assert_eq!(subscription.next().await, Some(Ok(0)));
    let session = caller_with(&nodes[0].url("demo"), options().sticky(true), Router::new()).await;
    assert!(works(&session).await);
    nodes[node].signal("-USR2");
    let ended = tokio::time::timeout(Duration::from_secs(8), subscription.next());
    assert_eq!(ended.await.expect("it ends before the server closes connections"), None);
    let end = format!("{:?}", subscription.end());
    let cause = tokio::time::timeout(Duration::from_secs(8), session.closed()).await.unwrap().to_string();
    (end, cause, peer, nodes, worker)
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn subscriptions_and_sessions_end_with_their_server_and_are_told_why() {
    let (end, cause, ..) = told_when_one_stops(0).await;
    assert!(
        end.contains("the server of NATS stops") && end.contains("what came meanwhile is missing"),
        "{end}"
    );
    assert!(
        cause.contains("the server of NATS stops") && cause.contains("the session with its worker"),
        "{cause}"
    );
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn subscriptions_and_sessions_of_a_worker_that_changes_servers_are_told_why() {
    let (end, cause, peer, _nodes, _worker) = told_when_one_stops(1).await;
    assert!(end.contains("the worker has left its server of NATS"), "{end}");
    assert!(cause.contains("the worker has left its server of NATS"), "{cause}");
    assert!(works(&peer).await);
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_server_without_others_is_not_left() {
    let server = NatsServer::start();
    let worker = Worker::start(&server.url("demo")).await;
    let peer = caller(&server.url("demo")).await;
    assert!(works(&peer).await);
    server.signal("-USR2");
    // As long as it is there, it is used.
    for n in 0..30 {
        assert_eq!(peer.call::<i64>("add", (n, 1)).await, Ok(n + 1));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    worker.stop().await;
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_worker_that_changes_servers_finishes_what_it_has() {
    // In its own time, and before it stops.
    for (grace, stops) in [(Duration::ZERO, false), (Duration::from_secs(5), true)] {
        let nodes = cluster();
        let worker = Worker::with(&nodes[0].url("demo"), options(), grace).await;
        let peer = caller(&nodes[1].url("demo")).await;
        until("calls are answered", async || works(&peer).await).await;
        let (call, began) = (sleep(&peer, 2_000), Instant::now());
        until("it is at work", async || worker.seen.slept.load(Ordering::SeqCst) == 1).await;
        nodes[0].signal("-USR2");
        until("it has another connection", async || nodes[1].clients() + nodes[2].clients() == 2).await;
        if stops {
            worker.stop().await;
            assert!(began.elapsed() >= Duration::from_secs(2), "it has stopped with a call open");
        }
        assert_eq!(outcome(call).await.as_deref(), Ok("slept"), "{stops}");
    }
}
