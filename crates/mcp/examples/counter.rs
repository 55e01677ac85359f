//! A counter with tools, prompts and resources.
//!
//! Run with any client of MCP that starts `cargo run -q -p sabir-mcp --features http --example counter`, or with a URL
//! such as `http://127.0.0.1:8080/mcp` behind it for all who connect.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::time::Duration;

use sabir::transport;
use sabir_mcp::{McpCtx, McpResult, McpServer, Meta, Prompt, PromptMessage, PromptResult, Resource, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Calculate the sum of two numbers
#[derive(Deserialize, JsonSchema)]
struct Sum {
    a: i32,
    b: i32,
}

#[derive(Deserialize, JsonSchema)]
struct Quoted {
    /// What is quoted
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Analysis {
    /// The value to arrive at
    goal: i32,
    /// How to get there: 'fast' or 'careful'
    strategy: Option<String>,
}

async fn analysis(value: i32, Analysis { goal, strategy }: Analysis) -> McpResult<PromptResult> {
    let (left, strategy) = (goal - value, strategy.unwrap_or("careful".to_owned()));
    let messages = vec![
        PromptMessage::assistant("I'll look at the counter and suggest the best way."),
        PromptMessage::user(format!("It is {value}, the goal is {goal}, {left} to go. Be {strategy}.")),
    ];
    let description = Some(format!("The way from {value} to {goal}"));
    Ok(PromptResult { description, messages, ..PromptResult::default() })
}

async fn session_id(ctx: McpCtx, (): ()) -> McpResult<String> {
    let id = ctx.rpc().http().and_then(|parts| parts.headers.get("mcp-session-id")?.to_str().ok());
    Ok(id.unwrap_or("there are no sessions here").to_owned())
}

fn server() -> McpServer {
    let counter = Arc::new(AtomicI32::new(0));
    let add = |amount: i32| {
        let counter = Arc::clone(&counter);
        move |_: McpCtx, (): ()| std::future::ready(Ok(counter.fetch_add(amount, Relaxed) + amount))
    };
    let current = Arc::clone(&counter);
    let quote = Prompt {
        meta: Some(Meta::from_iter([("example".to_owned(), Value::from(true))])),
        ..Prompt::new("quote", "Quotes a message")
    };
    McpServer::new("counter", env!("CARGO_PKG_VERSION"))
        .instructions("Counts up and down, and says what to do next.")
        .tool(Tool::new("increment", "Increment the counter by 1"), add(1))
        .tool(Tool::new("decrement", "Decrement the counter by 1"), add(-1))
        .tool(Tool::new("get_value", "Get the current counter value"), add(0))
        .tool(Tool::new("long_task", "Takes ten seconds"), |_, ()| async {
            tokio::time::sleep(Duration::from_secs(10)).await;
            Ok("done")
        })
        .tool(Tool::new("say_hello", "Say hello to the client"), |_, ()| async { Ok("hello") })
        .tool(Tool::new("echo", "Returns its arguments"), |_, arguments: Map<String, Value>| async {
            Ok(Value::from(arguments).to_string())
        })
        .tool("sum", |_, Sum { a, b }| async move { Ok(a + b) })
        .tool(Tool::new("get_session_id", "Get the session that this client has over HTTP"), session_id)
        .prompt(quote, |_, Quoted { message }| async move { Ok(format!("Somebody said: '{message}'")) })
        .prompt(Prompt::new("analysis", "Suggests what to do next"), move |_, asked| {
            analysis(current.load(Relaxed), asked)
        })
        .resource(Resource::new("str:///some/path", "cwd"), |_| async { Ok("/some/path") })
        .resource(Resource::new("memo://insights", "memo"), |_| async { Ok("There are five insights.") })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let Some(url) = std::env::args().nth(1) else {
        return Ok(server().serve(transport::stdio().with_signals()).await?);
    };
    let listening = sabir::listen(url, server().into_router());
    Ok(listening.dialect(sabir::MCP).http(sabir_mcp::streamable_http()).await?.run().await?)
}
