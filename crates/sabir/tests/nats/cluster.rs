//! Three servers that know each other, of which some are killed or stopped.

use std::time::Duration;

use sabir::{CallError, Peer, Router, transport};

use crate::server::{NatsServer, cluster};
use crate::service::{Worker, caller, options, until};

/// All servers in one URL, one of them first.
fn everywhere(nodes: &[NatsServer; 3], service: &str) -> String {
    let hosts: Vec<_> = nodes.iter().map(|node| format!("127.0.0.1:{}", node.port)).collect();
    format!("nats://{}/{service}", hosts.join(","))
}

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
    until("the servers have found each other", async || works(&peer).await).await;
    let large = "a".repeat(3_000_000);
    assert!(peer.call::<String>("echo", (&large,)).await == Ok(large));
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_server_that_is_killed_takes_no_call_with_it_unnoticed() {
    let mut nodes = cluster();
    // The worker's server dies: the caller hears that nobody is there, or nothing, and then the missing heartbeat.
    let _worker = Worker::start(&everywhere(&nodes, "demo")).await;
    let peer = caller(&everywhere(&nodes, "demo")).await;
    until("the servers have found each other", async || works(&peer).await).await;
    for dying in nodes.iter_mut().take(2) {
        let call = tokio::spawn(peer.call::<String>("sleep", (3_000,)).into_future());
        tokio::time::sleep(Duration::from_millis(200)).await;
        dying.kill();
        let outcome = tokio::time::timeout(Duration::from_secs(20), call).await.expect("it does not hang");
        assert!(
            matches!(&outcome, Ok(Ok(_) | Err(CallError::Undelivered(_)))),
            "it is answered, or has a cause: {outcome:?}"
        );
        until("calls are answered again", async || works(&peer).await).await;
    }
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_partition_ends() {
    let nodes = cluster();
    let _worker = Worker::start(&nodes[0].url("demo")).await;
    let peer = caller(&nodes[1].url("demo")).await;
    until("the servers have found each other", async || works(&peer).await).await;
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
    let nodes = cluster();
    let nats = options();
    let _worker = Worker::with(&everywhere(&nodes, "demo"), nats.clone(), Duration::from_secs(5)).await;
    let transport = transport::url(everywhere(&nodes, "demo")).nats(nats);
    let peer = sabir::connect(transport, Router::new()).await.unwrap();
    until("the servers have found each other", async || works(&peer).await).await;
    // Whichever servers they are at, two of the three are asked to stop, one after the other.
    for (number, leaving) in nodes.iter().enumerate().take(2) {
        let calls: Vec<_> = (0..20)
            .map(|n| tokio::spawn(peer.call::<String>("sleep", (50 + n * 20,)).into_future()))
            .collect();
        leaving.signal("-USR2");
        for call in calls {
            assert_eq!(call.await.unwrap().as_deref(), Ok("slept"), "server {number}");
        }
        for n in 0..200 {
            assert_eq!(peer.call::<i64>("add", (n, 1)).await, Ok(n + 1), "server {number}");
        }
    }
}
