//! Answers that are made up, from a description: an OpenRPC document, or what an MCP server offers.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use sabir::openrpc::Document;
use sabir::{ErrorCode, ErrorObject, RawJson, Router};
use sabir_mcp::{Content, McpServer, Prompt, Resource, Tool, ToolResult};
use serde_json::{Map, Value, json};

use super::Asked;
use super::values::Maker;
use crate::discovery::is_yaml;
use crate::exit::Failure;
use crate::recorded::unreadable;
use crate::yaml;

/// A larger file is not a description.
const LARGEST: u64 = 64 << 20;

/// What a file describes.
pub(super) enum Description {
    OpenRpc(Box<Document>, Value),
    Mcp(Value),
}

/// What a file describes, unless it is something else.
pub(super) fn read(path: &OsStr) -> Result<Option<Description>, Failure> {
    let name = path.to_string_lossy();
    let file = Path::new(path);
    let size = std::fs::metadata(file).map_err(|error| unreadable(&name, &error))?.len();
    if size > LARGEST {
        return Ok(None);
    }
    let Ok(text) = std::fs::read_to_string(file) else { return Ok(None) };
    let unusable = |why: String| Failure::file(format_args!("cannot use {name}: {why}"));
    let value = match is_yaml(file) {
        true => yaml::read(&text).map_err(unusable)?,
        // A recording is more than one value.
        false => match serde_json::from_str(&text) {
            Ok(value) => value,
            Err(_) => return Ok(None),
        },
    };
    let tools = value.get("result").unwrap_or(&value);
    if value.get("openrpc").is_some() {
        let document =
            Document::from_json(&value.to_string()).map_err(|error| unusable(error.to_string()))?;
        return Ok(Some(Description::OpenRpc(Box::new(document), value)));
    }
    if tools.get("tools").is_some_and(Value::is_array) {
        return Ok(Some(Description::Mcp(tools.clone())));
    }
    match value.get("via").and_then(Value::as_str) {
        Some("tools/list") => Ok(Some(Description::Mcp(listed(&value)))),
        Some(_) => Err(unusable("it does not describe an MCP server".to_owned())
            .hint("`sabir describe TARGET --openrpc` writes a document that can be used")),
        None => Ok(None),
    }
}

/// What `sabir describe --json` says of an MCP server, as its own lists would.
fn listed(described: &Value) -> Value {
    let list = |name: &str| described.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let tools = list("methods").into_iter().map(|method| {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for param in method.get("params").and_then(Value::as_array).into_iter().flatten() {
            let name = param.get("name").and_then(Value::as_str).unwrap_or_default();
            properties.insert(name.to_owned(), param.get("schema").cloned().unwrap_or(json!({})));
            if param.get("required") == Some(&Value::Bool(true)) {
                required.push(Value::from(name));
            }
        }
        let texts = ["summary", "description"].iter().filter_map(|name| method.get(*name)?.as_str());
        let mut tool = json!({
            "name": method.get("name"),
            "description": texts.collect::<Vec<_>>().join("\n\n"),
            "inputSchema": {"type": "object", "properties": properties, "required": required},
        });
        if let Some(schema) = method.pointer("/result/schema").filter(|schema| schema.get("type").is_some()) {
            tool["outputSchema"] = schema.clone();
        }
        tool
    });
    let prompts = list("prompts").into_iter().map(|mut prompt| {
        prompt["description"] = prompt.get_mut("summary").map(Value::take).unwrap_or_default();
        prompt
    });
    json!({
        "info": described.get("info"),
        "tools": tools.collect::<Vec<_>>(),
        "resources": list("resources"),
        "prompts": prompts.collect::<Vec<_>>(),
    })
}

impl Description {
    /// A server that answers with values of the right form.
    pub(super) fn router(self, seed: u64, asked: Arc<Asked>) -> Router {
        match self {
            Description::OpenRpc(document, value) => open_rpc(*document, value, seed, asked),
            Description::Mcp(value) => mcp(&value, seed),
        }
    }

    pub(super) fn is_mcp(&self) -> bool {
        matches!(self, Description::Mcp(_))
    }
}

fn open_rpc(document: Document, value: Value, seed: u64, asked: Arc<Asked>) -> Router {
    let shared = Arc::new((document, value));
    Router::new().fallback(move |ctx, method: String, params| {
        let (shared, asked) = (shared.clone(), asked.clone());
        async move {
            let (document, value) = &*shared;
            if method == "rpc.discover" {
                return made(value);
            }
            let found = document.methods.iter().find(|known| known.name == method);
            let Some(found) = found else {
                asked.unanswered(&method, "the document does not have it", ctx.is_request());
                return Err(ErrorObject::standard(ErrorCode::METHOD_NOT_FOUND));
            };
            let params: Value = params.and_then(|params| params.parse().ok()).unwrap_or_default();
            if let Some(example) = example(value, &method, &params) {
                return made(&example);
            }
            let schema = found.result.as_ref().map_or(Value::Null, |result| result.schema.clone());
            made(&Maker::new(value, seed ^ hash(&method)).value(&schema))
        }
    })
}

/// The result of the example with these params, or else of the first.
fn example(document: &Value, method: &str, params: &Value) -> Option<Value> {
    let methods = document.get("methods")?.as_array()?;
    let method = methods.iter().find(|known| known.get("name").is_some_and(|name| name == method))?;
    let examples = method.get("examples")?.as_array()?;
    let fits = |example: &&Value| {
        let given = example.get("params").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let value = |param: &Value| param.get("value").cloned().unwrap_or_default();
        match params {
            Value::Object(named) => {
                let named_so = |param: &Value| {
                    let name = param.get("name").and_then(Value::as_str).unwrap_or_default();
                    named.get(name) == Some(&value(param))
                };
                named.len() == given.len() && given.iter().all(named_so)
            }
            Value::Array(all) => given.iter().map(value).eq(all.iter().cloned()),
            _ => given.is_empty(),
        }
    };
    let found = examples.iter().find(fits).or(examples.first())?;
    found.pointer("/result/value").cloned()
}

fn mcp(value: &Value, seed: u64) -> Router {
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
    let name = text("/info/title").filter(|name| !name.is_empty()).unwrap_or("sabir mock").to_owned();
    let mut server = McpServer::new(name, text("/info/version").unwrap_or("0"));
    let list = |name: &str| value.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut names = HashSet::new();
    for mut tool in list("tools") {
        let is_object = |schema: &Value| schema.get("type").is_some_and(|kind| kind == "object");
        let output = tool.get("outputSchema").filter(|schema| is_object(schema)).cloned();
        if let Some(tool) = tool.as_object_mut() {
            if !tool.get("inputSchema").is_some_and(is_object) {
                tool.insert("inputSchema".to_owned(), json!({"type": "object"}));
            }
            tool.retain(|name, _| name != "outputSchema" || output.is_some());
        }
        let Ok(tool) = serde_json::from_value::<Tool>(tool) else { continue };
        if !names.insert(format!("tool {}", tool.name)) {
            continue;
        }
        let result = made_result(&tool.name, output.as_ref(), seed);
        // The schema is that of others.
        server = server.tool(tool.unchecked(), move |_, _: Map<String, Value>| {
            let result = result.clone();
            async move { Ok(result) }
        });
    }
    for resource in list("resources") {
        let part = |name: &str| resource.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (uri, name) = (part("uri"), part("name"));
        if !uri.is_empty() && names.insert(format!("resource {uri}")) {
            let text = format!("the text of {uri}, made up");
            server = server.resource(Resource::new(uri, name), move |_| {
                let text = text.clone();
                async move { Ok(text) }
            });
        }
    }
    for prompt in list("prompts") {
        let Ok(prompt) = serde_json::from_value::<Prompt>(prompt) else { continue };
        if names.insert(format!("prompt {}", prompt.name)) {
            let text = format!("the text of {}, made up", prompt.name);
            server = server.prompt(prompt, move |_, _: Map<String, Value>| {
                let text = text.clone();
                async move { Ok(Content::text(text)) }
            });
        }
    }
    server.into_router()
}

fn made_result(name: &str, output: Option<&Value>, seed: u64) -> ToolResult {
    let Some(schema) = output else {
        let content = vec![Content::text(format!("the result of {name}, made up"))];
        return ToolResult { content, ..ToolResult::default() };
    };
    let value = Maker::new(schema, seed ^ hash(name)).value(schema);
    let content = vec![Content::text(value.to_string())];
    ToolResult { content, structured_content: RawJson::from_value(&value).ok(), ..ToolResult::default() }
}

fn made(value: &Value) -> sabir::Result<RawJson<'static>> {
    RawJson::from_value(value).map_err(|error| ErrorObject::new(-32603, error.to_string()))
}

/// So that methods have different values (FNV-1a).
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}
