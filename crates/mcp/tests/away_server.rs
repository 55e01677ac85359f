//! A client that waits for a task while its server is started again.

#![cfg(feature = "http")]
#![allow(clippy::unwrap_used)]

mod site;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use sabir::CallError;
use sabir_mcp::{ElicitResult, McpClient, McpRevision, ToolResult};
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

/// A task that asks its user something, with a server that is away for so many answers. If it `keeps` them all the same, only
/// its own answer is lost.
async fn questioned(away: usize, keeps: bool) -> (Result<ToolResult, CallError>, usize, usize) {
    let updates = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&updates);
    let site = Site::start(move |_, asked| {
        let message: Value = serde_json::from_str(&asked.body).unwrap();
        let has_answer = count.load(SeqCst) > if keeps { 0 } else { away };
        let mut result = json!({
            "taskId": "t", "status": "input_required", "createdAt": "2026-01-01T00:00:00Z",
            "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": null, "pollIntervalMs": 20, "resultType": "complete",
        });
        match message["method"].as_str().unwrap() {
            "server/discover" => {
                result = json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete"});
            }
            "tools/call" => result["resultType"] = json!("task"),
            "tasks/get" if has_answer => {
                result["status"] = json!("completed");
                result["result"] = json!({"content": [{"type": "text", "text": "done"}]});
            }
            "tasks/get" => {
                let schema = json!({"type": "object", "properties": {}});
                let params = json!({"message": "Who?", "requestedSchema": schema});
                result["inputRequests"] = json!({"k": {"method": "elicitation/create", "params": params}});
            }
            _ => {
                assert_eq!(message["params"]["inputResponses"], json!({"k": {"action": "decline"}}));
                if count.fetch_add(1, SeqCst) < away {
                    return (503, String::new(), String::new());
                }
                result = json!({"resultType": "complete"});
            }
        }
        ok(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
    })
    .await;
    let users = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&users);
    let client = McpClient::new("t", "1").revision(McpRevision::V2026_07_28).tasks().on_elicit(move |_| {
        seen.fetch_add(1, SeqCst);
        async { Ok(ElicitResult::decline()) }
    });
    let session = client.connect(format!("{}/mcp", site.url)).await.unwrap();
    (session.call("work", ()).await, updates.load(SeqCst), users.load(SeqCst))
}

/// The user is asked once, and the answer is sent until the server has it.
#[tokio::test]
async fn an_answer_that_is_lost_is_sent_again() {
    let (result, updates, users) = questioned(3, false).await;
    assert_eq!((result.unwrap().text().as_str(), updates, users), ("done", 4, 1));
    let (result, updates, users) = questioned(1, true).await;
    assert_eq!((result.unwrap().text().as_str(), updates, users), ("done", 1, 1));
    let (result, updates, users) = questioned(usize::MAX, false).await;
    assert!(matches!(result, Err(CallError::Undelivered(_))), "{result:?}");
    assert_eq!((updates, users), (31, 1));
}
