//! What an MCP server offers. Its tools become a document in which each is a method of its own.
//!
//! The session and the pages of its lists are `sabir_mcp`'s. Entries are read here, as values: they are shown and described with
//! members that have no type there.

use sabir::openrpc::{Content, Document, Info, Method, ParamStructure};
use sabir::{CallError, Peer, RawJson, Undelivered, error_reason};
use sabir_mcp::{McpHeaders, McpSession};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::ask::{Answer, document, fits_a_tree, share};
use super::offer::{Kind, Offer};
use super::words::fields;
use crate::peer::PeerOptions;
use crate::session::{self, Protocol};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tool {
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

/// Opens a session, or asks a server without sessions.
pub(super) async fn open(
    peer: &Peer,
    headers: &McpHeaders,
    options: &PeerOptions,
) -> Result<McpSession, CallError> {
    let revision = match options.protocol {
        Some(Protocol::Mcp(revision)) => revision,
        _ => None,
    };
    let opening = session::open_mcp(peer, headers, revision);
    tokio::time::timeout(share(options), opening).await.unwrap_or(Err(CallError::TimedOut))
}

/// Reads all lists in a session that is open.
pub(super) async fn in_session(session: &McpSession, options: &PeerOptions) -> Result<Answer, CallError> {
    let server = json!({
        "capabilities": session.capabilities(),
        "serverInfo": session.server_info(),
        "instructions": session.instructions(),
    });
    offered(&server, Lists { session, options, bytes: 0 }).await
}

async fn offered(server: &Value, mut lists: Lists<'_>) -> Result<Answer, CallError> {
    let tools = lists.all("tools/list", "tools").await;
    let tools = match (tools, server.pointer("/capabilities/tools")) {
        // A server without tools need not answer.
        (Err(CallError::Error(_)), None) => Vec::new(),
        (tools, _) => tools?,
    };
    let tools = tools
        .into_iter()
        .map(serde_json::from_value)
        .collect::<Result<_, _>>()
        .map_err(|error| undecodable(&error))?;
    let mut offers = Vec::new();
    for kind in Kind::ALL {
        let (method, member, capability) = kind.list();
        if server.pointer("/capabilities").is_none_or(|declared| declared.get(capability).is_none()) {
            continue;
        }
        match lists.all(method, member).await {
            Ok(listed) => {
                for one in listed {
                    offers.push(Offer::new(kind, one).map_err(|error| undecodable(&error))?);
                }
            }
            // Many servers declare resources and have no templates.
            Err(CallError::Error(_)) => {}
            Err(error) => return Err(error),
        }
    }
    let mut answer = Answer::from(described(server, tools));
    answer.offers = offers;
    Ok(answer)
}

/// Reads lists, as long as they are not too large in all.
struct Lists<'a> {
    session: &'a McpSession,
    options: &'a PeerOptions,
    bytes: usize,
}

impl Lists<'_> {
    async fn all(&mut self, method: &'static str, member: &'static str) -> Result<Vec<Value>, CallError> {
        let mut all = Vec::new();
        // What is counted here is all lists together.
        let mut pages = self.session.pages(method, member).max_bytes(usize::MAX);
        while let Some(page) = pages.next().await? {
            fits_a_tree(method, &page)?;
            self.bytes += page.as_str().len();
            if self.bytes > self.options.max_size {
                return Err(CallError::Undelivered(Undelivered::too_large(self.options.max_size)));
            }
            let listed: Vec<Value> =
                page.get(member).unwrap_or(RawJson::NULL).parse().map_err(|error| undecodable(&error))?;
            all.extend(listed);
        }
        Ok(all)
    }
}

fn undecodable(error: &serde_json::Error) -> CallError {
    CallError::Decode(error_reason(error).into())
}

/// `server` is the answer to `initialize` or `server/discover`.
fn described(server: &Value, tools: Vec<Tool>) -> Document {
    let text = |pointer| server.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let info = Info {
        title: text("/serverInfo/title").or_else(|| text("/serverInfo/name")).unwrap_or_default(),
        version: text("/serverInfo/version").unwrap_or_default(),
        description: text("/instructions"),
    };
    document(info, tools.into_iter().map(method).collect())
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
