//! The tools of an MCP server, as a document: each is a method of its own.

use sabir::RawJson;
use sabir::openrpc::{Content, Document, Info, Method, ParamStructure};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::ask;
use super::words::fields;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tool {
    name: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    input_schema: Value,
    #[serde(default)]
    output_schema: Option<Value>,
}

/// `server` is the answer to `initialize`.
pub(super) fn document(server: &RawJson<'_>, tools: Vec<Tool>) -> Document {
    let server: Value = server.parse().unwrap_or_default();
    let text = |pointer| server.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let info = Info {
        title: text("/serverInfo/title").or_else(|| text("/serverInfo/name")).unwrap_or_default(),
        version: text("/serverInfo/version").unwrap_or_default(),
        description: text("/instructions"),
    };
    ask::document(info, tools.into_iter().map(method).collect())
}

fn method(tool: Tool) -> Method {
    let description = tool.description.unwrap_or_default();
    let (first, rest) = description.split_once("\n\n").unwrap_or((&description, ""));
    let present = |text: &str| (!text.trim().is_empty()).then(|| text.trim().to_owned());
    Method {
        name: tool.name,
        summary: present(first).or(tool.title),
        description: present(rest),
        param_structure: Some(ParamStructure::ByName),
        params: params(&tool.input_schema),
        result: Some(Content {
            name: "result".to_owned(),
            schema: tool.output_schema.unwrap_or_else(|| Value::Object(Map::new())),
            ..Content::default()
        }),
        ..Method::default()
    }
}

fn params(schema: &Value) -> Vec<Content> {
    let contents = fields(schema).into_iter().map(|field| Content {
        name: field.name.to_owned(),
        description: field.schema.get("description").and_then(Value::as_str).map(str::to_owned),
        required: field.required,
        schema: field.schema.clone(),
        ..Content::default()
    });
    contents.collect()
}
