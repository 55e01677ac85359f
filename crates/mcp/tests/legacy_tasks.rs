//! Tasks of 2025-11-25 on the wire: what a session is told while they run, and what the model is told when they begin.

#![allow(clippy::unwrap_used)]

mod raw;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use raw::Raw;
use sabir_mcp::{Elicit, ElicitResult, McpClient, McpCtx, McpRevision, McpServer, McpSession, Started, Tool};
use serde_json::json;
use tokio::time::sleep;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Sure {
    sure: bool,
}

fn server() -> McpServer {
    McpServer::new("worker", "1.0.0")
        .tool(
            Tool::new("work", "Works").task().immediate_response("It takes a while: go on meanwhile."),
            |ctx: McpCtx, ()| async move {
                for step in 1..=2 {
                    sleep(Duration::from_secs(1)).await;
                    ctx.progress((step, 2)).await;
                }
                Ok("worked")
            },
        )
        .tool(Tool::new("ask", "Asks").task(), |ctx: McpCtx, ()| async move {
            let answer: Option<Sure> = ctx.elicit("sure", "Really?").await?;
            Ok(answer.is_some_and(|answer| answer.sure))
        })
}

/// A session, and the states that it is told of.
async fn connected(revision: McpRevision) -> (McpSession, Arc<Mutex<Vec<String>>>) {
    let told = Arc::<Mutex<Vec<String>>>::default();
    let telling = Arc::clone(&told);
    let client = McpClient::new("tester", "1.0.0")
        .revision(revision)
        .tasks()
        .on_elicit(|question| async move {
            assert!(matches!(question, Elicit::Form { .. }));
            Ok(ElicitResult::accept(json!({"sure": true})))
        })
        .on_notification("notifications/tasks/status", move |params| {
            // All that `tasks/get` would say.
            assert!(params.get("taskId").is_some() && params.get("ttl").is_some(), "{params}");
            let part = |name: &str| params.get(name).map(|part| part.to_string()).unwrap_or_default();
            telling.lock().unwrap().push(format!("{} {}", part("status"), part("statusMessage")));
        });
    (client.connect(server().in_memory()).await.unwrap(), told)
}

#[tokio::test(start_paused = true)]
async fn a_session_is_told_how_far_its_tasks_are() {
    let (session, told) = connected(McpRevision::V2025_11_25).await;
    let Started::Task(mut task) = session.call("work", ()).start().await.unwrap() else { panic!("no task") };
    assert_eq!(task.immediate_response(), Some("It takes a while: go on meanwhile."));
    assert_eq!(task.wait().await.unwrap().text(), "worked");
    assert_eq!(
        *told.lock().unwrap(),
        [r#""working" "1 of 2""#, r#""working" "2 of 2""#, r#""completed" "2 of 2""#]
    );
    told.lock().unwrap().clear();
    let Started::Task(mut task) = session.call("ask", ()).start().await.unwrap() else { panic!("no task") };
    assert_eq!(task.immediate_response(), None);
    assert_eq!(task.wait().await.unwrap().text(), "true");
    let told = told.lock().unwrap().clone();
    assert_eq!(told, [r#""input_required" "#, r#""working" "#, r#""completed" "#]);
}

#[tokio::test(start_paused = true)]
async fn the_modern_era_has_none_of_this() {
    let (session, told) = connected(McpRevision::V2026_07_28).await;
    let Started::Task(mut task) = session.call("work", ()).start().await.unwrap() else { panic!("no task") };
    assert_eq!(task.immediate_response(), None);
    assert_eq!(task.wait().await.unwrap().text(), "worked");
    assert!(told.lock().unwrap().is_empty());
}

/// The progress token of the call is good for as long as the task runs, though the call was answered long ago.
#[tokio::test(start_paused = true)]
async fn progress_goes_on_when_the_call_is_answered() {
    let raw = Raw::legacy(server(), json!({})).await;
    let call = |token: serde_json::Value| json!({"name": "work", "task": {}, "_meta": token});
    let heard = |name: &str| raw.heard.lock().unwrap().iter().filter(|heard| *heard == name).count();
    let created = raw.call("tools/call", call(json!({"progressToken": "t"}))).await.unwrap();
    assert_eq!(created["task"]["status"], "working", "{created}");
    let told = &created["_meta"]["io.modelcontextprotocol/model-immediate-response"];
    assert_eq!(told, "It takes a while: go on meanwhile.");
    assert_eq!(heard("notifications/progress"), 0);
    sleep(Duration::from_secs(5)).await;
    assert_eq!((heard("notifications/progress"), heard("notifications/tasks/status")), (2, 3));
    // Who gives no token is sent none.
    raw.call("tools/call", call(json!({}))).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    assert_eq!((heard("notifications/progress"), heard("notifications/tasks/status")), (2, 6));
}

/// Somebody waits for the result already when the task begins to ask, and asks again before the first answer has come.
#[tokio::test(start_paused = true)]
async fn questions_wait_for_each_other() {
    let server = McpServer::new("asker", "1.0.0").tool(
        Tool::new("ask", "Asks").task(),
        |ctx: McpCtx, ()| async move {
            sleep(Duration::from_secs(1)).await;
            let late = async {
                sleep(Duration::from_secs(1)).await;
                ctx.elicit::<Sure>("late", "The late one?").await
            };
            let (first, late) = tokio::join!(ctx.elicit::<Sure>("first", "The first?"), late);
            let is_sure = |answer: Option<Sure>| answer.is_some_and(|answer| answer.sure);
            Ok(format!("{} {}", is_sure(first?), is_sure(late?)))
        },
    );
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let asking = Arc::clone(&asked);
    let client = McpClient::new("tester", "1.0.0").revision(McpRevision::V2025_11_25).tasks();
    let client = client.on_elicit(move |question| {
        asking.lock().unwrap().push(question.message().to_owned());
        async {
            // The user takes longer than the task to ask again.
            sleep(Duration::from_secs(5)).await;
            Ok(ElicitResult::accept(json!({"sure": true})))
        }
    });
    let session = client.connect(server.in_memory()).await.unwrap();
    let Started::Task(task) = session.call("ask", ()).start().await.unwrap() else { panic!("no task") };
    let params = sabir::RawJson::from_value(&json!({"taskId": task.id()})).unwrap();
    let result = session.request("tasks/result", Some(params));
    let result = tokio::time::timeout(Duration::from_secs(60), result).await.expect("it ends").unwrap();
    assert!(result.as_str().contains("true true"), "{result}");
    assert_eq!(*asked.lock().unwrap(), ["The first?", "The late one?"]);
}
