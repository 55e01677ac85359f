//! Tools as methods, shared state, blocking tools, errors by `?`, and arguments that do not fit.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may")]

use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use sabir_mcp::{
    Content, Json, McpClient, McpCtx, McpResult, McpRevision, McpServer, McpSession, Tool, ToolError,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

async fn connected(server: McpServer) -> McpSession {
    McpClient::new("tester", "1.0.0").connect(server.in_memory()).await.unwrap()
}

#[derive(Default)]
struct Counter {
    value: AtomicI64,
}

#[derive(Serialize, JsonSchema)]
struct Reading {
    value: i64,
}

#[derive(Debug)]
struct Broken;

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("broken")
    }
}

impl Error for Broken {}

#[derive(Deserialize, JsonSchema)]
struct Range {
    from: i64,
    to: i64,
}

#[sabir_mcp::tools]
impl Counter {
    /// Adds to the counter
    ///
    /// And returns it.
    #[tool]
    async fn add(
        &self,
        /// How much
        amount: i64,
        #[serde(default)] twice: bool,
        note: Option<String>,
    ) -> i64 {
        let _ = note;
        let amount = if twice { amount * 2 } else { amount };
        self.value.fetch_add(amount, SeqCst) + amount
    }

    /// Reads it
    #[tool(name = "read-it", title = "Read", read_only, open_world = false)]
    async fn read(&self) -> McpResult<Json<Reading>> {
        Ok(Json(Reading { value: self.helper() }))
    }

    #[tool]
    async fn client(&self, _unused: u8, ctx: McpCtx) -> String {
        ctx.client_info().map(|info| info.name).unwrap_or_default()
    }

    /// The size of a range
    #[tool]
    async fn size(&self, #[serde(flatten)] range: Range) -> McpResult<i64> {
        Ok(range.to.checked_sub(range.from).ok_or("too large")?)
    }

    #[tool]
    async fn fail(&self) -> Result<Content, Broken> {
        Err(Broken)
    }

    #[tool]
    fn save(&self, path: PathBuf) -> std::io::Result<()> {
        std::fs::write(path, self.helper().to_string())
    }

    #[tool]
    fn r#type(&self, r#struct: String) -> String {
        r#struct
    }

    fn helper(&self) -> i64 {
        self.value.load(SeqCst)
    }
}

#[tokio::test]
async fn methods_are_tools() {
    let counter = Arc::new(Counter::default());
    let server = connected(McpServer::new("counter", "1.0.0").tools(Arc::clone(&counter))).await;
    let tools = server.tools().await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["add", "read-it", "client", "size", "fail", "save", "type"]);
    let [add, read, ..] = tools.as_slice() else { panic!("{tools:?}") };
    assert_eq!(add.description.as_deref(), Some("Adds to the counter\n\nAnd returns it."));
    let schema: Value = add.input_schema.parse().unwrap();
    assert_eq!(schema["required"], json!(["amount"]));
    assert_eq!(schema["properties"]["amount"]["description"], "How much");
    assert_eq!(schema["properties"]["note"]["type"], json!("string"));
    assert_eq!(read.title.as_deref(), Some("Read"));
    let hints = read.annotations.as_ref().unwrap();
    assert_eq!((hints.read_only_hint, hints.open_world_hint), (Some(true), Some(false)));
    assert_eq!(hints.destructive_hint, None);
    assert!(read.output_schema.is_some() && add.output_schema.is_none());

    for (tool, arguments, outcome) in [
        ("add", json!({"amount": 2}), Ok("2")),
        ("add", json!({"amount": 2, "twice": true, "note": "x"}), Ok("6")),
        ("read-it", json!({}), Ok(r#"{"value":6}"#)),
        ("client", json!({"unused": 1}), Ok("tester")),
        ("size", json!({"from": 1, "to": 3}), Ok("2")),
        ("size", json!({"from": i64::MIN, "to": 3}), Err("too large")),
        ("fail", json!({}), Err("broken")),
        ("type", json!({"struct": "s"}), Ok("s")),
        ("add", json!({"amount": "x"}), Err("amount")),
        ("add", json!({}), Err("amount")),
    ] {
        let result = server.call(tool, &arguments).await.unwrap();
        match outcome {
            Ok(text) => assert_eq!((result.text().as_str(), result.is_error), (text, false), "{tool}"),
            Err(text) => assert!(result.is_error && result.text().contains(text), "{tool}: {result:?}"),
        }
    }
    assert_eq!(counter.helper(), 6);
    let nowhere = std::env::temp_dir().join("sabir-mcp-no-such-folder").join("file");
    let result = server.call("save", json!({"path": nowhere})).await.unwrap();
    assert!(result.is_error, "{result:?}");
}

#[tokio::test]
async fn state_is_found_by_its_type() {
    let server = McpServer::new("states", "1.0.0")
        .state(AtomicI64::new(1))
        .state("a text".to_owned())
        .state("another text".to_owned())
        .tool(Tool::new("add", ""), |ctx: McpCtx, ()| async move {
            Ok(ctx.state::<AtomicI64>().fetch_add(1, SeqCst))
        })
        .tool(Tool::new("text", ""), |ctx: McpCtx, ()| async move { Ok(ctx.state::<String>().clone()) });
    let server = connected(server).await;
    for (tool, text) in [("add", "1"), ("add", "2"), ("text", "another text")] {
        assert_eq!(server.call(tool, ()).await.unwrap().text(), text);
    }
}

#[tokio::test]
async fn blocking_tools_run_on_a_bounded_number_of_threads() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, seen) = (Arc::clone(&now), Arc::clone(&most));
    // Two threads meet here: they run at the same time, while the connection goes on.
    let meeting = Arc::new(Barrier::new(2));
    let server = McpServer::new("threads", "1.0.0")
        .max_blocking_threads(2)
        .tool_blocking(Tool::new("meet", ""), move |_, ()| {
            seen.fetch_max(counted.fetch_add(1, SeqCst) + 1, SeqCst);
            meeting.wait();
            counted.fetch_sub(1, SeqCst);
            Ok("met")
        })
        .tool_blocking(Tool::new("panic", ""), |_, ()| -> McpResult<()> { panic!("on purpose") })
        .tool_blocking(Tool::new("ask", ""), |ctx: McpCtx, ()| Ok(ctx.revision().to_string()));
    let server = connected(server).await;
    let calls: Vec<_> = (0..20).map(|_| tokio::spawn(server.call("meet", ()).into_future())).collect();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap().text(), "met");
    }
    assert_eq!(most.load(SeqCst), 2);
    let result = server.call("panic", ()).timeout(Duration::from_secs(30)).await.unwrap();
    assert_eq!((result.is_error, result.text().as_str()), (true, "the function panicked"));
    assert_eq!(server.call("ask", ()).await.unwrap().text(), McpRevision::NEWEST.as_str());
}

#[test]
fn any_error_becomes_one_of_a_tool() {
    fn text(result: McpResult<()>) -> String {
        match result {
            Err(ToolError::Failed(text)) => text,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(text((|| Err("a text")?)()), "a text");
    assert_eq!(text((|| Err("a string".to_owned())?)()), "a string");
    assert_eq!(text((|| Err(Broken)?)()), "broken");
    assert_eq!(text((|| Err(Box::<dyn Error + Send + Sync>::from("a box"))?)()), "a box");
    let chain = anyhow::Error::new(Broken).context("reading the file").context("starting");
    assert_eq!(text((|| Err(chain)?)()), "starting: reading the file: broken");
    let number = || Ok("x".parse::<i64>().map(drop)?);
    assert_eq!(text(number()), "invalid digit found in string");
    // It stays what it is.
    let asked: McpResult<()> = (|| Err(ToolError::InputRequired)?)();
    assert_eq!(asked, Err(ToolError::InputRequired));
}

#[derive(Deserialize, JsonSchema)]
struct Order {
    items: Vec<Item>,
}

#[derive(Deserialize, JsonSchema)]
struct Item {
    #[schemars(range(min = 1))]
    count: u32,
}

async fn refusals(server: McpServer) -> Vec<String> {
    let server = connected(server).await;
    let mut refusals = Vec::new();
    for arguments in [
        json!({"items": [{"count": 1}, {"count": "two"}]}),
        json!({"items": [{"count": 0}]}),
        json!({"items": [{}]}),
        json!({"items": "x".repeat(100_000)}),
        json!({"items": vec![json!({}); 1000]}),
    ] {
        let result = server.call("order", &arguments).await.unwrap();
        assert!(result.text().len() < 4096, "{} bytes", result.text().len());
        refusals.push(if result.is_error { result.text() } else { String::new() });
    }
    refusals
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_named_by_their_path() {
    let order = McpServer::new("shop", "1.0.0").tool("order", |_, Order { items }| async move {
        Ok(items.iter().map(|item| item.count).sum::<u32>())
    });
    let refusals = refusals(order).await;
    let [kind, range, missing, ..] = refusals.as_slice() else { panic!("{refusals:?}") };
    if cfg!(feature = "validate") {
        assert!(kind.contains("/items/1/count"), "{kind}");
        assert!(range.contains("/items/0/count"), "{range}");
        assert!(missing.contains("/items/0"), "{missing}");
    } else {
        assert!(kind.contains("items[1].count"), "{kind}");
        // The type says nothing of the range.
        assert_eq!(range, "");
        assert!(missing.contains("items[0]"), "{missing}");
    }
    assert!(refusals[3..].iter().all(|refusal| !refusal.is_empty()), "{refusals:?}");
}

#[cfg(feature = "validate")]
#[tokio::test]
async fn a_schema_by_hand_is_kept_to() {
    let schema =
        r#"{"type":"object","properties":{"n":{"type":"integer","maximum":3}},"additionalProperties":false}"#;
    let tool = Tool {
        input_schema: sabir::RawJson::new(schema).unwrap().into_owned(),
        ..Tool::new("any", "Takes what its schema says")
    };
    let server = McpServer::new("hand", "1.0.0")
        .tool(tool, |_, arguments: serde_json::Map<String, Value>| async move { Ok(arguments.len()) });
    let server = connected(server).await;
    for (arguments, fits) in
        [(json!({"n": 3}), true), (json!({}), true), (json!({"n": 4}), false), (json!({"m": 1}), false)]
    {
        let result = server.call("any", &arguments).await.unwrap();
        assert_eq!(!result.is_error, fits, "{arguments}: {}", result.text());
    }
}

#[cfg(feature = "validate")]
#[test]
#[should_panic(expected = "the schema of tool `any` is wrong")]
fn a_wrong_schema_by_hand_shows_at_the_start() {
    let tool = Tool {
        input_schema: sabir::RawJson::new(r#"{"type":"objekt"}"#).unwrap().into_owned(),
        ..Tool::new("any", "")
    };
    let _ =
        McpServer::new("hand", "1.0.0").tool(tool, |_, _: serde_json::Map<String, Value>| async { Ok(()) });
}

/// A schema of somebody else's may be wrong, and is passed on as it is.
#[tokio::test]
async fn an_unchecked_tool_takes_what_comes() {
    for schema in [r#"{"type":"objekt"}"#, r#"{"type":"object","required":["a"]}"#] {
        let input_schema = sabir::RawJson::new(schema).unwrap().into_owned();
        let tool = Tool { input_schema: input_schema.clone(), ..Tool::new("any", "Takes anything") };
        let server = McpServer::new("hand", "1.0.0")
            .tool(tool.unchecked(), |_, arguments: serde_json::Map<String, Value>| async move {
                Ok(arguments.len())
            });
        let server = connected(server).await;
        assert_eq!(server.tools().await.unwrap()[0].input_schema, input_schema);
        assert_eq!(server.call("any", json!({"b": 1})).await.unwrap().text(), "1");
    }
}

#[cfg(feature = "validate")]
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[allow(dead_code)]
enum Payment {
    Card { number: u32 },
    Cash { amount: u32 },
}

#[cfg(feature = "validate")]
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Speed {
    Slow,
    Fast,
}

#[cfg(feature = "validate")]
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Purchase {
    payment: Payment,
    speed: Option<Speed>,
}

#[cfg(feature = "validate")]
#[tokio::test]
async fn what_is_accepted_is_named() {
    let server =
        McpServer::new("shop", "1.0.0").tool(Tool::new("buy", "Buys"), |_, _: Purchase| async { Ok("ok") });
    let session = McpClient::new("t", "1").connect(server.in_memory()).await.unwrap();
    for (order, want) in [
        (json!({"payment": {"kind": "gold"}}), r#"/payment: `kind` must be one of "card", "cash""#),
        (json!({"payment": {}}), r#"/payment: `kind` must be one of "card", "cash""#),
        (json!({"payment": {"kind": "card"}}), r#"/payment: "number" is a required property"#),
        (
            json!({"payment": {"kind": "cash", "amount": 1}, "speed": "late"}),
            r#"/speed: the value must be one of "slow", "fast""#,
        ),
    ] {
        let told = session.call("buy", &order).await.unwrap().text();
        assert_eq!(told, format!("invalid arguments: {want}"), "{order}");
    }
}
