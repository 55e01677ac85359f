//! Connects to a server, prints its revision and tools, and calls them.
//!
//! Run with `cargo run -q -p sabir-mcp --features http --example client -- COMMAND [ARG]…`, or with the server's URL.
//! Lines of standard input such as `add {"a": 1, "b": 2}` are calls, `50 add {"a": 1, "b": 2}` is fifty at once, and
//! `cancel wait` cancels at the first progress message, and `task wait` asks for a task. `REVISION` in the environment fixes
//! the revision.

mod answers;

use std::error::Error;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sabir::{Transport, transport};
use sabir_mcp::{McpCall, McpRevision, McpSession, Started, ToolResult};
use serde_json::{Value, json};
use tokio::sync::Notify;

const TIMEOUT: Duration = Duration::from_secs(10);

#[tokio::main(flavor = "current_thread")]
#[allow(clippy::print_stdout)]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut client = answers::client().tasks();
    if let Ok(revision) = std::env::var("REVISION") {
        client = client.revision(McpRevision::parse(&revision).ok_or("that is not a revision of MCP")?);
    }
    let server = client.connect(target()?).await?;
    println!("revision: {}", server.revision());
    println!("server: {}", server.server_info().map_or("unknown", |info| &info.name).escape_debug());
    let names: Vec<_> = server.tools().await?.into_iter().map(|tool| tool.name).collect();
    println!("tools: {}", names.join(" ").escape_debug());
    for line in std::io::read_to_string(std::io::stdin())?.lines() {
        println!("{}", follow(&server, line).await.escape_debug());
    }
    println!("end: {}", server.close(Duration::from_secs(5)).await);
    Ok(())
}

/// A URL, or a command and its arguments.
fn target() -> Result<Transport, Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let first = words.next().ok_or("which server? give its command or its URL")?;
    if first.starts_with("http") {
        return Ok(first.into());
    }
    let mut command = Command::new(first);
    command.args(words);
    Ok(transport::child(command)?)
}

/// Executes a line, and returns the outcome as text.
async fn follow(server: &McpSession, line: &str) -> String {
    let (how, call) = match line.split_once(' ') {
        Some((how, call)) if matches!(how, "cancel" | "task") || how.parse::<usize>().is_ok() => (how, call),
        _ => ("1", line),
    };
    let (tool, arguments) = call.split_once(' ').unwrap_or((call, "{}"));
    let Ok(arguments) = serde_json::from_str::<Value>(arguments) else {
        return format!("no JSON: {arguments}");
    };
    let call = || server.call(tool, &arguments).timeout(TIMEOUT);
    let outcome = match how.parse() {
        Ok(count) => many(call, count).await,
        Err(_) if how == "task" => as_task(call()).await,
        Err(_) => given_up(call()).await,
    };
    format!("{how} {tool}: {outcome}")
}

async fn many(call: impl Fn() -> McpCall<ToolResult>, count: usize) -> String {
    let calls: Vec<_> = (0..count).map(|_| tokio::spawn(finished(call()))).collect();
    let mut outcomes = Vec::new();
    for call in calls {
        outcomes.push(call.await.unwrap_or_else(|error| error.to_string()));
    }
    outcomes.dedup();
    outcomes.join(" | ")
}

/// The outcome of a call, after its progress.
async fn finished(call: McpCall<ToolResult>) -> String {
    let seen = Arc::<Mutex<Vec<Option<f64>>>>::default();
    let note = Arc::clone(&seen);
    let call = call
        .on_progress(move |p| note.lock().map(|mut seen| seen.push(p.progress.as_f64())).unwrap_or_default());
    let outcome = match call.await {
        Ok(result) if result.is_error => format!("failed: {}", result.text()),
        Ok(result) => result.text(),
        Err(error) => format!("error: {error}"),
    };
    let seen = seen.lock().map(|seen| seen.clone()).unwrap_or_default();
    if seen.is_empty() { outcome } else { format!("{} {outcome}", json!(seen)) }
}

/// The outcome of a task, behind the states that it was in.
async fn as_task(call: McpCall<ToolResult>) -> String {
    let mut seen = Vec::new();
    let outcome = match call.start().await {
        Ok(Started::Done(result)) => Ok(result),
        Ok(Started::Task(mut task)) => {
            let waiting = task.wait_with(|task| seen.push(format!("{:?}", task.status)));
            waiting.await
        }
        Err(error) => Err(error),
    };
    seen.dedup();
    match outcome {
        Ok(result) => format!("{} {}", seen.join(" "), result.text()),
        Err(error) => format!("{} error: {error}", seen.join(" ")),
    }
}

/// A call that is dropped is cancelled.
async fn given_up(call: McpCall<ToolResult>) -> String {
    let started = Arc::new(Notify::new());
    let tell = Arc::clone(&started);
    let call = call.on_progress(move |_| tell.notify_one());
    tokio::select! {
        outcome = call.into_future() => format!("ended by itself: {outcome:?}"),
        () = started.notified() => "given up".to_owned(),
    }
}
