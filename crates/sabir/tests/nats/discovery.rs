//! Who is there, by the micro protocol.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use sabir::Router;
use sabir::transport::Url;
use sabir::transport::nats::services;

use crate::server::NatsServer;
use crate::service::{Worker, caller, options};

#[tokio::test]
#[ignore = "needs nats-server"]
async fn services_and_their_instances_are_found() {
    let server = NatsServer::start();
    let host = format!("nats://127.0.0.1:{}", server.port);
    let within = Duration::from_millis(500);
    assert_eq!(services(&Url::parse(&host).unwrap(), options(), within).await.unwrap(), []);
    let _workers = [
        Worker::start(&server.url("demo")).await,
        Worker::start(&server.url("demo")).await,
        Worker::start(&server.url("other")).await,
    ];
    let found = services(&Url::parse(&host).unwrap(), options(), within).await.unwrap();
    let told: Vec<_> = found.iter().map(|s| (s.name.as_str(), s.is_jsonrpc, s.instances.len())).collect();
    assert_eq!(told, [("demo", true, 2), ("other", true, 1)]);
    let instance = &found[0].instances[0];
    assert_eq!((instance.version.as_str(), instance.description.as_str()), ("1.2.3", "A service of tests."));
    // Nothing is described, so there is no document.
    assert!(!instance.metadata.as_ref().unwrap().contains_key("openrpc"));
    let only = services(&Url::parse(&server.url("other")).unwrap(), options(), within).await.unwrap();
    assert_eq!(only.len(), 1);
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn instances_that_offer_the_same_say_so() {
    let server = NatsServer::start();
    let url = server.url("demo");
    let router = |method: &'static str| {
        let add = |_, (a, b): (i64, i64)| async move { Ok(a + b) };
        Router::new().method(method, add).describe(sabir::describe(method).doc("Adds."))
    };
    let mut workers = Vec::new();
    for method in ["add", "add", "plus"] {
        let worker = sabir::listen(&url, router(method)).nats(options()).await.unwrap();
        workers.push(Worker::run(worker, Arc::default()));
    }
    let found = services(&Url::parse(&url).unwrap(), options(), Duration::from_millis(500)).await.unwrap();
    let digests = found[0].instances.iter().map(|instance| &instance.metadata.as_ref().unwrap()["openrpc"]);
    let digests: Vec<&String> = digests.collect();
    assert!(digests.iter().all(|digest| digest.len() == "sha256:".len() + 64), "{digests:?}");
    assert_eq!((digests.len(), digests.iter().collect::<HashSet<_>>().len()), (3, 2), "{digests:?}");
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_question_without_a_reply_does_no_harm() {
    let server = NatsServer::start();
    let _worker = Worker::start(&server.url("demo")).await;
    let peer = caller(&server.url("demo")).await;
    peer.call::<i64>("add", (1, 2)).await.unwrap();
    let client = async_nats::connect(format!("127.0.0.1:{}", server.port)).await.unwrap();
    for subject in ["$SRV.PING", "$SRV.INFO.demo", "$SRV.STATS"] {
        client.publish(subject, "".into()).await.unwrap();
    }
    let mut answers = client.subscribe("answers").await.unwrap();
    client.publish_with_reply("$SRV.STATS.demo", "answers", "".into()).await.unwrap();
    let answer = answers.next().await.unwrap();
    let stats: serde_json::Value = serde_json::from_slice(&answer.payload).unwrap();
    assert_eq!(stats["type"], "io.nats.micro.v1.stats_response");
    assert_eq!(stats["endpoints"][0]["num_requests"], 1, "{stats}");
    assert_eq!(stats["endpoints"][0]["num_errors"], 0, "{stats}");
}
