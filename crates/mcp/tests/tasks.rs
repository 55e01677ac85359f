//! Tools that run as tasks, in both designs, over a connection in memory and in virtual time.

#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use sabir::{CallError, ErrorCode, RawJson, Router, transport};
use sabir_mcp::{
    Elicit, ElicitResult, Interests, McpClient, McpCtx, McpResult, McpRevision, McpServer, McpSession,
    McpTask, MemoryTasks, Meta, Started, StoreFuture, TaskOptions, TaskRecord, TaskStatus, TaskStore,
    TaskStoreLimits, Tool, ToolError, ToolResult, code,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

const ERAS: [McpRevision; 2] = [McpRevision::V2025_11_25, McpRevision::V2026_07_28];

#[derive(Serialize, Deserialize, JsonSchema)]
struct Work {
    seconds: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    confirm: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

async fn work(ctx: McpCtx, Work { seconds }: Work) -> McpResult<String> {
    for second in 1..=seconds {
        sleep(Duration::from_secs(1)).await;
        ctx.progress((second, seconds)).await;
    }
    Ok(format!("worked for {seconds} s"))
}

async fn both(ctx: McpCtx, (): ()) -> McpResult<String> {
    let (first, second) = tokio::join!(
        ctx.elicit::<Confirm>("first", "The first?"),
        ctx.elicit::<Confirm>("second", "The second?")
    );
    // Keys are good for one question: the second of the same name has another on the wire.
    let third = ctx.elicit::<Confirm>("first", "Really?").await?;
    let said = |answer: Option<Confirm>| answer.is_some_and(|answer| answer.confirm);
    Ok(format!("{} {} {}", said(first?), said(second?), said(third)))
}

async fn named_first(ctx: McpCtx, (): ()) -> McpResult<ToolResult> {
    let Some(Name { name }) = ctx.elicit("name", "Who?").await? else {
        return Ok(ToolResult::error("nobody"));
    };
    ctx.as_task(move |ctx| async move {
        sleep(Duration::from_secs(3)).await;
        Ok(format!("{name} {}", ctx.task_id().is_some()))
    })
    .await
}

async fn tidies_up(ctx: McpCtx, (): ()) -> McpResult<&'static str> {
    ctx.cancelled().await;
    sleep(Duration::from_secs(1)).await;
    Ok("tidied up")
}

fn server() -> McpServer {
    // Time is that of the runtime, which is virtual.
    let (start, began) = (SystemTime::now(), Instant::now());
    McpServer::new("worker", "1.0.0")
        .clock(move || start + began.elapsed())
        .task_options(TaskOptions { ttl: Duration::from_secs(600), running: 5, ..TaskOptions::default() })
        .tool(Tool::new("work", "Works").task(), work)
        .tool(Tool::new("only", "Only as a task").task_only(), work)
        .tool(Tool::new("never", "Never as a task"), |_, ()| async { Ok("at once") })
        .tool(Tool::new("both", "Asks twice at once").task(), both)
        .tool(Tool::new("named_first", "Asks before it works"), named_first)
        .tool(Tool::new("tidies_up", "Ends when it is cancelled").task(), tidies_up)
        .tool(Tool::new("fails", "Cannot do it").task(), |_, ()| async {
            Err::<String, _>(ToolError::new("cannot do it"))
        })
        .tool(Tool::new("wrong", "Answers with an error").task(), |_, ()| async {
            Err::<String, _>(ToolError::rpc(-7, "wrong"))
        })
        .tool(Tool::new("panics", "Panics").task(), |_, ()| async {
            let broken = "".parse::<u8>();
            Ok(broken.unwrap())
        })
}

fn client(revision: McpRevision) -> McpClient {
    McpClient::new("tester", "1.0.0").revision(revision).tasks().on_elicit(|question| async move {
        let Elicit::Form { message, .. } = question else { return Ok(ElicitResult::decline()) };
        Ok(ElicitResult::accept(match message.as_str() {
            "Who?" => json!({"name": "Ann"}),
            "The second?" => json!({"confirm": false}),
            _ => json!({"confirm": true}),
        }))
    })
}

async fn connected(revision: McpRevision) -> McpSession {
    client(revision).connect(server().in_memory()).await.unwrap()
}

async fn started(session: &McpSession, tool: &str, arguments: impl Serialize) -> McpTask {
    match session.call(tool, arguments).start().await.unwrap() {
        Started::Task(task) => task,
        Started::Done(result) => panic!("{tool} is not a task: {result:?}"),
    }
}

fn code_of<T: std::fmt::Debug>(result: Result<T, CallError>) -> i64 {
    match result {
        Err(CallError::Error(error)) => error.code.0,
        other => panic!("no error: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_plain_call_waits_for_its_task() {
    let session = connected(McpRevision::V2026_07_28).await;
    let heard = Arc::<Mutex<Vec<String>>>::default();
    let hearing = Arc::clone(&heard);
    let call = session
        .call("work", Work { seconds: 5 })
        .on_progress(move |update| hearing.lock().unwrap().push(update.message.unwrap()));
    assert_eq!(call.await.unwrap().text(), "worked for 5 s");
    let heard = heard.lock().unwrap().clone();
    assert!(heard.contains(&"2 of 5".to_owned()) && heard.last().unwrap() == "5 of 5", "{heard:?}");
    let late = session.call("work", Work { seconds: 50 }).timeout(Duration::from_secs(3)).await;
    assert!(matches!(late, Err(CallError::TimedOut)), "{late:?}");
}

#[tokio::test(start_paused = true)]
async fn a_plain_call_waits_for_a_tool_that_is_a_task_alone() {
    for revision in ERAS {
        let session = connected(revision).await;
        let result = session.call("only", Work { seconds: 2 }).await.unwrap();
        assert_eq!(result.text(), "worked for 2 s", "{revision}");
        // A method that is unknown stays so.
        assert_eq!(code_of(session.request("tools/none", None).await), -32601, "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_without_tasks_waits_for_the_result() {
    for &revision in McpRevision::ALL {
        let client = McpClient::new("plain", "1.0.0").revision(revision);
        let session = client.connect(server().in_memory()).await.unwrap();
        let result = session.call("work", Work { seconds: 2 }).await.unwrap();
        assert_eq!(result.text(), "worked for 2 s", "{revision}");
        let only = session.call("only", Work { seconds: 1 }).await;
        match revision {
            McpRevision::V2026_07_28 => {
                let Err(CallError::Error(error)) = only else { panic!("{only:?}") };
                assert_eq!(error.code, code::MISSING_CAPABILITY);
                let data = r#"{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;
                assert_eq!(error.data.unwrap().as_str(), data);
                let get = session.request("tasks/get", Some(RawJson::new(r#"{"taskId":"x"}"#).unwrap()));
                assert_eq!(code_of(get.await), -32021);
            }
            McpRevision::V2025_11_25 => assert_eq!(code_of(only), -32601),
            // These know nothing of tasks.
            _ => assert_eq!(only.unwrap().text(), "worked for 1 s"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_is_handed_out_and_ends_with_the_result() {
    for revision in ERAS {
        let session = connected(revision).await;
        let mut task = started(&session, "work", Work { seconds: 5 }).await;
        assert_eq!(task.task().status, TaskStatus::Working, "{revision}");
        assert_eq!(task.task().ttl_ms, Some(600_000));
        assert_eq!(task.task().poll_interval_ms, Some(1000));
        // Another that knows the id goes on with it.
        let mut same = session.task(task.id()).await.unwrap();
        assert_eq!(task.wait().await.unwrap().text(), "worked for 5 s", "{revision}");
        assert_eq!(same.get().await.unwrap().status, TaskStatus::Completed);
        assert_eq!(same.wait().await.unwrap().text(), "worked for 5 s", "{revision}");
        let Started::Done(result) = session.call("never", ()).start().await.unwrap() else { panic!() };
        assert_eq!(result.text(), "at once");
    }
}

#[tokio::test(start_paused = true)]
async fn each_design_says_in_its_own_way_that_a_tool_failed() {
    for (revision, want) in [(ERAS[0], TaskStatus::Failed), (ERAS[1], TaskStatus::Completed)] {
        let session = connected(revision).await;
        let mut task = started(&session, "fails", ()).await;
        let result = task.wait().await.unwrap();
        assert!(result.is_error && result.text() == "cannot do it", "{revision}");
        assert_eq!(task.get().await.unwrap().status, want);
        let mut task = started(&session, "wrong", ()).await;
        assert_eq!(code_of(task.wait().await), -7, "{revision}");
        assert_eq!(task.get().await.unwrap().status, TaskStatus::Failed);
        let mut task = started(&session, "panics", ()).await;
        assert_eq!(code_of(task.wait().await), -32603, "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_asks_while_it_runs() {
    for revision in ERAS {
        let session = connected(revision).await;
        let mut task = started(&session, "both", ()).await;
        let mut seen = Vec::new();
        let result = task.wait_with(|task| seen.push(task.status)).await.unwrap();
        assert_eq!(result.text(), "true false true", "{revision}");
        assert!(seen.contains(&TaskStatus::InputRequired), "{revision}: {seen:?}");
        // In the modern era what is asked first is not a part of the task.
        if revision.is_modern() {
            let mut task = started(&session, "named_first", ()).await;
            assert_eq!(task.wait().await.unwrap().text(), "Ann true");
        }
        assert_eq!(
            session.call("named_first", ()).await.unwrap().text(),
            format!("Ann {}", revision.is_modern())
        );
    }
}

/// On the wire: all open questions, partial answers, and keys that are not used again.
#[tokio::test(start_paused = true)]
async fn questions_are_answered_one_by_one() {
    let session = connected(McpRevision::V2026_07_28).await;
    let task = started(&session, "both", ()).await;
    let asked = async || {
        let params = RawJson::from_value(&json!({"taskId": task.id()})).unwrap();
        let detailed = session.request("tasks/get", Some(params)).await.unwrap();
        let asked: Value = detailed.get("inputRequests").map_or(Value::Null, |asked| asked.parse().unwrap());
        asked.as_object().map(|asked| asked.keys().cloned().collect::<Vec<_>>()).unwrap_or_default()
    };
    let update = async |answers: Value| {
        let params = json!({"taskId": task.id(), "inputResponses": answers});
        session.request("tasks/update", Some(RawJson::from_value(&params).unwrap())).await.unwrap();
    };
    let yes = json!({"action": "accept", "content": {"confirm": true}});
    sleep(Duration::from_millis(1)).await;
    assert_eq!(asked().await, ["first", "second"]);
    update(json!({"second": yes, "third": yes, "never": 7})).await;
    assert_eq!(asked().await, ["first"]);
    // An answer that makes no sense is asked for again.
    update(json!({"first": 7, "second": yes})).await;
    sleep(Duration::from_millis(1)).await;
    assert_eq!(asked().await, ["first-2"]);
    update(json!({"first-2": yes})).await;
    sleep(Duration::from_millis(1)).await;
    assert_eq!(asked().await, ["first-3"]);
    update(json!({"first-3": yes})).await;
    sleep(Duration::from_millis(1)).await;
    assert_eq!(session.task(task.id()).await.unwrap().wait().await.unwrap().text(), "true true true");
}

#[tokio::test(start_paused = true)]
async fn a_task_is_cancelled() {
    for revision in ERAS {
        let session = connected(revision).await;
        let mut task = started(&session, "work", Work { seconds: 500 }).await;
        task.cancel().await.unwrap();
        sleep(Duration::from_millis(1)).await;
        assert_eq!(task.get().await.unwrap().status, TaskStatus::Cancelled, "{revision}");
        assert_eq!(code_of(task.wait().await), ErrorCode::REQUEST_CANCELLED.0);
        match revision.is_modern() {
            true => task.cancel().await.unwrap(),
            false => assert_eq!(code_of(task.cancel().await), -32602),
        }
        // One that handles it itself has a result all the same, where the design allows that.
        let mut task = started(&session, "tidies_up", ()).await;
        sleep(Duration::from_millis(1)).await;
        task.cancel().await.unwrap();
        match revision.is_modern() {
            true => assert_eq!(task.wait().await.unwrap().text(), "tidied up"),
            false => assert_eq!(code_of(task.wait().await), ErrorCode::REQUEST_CANCELLED.0),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn tasks_are_listed_in_2025() {
    let session = connected(McpRevision::V2025_11_25).await;
    let tools = session.tools().await.unwrap();
    let support = |name: &str| {
        let tool = tools.iter().find(|tool| tool.name == name).unwrap();
        serde_json::to_value(tool.execution).unwrap()["taskSupport"].clone()
    };
    assert_eq!(
        [support("work"), support("only"), support("never")],
        [json!("optional"), json!("required"), Value::Null]
    );
    let mut begun: Vec<String> = Vec::new();
    for _ in 0..3 {
        begun.push(started(&session, "work", Work { seconds: 2 }).await.id().to_owned());
    }
    begun.sort();
    let list = |session: McpSession| async move {
        let listed: Value = session.request("tasks/list", None).await.unwrap().parse().unwrap();
        let ids = listed["tasks"].as_array().unwrap().iter();
        ids.map(|task| task["taskId"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(list(session.clone()).await, begun);
    sleep(Duration::from_secs(601)).await;
    assert!(list(session).await.is_empty(), "they have expired");
    // There is no such method later, and none at all without tasks.
    let modern = connected(McpRevision::V2026_07_28).await;
    assert_eq!(code_of(modern.request("tasks/list", None).await), -32601);
    let none =
        client(McpRevision::V2026_07_28).connect(McpServer::new("none", "1").in_memory()).await.unwrap();
    let get = none.request("tasks/get", Some(RawJson::new(r#"{"taskId":"x"}"#).unwrap()));
    assert_eq!(code_of(get.await), -32601);
}

#[tokio::test(start_paused = true)]
async fn what_expires_is_freed_though_nobody_asks() {
    let store = Arc::new(MemoryTasks::default());
    let session = client(McpRevision::V2026_07_28);
    let session = session.connect(server().task_store(Arc::clone(&store)).in_memory()).await.unwrap();
    let task = started(&session, "work", Work { seconds: 1 }).await;
    sleep(Duration::from_secs(300)).await;
    let later = started(&session, "work", Work { seconds: 10_000 }).await;
    assert_eq!(store.len(), 2);
    sleep(Duration::from_secs(301)).await;
    assert_eq!(store.len(), 1);
    assert_eq!(code_of(session.task(task.id()).await), -32602);
    assert_eq!(session.task(later.id()).await.unwrap().task().status, TaskStatus::Working);
    // One that runs for too long is stopped.
    sleep(Duration::from_secs(300)).await;
    assert!(store.is_empty());
    assert_eq!(code_of(session.task(later.id()).await), -32602);
}

#[tokio::test(start_paused = true)]
async fn there_are_limits() {
    let session = connected(McpRevision::V2026_07_28).await;
    let mut running = Vec::new();
    for _ in 0..5 {
        running.push(started(&session, "work", Work { seconds: 60 }).await);
    }
    let refused = code_of(session.call("work", Work { seconds: 60 }).await);
    assert_eq!(refused, ErrorCode::OVERLOADED.0);
    running[0].wait().await.unwrap();
    started(&session, "work", Work { seconds: 60 }).await;

    let small = TaskStoreLimits { tasks: 2, bytes: 200, ..TaskStoreLimits::default() };
    let server = server()
        .task_store(MemoryTasks::new(small))
        .tool(Tool::new("long", "Says much").task(), |_, ()| async { Ok("x".repeat(1000)) });
    let session = client(McpRevision::V2026_07_28).connect(server.in_memory()).await.unwrap();
    let mut long = started(&session, "long", ()).await;
    let Err(CallError::Error(error)) = long.wait().await else { panic!() };
    assert!(error.data.unwrap().as_str().contains("no room for the result"));
    started(&session, "work", Work { seconds: 60 }).await;
    assert_eq!(code_of(session.call("work", Work { seconds: 60 }).await), ErrorCode::OVERLOADED.0);
}

#[tokio::test(start_paused = true)]
async fn a_task_belongs_to_its_caller() {
    let server = server().identify(|rpc| Some(rpc.meta()?.get("user")?.as_str().as_bytes().to_vec()));
    let session = client(McpRevision::V2026_07_28).connect(server.in_memory()).await.unwrap();
    let Started::Task(task) =
        session.call("work", Work { seconds: 60 }).meta("user", json!("ann")).start().await.unwrap()
    else {
        panic!()
    };
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = RawJson::from_value(&json!({"taskId": task.id(), "inputResponses": {}})).unwrap();
        let ask = |user: &str| session.request(method, Some(params.clone())).meta("user", json!(user));
        assert_eq!(code_of(ask("bob").await), -32602, "{method}");
        assert_eq!(code_of(session.request(method, Some(params.clone())).await), -32602, "{method}");
        ask("ann").await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_subscription_is_told_of_each_change() {
    let (send, mut told) = tokio::sync::mpsc::unbounded_channel();
    let acknowledged = send.clone();
    let client = client(McpRevision::V2026_07_28)
        .on_notification("notifications/subscriptions/acknowledged", move |params| {
            acknowledged.send(params.get("notifications").unwrap().to_string()).unwrap();
        })
        .on_notification("notifications/tasks", move |params| {
            let part = |name: &str| params.get(name).map(|part| part.to_string()).unwrap_or_default();
            send.send(format!("{} {} {}", part("status"), part("statusMessage"), part("result"))).unwrap();
        });
    let session = client.connect(server().in_memory()).await.unwrap();
    let task = started(&session, "work", Work { seconds: 1 }).await;
    let extensions = Meta::from_iter([("taskIds".to_owned(), json!([task.id(), "unknown"]))]);
    let interests = Interests { extensions, ..Interests::default() };
    let listening = tokio::spawn({
        let session = session.clone();
        async move { session.listen(&interests).await }
    });
    assert_eq!(told.recv().await.unwrap(), json!({"taskIds": [task.id()]}).to_string());
    assert_eq!(told.recv().await.unwrap(), r#""working" "1 of 1" "#);
    let last = told.recv().await.unwrap();
    assert!(last.starts_with(r#""completed" "1 of 1" {"resultType":"complete","content""#), "{last}");
    listening.abort();
}

#[tokio::test(start_paused = true)]
async fn who_no_longer_waits_no_longer_asks() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&asked);
    let task = |more: &str| {
        RawJson::new(format!(
            r#"{{{more}"taskId":"t","status":"working","createdAt":"2026-07-28T00:00:00Z","lastUpdatedAt":"2026-07-28T00:00:00Z","ttlMs":null,"pollIntervalMs":1000}}"#
        ))
        .unwrap()
    };
    let created = task(r#""resultType":"task","#);
    let router = Router::new()
        .method_raw("tools/call", move |_, _| std::future::ready(Ok(created.clone())))
        .method_raw("tasks/get", move |_, _| {
            counting.fetch_add(1, SeqCst);
            std::future::ready(Ok(task(r#""resultType":"complete","#)))
        });
    let (ours, theirs) = transport::memory();
    tokio::spawn(sabir::serve(theirs.dialect(sabir::MCP), router));
    let peer = sabir::connect(ours.dialect(sabir::MCP), Router::new()).await.unwrap();
    let client = McpClient::new("tester", "1.0.0").tasks();
    let session = client.assume(McpRevision::V2026_07_28, peer, Default::default());
    let waiting = tokio::spawn(async move { session.call("endless", ()).await });
    sleep(Duration::from_millis(5500)).await;
    assert_eq!(asked.load(SeqCst), 6);
    waiting.abort();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(asked.load(SeqCst), 6);
}

/// A store that fails for a while, as on a full disk, does not make a task run for ever.
#[tokio::test(start_paused = true)]
async fn a_result_that_cannot_be_stored_is_known_and_stored_later() {
    #[derive(Default)]
    struct Failing(MemoryTasks, AtomicUsize);
    impl TaskStore for Failing {
        fn put<'a>(&'a self, task: &'a TaskRecord) -> StoreFuture<'a, ()> {
            match task.status.is_final() && self.1.fetch_add(1, SeqCst) < 3 {
                true => Box::pin(std::future::ready(Err(std::io::Error::other("the disk is full")))),
                false => self.0.put(task),
            }
        }
        fn get<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<TaskRecord>> {
            self.0.get(id)
        }
        fn list<'a>(
            &'a self,
            owner: &'a str,
            after: Option<&'a str>,
            most: usize,
        ) -> StoreFuture<'a, Vec<TaskRecord>> {
            self.0.list(owner, after, most)
        }
        fn expire(&self, now: u64) -> StoreFuture<'_, Option<u64>> {
            self.0.expire(now)
        }
    }
    let store = Arc::new(Failing::default());
    let server = server().task_store(Arc::clone(&store));
    let session = client(McpRevision::V2026_07_28).connect(server.in_memory()).await.unwrap();
    let mut task = started(&session, "work", Work { seconds: 1 }).await;
    assert_eq!(task.wait().await.unwrap().text(), "worked for 1 s");
    while !store.get(task.id()).await.unwrap().unwrap().status.is_final() {
        sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(store.1.load(SeqCst), 4);
}

/// What running tasks hold of their calls is limited, for all and for each caller.
#[tokio::test(start_paused = true)]
async fn the_arguments_of_running_tasks_have_a_limit() {
    #[derive(Serialize, serde::Deserialize, schemars::JsonSchema)]
    struct Text {
        text: String,
    }
    let options = TaskOptions { running_bytes: 1000, ..TaskOptions::default() };
    let server = McpServer::new("worker", "1.0.0").task_options(options).tool(
        Tool::new("keep", "Holds on to it").task(),
        |_, Text { text }: Text| async move {
            sleep(Duration::from_secs(60)).await;
            Ok(text.len())
        },
    );
    let session = client(McpRevision::V2026_07_28).connect(server.in_memory()).await.unwrap();
    let text = || Text { text: "x".repeat(600) };
    let mut first = started(&session, "keep", text()).await;
    assert_eq!(code_of(session.call("keep", text()).start().await), ErrorCode::OVERLOADED.0);
    assert_eq!(first.wait().await.unwrap().text(), "600");
    started(&session, "keep", text()).await;
}
