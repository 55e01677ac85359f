//! What the published building blocks call differently, for those who have data under their names.

use serde_json::{Value, json};

use crate::blocks::BlockFile;
use crate::blocks::json::pretty;
use crate::files;

/// How their names and ours belong together.
const ALIGNMENT: &str = include_str!("../../files/blocks/ogc-alignment.ttl");

pub(crate) fn files() -> Vec<BlockFile> {
    vec![
        BlockFile { path: "ogc/context.jsonld".to_owned(), text: context() },
        BlockFile { path: "ogc/alignment.ttl".to_owned(), text: ALIGNMENT.to_owned() },
    ]
}

/// Our context with the published names where they differ. An id is then a value of `jrpc:hasId`, and no node: a node
/// named by an id would be the same one in every session.
fn context() -> String {
    let mut context: Value = serde_json::from_str(files::CONTEXT).unwrap_or_default();
    context["@context"]["jsonrpc"] = "jrpc:version".into();
    context["@context"]["id"] = json!({"@id": "jrpc:hasId", "@type": "@json"});
    pretty(&context)
}
