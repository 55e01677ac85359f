//! What the definitions of MCP are in each revision: read from the protocol's own schemas once, without their texts,
//! and kept in `files/mcp/definitions.json`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::blocks::json::pretty;

const KEPT: &str = include_str!("../../files/mcp/definitions.json");

/// What is said for people, and not for validators.
const TEXTS: [&str; 6] = ["description", "title", "$comment", "examples", "default", "deprecated"];

/// Definitions that list what a side sends. One with a single entry looks like that entry.
pub(crate) const UNIONS: [&str; 4] =
    ["ClientRequest", "ServerRequest", "ClientNotification", "ServerNotification"];

/// Each definition, in the revisions that have it.
#[derive(Debug)]
pub(crate) struct Definitions {
    /// Oldest first.
    pub(crate) revisions: Vec<String>,
    by_name: BTreeMap<String, Vec<Version>>,
}

#[derive(Debug)]
struct Version {
    revisions: BTreeSet<String>,
    schema: Value,
}

/// A message that a definition describes.
#[derive(Debug, Clone)]
pub(crate) struct Method {
    /// Of the definition.
    pub(crate) name: String,
    pub(crate) method: String,
    pub(crate) is_request: bool,
    pub(crate) from_client: bool,
    pub(crate) from_server: bool,
    /// The definition of its result; `EmptyResult` if none is its own.
    pub(crate) result: Option<String>,
    pub(crate) revisions: Vec<String>,
}

/// A schema of MCP cannot be read.
#[derive(Debug)]
pub struct NotMcp {
    revision: String,
    why: String,
}

impl std::fmt::Display for NotMcp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the schema of {} cannot be used: {}", self.revision, self.why)
    }
}

impl std::error::Error for NotMcp {}

/// Reads the schemas that the protocol publishes, each with the name of its revision. The answer is the text of
/// `files/mcp/definitions.json`, from which everything else about MCP is made.
///
/// ```
/// let schema = r##"{"$defs": {"PingRequest": {"description": "…", "type": "object"}}}"##;
/// let text = sabir_model::blocks::mcp_definitions(&[("2025-11-25", schema)])?;
/// assert!(text.contains("PingRequest") && !text.contains("…"));
/// # Ok::<(), sabir_model::blocks::NotMcp>(())
/// ```
pub fn mcp_definitions(schemas: &[(&str, &str)]) -> Result<String, NotMcp> {
    let mut by_name: BTreeMap<String, Vec<(Value, Vec<&str>)>> = BTreeMap::new();
    for (revision, text) in schemas {
        let fail = |why: String| NotMcp { revision: (*revision).to_owned(), why };
        let schema: Value = serde_json::from_str(text).map_err(|error| fail(error.to_string()))?;
        let definitions =
            schema.get("$defs").or_else(|| schema.get("definitions")).and_then(Value::as_object);
        let definitions =
            definitions.ok_or_else(|| fail("it has neither `$defs` nor `definitions`".to_owned()))?;
        for (name, definition) in definitions {
            let structure = structure(definition);
            let versions = by_name.entry(name.clone()).or_default();
            match versions.iter_mut().find(|(known, _)| *known == structure) {
                Some((_, revisions)) => revisions.push(revision),
                None => versions.push((structure, vec![revision])),
            }
        }
    }
    let definitions: Map<String, Value> = by_name
        .into_iter()
        .map(|(name, versions)| {
            let versions = versions.into_iter().map(|(schema, in_)| json!({"in": in_, "schema": schema}));
            (name, versions.collect())
        })
        .collect();
    let revisions: Vec<_> = schemas.iter().map(|(revision, _)| *revision).collect();
    Ok(pretty(&json!({"revisions": revisions, "definitions": definitions})))
}

/// A schema without its texts, with references by anchor.
fn structure(schema: &Value) -> Value {
    let Value::Object(members) = schema else { return schema.clone() };
    let mut kept = Map::new();
    for (name, member) in members {
        let member = match (name.as_str(), member) {
            (text, _) if TEXTS.contains(&text) => continue,
            ("$ref", Value::String(to)) => json!(to.replace("#/$defs/", "#").replace("#/definitions/", "#")),
            ("properties", Value::Object(properties)) => {
                properties.iter().map(|(name, schema)| (name.clone(), structure(schema))).collect()
            }
            ("items" | "additionalProperties", schema) => structure(schema),
            ("anyOf" | "oneOf" | "allOf", Value::Array(schemas)) => schemas.iter().map(structure).collect(),
            (_, member) => member.clone(),
        };
        kept.insert(name.clone(), member);
    }
    Value::Object(kept)
}

impl Definitions {
    /// Those that the crate has.
    pub(crate) fn kept() -> Definitions {
        let kept: Value = serde_json::from_str(KEPT).unwrap_or_default();
        let strings = |value: &Value| -> Vec<String> {
            value.as_array().into_iter().flatten().filter_map(|s| Some(s.as_str()?.to_owned())).collect()
        };
        let by_name = kept["definitions"].as_object().into_iter().flatten().map(|(name, versions)| {
            let versions = versions.as_array().into_iter().flatten().map(|version| Version {
                revisions: strings(&version["in"]).into_iter().collect(),
                schema: version["schema"].clone(),
            });
            (name.clone(), versions.collect())
        });
        Definitions { revisions: strings(&kept["revisions"]), by_name: by_name.collect() }
    }

    /// The definition as a revision has it.
    pub(crate) fn get(&self, name: &str, revision: &str) -> Option<&Value> {
        let versions = self.by_name.get(name)?;
        versions.iter().find(|version| version.revisions.contains(revision)).map(|version| &version.schema)
    }

    /// All names, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// The revisions that have this definition, oldest first.
    pub(crate) fn revisions_of(&self, name: &str) -> Vec<&str> {
        let has = |revision: &&String| self.get(name, revision).is_some();
        self.revisions.iter().filter(has).map(String::as_str).collect()
    }

    /// The definition in the newest revision that has it.
    pub(crate) fn newest(&self, name: &str) -> Option<&Value> {
        self.get(name, self.revisions_of(name).last()?)
    }

    /// Every request and notification. One that is only part of a result is not among them.
    pub(crate) fn methods(&self) -> Vec<Method> {
        let method = |name: &str| {
            let sent = |side: &str, revision: &String| {
                let union = [format!("{side}Request"), format!("{side}Notification")];
                union.iter().any(|union| self.has_member(union, name, revision))
            };
            let from = |side| self.revisions.iter().any(|revision| sent(side, revision));
            let revisions: Vec<_> = self
                .revisions
                .iter()
                .filter(|revision| sent("Client", revision) || sent("Server", revision))
                .cloned()
                .collect();
            let newest = self.get(name, revisions.last()?)?;
            let is_request = name.ends_with("Request");
            let own = name.strip_suffix("Request").map(|stem| format!("{stem}Result"));
            let result =
                own.map(|own| if self.by_name.contains_key(&own) { own } else { "EmptyResult".to_owned() });
            Some(Method {
                name: name.to_owned(),
                method: newest["properties"]["method"]["const"].as_str()?.to_owned(),
                is_request,
                from_client: from("Client"),
                from_server: from("Server"),
                result,
                revisions,
            })
        };
        self.names().filter(|name| !UNIONS.contains(name)).filter_map(method).collect()
    }

    /// Whether a union such as `ClientRequest` has this definition. A union of one is written out in full.
    fn has_member(&self, union: &str, name: &str, revision: &str) -> bool {
        let (Some(union), Some(schema)) = (self.get(union, revision), self.get(name, revision)) else {
            return false;
        };
        let method = |schema: &Value| schema["properties"]["method"]["const"].clone();
        match union["anyOf"].as_array() {
            Some(members) => {
                members.iter().any(|member| member["$ref"].as_str() == Some(&format!("#{name}")))
            }
            None => !method(union).is_null() && method(union) == method(schema),
        }
    }
}
