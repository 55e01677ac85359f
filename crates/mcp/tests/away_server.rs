//! A client that waits for a task while its server is started again.

#![cfg(feature = "http")]
#![allow(clippy::unwrap_used)]

mod site;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use sabir::CallError;
use sabir_mcp::{McpClient, McpRevision, ToolResult};
use serde_json::{Value, json};
use site::{Site, ok};

/// A call of a tool that becomes a task, with a server that is away for so many questions about it. The second number is how
/// often it was asked.
async fn called(away: usize) -> (Result<ToolResult, CallError>, usize) {
    let asked_for = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked_for);
    let site = Site::start(move |_, asked| {
        let message: Value = serde_json::from_str(&asked.body).unwrap();
        let task = json!({
            "taskId": "t", "status": "working", "createdAt": "2026-01-01T00:00:00Z",
            "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": null, "pollIntervalMs": 20,
        });
        let mut result = json!({"resultType": "complete"});
        let members = match message["method"].as_str().unwrap() {
            "server/discover" => json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}),
            "tools/call" => {
                result["resultType"] = json!("task");
                task
            }
            _ if count.fetch_add(1, SeqCst) < away => return (503, String::new(), String::new()),
            _ => {
                let mut done = task;
                done["status"] = json!("completed");
                done["result"] = json!({"content": [{"type": "text", "text": "done"}]});
                done
            }
        };
        result.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        ok(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
    })
    .await;
    let client = McpClient::new("t", "1").revision(McpRevision::V2026_07_28).tasks();
    let session = client.connect(format!("{}/mcp", site.url)).await.unwrap();
    (session.call("work", ()).await, asked_for.load(SeqCst))
}

#[tokio::test]
async fn a_server_that_is_away_for_a_moment_is_asked_again() {
    let (result, asked) = called(3).await;
    assert_eq!((result.unwrap().text().as_str(), asked), ("done", 4));
    let (result, asked) = called(usize::MAX).await;
    assert!(matches!(result, Err(CallError::Undelivered(_))), "{result:?}");
    assert_eq!(asked, 31);
}
