//! What an MCP server offers. Its tools become a document in which each is a method of its own.

use sabir::openrpc::{Content, Document, Info, Method, ParamStructure};
use sabir::{CallError, JsonKind, McpRevision, Peer, RawJson, Undelivered, error_reason};
use sabir_mcp::McpSession;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::ask::{Answer, call, document};
use super::offer::{Kind, Offer};
use super::pages::Pages;
use super::words::fields;
use crate::peer::PeerOptions;

/// The revision that is offered; a server that knows only others answers with one of them.
const REVISION: &str = McpRevision::NEWEST_LEGACY.as_str();

/// What keys of `_meta` begin with.
const META: &str = "io.modelcontextprotocol";

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

/// Opens a session, or asks a server without sessions, and reads all its lists.
pub(super) async fn ask(peer: &Peer, options: &PeerOptions) -> Result<Answer, CallError> {
    let client = json!({"name": "sabir", "version": env!("CARGO_PKG_VERSION")});
    let hello = json!({"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client});
    let (server, meta) = match call(peer, options, "initialize", hello).await {
        Ok(server) => {
            let _ = peer.notify("notifications/initialized", ()).await;
            (server, None)
        }
        Err(CallError::Error(refusal)) => {
            let meta = json!({
                format!("{META}/protocolVersion"): McpRevision::NEWEST.as_str(),
                format!("{META}/clientInfo"): client,
                format!("{META}/clientCapabilities"): {},
            });
            match call(peer, options, "server/discover", json!({"_meta": meta})).await {
                Ok(server) => (server, Some(meta)),
                // The first refusal says more.
                Err(CallError::Error(_)) => return Err(CallError::Error(refusal)),
                Err(error) => return Err(error),
            }
        }
        Err(error) => return Err(error),
    };
    let server: Value = server.parse().map_err(|error| CallError::Decode(error_reason(&error).into()))?;
    let caller = Caller::Peer { peer, meta };
    offered(&server, Lists { caller, options, bytes: 0 }).await
}

/// Reads all lists in a session that is open.
pub(super) async fn in_session(session: &McpSession, options: &PeerOptions) -> Result<Answer, CallError> {
    let server = json!({
        "capabilities": session.capabilities(),
        "serverInfo": session.server_info(),
        "instructions": session.instructions(),
    });
    offered(&server, Lists { caller: Caller::Session(session), options, bytes: 0 }).await
}

async fn offered(server: &Value, mut lists: Lists<'_>) -> Result<Answer, CallError> {
    let tools = lists.all("tools/list", "tools").await;
    let tools = match (tools, server.pointer("/capabilities/tools")) {
        // A server without tools need not answer.
        (Err(CallError::Error(_)), None) => Vec::new(),
        (tools, _) => tools?,
    };
    let undecodable = |error: serde_json::Error| CallError::Decode(error_reason(&error).into());
    let tools =
        tools.into_iter().map(serde_json::from_value).collect::<Result<_, _>>().map_err(undecodable)?;
    let mut offers = Vec::new();
    for kind in Kind::ALL {
        let (method, member, capability) = kind.list();
        if server.pointer("/capabilities").is_none_or(|declared| declared.get(capability).is_none()) {
            continue;
        }
        match lists.all(method, member).await {
            Ok(listed) => {
                for one in listed {
                    offers.push(Offer::new(kind, one).map_err(undecodable)?);
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
    caller: Caller<'a>,
    options: &'a PeerOptions,
    bytes: usize,
}

enum Caller<'a> {
    Peer {
        peer: &'a Peer,
        /// What each request must carry, if there is no session.
        meta: Option<Value>,
    },
    Session(&'a McpSession),
}

impl Caller<'_> {
    async fn call(
        &self,
        options: &PeerOptions,
        method: &'static str,
        mut params: Map<String, Value>,
    ) -> Result<RawJson<'static>, CallError> {
        match self {
            Caller::Peer { peer, meta } => {
                params.extend(meta.clone().map(|meta| ("_meta".to_owned(), meta)));
                let params = if params.is_empty() { Value::Null } else { Value::Object(params) };
                call(peer, options, method, params).await
            }
            Caller::Session(session) => {
                let params = (!params.is_empty()).then(|| RawJson::from_value(&params)).transpose();
                let params = params.map_err(|error| CallError::Decode(error_reason(&error).into()))?;
                session.request(method, params).await
            }
        }
    }
}

impl Lists<'_> {
    async fn all(&mut self, method: &'static str, member: &str) -> Result<Vec<Value>, CallError> {
        let mut all = Vec::new();
        let mut cursor = None;
        let mut pages = Pages::default();
        loop {
            let mut params = Map::new();
            params.extend(cursor.take().map(|cursor| ("cursor".to_owned(), cursor)));
            let text = self.caller.call(self.options, method, params).await?;
            self.bytes += text.as_str().len();
            if self.bytes > self.options.max_size {
                return Err(CallError::Undelivered(Undelivered::too_large(self.options.max_size)));
            }
            let listed = text.get(member).filter(|listed| listed.kind() == JsonKind::Array);
            let Some(listed) = listed else {
                return Err(CallError::Decode(format!("{method} answers without `{member}`").into()));
            };
            pages.add(listed.elements().count())?;
            let undecodable = |error: serde_json::Error| CallError::Decode(error_reason(&error).into());
            all.extend(listed.parse::<Vec<Value>>().map_err(undecodable)?);
            match text.get("nextCursor").and_then(|next| next.parse::<String>().ok()) {
                Some(next) => {
                    pages.follow(&next)?;
                    cursor = Some(Value::String(next));
                }
                None => return Ok(all),
            }
        }
    }
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
