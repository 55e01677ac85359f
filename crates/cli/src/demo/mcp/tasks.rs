//! Tools that run as tasks, and one that does not.

use std::time::Duration;

use sabir_mcp::{McpCtx, McpResult, McpServer, TaskOptions, Tool, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use super::asks::Name;

/// The longest that anybody may have it work.
const MOST_SECONDS: f64 = 600.0;

pub(crate) fn add(server: McpServer) -> McpServer {
    server
        .task_options(TaskOptions { poll_interval: Duration::from_millis(250), ..TaskOptions::default() })
        .tool(Tool::new("greet", "Greets somebody by name"), |_, Name { name }| async move {
            Ok(format!("Hello, {name}!"))
        })
        .tool(Tool::from("slow_compute").task(), slow_compute)
        .tool(Tool::new("failing_job", "Fails after a second, as a task").task_only(), |_, ()| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Err::<(), _>(ToolError::new("the job failed, as it was meant to"))
        })
        .tool(Tool::new("protocol_error_job", "Ends with a JSON-RPC error").task(), |_, ()| async {
            Err::<(), _>(ToolError::rpc(-32603, "the job broke, as it was meant to"))
        })
        .tool(Tool::from("confirm_delete").task(), confirm_delete)
        .tool(Tool::new("multi_input", "Asks for two things at once").task(), multi_input)
        .tool(Tool::new("test_tool_with_task", "Asks for a name, then works"), named_task)
}

/// Computes for a while
#[derive(Deserialize, JsonSchema)]
struct Compute {
    seconds: f64,
    label: Option<String>,
}

async fn slow_compute(ctx: McpCtx, Compute { seconds, label }: Compute) -> McpResult<String> {
    let seconds = seconds.clamp(0.0, MOST_SECONDS);
    let steps = seconds.ceil();
    let mut step = 0.0;
    while step < steps {
        step += 1.0;
        tokio::time::sleep(Duration::from_secs_f64(seconds / steps)).await;
        ctx.progress((step, steps)).await;
    }
    Ok(format!("{} took {seconds} s", label.as_deref().unwrap_or("It")))
}

/// Deletes nothing, but asks whether it may
#[derive(Deserialize, JsonSchema)]
struct File {
    filename: String,
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    confirm: bool,
}

async fn confirm_delete(ctx: McpCtx, File { filename }: File) -> McpResult<String> {
    let answer: Option<Confirm> = ctx.elicit("confirm", format!("Delete {filename}?")).await?;
    Ok(match answer {
        Some(Confirm { confirm: true }) => format!("Deleted {filename}"),
        _ => format!("Kept {filename}"),
    })
}

async fn multi_input(ctx: McpCtx, (): ()) -> McpResult<String> {
    let (name, confirm) = tokio::join!(
        ctx.elicit::<Name>("name", "What is your name?"),
        ctx.elicit::<Confirm>("confirm", "Shall it be greeted?")
    );
    let name = name?.map_or("nobody".to_owned(), |answer| answer.name);
    Ok(match confirm? {
        Some(Confirm { confirm: true }) => format!("Hello, {name}!"),
        _ => format!("{name} is not greeted"),
    })
}

/// The name is asked for before the task begins.
async fn named_task(ctx: McpCtx, (): ()) -> McpResult<ToolResult> {
    let answer: Option<Name> = ctx.elicit("name", "What is your name?").await?;
    let name = answer.map_or("nobody".to_owned(), |answer| answer.name);
    ctx.as_task(move |_| async move {
        tokio::time::sleep(Duration::from_millis(200)).await;
        Ok(format!("Worked for {name}"))
    })
    .await
}
