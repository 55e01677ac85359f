//! A worker that is told to stop has one grace for all of it.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::server::NatsServer;
use crate::service::{Worker, caller, options, until};

const GRACE: Duration = Duration::from_secs(3);

/// Short of a second grace after the first, and of the time that it takes to leave a group without a server.
const MOST: Duration = Duration::from_secs(5);

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_call_that_goes_on_has_one_grace() {
    let server = NatsServer::start();
    let url = server.url("demo");
    let worker = Worker::with(&url, options(), GRACE).await;
    let peer = caller(&url).await;
    let call = tokio::spawn(peer.call::<String>("sleep", (60_000,)).into_future());
    until("the worker is at work", async || worker.seen.slept.load(Ordering::SeqCst) == 1).await;
    let began = Instant::now();
    worker.stop().await;
    let took = began.elapsed();
    assert!(took >= GRACE && took < MOST, "{took:?}");
    assert!(call.await.unwrap().is_err());
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_worker_without_a_server_does_not_wait_for_one() {
    let mut server = NatsServer::start();
    let worker = Worker::with(&server.url("demo"), options(), GRACE).await;
    server.kill();
    let began = Instant::now();
    worker.stop().await;
    let took = began.elapsed();
    assert!(took < MOST, "{took:?}");
}
