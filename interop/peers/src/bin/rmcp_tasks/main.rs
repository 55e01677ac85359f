//! Tasks between rmcp and Sabir over a stream in memory, both ways. Prints how each test went, in the lines that
//! `interop/run` counts.

use std::process::ExitCode;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ClientCapabilities,
    ClientConfig, ContentBlock, CreateTaskResult, GetTaskParams, GetTaskResult, Implementation,
    ProtocolVersion, ServerCapabilities, ServerConfig, TaskPayload, TaskStatus, UpdateTaskParams,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::task_manager::{TaskExit, TaskManager, TaskOptions};
use rmcp::{ClientLifecycleMode, ClientServiceExt, ErrorData, ServerHandler, ServiceExt};
use sabir::transport;
use sabir_mcp::{ElicitResult, McpClient, McpCtx, McpServer, Started, TaskOptions as OurOptions, Tool};
use serde_json::json;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Far more than any test needs; a peer that hangs must not hang the run.
const LONG: Duration = Duration::from_secs(30);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    let client = tokio::time::timeout(LONG, as_client());
    let server = tokio::time::timeout(LONG, as_server());
    for (name, outcome) in [("its client", client.await), ("its server, by one call", server.await)] {
        match outcome.unwrap_or_else(|late| Err(late.into())) {
            Ok(()) => println!("ok - rmcp tasks: {name}"),
            Err(error) => {
                println!("not ok - rmcp tasks: {name}");
                eprintln!("{error}");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

fn check<T: PartialEq + std::fmt::Debug>(got: T, want: T) -> Outcome {
    if got == want { Ok(()) } else { Err(format!("   got {got:?}\n  want {want:?}").into()) }
}

/// Our server, driven by the client of rmcp.
async fn as_client() -> Outcome {
    let (ours, theirs) = tokio::io::duplex(4096);
    let (read, write) = tokio::io::split(ours);
    let server = McpServer::new("worker", "1.0.0")
        .task_options(OurOptions { poll_interval: Duration::from_millis(10), ..OurOptions::default() })
        .tool(Tool::new("work", "Works").task(), |_, ()| async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            Ok("done")
        })
        .tool(Tool::new("endless", "Is never done").task(), |_, ()| {
            std::future::pending::<Result<String, _>>()
        })
        .tool(Tool::new("folders", "Asks for the client's folders").task(), |ctx: McpCtx, ()| async move {
            Ok(ctx.roots("folders").await?.into_iter().map(|root| root.uri).collect::<Vec<_>>().join(" "))
        });
    tokio::spawn(server.serve(transport::streams(read, write)));
    let info = ClientConfig::new(
        ClientCapabilities::builder().enable_tasks().enable_roots().build(),
        Implementation::from_build_env(),
    );
    let lifecycle = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    let client = info.serve_with_lifecycle(theirs, lifecycle).await?;

    let CallToolResponse::Task(created) = client.call_tool_once(CallToolRequestParams::new("work")).await?
    else {
        return Err("the call has not become a task".into());
    };
    let ended = loop {
        tokio::time::sleep(Duration::from_millis(created.task.poll_interval_ms.unwrap_or(10))).await;
        let got = client.peer().get_task(GetTaskParams::new(created.task.task_id.clone())).await?;
        if got.task.status().is_terminal() {
            break got.task;
        }
    };
    let TaskPayload::Completed { result } = ended.payload else { return Err("it is not completed".into()) };
    check(result["content"][0]["text"].as_str(), Some("done"))?;

    let CallToolResponse::Task(created) =
        client.call_tool_once(CallToolRequestParams::new("endless")).await?
    else {
        return Err("the call has not become a task".into());
    };
    client.peer().cancel_task(CancelTaskParams::new(created.task.task_id.clone())).await?;
    let status = loop {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let got = client.peer().get_task(GetTaskParams::new(created.task.task_id.clone())).await?;
        if got.task.status().is_terminal() {
            break got.task.status();
        }
    };
    check(status, TaskStatus::Cancelled)?;

    // A task that wants input is answered by `tasks/update`.
    let CallToolResponse::Task(created) =
        client.call_tool_once(CallToolRequestParams::new("folders")).await?
    else {
        return Err("the call has not become a task".into());
    };
    let mut asked = 0;
    let result = loop {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let got = client.peer().get_task(GetTaskParams::new(created.task.task_id.clone())).await?;
        match got.task.payload {
            TaskPayload::InputRequired { input_requests } => {
                asked += 1;
                let roots = json!({"roots": [{"uri": "file:///a"}]});
                let answers = input_requests.keys().map(|key| (key.clone(), roots.clone()));
                let answers = serde_json::from_value(answers.collect::<serde_json::Map<_, _>>().into())?;
                client.peer().update_task(UpdateTaskParams::new(&created.task.task_id, answers)).await?;
            }
            TaskPayload::Completed { result } => break result,
            TaskPayload::Working => {}
            _ => return Err("the task has failed".into()),
        }
    };
    check((asked, result["content"][0]["text"].as_str()), (1, Some("file:///a")))?;
    client.cancel().await?;
    Ok(())
}

/// A server of rmcp whose tools are tasks: one that sums, and one that asks for a name.
#[derive(Clone)]
struct Worker {
    tasks: TaskManager,
}

impl ServerHandler for Worker {
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let asks = request.name == "ask";
        let task = self.tasks.spawn(TaskOptions::new().with_poll_interval_ms(10), move |ctx| {
            Box::pin(async move {
                if asks {
                    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
                    let params = json!({"message": "Who are you?", "requestedSchema": schema});
                    let question = json!({"method": "elicitation/create", "params": params});
                    let question = serde_json::from_value(question)
                        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
                    let answer = ctx.request_input("name", question).await?;
                    let name = answer["content"]["name"].as_str().unwrap_or("nobody").to_owned();
                    return Ok(CallToolResult::success(vec![ContentBlock::text(name)]));
                }
                tokio::select! {
                    _ = ctx.cancelled() => Err(TaskExit::Cancelled),
                    () = tokio::time::sleep(Duration::from_millis(200)) => {
                        Ok(CallToolResult::success(vec![ContentBlock::text("42")]))
                    }
                }
            })
        });
        Ok(CallToolResponse::Task(CreateTaskResult::new(task)))
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.tasks.get_task(&request.task_id)?))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.cancel_task(&request.task_id)
    }

    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_tasks().build())
    }
}

/// The server of rmcp, driven by our client.
async fn as_server() -> Outcome {
    let (ours, theirs) = tokio::io::duplex(4096);
    tokio::spawn(async move {
        if let Ok(service) = (Worker { tasks: TaskManager::new() }).serve(theirs).await {
            let _ = service.waiting().await;
        }
    });
    let (read, write) = tokio::io::split(ours);
    let client = McpClient::new("tester", "1.0.0")
        .tasks()
        .on_elicit(|_| async { Ok(ElicitResult::accept(json!({"name": "Ann"}))) });
    let session = client.connect(transport::streams(read, write)).await?;
    check(session.call("sum", ()).await?.text(), "42".to_owned())?;
    // What it asks while it runs is answered by the same call.
    check(session.call("ask", ()).await?.text(), "Ann".to_owned())?;
    let Started::Task(mut task) = session.call("sum", ()).start().await? else {
        return Err("the call has not become a task".into());
    };
    task.cancel().await?;
    check(task.wait().await.map_err(|error| error.to_string().contains("cancelled")), Err(true))
}
