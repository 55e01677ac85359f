//! A small MCP server: the vocabulary that the interop tests need, and no more.
//!
//! Run with any client of the Model Context Protocol that starts
//! `cargo run -q -p sabir --example mcp_fixture` and talks to it over standard input and output.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sabir::{Ctx, ErrorCode, ErrorObject, MCP_2025_11_25, RawJson, Router, transport};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The revisions that differ in nothing that this server does: one dialect will do for both.
const REVISIONS: [&str; 2] = ["2025-11-25", "2025-06-18"];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), sabir::Cause> {
    let router = Router::new()
        .method("initialize", initialize)
        .method("notifications/initialized", |_, ()| async { Ok(()) })
        .method("ping", |_, ()| async { Ok(json!({})) })
        .method("tools/list", |_, ()| async { Ok(tools()) })
        .method("tools/call", call)
        .state(Cancelled::default());
    sabir::serve(transport::stdio().dialect(MCP_2025_11_25), router).await
}

#[derive(Deserialize)]
struct Initialize {
    #[serde(rename = "protocolVersion")]
    revision: String,
}

/// A revision that we do not know is answered with the newest that we do; the client may then go.
async fn initialize(_: Ctx, Initialize { revision }: Initialize) -> sabir::Result<Value> {
    let revision = REVISIONS.into_iter().find(|known| *known == revision).unwrap_or(REVISIONS[0]);
    Ok(json!({
        "protocolVersion": revision,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "sabir-mcp-fixture", "version": env!("CARGO_PKG_VERSION")},
    }))
}

fn tools() -> Value {
    json!({"tools": [
        tool("add", "The sum of two integers", &["a", "b"]),
        tool("count", "Counts, and reports its progress", &["steps"]),
        tool("wait", "Never ends unless it is cancelled", &[]),
        tool("cancelled", "How many waits were cancelled", &[]),
        tool("roots", "The names of the roots that the client offers", &[]),
    ]})
}

/// All arguments are integers, and all are required.
fn tool(name: &str, description: &str, arguments: &[&str]) -> Value {
    let properties: Value =
        arguments.iter().map(|name| ((*name).to_owned(), json!({"type": "integer"}))).collect();
    json!({
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": properties, "required": arguments},
    })
}

#[derive(Deserialize)]
struct Call {
    name: String,
    #[serde(default)]
    arguments: Option<RawJson<'static>>,
}

async fn call(ctx: Ctx, call: Call) -> sabir::Result<Value> {
    match call.name.as_str() {
        "add" => {
            let Add { a, b } = call.arguments()?;
            match i64::checked_add(a, b) {
                Some(sum) => Ok(text(&sum)),
                // What a tool cannot do is a result, for the model to read.
                None => Ok(json!({"content": [{"type": "text", "text": "too large"}], "isError": true})),
            }
        }
        "count" => {
            let Count { steps } = call.arguments()?;
            for step in 1..=steps {
                ctx.progress(json!({"progress": step, "total": steps, "message": format!("step {step}")}))
                    .await;
            }
            Ok(text(&steps))
        }
        "wait" => {
            let _guard = Waiting(ctx.state::<Cancelled>().clone());
            std::future::pending().await
        }
        "cancelled" => Ok(text(&ctx.state::<Cancelled>().0.load(Ordering::Relaxed))),
        "roots" => {
            let Roots { roots } = ctx.peer().call("roots/list", ()).await?;
            Ok(text(&roots.into_iter().map(|root| root.name).collect::<Vec<_>>().join(", ")))
        }
        other => {
            Err(ErrorObject::because(ErrorCode::INVALID_PARAMS, format_args!("there is no tool `{other}`")))
        }
    }
}

#[derive(Deserialize)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Deserialize)]
struct Count {
    steps: u64,
}

#[derive(Deserialize)]
struct Roots {
    roots: Vec<Root>,
}

#[derive(Deserialize)]
struct Root {
    name: String,
}

impl Call {
    fn arguments<T: DeserializeOwned>(&self) -> sabir::Result<T> {
        let arguments = self.arguments.as_ref().map_or("{}", |arguments| arguments.as_str());
        serde_json::from_str(arguments)
            .map_err(|error| ErrorObject::because(ErrorCode::INVALID_PARAMS, error))
    }
}

fn text(value: &impl Display) -> Value {
    json!({"content": [{"type": "text", "text": value.to_string()}]})
}

#[derive(Clone, Default)]
struct Cancelled(Arc<AtomicU64>);

/// A call that is cancelled is dropped.
struct Waiting(Cancelled);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, Ordering::Relaxed);
    }
}
