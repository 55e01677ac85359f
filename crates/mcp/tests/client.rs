//! Client and server over a connection in memory, by every revision.

#![allow(clippy::unwrap_used)]

mod service;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sabir::{CallError, Router, Transport, transport};
use sabir_mcp::{
    Change, Content, Elicit, ElicitResult, Interests, LogLevel, McpClient, McpConnectError, McpRevision,
    McpServer, McpSession, Root, Sampled,
};
use serde_json::{Value, json};
use service::{Add, Sum};
use tokio::sync::mpsc;

/// A client that answers everything, of the service.
fn client() -> McpClient {
    McpClient::new("tester", "1.0.0")
        .on_elicit(|question| async move {
            let Elicit::Form { schema, .. } = &question else { return Ok(ElicitResult::decline()) };
            // A form has no types with null.
            assert!(!schema.as_str().contains("null"), "{schema}");
            Ok(ElicitResult::accept(json!({"name": "Ann"})))
        })
        .on_sample(|question| async move {
            assert_eq!(question.max_tokens, 10);
            Ok(Sampled::new("parrot", "Hi"))
        })
        .roots([Root { uri: "file:///a".into(), ..Root::default() }])
}

async fn connected(client: McpClient) -> McpSession {
    let (ours, theirs) = transport::memory();
    tokio::spawn(service::server().serve(theirs));
    client.connect(ours).await.unwrap()
}

#[tokio::test]
async fn every_revision_is_spoken() {
    for &revision in McpRevision::ALL {
        let server = connected(client().revision(revision)).await;
        assert_eq!(server.revision(), revision);
        assert_eq!(server.server_info().unwrap().name, "service");
        assert_eq!(server.instructions(), Some("Be kind."));
        let names: Vec<_> = server.tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
        assert_eq!(names.len(), 9, "{revision}: {names:?}");
        let sum = server.call("add", Add { a: 2, b: 3 }).await.unwrap();
        assert_eq!(sum.text(), r#"{"sum":5}"#, "{revision}");
        if revision >= McpRevision::V2025_06_18 {
            assert_eq!(sum.structured_content.unwrap().parse::<Sum>().unwrap(), Sum { sum: 5 });
        }
        let contents = server.read("notes://2026/1").await.unwrap();
        assert_eq!(contents[0].as_text(), Some("day 1 of 2026"));
        let arguments = BTreeMap::from([("topic".to_owned(), "cats".to_owned())]);
        let prompt = server.prompt("write", &arguments).await.unwrap();
        assert_eq!(prompt.messages[0].content, Content::text("Write 100 words about cats."));
        assert_eq!(server.complete_prompt("write", "topic", "d").await.unwrap(), ["dogs"]);
        assert_eq!(server.resources().await.unwrap().len() + server.templates().await.unwrap().len(), 4);
    }
}

#[tokio::test]
async fn the_same_functions_ask_in_both_eras() {
    for &revision in McpRevision::ALL {
        let server = connected(client().revision(revision)).await;
        for (tool, want) in [("greet", "Hello, Ann (None)!"), ("together", "Ann, 1 roots")] {
            assert_eq!(server.call(tool, ()).await.unwrap().text(), want, "{revision}");
        }
        let remembered = if revision.is_modern() { r#"Some("a word")"# } else { "None" };
        let want = format!("Hi Ann, 1 roots, {remembered}");
        assert_eq!(server.call("interview", ()).await.unwrap().text(), want, "{revision}");
    }
}

#[tokio::test]
async fn progress_logs_and_changes_are_told() {
    for &revision in McpRevision::ALL {
        let logs = Arc::<Mutex<Vec<Value>>>::default();
        let (tell, mut changes) = mpsc::unbounded_channel();
        let logged = Arc::clone(&logs);
        let client = client()
            .revision(revision)
            .log_level(LogLevel::Notice)
            .on_log(move |message| logged.lock().unwrap().push(message.data))
            .on_change(move |change| tell.send(change).unwrap());
        let server = connected(client).await;
        let seen = Arc::<Mutex<Vec<serde_json::Number>>>::default();
        let seeing = Arc::clone(&seen);
        let steps = server.call("steps", ()).on_progress(move |p| seeing.lock().unwrap().push(p.progress));
        assert_eq!(steps.await.unwrap().text(), "done");
        assert_eq!(*seen.lock().unwrap(), [1.into(), 2.into(), 3.into()], "{revision}");
        assert_eq!(*logs.lock().unwrap(), [json!("three steps were made")], "{revision}");
        let interests = Interests {
            tools_list_changed: true,
            prompts_list_changed: true,
            resource_subscriptions: vec!["notes://today".into()],
            ..Interests::default()
        };
        let listening = match revision.is_modern() {
            true => Some(tokio::spawn({
                let server = server.clone();
                async move { server.listen(&interests).await }
            })),
            false => {
                server.subscribe("notes://today").await.unwrap();
                None
            }
        };
        // The subscription is open before anything that is sent behind it is answered.
        tokio::task::yield_now().await;
        server.call("change", ()).await.unwrap();
        for want in [Change::Tools, Change::Prompts, Change::Resource("notes://today".into())] {
            assert_eq!(changes.recv().await, Some(want), "{revision}");
        }
        if let Some(listening) = listening {
            listening.abort();
        }
    }
}

#[tokio::test]
async fn a_resource_that_was_removed_is_gone_and_the_client_is_told() {
    let mcp = McpServer::new("notes", "1").resource("notes://a", |_| async { Ok("a") });
    let mcp = mcp.resource("notes://b", |_| async { Ok("b") });
    let catalog = mcp.catalog().clone();
    let (tell, mut changes) = mpsc::unbounded_channel();
    let (ours, theirs) = transport::memory();
    tokio::spawn(mcp.serve(theirs));
    let client =
        client().revision(McpRevision::V2025_11_25).on_change(move |change| tell.send(change).unwrap());
    let server = client.connect(ours).await.unwrap();
    assert_eq!(server.resources().await.unwrap().len(), 2);
    assert!(catalog.remove_resource("notes://a"));
    assert!(!catalog.remove_resource("notes://a"));
    assert_eq!(changes.recv().await, Some(Change::Resources));
    let left: Vec<_> = server.resources().await.unwrap().into_iter().map(|resource| resource.uri).collect();
    assert_eq!(left, ["notes://b"]);
    assert!(server.read("notes://a").await.is_err());
    assert_eq!(server.read("notes://b").await.unwrap()[0].as_text(), Some("b"));
    // Removing what is not there is not a change.
    assert!(changes.try_recv().is_err());
}

#[tokio::test]
async fn calls_at_once_find_their_answers_and_can_be_cancelled() {
    let server = connected(client()).await;
    assert_eq!(server.revision(), McpRevision::NEWEST);
    let calls: Vec<_> =
        (0..50).map(|n| tokio::spawn(server.call("add", Add { a: n, b: n }).into_future())).collect();
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(call.await.unwrap().unwrap().text(), format!(r#"{{"sum":{}}}"#, 2 * n));
    }
    let timed_out = server.call("wait", ()).timeout(Duration::from_millis(20)).await;
    assert_eq!(timed_out.unwrap_err(), CallError::TimedOut);
    assert_eq!(server.call("steps", ()).await.unwrap().text(), "done");
}

/// What a client makes of a server that answers like this.
async fn verdict(client: McpClient, server: Router) -> Result<McpRevision, String> {
    let (ours, theirs): (Transport, Transport) = transport::memory();
    tokio::spawn(sabir::serve(theirs, server));
    let connected = client.probe_timeout(Duration::from_millis(50)).connect(ours).await;
    connected.map(|session| session.revision()).map_err(|error: McpConnectError| error.to_string())
}

fn refusing(code: i64, data: Value) -> Router {
    Router::new().method("server/discover", move |_, _: Value| {
        let data = data.clone();
        async move { Err::<(), _>(sabir::ErrorObject::new(code, "no").with_data(data)) }
    })
}

fn legacy(router: Router, version: &'static str) -> Router {
    router.method("initialize", move |_, _: Value| async move {
        Ok(json!({"protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}))
    })
}

fn discovered(versions: Value) -> Router {
    Router::new().method("server/discover", move |_, _: Value| {
        let versions = versions.clone();
        async move { Ok(json!({"supportedVersions": versions, "capabilities": {}})) }
    })
}

#[tokio::test]
async fn clients_find_out_what_a_server_speaks() {
    let silent =
        Router::new().method("server/discover", |_, _: Value| std::future::pending::<sabir::Result<()>>());
    let any = || McpClient::new("tester", "1.0.0");
    let only = |revision| any().revision(revision);
    for (client, server, want) in [
        (any(), legacy(Router::new(), "2025-11-25"), Ok(McpRevision::V2025_11_25)),
        (any(), legacy(Router::new(), "2024-11-05"), Ok(McpRevision::V2024_11_05)),
        (any(), legacy(refusing(-32602, json!(null)), "2025-06-18"), Ok(McpRevision::V2025_06_18)),
        (any(), legacy(silent, "2025-06-18"), Ok(McpRevision::V2025_06_18)),
        (
            any(),
            legacy(Router::new(), "1999-01-01"),
            Err("the server speaks 1999-01-01, which this client does not"),
        ),
        (any(), discovered(json!(["2026-07-28", "2099-01-01"])), Ok(McpRevision::V2026_07_28)),
        (
            any(),
            legacy(discovered(json!(["2099-01-01", "2025-06-18"])), "2025-06-18"),
            Ok(McpRevision::V2025_06_18),
        ),
        (
            any(),
            discovered(json!(["2099-01-01"])),
            Err("the server speaks 2099-01-01, which this client does not"),
        ),
        (
            any(),
            refusing(-32022, json!({"supported": ["2099-01-01"], "requested": "2026-07-28"})),
            Err("the server speaks 2099-01-01, which this client does not"),
        ),
        (any(), Router::new(), Err("the server does not open a session: -32601: Method not found")),
        (
            only(McpRevision::V2026_07_28),
            legacy(Router::new(), "2025-11-25"),
            Err("the server is of the legacy era"),
        ),
        (
            only(McpRevision::V2025_06_18),
            legacy(Router::new(), "2025-11-25"),
            Err("the server speaks 2025-11-25, which this client does not"),
        ),
    ] {
        assert_eq!(verdict(client, server).await, want.map_err(str::to_owned));
    }
}
