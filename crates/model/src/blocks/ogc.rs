//! What the published building blocks call differently, for those who have data under their names.

use serde_json::{Value, json};

use crate::blocks::BlockFile;
use crate::blocks::json::pretty;
use crate::files;

/// How their names and ours belong together.
const ALIGNMENT: &str = include_str!("../../files/blocks/ogc-alignment.ttl");

/// `mcp` is the context of the block of MCP.
pub(crate) fn files(mcp: &Value) -> Vec<BlockFile> {
    let base: Value = serde_json::from_str(files::CONTEXT).unwrap_or_default();
    vec![
        BlockFile { path: "ogc/context.jsonld".to_owned(), text: pretty(&as_published(base)) },
        BlockFile { path: "ogc/mcp-context.jsonld".to_owned(), text: pretty(&as_published(mcp.clone())) },
        BlockFile { path: "ogc/alignment.ttl".to_owned(), text: ALIGNMENT.to_owned() },
    ]
}

/// One of our contexts with the published names where they differ. An id is then a value of `jrpc:hasId`, and not a node: a
/// node named by an id would be the same one in every session.
fn as_published(mut context: Value) -> Value {
    let jrpc = |name: &str| ["http://json-rpc.org/ontology#", name].concat();
    let terms = &mut context["@context"];
    terms["jsonrpc"] = jrpc("version").into();
    terms["id"] = json!({"@id": jrpc("hasId"), "@type": "@json"});
    for (member, name) in [("params", "hasParameters"), ("result", "hasResult")] {
        terms[member]["@id"] = jrpc(name).into();
    }
    context
}
