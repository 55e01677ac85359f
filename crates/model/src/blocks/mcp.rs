//! The block of MCP: for each revision a schema that stands on JSON-RPC by reference, and the terms of all of them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::blocks::annotate::{Documents, Prefixes};
use crate::blocks::definitions::{Definitions, Method};

const PUBLISHED: &str = include_str!("../../files/mcp/published.json");
pub(crate) const ENVELOPE: &str = "urn:sabir:schema:mcp-envelope";
/// Messages of any revision.
pub(crate) const ANY: &str = "urn:sabir:schema:mcp";
pub(crate) const BASE: &str = "urn:sabir:schema:json-rpc";
/// Terms that nobody has published.
pub(crate) const OWN: &str = "urn:sabir:ontology:mcp#";

/// Definitions that the envelope has, and where. The rest of a revision may refer to them.
pub(crate) const BY_REFERENCE: [(&str, &str, &str); 14] = [
    ("JSONRPCRequest", ENVELOPE, "JSONRPCRequest"),
    ("JSONRPCNotification", ENVELOPE, "JSONRPCNotification"),
    ("JSONRPCResponse", ENVELOPE, "JSONRPCResultResponse"),
    ("JSONRPCResultResponse", ENVELOPE, "JSONRPCResultResponse"),
    ("JSONRPCErrorResponse", ENVELOPE, "JSONRPCErrorResponse"),
    ("JSONRPCError", ENVELOPE, "JSONRPCErrorResponse"),
    ("JSONRPCMessage", ENVELOPE, "JSONRPCMessage"),
    ("Request", ENVELOPE, "JSONRPCRequest"),
    ("Notification", ENVELOPE, "JSONRPCNotification"),
    ("JSONRPCBatchRequest", BASE, "Batch"),
    ("JSONRPCBatchResponse", BASE, "Batch"),
    ("RequestId", ENVELOPE, "RequestId"),
    ("ProgressToken", BASE, "ProgressToken"),
    ("Error", BASE, "Error"),
];

/// Members whose values are the business of others: schemas, arguments, extensions.
pub(crate) const AS_JSON: [&str; 10] = [
    "_meta",
    "arguments",
    "argument",
    "capabilities",
    "context",
    "inputSchema",
    "outputSchema",
    "requestedSchema",
    "structuredContent",
    "metadata",
];

/// What the published block has names for.
pub(crate) struct Published {
    pub(crate) namespace: String,
    classes: BTreeSet<String>,
    members: BTreeMap<String, String>,
}

impl Published {
    pub(crate) fn read() -> Published {
        let file: Value = serde_json::from_str(PUBLISHED).unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let members = file["members"].as_object().into_iter().flatten();
        Published {
            namespace: text(&file["namespace"]),
            classes: file["classes"].as_array().into_iter().flatten().map(text).collect(),
            // There, `tools` is the capability to have some; here, no capability is looked into.
            members: members
                .map(|(name, local)| (name.clone(), text(local)))
                .filter(|(_, local)| !local.ends_with("Capability"))
                .collect(),
        }
    }

    pub(crate) fn class(&self, name: &str) -> String {
        let namespace = if self.classes.contains(name) { &self.namespace } else { OWN };
        [namespace, name].concat()
    }

    pub(crate) fn has_class(&self, name: &str) -> bool {
        self.classes.contains(name)
    }

    pub(crate) fn member(&self, name: &str) -> String {
        match self.members.get(name) {
            Some(local) => [&self.namespace, local.as_str()].concat(),
            // Such as `io.modelcontextprotocol/logLevel`.
            None => [OWN, name.rsplit('/').next().unwrap_or(name)].concat(),
        }
    }
}

pub(crate) fn prefixes() -> Prefixes {
    let of = |short: &str, iri: &str| (short.to_owned(), iri.to_owned());
    Prefixes(vec![
        of("jrpc", "http://json-rpc.org/ontology#"),
        of("rpcx", "urn:sabir:ontology#"),
        of("mcp", "http://modelcontextprotocol.io/ontology#"),
        of("mcpx", OWN),
    ])
}

/// What the schema of a revision is called.
pub(crate) fn revision_id(revision: &str) -> String {
    format!("{ANY}:{revision}")
}

/// The annotated schema of a revision.
pub(crate) fn schema(definitions: &Definitions, published: &Published, revision: &str) -> Value {
    let methods: Vec<_> =
        definitions.methods().into_iter().filter(|m| m.revisions.iter().any(|r| r == revision)).collect();
    let mut parts = Map::new();
    let mut by_method = Vec::new();
    for name in definitions.names() {
        let Some(definition) = definitions.get(name, revision) else { continue };
        let referred = BY_REFERENCE.iter().find(|(own, ..)| *own == name);
        let mut part = match (referred, methods.iter().find(|method| method.name == name)) {
            (Some((_, document, anchor)), _) => json!({"$ref": format!("{document}#{anchor}")}),
            (None, Some(method)) => {
                by_method.push(json!({
                    "if": {"required": ["method"], "properties": {"method": {"const": method.method}}},
                    "then": {"$ref": format!("#{name}")},
                }));
                message(definition, if method.is_request { "JSONRPCRequest" } else { "JSONRPCNotification" })
            }
            (None, None) if is_response(definition) => message(definition, "JSONRPCResultResponse"),
            (None, None) => definition.clone(),
        };
        if matches!(name, "JSONRPCError" | "JSONRPCErrorResponse") && revision < "2025-11-25" {
            part["required"] = json!(["id"]);
        }
        part["$anchor"] = name.into();
        parts.insert(name.to_owned(), part);
    }
    for method in methods.iter().filter(|method| method.is_request) {
        let Some(result) = &method.result else { continue };
        let name = format!("{}Response", result);
        if !parts.contains_key(&name) {
            parts.insert(name.clone(), response(&name, &results(definitions, method, revision)));
        }
    }
    parts.insert(
        "Message".to_owned(),
        json!({"$anchor": "Message", "$ref": format!("{ENVELOPE}#JSONRPCMessage"), "allOf": by_method}),
    );
    for part in parts.values_mut() {
        annotate(part, published);
    }
    let alternatives = match revision {
        "2025-03-26" => {
            json!([{"$ref": "#Message"}, {"type": "array", "minItems": 1, "items": {"$ref": "#Message"}}])
        }
        _ => json!([{"$ref": "#Message"}]),
    };
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": revision_id(revision),
        "title": format!("The Model Context Protocol, revision {revision}"),
        "description": "Messages by method, on JSON-RPC 2.0 by reference. A method that is not listed has MCP's envelope and nothing else.",
        "anyOf": alternatives,
        "$defs": parts,
        "x-jsonld-base": "urn:sabir:message:",
        "x-jsonld-prefixes": prefixes().json(),
    })
}

/// What a reference to the block alone leads to: messages of any revision. A method is what one of the revisions that have
/// it says. Each message of a revision has an anchor here too: tools for building blocks know one schema of a block.
pub(crate) fn any_revision(definitions: &Definitions, documents: &Documents) -> Value {
    let methods = definitions.methods();
    let mut parts = Map::new();
    for revision in &definitions.revisions {
        let id = revision_id(revision);
        let all = documents.0.get(&id).and_then(|schema| schema["$defs"].as_object());
        let is_message = |name: &str| name == "Message" || methods.iter().any(|method| method.name == name);
        let is_answer = |name: &str, part: &Value| {
            let has_error = part["properties"]["error"].is_object();
            name.ends_with("Response") || name == "JSONRPCError" || has_error
        };
        let mut add = |anchor: String, reference: String| {
            parts.insert(anchor.clone(), json!({"$anchor": anchor, "$ref": reference}));
        };
        for (name, _) in
            all.into_iter().flatten().filter(|(name, part)| is_message(name) || is_answer(name, part))
        {
            add(anchor_of(name, revision), format!("{id}#{name}"));
        }
        add(anchor_of("", revision), id.clone());
    }
    let by_method = methods.iter().map(|method| {
        let of = |revision: &String| json!({"$ref": format!("{}#{}", revision_id(revision), method.name)});
        json!({
            "if": {"required": ["method"], "properties": {"method": {"const": method.method}}},
            "then": {"anyOf": method.revisions.iter().map(of).collect::<Vec<_>>()},
        })
    });
    let by_method: Vec<_> = by_method.collect();
    let envelope = format!("{ENVELOPE}#JSONRPCMessage");
    parts.insert("Message".to_owned(), json!({"$anchor": "Message", "$ref": envelope, "allOf": by_method}));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ANY,
        "title": "The Model Context Protocol, in any revision",
        "description": "A message is valid if it is in one of the revisions that have its method. `schema-REVISION.json` is for one revision.",
        "anyOf": [{"$ref": "#Message"}, {"type": "array", "minItems": 1, "items": {"$ref": "#Message"}}],
        "$defs": parts,
        "x-jsonld-base": "urn:sabir:message:",
        "x-jsonld-prefixes": prefixes().json(),
    })
}

/// The anchor in the schema of all revisions for a part of one: `Revision-2025-11-25` for all of it.
pub(crate) fn anchor_of(part: &str, revision: &str) -> String {
    format!("{}-{revision}", if part.is_empty() { "Revision" } else { part })
}

/// What a message adds to one of the envelope.
fn message(definition: &Value, envelope: &str) -> Value {
    let own = |name: &str| !matches!(name, "jsonrpc" | "id");
    let properties: Map<_, _> = definition["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, _)| own(name))
        .map(|(name, schema)| (name.clone(), schema.clone()))
        .collect();
    let required: Vec<_> = definition["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|name| name.as_str().is_some_and(|name| own(name) && name != "method" && name != "result"))
        .collect();
    let mut message =
        json!({"allOf": [{"$ref": format!("{ENVELOPE}#{envelope}")}], "properties": properties});
    if !required.is_empty() {
        message["required"] = json!(required);
    }
    message
}

pub(crate) fn is_response(definition: &Value) -> bool {
    let properties = &definition["properties"];
    properties["jsonrpc"].is_object() && properties["result"].is_object()
}

fn response(name: &str, results: &[String]) -> Value {
    let mut references = results.iter().map(|result| json!({"$ref": format!("#{result}")}));
    let result = match results {
        [_] => references.next().unwrap_or_default(),
        _ => json!({"anyOf": references.collect::<Vec<_>>()}),
    };
    json!({
        "$anchor": name,
        "allOf": [{"$ref": format!("{ENVELOPE}#JSONRPCResultResponse")}],
        "properties": {"result": result},
    })
}

/// What a request may be answered with: its own result, or the task that it has become.
fn results(definitions: &Definitions, method: &Method, revision: &str) -> Vec<String> {
    let params = definitions.get(&format!("{}Params", method.name), revision);
    let as_task = params.is_some_and(|params| params["properties"]["task"].is_object());
    let has = |name: &str| definitions.get(name, revision).is_some();
    let own = method.result.clone().filter(|own| has(own));
    own.into_iter()
        .chain((as_task && has("CreateTaskResult")).then(|| "CreateTaskResult".to_owned()))
        .collect()
}

/// Says of each member, at any depth, what it means.
fn annotate(schema: &mut Value, published: &Published) {
    let Value::Object(members) = schema else { return };
    for (word, member) in members {
        match (word.as_str(), member) {
            ("properties", Value::Object(properties)) => {
                let is_message = properties.contains_key("jsonrpc");
                let is_error = properties.contains_key("code");
                for (name, property) in properties {
                    if !AS_JSON.contains(&name.as_str()) {
                        annotate(property, published);
                    }
                    let Value::Object(property) = property else { continue };
                    let iri = match name.as_str() {
                        "jsonrpc" => "http://json-rpc.org/ontology#hasVersion".to_owned(),
                        "id" if is_message => "urn:sabir:ontology#id".to_owned(),
                        "method" => "http://json-rpc.org/ontology#hasMethod".to_owned(),
                        "params" => "urn:sabir:ontology#params".to_owned(),
                        "result" => "urn:sabir:ontology#result".to_owned(),
                        "error" => "http://json-rpc.org/ontology#hasError".to_owned(),
                        "code" => "http://json-rpc.org/ontology#hasErrorCode".to_owned(),
                        "message" if is_error => "http://json-rpc.org/ontology#hasErrorMessage".to_owned(),
                        "data" if is_error => "http://json-rpc.org/ontology#hasErrorData".to_owned(),
                        name => published.member(name),
                    };
                    property.insert("x-jsonld-id".to_owned(), iri.into());
                    let as_json = (name == "id" && is_message) || (name == "data" && is_error);
                    if as_json || AS_JSON.contains(&name.as_str()) {
                        property.insert("x-jsonld-type".to_owned(), "@json".into());
                    }
                }
            }
            ("items" | "additionalProperties" | "then", inner) => annotate(inner, published),
            ("anyOf" | "oneOf" | "allOf", Value::Array(schemas)) => {
                schemas.iter_mut().for_each(|schema| annotate(schema, published));
            }
            _ => {}
        }
    }
}
