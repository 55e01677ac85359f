//! The block of MCP: for each revision a schema that stands on JSON-RPC by reference, and the terms of all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::blocks::annotate::{Documents, Prefixes};
use crate::blocks::definitions::{Definitions, Method};

const PUBLISHED: &str = include_str!("../../files/mcp/published.json");
pub(crate) const ENVELOPE: &str = "urn:sabir:schema:mcp-envelope";
pub(crate) const BASE: &str = "urn:sabir:schema:json-rpc";
/// Terms that nobody has published.
pub(crate) const OWN: &str = "urn:sabir:ontology:mcp#";

/// Definitions that the envelope has, and where. The rest of a revision may refer to them.
const BY_REFERENCE: [(&str, &str, &str); 14] = [
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
const AS_JSON: [&str; 10] = [
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

    fn member(&self, name: &str) -> String {
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
        "$id": format!("urn:sabir:schema:mcp:{revision}"),
        "title": format!("The Model Context Protocol, revision {revision}"),
        "description": "Messages by method, on JSON-RPC 2.0 by reference. A method that is not listed has MCP's envelope and nothing else.",
        "anyOf": alternatives,
        "$defs": parts,
        "x-jsonld-base": "urn:sabir:message:",
        "x-jsonld-prefixes": prefixes().json(),
    })
}

/// What a reference to the block alone leads to: messages of any revision. A method is what one of the revisions that have
/// it says.
pub(crate) fn any_revision(definitions: &Definitions) -> Value {
    let methods = definitions.methods();
    let by_method = methods.iter().map(|method| {
        let of =
            |revision: &String| json!({"$ref": format!("urn:sabir:schema:mcp:{revision}#{}", method.name)});
        json!({
            "if": {"required": ["method"], "properties": {"method": {"const": method.method}}},
            "then": {"anyOf": method.revisions.iter().map(of).collect::<Vec<_>>()},
        })
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:sabir:schema:mcp",
        "title": "The Model Context Protocol, in any revision",
        "description": "A message is valid if it is in one of the revisions that have its method. `schema-REVISION.json` is for one revision.",
        "anyOf": [{"$ref": "#Message"}, {"type": "array", "minItems": 1, "items": {"$ref": "#Message"}}],
        "$defs": {"Message": {
            "$anchor": "Message",
            "$ref": format!("{ENVELOPE}#JSONRPCMessage"),
            "allOf": by_method.collect::<Vec<_>>(),
        }},
        "x-jsonld-base": "urn:sabir:message:",
        "x-jsonld-prefixes": prefixes().json(),
    })
}

/// The class of each method.
pub(crate) fn classes(definitions: &Definitions, published: &Published) -> BTreeMap<String, String> {
    definitions.methods().into_iter().map(|m| (m.method.clone(), published.class(&m.name))).collect()
}

/// SPARQL that adds the classes of messages.
pub(crate) fn types(classes: &BTreeMap<String, String>) -> String {
    let mut text = super::TYPES.trim_end().to_owned();
    text.push_str(" ;\nINSERT { ?m a ?class } WHERE {\n  VALUES (?method ?class) {\n");
    for (method, class) in classes {
        let _ = writeln!(text, "    (\"{method}\" <{class}>)");
    }
    text.push_str("  }\n  ?m jrpc:hasMethod ?method\n}\n");
    text
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

fn is_response(definition: &Value) -> bool {
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

/// The terms of all revisions, in OWL.
pub(crate) fn ontology(definitions: &Definitions, published: &Published, documents: &Documents) -> String {
    let prefixes = prefixes();
    let short = |iri: &str| prefixes.compact(iri).unwrap_or_else(|| format!("<{iri}>"));
    let mut out = String::from(HEAD);
    let methods = definitions.methods();
    out.push_str("# Messages by method\n\n");
    for method in &methods {
        let Method { name, method: called, .. } = method;
        let kind = if method.is_request { "Request" } else { "Notification" };
        let from = match (method.from_client, method.from_server) {
            (true, true) => "either side",
            (false, true) => "the server",
            _ => "the client",
        };
        let operation = name.strip_suffix("Request").map(|stem| format!("{stem}Operation"));
        let operation =
            operation.filter(|operation| published.has_class(operation)).map(|o| format!(" , mcp:{o}"));
        let _ = write!(
            out,
            "{} a owl:Class ; rdfs:label \"{}\"@en ;\n  rdfs:subClassOf jrpc:{kind}{} ,\n    \
             [ a owl:Restriction ; owl:onProperty jrpc:hasMethod ; owl:hasValue \"{called}\" ] ;\n",
            short(&published.class(name)),
            words(name),
            operation.unwrap_or_default(),
        );
        if let Some(result) = &method.result {
            let _ = writeln!(out, "  mcpx:resultClass {} ;", short(&published.class(result)));
        }
        let comment = format!("`{called}`, sent by {from}. In revision {}.", method.revisions.join(", "));
        let _ = writeln!(out, "  rdfs:comment \"{comment}\"@en ; rdfs:isDefinedBy {DEFINED_BY} .");
    }
    out.push_str("\n# What is in them\n\n");
    for name in definitions.names().filter(|name| is_part(definitions, &methods, name)) {
        let of = definitions.revisions_of(name).join(", ");
        let members = definitions.newest(name).and_then(|schema| schema["properties"].as_object());
        let mut members: Vec<_> =
            members.into_iter().flatten().map(|(name, _)| format!("`{name}`")).collect();
        members.sort();
        let about = match members.is_empty() {
            true => String::new(),
            false => format!("Has {}. ", members.join(", ")),
        };
        let _ = writeln!(
            out,
            "{} a owl:Class ; rdfs:label \"{}\"@en ;\n  rdfs:comment \"{about}In revision {of}.\"@en ; rdfs:isDefinedBy {DEFINED_BY} .",
            short(&published.class(name)),
            words(name),
        );
    }
    out.push_str("\n# Members\n\n");
    for (iri, Use { members, objects, scalars }) in uses(documents) {
        let kind = match (objects, scalars) {
            (true, false) => "owl:ObjectProperty",
            (false, true) => "owl:DatatypeProperty",
            _ => "rdf:Property",
        };
        let members: Vec<_> = members.iter().map(|name| format!("`{name}`")).collect();
        let local = iri.rsplit(['#', '/']).next().unwrap_or_default();
        let _ = writeln!(
            out,
            "{} a {kind} ; rdfs:label \"{}\"@en ;\n  rdfs:comment \"The member {}.\"@en ; rdfs:isDefinedBy {DEFINED_BY} .",
            short(&iri),
            words(local),
            members.join(", "),
        );
    }
    out
}

const DEFINED_BY: &str = "<urn:sabir:ontology:mcp>";
const HEAD: &str = include_str!("../../files/mcp/head.ttl");

/// What an object of a message is, as opposed to a message, a union of messages, or text.
fn is_part(definitions: &Definitions, methods: &[Method], name: &str) -> bool {
    let referred = BY_REFERENCE.iter().any(|(own, ..)| *own == name);
    let message = methods.iter().any(|method| method.name == name);
    let object =
        definitions.newest(name).is_some_and(|schema| schema["type"] == "object" || name == "EmptyResult");
    object && !referred && !message && !definitions.newest(name).is_some_and(is_response)
}

#[derive(Default)]
struct Use {
    members: BTreeSet<String>,
    objects: bool,
    scalars: bool,
}

/// Each term of MCP that members are mapped to, and what their values are as far as the context says it.
fn uses(documents: &Documents) -> BTreeMap<String, Use> {
    fn in_context(context: &Value, uses: &mut BTreeMap<String, Use>) {
        for term in context.as_object().into_iter().flatten().map(|(_, term)| term) {
            let Some(iri) = term.as_str().or_else(|| term["@id"].as_str()) else { continue };
            if let Some(used) = uses.get_mut(iri) {
                let is_object = term["@context"].is_array();
                used.objects |= is_object;
                used.scalars |= !is_object;
            }
            in_context(&term["@context"][1], uses);
        }
    }
    fn in_schema(name: &str, schema: &Value, uses: &mut BTreeMap<String, Use>) {
        let is_own = |iri: &&str| iri.starts_with(OWN) || iri.starts_with("http://modelcontextprotocol.io/");
        if let Some(iri) = schema["x-jsonld-id"].as_str().filter(is_own) {
            uses.entry(iri.to_owned()).or_default().members.insert(name.to_owned());
        }
        match schema {
            Value::Object(members) => members.iter().for_each(|(name, inner)| in_schema(name, inner, uses)),
            Value::Array(items) => items.iter().for_each(|inner| in_schema(name, inner, uses)),
            _ => {}
        }
    }
    let is_mcp = |id: &str| id.starts_with("urn:sabir:schema:mcp:");
    let ids: Vec<_> = documents.0.keys().map(String::as_str).filter(|id| is_mcp(id)).collect();
    let mut uses = BTreeMap::new();
    ids.iter().for_each(|id| in_schema("", &documents.0[*id], &mut uses));
    in_context(&documents.context(&ids)["@context"], &mut uses);
    uses
}

/// `CallToolRequest` as "call tool request".
fn words(name: &str) -> String {
    let mut words = String::new();
    let mut before = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && before {
            words.push(' ');
        }
        before = c.is_ascii_lowercase() || c.is_ascii_digit();
        words.push(if c == '_' { ' ' } else { c.to_ascii_lowercase() });
    }
    words.trim().to_owned()
}
