//! Messages that are larger than the server takes.

use std::sync::Arc;
use std::time::Duration;

use sabir::{CallError, ErrorCode, Nats, Router};

use crate::server::NatsServer;
use crate::service::{Worker, caller, caller_with, options, router};

/// All is in one thread, where nobody hears a beat while somebody reads megabytes without optimisation.
fn patient() -> Nats {
    options()
        .heartbeat(Duration::from_millis(50), Duration::from_secs(20))
        .accept_within(Duration::from_secs(60))
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn large_messages_go_in_parts_both_ways() {
    let server = NatsServer::start();
    let url = server.url("demo");
    let grace = Duration::from_secs(5);
    let worker = || Worker::with(&url, patient(), grace);
    let _workers = [worker().await, worker().await, worker().await];
    for sticky in [false, true] {
        let peer = caller_with(&url, patient().sticky(sticky), Router::new()).await;
        let large = "é".repeat(1_500_000);
        let echo = peer.call::<String>("echo", (&large,)).await;
        assert_eq!(echo.map(|echo| echo == large), Ok(true), "3 MB both ways");
        let calls = (0..4).map(|_| peer.call::<String>("echo", (&large,)).into_future());
        let all = futures_util::future::join_all(calls).await;
        assert!(all.iter().all(|echo| echo.as_ref() == Ok(&large)), "four at once");
        // Just below, at and above what fits into one.
        for count in (1_048_576 - 4200..1_048_576 + 100).step_by(97) {
            assert_eq!(peer.call::<String>("repeat", (count,)).await.unwrap().len(), count);
        }
    }
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_worker_may_ask_for_something_large() {
    let server = NatsServer::start();
    let url = server.url("demo");
    let _worker = Worker::with(&url, patient(), Duration::from_secs(5)).await;
    let large = "a".repeat(3_000_000);
    let answer = large.clone();
    let answers = Router::new().method("answer", move |_, (question,): (String,)| {
        let answer = answer.clone();
        async move {
            assert_eq!(question.len(), 2_000_000);
            Ok(answer)
        }
    });
    let peer = caller_with(&url, patient(), answers).await;
    assert!(peer.call::<String>("ask", ("q".repeat(2_000_000),)).await == Ok(large));
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn what_is_too_large_altogether_is_refused() {
    let server = NatsServer::start();
    let url = server.url("demo");
    let _worker = Worker::with(&url, patient(), Duration::from_secs(5)).await;
    let peer = caller_with(&url, patient(), Router::new()).await;
    // The worker takes 16 MiB, and the caller would send 20.
    let refused = peer.call::<String>("echo", ("a".repeat(17 << 20),)).await;
    assert!(
        matches!(&refused, Err(CallError::Error(e)) if e.code == ErrorCode::MESSAGE_TOO_LARGE),
        "{refused:?}"
    );
    let refused = peer.call::<String>("repeat", (17 << 20,)).await;
    assert!(matches!(&refused, Err(CallError::Undelivered(_) | CallError::Error(_))), "{refused:?}");
    assert_eq!(peer.call::<i64>("add", (1, 2)).await, Ok(3));
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn somebody_who_takes_no_parts_is_told_the_size_and_the_limit() {
    let server = NatsServer::start();
    let _worker = Worker::start(&server.url("demo")).await;
    let client = async_nats::connect(format!("127.0.0.1:{}", server.port)).await.unwrap();
    let question = r#"{"jsonrpc":"2.0","id":"mine","method":"repeat","params":[2000000]}"#;
    let answer = client.request("jr.demo.rpc", question.into()).await.unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&answer.payload).unwrap();
    assert_eq!(answer["id"], "mine");
    assert_eq!(answer["error"]["code"], -32008);
    let reason = answer["error"]["data"]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("2000") && reason.contains("1048576"), "{answer}");
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn an_answer_without_parts_may_be_as_large_as_the_server_takes() {
    const MOST: usize = 1 << 20;
    let server = NatsServer::start();
    let _worker = Worker::start(&server.url("demo")).await;
    let client = async_nats::connect(format!("127.0.0.1:{}", server.port)).await.unwrap();
    let frame = r#"{"jsonrpc":"2.0","id":"mine","result":""}"#.len();
    for (more, refused) in [(0, None), (1, Some("-32008"))] {
        let count = MOST - frame + more;
        let question = format!(r#"{{"jsonrpc":"2.0","id":"mine","method":"repeat","params":[{count}]}}"#);
        let answer = client.request("jr.demo.rpc", question.into()).await.unwrap();
        let code = answer.headers.as_ref().and_then(|headers| headers.get("Nats-Service-Error-Code"));
        assert_eq!(code.map(|code| code.as_str()), refused, "{count}");
        assert_eq!(answer.payload.len() == MOST, refused.is_none(), "{}", answer.payload.len());
    }
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_server_may_take_less_after_a_restart() {
    let small = "max_payload: 65536\n";
    let mut server = NatsServer::start();
    let url = server.url("demo");
    let seen = Arc::default();
    let worker = sabir::listen(&url, router(&seen)).nats(options()).await.unwrap();
    let _worker = Worker::run(worker, seen);
    let peer = caller(&url).await;
    let text = "a".repeat(900_000);
    assert!(peer.call::<String>("echo", (&text,)).await == Ok(text.clone()));
    let path = std::env::temp_dir().join(format!("sabir-nats-small-{}.conf", std::process::id()));
    std::fs::write(&path, small).unwrap();
    server.restart_with(&["-c", path.to_str().unwrap()]);
    crate::service::until("it works again, in smaller parts", async || {
        peer.call::<String>("echo", (&text,)).await.is_ok_and(|echo| echo == text)
    })
    .await;
    let _ = std::fs::remove_file(path);
}
