//! Handlers that run beside their connection, and tokens that are refused before a handler runs.

#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use sabir::{CallError, ErrorCode, transport};
use sabir_lsp::lsp_types::request::Request;
use sabir_lsp::lsp_types::{MessageType, Uri};
use sabir_lsp::{LspClient, LspServer, LspSession};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Far more than anything here takes.
const LONG: Duration = Duration::from_secs(20);

enum Do {}

impl Request for Do {
    type Params = Value;
    type Result = Value;
    const METHOD: &'static str = "test/do";
}

fn uri() -> Uri {
    "file:///a.txt".parse().unwrap()
}

fn server() -> LspServer {
    LspServer::new("test", "1")
}

async fn connect(server: LspServer) -> LspSession {
    let (ours, theirs) = transport::memory();
    tokio::spawn(server.serve(theirs));
    LspClient::new("test client", "1").connect(ours).await.unwrap()
}

fn code_of<T: std::fmt::Debug>(answer: Result<T, CallError>) -> ErrorCode {
    match answer {
        Err(CallError::Error(error)) => error.code,
        other => panic!("{other:?}"),
    }
}

/// Two that wait for each other on threads, which only ends if they do not share one.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn spawned_handlers_run_side_by_side() {
    let both = Arc::new(Barrier::new(2));
    let server = server().request_spawned::<Do>(move |ctx, params| {
        let both = Arc::clone(&both);
        async move {
            match params["what"].as_str() {
                Some("panic") => panic!("of no concern to the client"),
                Some("wait") => std::future::pending().await,
                _ => {}
            }
            both.wait();
            let document = ctx.document(&uri())?;
            ctx.client().log_message(MessageType::INFO, document.text()).await?;
            Ok(params)
        }
    });
    let session = connect(server).await;
    session.open(uri(), "text", "a").await.unwrap();
    let answers = timeout(LONG, async {
        tokio::join!(session.request::<Do>(json!({"n": 1})), session.request::<Do>(json!({"n": 2})))
    });
    let (one, two) = answers.await.expect("they share a thread");
    assert_eq!((one.unwrap(), two.unwrap()), (json!({"n": 1}), json!({"n": 2})));
    let waits = session.peer().call::<Value>(Do::METHOD, json!({"what": "wait"}));
    assert_eq!(waits.timeout(Duration::from_millis(20)).await, Err(CallError::TimedOut));
    assert_eq!(code_of(session.request::<Do>(json!({"what": "panic"})).await), ErrorCode::INTERNAL_ERROR);
}

/// A handler that is cancelled is dropped where it waits.
#[tokio::test]
async fn a_spawned_handler_stops_when_it_is_cancelled() {
    struct Told(Option<oneshot::Sender<()>>);
    impl Drop for Told {
        fn drop(&mut self) {
            let _ = self.0.take().unwrap().send(());
        }
    }
    let (dropped, is_dropped) = oneshot::channel();
    let dropped = Mutex::new(Some(dropped));
    let server = server().request_spawned::<Do>(move |_, _| {
        let told = Told(dropped.lock().unwrap().take());
        async move {
            std::future::pending::<()>().await;
            drop(told);
            Ok(json!(null))
        }
    });
    let session = connect(server).await;
    let call = session.peer().call::<Value>(Do::METHOD, json!({})).timeout(Duration::from_millis(20));
    assert_eq!(call.await, Err(CallError::TimedOut));
    timeout(LONG, is_dropped).await.expect("it goes on").unwrap();
}

/// Each progress repeats a token: one that is too long is refused, not ignored.
#[tokio::test]
async fn tokens_that_are_too_long_are_refused() {
    let server = server().request::<Do>(|ctx, _| async move { Ok(json!(ctx.wants_partial_results())) });
    let session = connect(server).await;
    for name in ["partialResultToken", "workDoneToken"] {
        // The quotes count.
        for (length, fits) in [(1022, true), (1023, false)] {
            let mut params = json!({"_meta": {"progressToken": "short"}});
            params[name] = "x".repeat(length).into();
            let answer = session.request::<Do>(params).await;
            if fits {
                assert_eq!(answer, Ok(json!(name == "partialResultToken")), "{name}");
                continue;
            }
            let Err(CallError::Error(error)) = answer else { panic!("{name}: {answer:?}") };
            assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{name}");
            assert!(error.data.unwrap().as_str().contains(name), "{name}");
        }
    }
}
