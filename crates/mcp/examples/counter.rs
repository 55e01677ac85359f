//! A counter with tools, prompts and resources.
//!
//! Run with any client of MCP that starts `cargo run -q -p sabir-mcp --example counter`.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use sabir::{Cause, transport};
use sabir_mcp::{Ctx, Prompt, PromptMessage, Resource, Result, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

/// Calculate the sum of two numbers
#[derive(Deserialize, JsonSchema)]
struct Sum {
    a: i32,
    b: i32,
}

#[derive(Deserialize, JsonSchema)]
struct Analysis {
    /// The target value you're trying to reach
    goal: i32,
    /// Preferred strategy: 'fast' or 'careful'
    strategy: Option<String>,
}

async fn analysis(value: i32, Analysis { goal, strategy }: Analysis) -> Result<Vec<PromptMessage>> {
    let strategy = strategy.unwrap_or("careful".to_owned());
    let left = goal - value;
    Ok(vec![
        PromptMessage::assistant("I'll look at the counter and suggest the best way."),
        PromptMessage::user(format!("It is {value}, the goal is {goal}, {left} to go. Be {strategy}.")),
    ])
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::result::Result<(), Cause> {
    let counter = Arc::new(AtomicI32::new(0));
    let add = |amount: i32| {
        let counter = Arc::clone(&counter);
        move |_: Ctx, (): ()| std::future::ready(Ok(counter.fetch_add(amount, Relaxed) + amount))
    };
    let current = Arc::clone(&counter);
    Server::new("counter", env!("CARGO_PKG_VERSION"))
        .instructions("Counts up and down, and says what to do next.")
        .tool(Tool::new("increment", "Increment the counter by 1"), add(1))
        .tool(Tool::new("decrement", "Decrement the counter by 1"), add(-1))
        .tool(Tool::new("get_value", "Get the current counter value"), add(0))
        .tool(Tool::new("say_hello", "Say hello to the client"), |_, ()| async { Ok("hello") })
        .tool("sum", |_, Sum { a, b }| async move { Ok(a + b) })
        .prompt(Prompt::new("analysis", "Suggests what to do next"), move |_, asked| {
            analysis(current.load(Relaxed), asked)
        })
        .resource(Resource::new("memo://insights", "memo"), |_| async {
            Ok("Analysis has revealed 5 key insights …")
        })
        .serve(transport::stdio())
        .await
}
