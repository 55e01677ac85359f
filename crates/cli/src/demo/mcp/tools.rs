//! Tools that answer by themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sabir::RawJson;
use sabir_mcp::{
    ClientCapabilities, Content, Contents, Json, LogLevel, McpCtx, McpResult, McpServer, Meta,
    ProgressUpdate, Prompt, Tool, ToolAnnotations, ToolError,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::demo::mcp::{PNG, WAV};

pub(crate) fn add(server: McpServer) -> McpServer {
    more(contents(server))
        .tool("add", sum)
        .tool("count", count)
        .tool(Tool::new("divide", "One number by another, as a number for programs"), divide)
        .tool(Tool::new("test_error_handling", "Always fails"), |_, ()| async {
            Err::<(), _>(ToolError::new("This tool intentionally returns an error for testing"))
        })
        .tool(Tool::new("test_tool_with_progress", "Reports its progress"), with_progress)
        .tool(Tool::new("test_tool_with_logging", "Sends log messages"), with_logging)
        .tool(Tool::new("test_logging_tool", "Sends a log message"), |ctx: McpCtx, ()| async move {
            ctx.log(LogLevel::Info, "Tool called").await;
            Ok("logged")
        })
        .tool(
            Tool::new("test_missing_capability", "Needs a client that samples"),
            |ctx: McpCtx, ()| async move {
                ctx.require(&ClientCapabilities { sampling: Some(Meta::new()), ..Default::default() })?;
                Ok("the client can sample")
            },
        )
        .tool(Tool::new("test_streaming_elicitation", "Reports, then asks the user"), streaming)
        .tool(schema_2020(), |_, arguments: Value| async move { Ok(arguments.to_string()) })
        .tool("test_header", |_, Region { region }| async move { Ok(region) })
        .tool(
            Tool::new("test_reconnection", "Has the client come back for its answer"),
            |ctx: McpCtx, ()| async move {
                ctx.rpc().close_stream();
                tokio::time::sleep(Duration::from_millis(100)).await;
                Ok("Reconnection test completed")
            },
        )
}

fn contents(server: McpServer) -> McpServer {
    server
        .tool(Tool::new("test_simple_text", "Returns a text"), |_, ()| async {
            Ok("This is a simple text response for testing.")
        })
        .tool(Tool::new("test_image_content", "Returns an image"), |_, ()| async {
            Ok(Content::image(PNG, "image/png"))
        })
        .tool(Tool::new("test_audio_content", "Returns a sound"), |_, ()| async {
            Ok(Content::audio(WAV, "audio/wav"))
        })
        .tool(Tool::new("test_embedded_resource", "Returns a resource"), |_, ()| async {
            Ok(resource("test://embedded-resource", "text/plain", "This is an embedded resource content."))
        })
        .tool(
            Tool::new("test_multiple_content_types", "Returns a text, an image and a resource"),
            |_, ()| async {
                let json = r#"{"test":"data","value":123}"#;
                Ok(vec![
                    Content::text("Multiple content types test:"),
                    Content::image(PNG, "image/png"),
                    resource("test://mixed-content-resource", "application/json", json),
                ])
            },
        )
}

fn resource(uri: &str, mime_type: &str, text: &str) -> Content {
    Content::resource(Contents::text(uri, Some(mime_type.to_owned()), text))
}

/// Tools for trying cancellation and lists that change.
fn more(server: McpServer) -> McpServer {
    let cancelled = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&cancelled);
    server
        .tool(
            Tool::new("wait", "Says that it waits, and never ends unless it is cancelled"),
            move |ctx: McpCtx, ()| {
                let guard = Waiting(Arc::clone(&counter));
                async move {
                    let _guard = guard;
                    ctx.progress(0.0).await;
                    std::future::pending::<McpResult<()>>().await
                }
            },
        )
        .tool(Tool::new("cancelled", "How many waits were cancelled"), move |_, ()| {
            let count = cancelled.load(Ordering::Relaxed);
            async move { Ok(count) }
        })
        .tool(
            Tool::new("test_trigger_tool_change", "Changes the list of tools"),
            |ctx: McpCtx, ()| async move {
                if !ctx.catalog().remove_tool("extra") {
                    ctx.catalog()
                        .add_tool(Tool::new("extra", "Comes and goes"), |_, ()| async { Ok("here") });
                }
                Ok("changed")
            },
        )
        .tool(
            Tool::new("test_trigger_prompt_change", "Changes the list of prompts"),
            |ctx: McpCtx, ()| async move {
                if !ctx.catalog().remove_prompt("extra") {
                    ctx.catalog()
                        .add_prompt(Prompt::new("extra", "Comes and goes"), |_, ()| async { Ok("Here.") });
                }
                Ok("changed")
            },
        )
        .tool("touch", |ctx: McpCtx, Touch { uri }| async move {
            ctx.catalog().resource_changed(uri);
            Ok("touched")
        })
}

/// A call that is cancelled is dropped.
struct Waiting(Arc<AtomicU64>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The sum of two integers
#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

async fn sum(_: McpCtx, Add { a, b }: Add) -> McpResult<i64> {
    a.checked_add(b).ok_or(ToolError::new("too large"))
}

/// Counts, and reports its progress
#[derive(Deserialize, JsonSchema)]
struct Count {
    /// How far
    steps: u32,
}

async fn count(ctx: McpCtx, Count { steps }: Count) -> McpResult<u32> {
    for step in 1..=steps {
        ctx.progress(ProgressUpdate::from((step, steps)).message(format!("step {step}"))).await;
    }
    Ok(steps)
}

#[derive(Deserialize, JsonSchema)]
struct Divide {
    dividend: f64,
    divisor: f64,
}

#[derive(Serialize, JsonSchema)]
struct Quotient {
    quotient: f64,
}

async fn divide(_: McpCtx, Divide { dividend, divisor }: Divide) -> McpResult<Json<Quotient>> {
    if divisor == 0.0 {
        return Err(ToolError::new("nothing can be divided by zero"));
    }
    Ok(Json(Quotient { quotient: dividend / divisor }))
}

/// Tells those who have subscribed that a resource has changed
#[derive(Deserialize, JsonSchema)]
struct Touch {
    uri: String,
}

/// Returns an argument that travels in a header too
#[derive(Deserialize, JsonSchema)]
struct Region {
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
}

const PAUSE: Duration = Duration::from_millis(50);

async fn with_progress(ctx: McpCtx, (): ()) -> McpResult<&'static str> {
    for progress in [0, 50, 100] {
        ctx.progress((progress, 100)).await;
        tokio::time::sleep(PAUSE).await;
    }
    Ok("Progress is complete.")
}

async fn with_logging(ctx: McpCtx, (): ()) -> McpResult<&'static str> {
    for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        ctx.log(LogLevel::Info, text).await;
        tokio::time::sleep(PAUSE).await;
    }
    Ok("Logging is complete.")
}

/// Says something on the way, and asks at its end.
async fn streaming(ctx: McpCtx, (): ()) -> McpResult<String> {
    ctx.progress(1.0).await;
    ctx.log(LogLevel::Info, "about to ask").await;
    let answer: Option<crate::demo::mcp::asks::Name> = ctx.elicit("user_name", "What is your name?").await?;
    Ok(answer.map_or("Hello!".to_owned(), |answer| format!("Hello, {}!", answer.name)))
}

/// A schema with the words of JSON Schema 2020-12 that are easily lost on the way.
fn schema_2020() -> Tool {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            },
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    });
    Tool {
        input_schema: RawJson::from_value(&schema).unwrap_or(RawJson::NULL),
        annotations: Some(ToolAnnotations { read_only_hint: Some(true), ..Default::default() }),
        ..Tool::new("json_schema_2020_12_tool", "Has a schema with the words of JSON Schema 2020-12")
    }
}
