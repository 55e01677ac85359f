//! Schemas as they are published: they refer to each other by relative paths, so that the folder alone is enough.
//!
//! Inside the program they have names instead. A schema that kept its name could not be read from a file: relative
//! references would be looked up beside the name.

use serde_json::{Map, Value, json};

use crate::blocks::block::Block;
use crate::blocks::mcp::ENVELOPE;

/// Where the schema of a name is, from the folder of all blocks.
fn path(name: &str) -> Option<String> {
    let local = name.strip_prefix("urn:sabir:schema:")?;
    Some(match local {
        "json-rpc" | "mcp" => format!("{local}/schema.json"),
        "mcp-envelope" => "mcp/schema-envelope.json".to_owned(),
        "lsp-envelope" => "lsp/schema.json".to_owned(),
        "a2a-envelope" => "a2a/schema.json".to_owned(),
        revision => format!("mcp/schema-{}.json", revision.strip_prefix("mcp:")?),
    })
}

/// The schema without its name, with references by path. The root also has the terms of the whole context by their places:
/// who derives a context from parts that are used in several places gets ours, and not a mixture.
pub(crate) fn published(schema: &Value, block: &Block) -> Value {
    let mut schema = schema.clone();
    // MCP's envelope is a part of its block: the context of the block is not the envelope's.
    let is_part = schema["$id"] == ENVELOPE;
    refer_by_path(&mut schema, block.name);
    if let Value::Object(members) = &mut schema {
        members.remove("$id");
        if block.name != "json-rpc" && !is_part {
            let mut terms = block.context["@context"].as_object().cloned().unwrap_or_default();
            terms.retain(|name, _| !block.classes.names.contains_key(name));
            members.insert("properties".to_owned(), places(&terms, true).into());
        }
    }
    schema
}

fn refer_by_path(schema: &mut Value, folder: &str) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(to)) = members.get_mut("$ref")
                && let Some((name, anchor)) = to.split_once('#').or(Some((to.as_str(), "")))
                && let Some(path) = path(name)
            {
                let path = match path.strip_prefix(&format!("{folder}/")) {
                    Some(beside) => beside.to_owned(),
                    None => format!("../{path}"),
                };
                *to = if anchor.is_empty() { path } else { format!("{path}#{anchor}") };
            }
            members.values_mut().for_each(|inner| refer_by_path(inner, folder));
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| refer_by_path(inner, folder)),
        _ => {}
    }
}

/// A context as the annotated properties that it follows from.
fn places(terms: &Map<String, Value>, is_message: bool) -> Map<String, Value> {
    let place = |(name, term): (&String, &Value)| {
        let iri = term.as_str().or_else(|| term["@id"].as_str())?;
        let mut property = Map::from_iter([("x-jsonld-id".to_owned(), json!(iri))]);
        // JSON-RPC itself says that these are JSON; here they are not.
        let is_thing = is_message && matches!(name.as_str(), "params" | "result");
        for (word, value) in [("type", &term["@type"]), ("container", &term["@container"])] {
            if value.is_string() {
                property.insert(format!("x-jsonld-{word}"), value.clone());
            } else if word == "type" && is_thing {
                property.insert("x-jsonld-type".to_owned(), json!("@none"));
            }
        }
        if let Some(inner) = term["@context"].get(1).and_then(Value::as_object) {
            let inner = places(inner, false);
            match term["@container"].is_string() {
                true => property.insert("items".to_owned(), json!({ "properties": inner })),
                false => property.insert("properties".to_owned(), inner.into()),
            };
        }
        Some((name.clone(), property.into()))
    };
    terms.iter().filter(|(name, _)| !name.starts_with('@')).filter_map(place).collect()
}
