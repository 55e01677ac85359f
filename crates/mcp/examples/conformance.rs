//! The client that the conformance suite of MCP starts: `conformance URL`, with the scenario in the environment.
//!
//! Run with `conformance client --command target/debug/examples/conformance --scenario tools_call`.

mod answers;
mod login;

use std::error::Error;
use std::time::Duration;

use sabir_mcp::{McpRevision, McpSession, Meta, SKILLS_EXTENSION, Tool};
use serde::Deserialize;
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("which server? give its URL")?;
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let mut client = answers::client().tasks().extension(SKILLS_EXTENSION, Meta::new());
    if scenario.starts_with("auth/") {
        client = client.auth(login::oauth(&scenario)?);
    }
    // Servers of these scenarios say which wire they speak; the others are to be found out.
    let wire =
        std::env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").ok().and_then(|date| McpRevision::parse(&date));
    if let Some(revision) = wire.filter(|revision| !revision.is_modern()) {
        client = client.revision(revision);
    }
    let server = client.connect(url).await?;
    let tools = if scenario.starts_with("sep-2640") { Vec::new() } else { server.tools().await? };
    run_scenario(&server, &scenario, &tools).await?;
    server.close(Duration::from_secs(1)).await;
    Ok(())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Context {
    #[serde(default)]
    tool_calls: Vec<ToolCall>,
}

#[derive(Deserialize)]
struct ToolCall {
    name: String,
    #[serde(default)]
    arguments: Value,
}

async fn run_scenario(server: &McpSession, scenario: &str, tools: &[Tool]) -> Result<(), Box<dyn Error>> {
    match scenario {
        "initialize" | "json-schema-ref-no-deref" => {}
        "tools_call" => drop(server.call("add_numbers", json!({"a": 5, "b": 3})).await?),
        "http-custom-headers" => {
            let context: Context = serde_json::from_str(&std::env::var("MCP_CONFORMANCE_CONTEXT")?)?;
            for ToolCall { name, arguments } in context.tool_calls {
                server.call(&name, arguments).await?;
            }
        }
        "json-schema-2020-12-preservation" => {
            let tool = tools.iter().find(|tool| tool.name == "json_schema_2020_12_tool");
            let schema = &tool.ok_or("the tool is not listed")?.input_schema;
            server.call("json_schema_echo", json!({"schema": schema.parse::<Value>()?})).await?;
        }
        "http-standard-headers" => {
            call_all(server, tools).await;
            for resource in server.resources().await.unwrap_or_default() {
                server.read(&resource.uri).await?;
            }
            for prompt in server.prompts().await.unwrap_or_default() {
                server.prompt(&prompt.name, &Default::default()).await?;
            }
        }
        // What fails here is seen by the suite's own server; those of the login, in the exit status.
        _ if scenario.starts_with("auth/") => {
            for _ in 0..2 {
                server.call("test-tool", json!({})).await?;
            }
        }
        "sep-2640-client-no-prefetch" => drop(server.skills().await?),
        _ if scenario.starts_with("sep-2640-client-verify") => {
            for skill in server.skills().await? {
                server.load_skill(&skill, plain_fields).await?;
                for file in skill.resources.iter().flatten() {
                    server.read_skill_file(&skill, &file.uri).await?;
                }
            }
        }
        _ => call_all(server, tools).await,
    }
    Ok(())
}

/// The plain YAML that the skills of the suite have: fields of one line.
fn plain_fields(yaml: &str) -> Option<Meta> {
    yaml.lines()
        .map(|line| line.split_once(": ").map(|(key, value)| (key.to_owned(), json!(value))))
        .collect()
}

/// One after the other; some of them are meant to fail.
async fn call_all(server: &McpSession, tools: &[Tool]) {
    for tool in tools {
        let _ = server.call(&tool.name, json!({})).timeout(Duration::from_secs(10)).await;
    }
}
