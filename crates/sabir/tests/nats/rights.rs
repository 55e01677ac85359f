//! Who may do what: credentials, TLS, permissions.

use std::time::{Duration, Instant};

use sabir::transport::Url;
use sabir::transport::nats::services;
use sabir::{CallError, ConnectErrorKind, DeliveryFailure, Error, Nats, Router, transport};

use crate::server::NatsServer;
use crate::service::{Worker, caller_with, options};

pub(crate) async fn refused(url: &str, nats: Nats) -> ConnectErrorKind {
    match sabir::connect(transport::url(url).nats(nats), Router::new()).await {
        Err(Error::Connect(error)) => error.kind(),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it is let in"),
    }
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn credentials_are_checked() {
    let server = NatsServer::with(&["--user", "me", "--pass", "secret"]);
    let url = server.url("demo");
    assert_eq!(refused(&url, options()).await, ConnectErrorKind::Credentials);
    assert_eq!(refused(&url, options().user("me", "wrong")).await, ConnectErrorKind::Credentials);
    let outcome = sabir::connect(transport::url(&url).nats(options()), Router::new()).await;
    let text = outcome.map_or_else(|error| error.to_string(), |_| String::new());
    assert_eq!(text.matches("authorization violation").count(), 1, "{text}");
    let in_url = url.replace("nats://", "nats://me:secret@");
    let _worker = Worker::start(&in_url).await;
    let peer = caller_with(&url, options().user("me", "secret"), Router::new()).await;
    assert_eq!(peer.call::<i64>("add", (1, 2)).await, Ok(3));

    let server = NatsServer::with(&["--auth", "s3cret"]);
    let url = server.url("demo");
    assert_eq!(refused(&url, options()).await, ConnectErrorKind::Credentials);
    let _worker = Worker::with(&url, options().token("s3cret"), Duration::ZERO).await;
    let peer = sabir::connect(url.replace("nats://", "nats://s3cret@"), Router::new()).await.unwrap();
    assert_eq!(peer.call::<i64>("add", (1, 2)).await, Ok(3));
}

pub(crate) const PERMISSIONS: &str = r#"
authorization {
  users = [
    { user: worker, password: w, permissions: { publish: ["jr.demo.rpc"],
        subscribe: ["jr.demo.>", "$SRV.>"], allow_responses: { max: 1000, expires: "1h" } } }
    { user: bound, password: b, permissions: {
        subscribe: ["jr.demo.>", "$SRV.>"], allow_responses: { max: 3, expires: "1h" } } }
    { user: caller, password: c, permissions: {
        publish: ["jr.demo.>", "$SRV.>"], subscribe: ["_INBOX_caller.>"] } }
    { user: nosy, password: n, permissions: { publish: ["jr.demo.>"], subscribe: ["_INBOX_nosy.>"] } }
    { user: mute, password: m, permissions: { publish: ["elsewhere"], subscribe: ["_INBOX.>"] } }
  ]
}
"#;

pub(crate) fn own_inbox() -> Nats {
    options().user("caller", "c").inbox_prefix("_INBOX_caller")
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn rights_that_are_missing_are_named() {
    let server = NatsServer::configured(PERMISSIONS);
    let url = server.url("demo");
    // The smallest rights suffice: a worker may answer where it is asked, and nowhere else.
    let worker = Worker::with(&url, options().user("worker", "w"), Duration::from_secs(5)).await;
    let answers = Router::new().method("answer", |_, (question,): (String,)| async move { Ok(question) });
    let peer = caller_with(&url, own_inbox(), answers).await;
    assert_eq!(peer.call::<i64>("add", (1, 2)).await, Ok(3));
    assert_eq!(peer.call::<String>("ask", ("why",)).await.as_deref(), Ok("why"));
    assert_eq!(peer.call::<String>("sleep", (400,)).await.as_deref(), Ok("slept"));
    // One may not call.
    let mute = caller_with(&url, options().user("mute", "m"), Router::new()).await;
    let outcome = mute.call::<i64>("add", (1, 2)).await;
    let Err(CallError::Undelivered(reason)) = &outcome else { panic!("{outcome:?}") };
    assert_eq!(reason.failure, DeliveryFailure::Refused);
    let text = reason.to_string();
    assert!(
        text.starts_with("NATS does not allow to call `demo`: ") && text.contains("jr.demo.rpc"),
        "{text}"
    );
    // Nor ask who is there.
    let within = Duration::from_secs(5);
    let outcome = services(&Url::parse(&url).unwrap(), options().user("mute", "m"), within).await;
    let text = outcome.map_or_else(|error| error.to_string(), |found| format!("{found:?}"));
    assert!(text.contains("NATS does not allow to ask for services") && text.contains("$SRV.INFO"), "{text}");
    // One may not read where others get their answers.
    let nosy = options().user("nosy", "n").inbox_prefix("_INBOX_caller");
    let nosy = caller_with(&url, nosy, Router::new()).await;
    let cause = tokio::time::timeout(Duration::from_secs(10), nosy.closed()).await.unwrap();
    assert!(cause.to_string().contains("_INBOX_caller"), "{cause}");
    // One may not serve another service: it is told when it begins.
    let other = server.url("other");
    let listening = sabir::listen(&other, Router::new()).nats(options().user("worker", "w")).await;
    let Err(error) = listening else { panic!("it is let in") };
    assert!(error.to_string().contains("Permissions Violation for Subscription"), "{error}");
    worker.stop().await;
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_worker_that_may_not_publish_to_its_group_leaves_at_once() {
    let server = NatsServer::configured(PERMISSIONS);
    let url = server.url("demo");
    let worker = Worker::with(&url, options().user("bound", "b"), Duration::from_secs(5)).await;
    let peer = caller_with(&url, own_inbox(), Router::new()).await;
    assert_eq!(peer.call::<i64>("add", (1, 2)).await, Ok(3));
    let asked = Instant::now();
    worker.stop().await;
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_worker_that_may_not_say_more_is_given_up() {
    let server = NatsServer::configured(PERMISSIONS);
    let url = server.url("demo");
    let _worker = Worker::with(&url, options().user("bound", "b"), Duration::ZERO).await;
    let peer = caller_with(&url, own_inbox(), Router::new()).await;
    // The third is the answer; of five steps, the last two and the answer are refused.
    for (count, want) in [(2, Ok(2)), (5, Err("no worker has accepted the call within 3 s: it may have run"))]
    {
        let call = peer.call::<u64>("steps", serde_json::json!({ "count": count })).with_progress();
        let ended = tokio::time::timeout(Duration::from_secs(20), call.into_future()).await.expect("it ends");
        assert_eq!(ended.map_err(|error| error.to_string()), want.map_err(str::to_owned), "{count}");
    }
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn what_is_refused_is_not_tried_again() {
    let server = NatsServer::configured(&format!("max_payload: 200\n{PERMISSIONS}"));
    let url = server.url("demo");
    let _worker = Worker::with(&url, options().user("worker", "w"), Duration::ZERO).await;
    for (nats, size) in [(options().user("mute", "m"), 1), (own_inbox(), 10_000_000)] {
        let url = url.clone();
        let dial = move || transport::url(url.clone()).nats(nats.clone());
        let caller = sabir::Reconnect::new(Router::new(), dial);
        let text = "a".repeat(size);
        let call = caller.call_idempotent::<String>("echo", (&text,));
        let outcome =
            tokio::time::timeout(Duration::from_secs(5), call).await.expect("it is not tried again");
        let Err(Error::Call(CallError::Undelivered(reason))) = &outcome else { panic!("{outcome:?}") };
        assert_eq!(reason.failure, DeliveryFailure::Refused, "{reason}");
    }
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn tls_is_spoken() {
    let folder = std::env::temp_dir().join(format!("sabir-nats-tls-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let certified =
        rcgen::generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
    let (cert, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    std::fs::write(&cert, certified.cert.pem()).unwrap();
    std::fs::write(&key, certified.signing_key.serialize_pem()).unwrap();
    let config = format!("tls {{ cert_file: {cert:?}, key_file: {key:?} }}\n");
    let server = NatsServer::configured(&config);
    let url = server.url("demo").replace("nats://", "nats+tls://");
    let trusting = || options().root_certificate(certified.cert.pem());
    let _worker = Worker::with(&url, trusting(), Duration::ZERO).await;
    for url in [&url, &server.url("demo")] {
        let secure = transport::url(url.as_str()).root_certificate(certified.cert.pem()).nats(options());
        let peer = sabir::connect(secure, Router::new()).await.unwrap();
        assert_eq!(peer.call::<i64>("add", (1, 2)).await, Ok(3), "{url}");
        // Nobody vouches for it.
        let kind = refused(url, options()).await;
        assert!(matches!(kind, ConnectErrorKind::Tls | ConnectErrorKind::Refused), "{kind:?}");
    }
    let _ = std::fs::remove_dir_all(folder);
}
