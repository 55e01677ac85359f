//! A small server with one of everything, for the tests.

#![allow(dead_code)] // Each test file uses some of it.

use std::time::{Duration, UNIX_EPOCH};

use sabir_mcp::{
    Content, Json, LogLevel, McpCtx, McpResult, McpServer, Partial, ProgressUpdate, Prompt, PromptMessage,
    Resource, Sample, Template, Tool, ToolAnnotations, ToolError,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The sum of two integers
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Add {
    pub(crate) a: i64,
    pub(crate) b: i64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Sum {
    pub(crate) sum: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    /// As your friends call you
    name: String,
    #[serde(default)]
    age: Option<u8>,
}

#[derive(Deserialize, JsonSchema)]
struct Topic {
    /// What it is about
    topic: String,
    length: Option<u32>,
}

#[derive(Deserialize)]
struct User {
    id: String,
}

#[derive(Deserialize)]
struct Day {
    year: u16,
    day: u16,
}

pub(crate) fn server() -> McpServer {
    let add = Tool {
        title: Some("Add".into()),
        annotations: Some(ToolAnnotations { read_only_hint: Some(true), ..Default::default() }),
        ..Tool::from("add")
    };
    asking(McpServer::new("service", "1.0.0").instructions("Be kind."))
        .secret([7; 32])
        .clock(|| UNIX_EPOCH + Duration::from_secs(1_800_000_000))
        .page_size(4)
        .tool(add, |_, Add { a, b }| async move {
            let sum = a.checked_add(b).ok_or(ToolError::new("too large"))?;
            Ok(Json(Sum { sum }))
        })
        .tool(Tool::new("steps", "Reports three steps"), |ctx: McpCtx, ()| async move {
            for step in 1..=3 {
                ctx.progress(ProgressUpdate::from((step, 3)).message(format!("step {step}"))).await;
            }
            ctx.log(LogLevel::Warning, "three steps were made").await;
            Ok("done")
        })
        .tool(Tool::new("kinds", "All kinds of content"), |_, ()| async {
            let link = Content::ResourceLink(Box::new(Resource::new("notes://today", "today")));
            Ok(vec![
                Content::text("a text"),
                Content::image(b"\x00\x01", "image/png"),
                Content::audio(b"\xff", "audio/wav"),
                link,
            ])
        })
        .tool(Tool::new("wait", "Never ends"), |_, ()| std::future::pending::<McpResult<()>>())
        .tool(Tool::new("broken", "Panics"), |_, ()| async {
            if true {
                panic!("of no concern to the caller")
            }
            Ok(())
        })
        .tool(Tool::new("change", "Changes the lists"), |ctx: McpCtx, ()| async move {
            ctx.catalog().add_tool(Tool::new("new", "Was added"), |_, ()| async { Ok(1) });
            ctx.catalog().add_prompt("new", |_, ()| async { Ok("Hello.") });
            ctx.catalog().resource_changed("notes://today");
            Ok(())
        })
        .resource(
            Resource { mime_type: Some("text/plain".into()), ..Resource::new("notes://today", "today") },
            |_| async { Ok("Buy milk.") },
        )
        .resource(Resource::new("notes://photo", "photo"), |_| async { Ok(vec![0_u8, 255]) })
        .template(Template::new("notes://{year}/{day}", "a day"), |_, Day { year, day }| async move {
            Ok(format!("day {day} of {year}"))
        })
        .template(Template::new("users://{id}", "a user"), |_, User { id }| async move {
            Err::<String, _>(ToolError::rpc(-32002, format!("there is no user {id}")))
        })
        .prompt(Prompt::new("write", "Writes about something"), |_, Topic { topic, length }| async move {
            let length = length.unwrap_or(100);
            Ok(vec![
                PromptMessage::user(format!("Write {length} words about {topic}.")),
                PromptMessage::assistant("Well:"),
            ])
        })
        .complete_prompt("write", "topic", |_, partial: Partial| async move {
            let topics = ["cats", "cars", "dogs"];
            Ok(topics
                .into_iter()
                .filter(|topic| topic.starts_with(&partial.value))
                .map(str::to_owned)
                .collect())
        })
}

/// The same functions ask in both eras.
fn asking(server: McpServer) -> McpServer {
    server
        .tool(Tool::new("greet", "Asks for a name"), |ctx: McpCtx, ()| async move {
            match ctx.elicit::<Name>("name", "Who are you?").await? {
                Some(Name { name, age }) => Ok(format!("Hello, {name} ({age:?})!")),
                None => Ok("Hello, stranger!".to_owned()),
            }
        })
        .tool(Tool::new("interview", "Asks one thing after the other"), |ctx: McpCtx, ()| async move {
            let remembered = ctx.remembered::<String>();
            ctx.remember(&"a word")?;
            let name: Option<Name> = ctx.elicit("name", "Who are you?").await?;
            let said =
                ctx.sample("greeting", Sample { max_tokens: 10, ..Sample::new("Greet somebody.") }).await?;
            let roots = ctx.roots("roots").await?;
            let name = name.map_or("nobody".to_owned(), |answer| answer.name);
            Ok(format!("{} {name}, {} roots, {remembered:?}", said.text(), roots.len()))
        })
        .tool(Tool::new("together", "Asks two things at once"), |ctx: McpCtx, ()| async move {
            let (name, roots) = tokio::join!(ctx.elicit::<Name>("name", "Who are you?"), ctx.roots("roots"));
            let name = name?.map_or("nobody".to_owned(), |answer| answer.name);
            Ok(format!("{name}, {} roots", roots?.len()))
        })
}
