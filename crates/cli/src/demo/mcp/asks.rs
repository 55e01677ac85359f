//! Tools that ask the client: its user, its model, its folders. The same functions serve both eras.

use sabir::RawJson;
use sabir_mcp::{Elicit, ElicitResult, McpCtx, McpResult, McpServer, Meta, Root, Sample, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

pub(crate) fn add(server: McpServer) -> McpServer {
    rounds(server)
        .tool("test_sampling", |ctx: McpCtx, Prompt { prompt }| async move {
            let question = Sample { max_tokens: 100, ..Sample::new(prompt) };
            Ok(format!("LLM response: {}", ctx.sample("sample", question).await?.text()))
        })
        .tool("test_elicitation", |ctx: McpCtx, Message { message }| async move {
            let schema = json!({
                "type": "object",
                "properties": {
                    "username": {"type": "string", "description": "User's response"},
                    "email": {"type": "string", "description": "User's email address"},
                },
                "required": ["username", "email"],
            });
            ask(&ctx, &message, &schema).await
        })
        .tool(
            Tool::new("test_elicitation_sep1034_defaults", "Asks with defaults"),
            |ctx: McpCtx, ()| async move {
                ask(&ctx, "Please review and update the form fields with defaults", &defaults()).await
            },
        )
        .tool(Tool::new("test_elicitation_sep1330_enums", "Asks for choices"), |ctx: McpCtx, ()| async move {
            ask(&ctx, "Please select options from the enum fields", &enums()).await
        })
        .tool(Tool::new("roots", "The names of the client's folders"), |ctx: McpCtx, ()| async move {
            Ok(names(&ctx.roots("client_roots").await?))
        })
}

/// Tools that need one or more rounds in the modern era.
fn rounds(server: McpServer) -> McpServer {
    let tool = |name: &str| Tool::new(format!("test_input_required_result_{name}"), "Asks the client first");
    server
        .tool(tool("elicitation"), |ctx: McpCtx, ()| async move {
            let answer: Option<Name> = ctx.elicit("user_name", "What is your name?").await?;
            Ok(greeting(answer))
        })
        .tool(tool("sampling"), |ctx: McpCtx, ()| async move {
            let question = Sample { max_tokens: 100, ..Sample::new("What is the capital of France?") };
            Ok(ctx.sample("capital_question", question).await?.text())
        })
        .tool(tool("list_roots"), |ctx: McpCtx, ()| async move {
            Ok(format!("Roots: {}", names(&ctx.roots("client_roots").await?)))
        })
        .tool(tool("request_state"), confirmed)
        .tool(tool("tampered_state"), confirmed)
        .tool(tool("multiple_inputs"), |ctx: McpCtx, ()| async move {
            ctx.remember(&"asked for three things")?;
            let question = Sample { max_tokens: 50, ..Sample::new("Generate a greeting") };
            let (name, hello, roots) = tokio::join!(
                ctx.elicit::<Name>("user_name", "What is your name?"),
                ctx.sample("greeting", question),
                ctx.roots("client_roots"),
            );
            Ok(format!("{} {} {}", greeting(name?), hello?.text(), names(&roots?)))
        })
        .tool(tool("multi_round"), |ctx: McpCtx, ()| async move {
            ctx.remember(&1)?;
            let name: Option<Name> = ctx.elicit("step1", "Step 1: What is your name?").await?;
            ctx.remember(&2)?;
            let color: Option<Color> = ctx.elicit("step2", "Step 2: What is your favorite color?").await?;
            let color = color.map_or("none".to_owned(), |answer| answer.color);
            Ok(format!("{} Your color is {color}.", greeting(name)))
        })
        .tool(tool("capabilities"), |ctx: McpCtx, ()| async move {
            if ctx.client().sampling.is_some() {
                let said = ctx.sample("sample", Sample::new("Say hello")).await?;
                return Ok(said.text());
            }
            let answer: Option<Name> = ctx.elicit("user_name", "What is your name?").await?;
            Ok(greeting(answer))
        })
}

/// Needs what was remembered in the round before.
async fn confirmed(ctx: McpCtx, (): ()) -> McpResult<String> {
    ctx.remember(&"pending")?;
    let answer: Option<Confirm> = ctx.elicit("confirm", "Please confirm").await?;
    let state = ctx.remembered::<String>();
    let ok = answer.is_some_and(|answer| answer.ok);
    Ok(format!(
        "confirmed: {ok}, {}",
        if state.as_deref() == Some("pending") { "state-ok" } else { "no state" }
    ))
}

fn greeting(name: Option<Name>) -> String {
    name.map_or("Hello!".to_owned(), |answer| format!("Hello, {}!", answer.name))
}

fn names(roots: &[Root]) -> String {
    let names: Vec<_> = roots.iter().map(|root| root.name.as_deref().unwrap_or(&root.uri)).collect();
    names.join(", ")
}

async fn ask(ctx: &McpCtx, message: &str, schema: &Value) -> McpResult<String> {
    let question = Elicit::form(message, RawJson::from_value(schema)?);
    let ElicitResult { action, content, .. } = ctx.elicit_with("form", question).await?;
    let content = content.unwrap_or(RawJson::from_value(&Meta::new())?);
    Ok(format!("User response: action={action:?}, content={content}"))
}

/// Asks the client's model
#[derive(Deserialize, JsonSchema)]
struct Prompt {
    prompt: String,
}

/// Asks the client's user
#[derive(Deserialize, JsonSchema)]
struct Message {
    message: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Name {
    pub(crate) name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Color {
    color: String,
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    ok: bool,
}

fn defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "User name", "default": "John Doe"},
            "age": {"type": "integer", "description": "User age", "default": 30},
            "score": {"type": "number", "description": "User score", "default": 95.5},
            "status": {
                "type": "string",
                "description": "User status",
                "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": {"type": "boolean", "description": "Verification status", "default": true},
        },
        "required": [],
    })
}

fn enums() -> Value {
    let titled = |names: [&str; 3]| -> Vec<Value> {
        let choice = |(i, name): (usize, &str)| json!({"const": format!("value{}", i + 1), "title": name});
        names.into_iter().enumerate().map(choice).collect()
    };
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
            "titledSingle": {
                "type": "string",
                "oneOf": titled(["First Option", "Second Option", "Third Option"]),
            },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {
                "type": "array",
                "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
            },
            "titledMulti": {
                "type": "array",
                "items": {"anyOf": titled(["First Choice", "Second Choice", "Third Choice"])},
            },
        },
        "required": [],
    })
}
