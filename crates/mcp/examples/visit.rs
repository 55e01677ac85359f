//! Visits a server: says what it speaks and offers, and calls its tools.
//!
//! Run with `cargo run -q -p sabir-mcp --example visit -- COMMAND [ARG]…`. Lines of standard input such as
//! `add {"a": 1, "b": 2}` are calls, `50 add {"a": 1, "b": 2}` is fifty at once. `REVISION` in the environment
//! fixes the revision.

mod answers;

use std::error::Error;
use std::process::Command;
use std::time::Duration;

use sabir::transport;
use sabir_mcp::{Revision, Session};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
#[allow(clippy::print_stdout)]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let mut command = Command::new(words.next().ok_or("which server? give its command")?);
    command.args(words);
    let mut client = answers::client();
    if let Ok(revision) = std::env::var("REVISION") {
        client = client.revision(Revision::parse(&revision).ok_or("that is no revision of MCP")?);
    }
    let server = client.connect(transport::child(command)?).await?;
    println!("revision: {}", server.revision());
    println!("server: {}", server.server_info().map_or("unknown", |info| &info.name).escape_debug());
    let names: Vec<_> = server.tools().await?.into_iter().map(|tool| tool.name).collect();
    println!("tools: {}", names.join(" ").escape_debug());
    for line in std::io::read_to_string(std::io::stdin())?.lines() {
        println!("{}", call(&server, line).await);
    }
    println!("end: {}", server.close(Duration::from_secs(5)).await);
    Ok(())
}

async fn call(server: &Session, line: &str) -> String {
    let (count, line) = match line.split_once(' ') {
        Some((first, rest)) if first.parse::<usize>().is_ok() => (first.parse().unwrap_or(1), rest),
        _ => (1, line),
    };
    let (tool, arguments) = line.split_once(' ').unwrap_or((line, "{}"));
    let Ok(arguments) = serde_json::from_str::<Value>(arguments) else {
        return format!("no JSON: {arguments}");
    };
    let one = || {
        let progress = std::sync::Arc::<std::sync::Mutex<Vec<f64>>>::default();
        let seen = std::sync::Arc::clone(&progress);
        let call = server.call(tool, &arguments).timeout(Duration::from_secs(10));
        let call =
            call.on_progress(move |p| seen.lock().map(|mut seen| seen.push(p.progress)).unwrap_or_default());
        tokio::spawn(async move {
            let outcome = match call.await {
                Ok(result) if result.is_error => format!("failed: {}", result.text()),
                Ok(result) => result.text(),
                Err(error) => format!("error: {error}"),
            };
            let seen = progress.lock().map(|seen| seen.clone()).unwrap_or_default();
            if seen.is_empty() { outcome } else { format!("{} {outcome}", json!(seen)) }
        })
    };
    let calls: Vec<_> = (0..count).map(|_| one()).collect();
    let mut outcomes = Vec::new();
    for call in calls {
        outcomes.push(call.await.unwrap_or_else(|error| error.to_string()));
    }
    outcomes.dedup();
    format!("{count} {tool}: {}", outcomes.join(" | ").escape_debug())
}
