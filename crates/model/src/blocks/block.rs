//! One building block: its sources, and the files that are made of them.

use std::collections::BTreeMap;

use oxttl::TurtleParser;
use serde_json::{Map, Value, json};

use crate::blocks::annotate::Prefixes;
use crate::blocks::classes::Classes;
use crate::blocks::inline::context_for;
use crate::blocks::json::pretty;
use crate::blocks::mcp::anchor_of;
use crate::blocks::published::published;
use crate::blocks::uplift::{things, turtle};
use crate::blocks::{BlockFile, report, types};

/// What a block is made of.
pub(crate) struct Block {
    /// The name of its folder.
    pub(crate) name: &'static str,
    /// Its registration, as JSON.
    pub(crate) registration: &'static str,
    pub(crate) description: &'static str,
    /// A line of JSON for each.
    pub(crate) examples: &'static str,
    /// Annotated, by the name of their file; the first is the one that tools know as the block's, with an anchor for each
    /// message of the others.
    pub(crate) schemas: Vec<(String, Value)>,
    pub(crate) context: Value,
    pub(crate) ontology: String,
    pub(crate) shapes: Option<&'static str>,
    /// What the shapes must find something in: a line of JSON for each.
    pub(crate) shape_examples: &'static str,
    /// Of its messages and errors, with those of the block that it stands on.
    pub(crate) classes: Classes,
    pub(crate) prefixes: Prefixes,
}

/// A message, and the part of a schema that it must match, or must not.
pub(crate) struct Example {
    pub(crate) title: String,
    /// `FILE#ANCHOR`.
    pub(crate) schema: String,
    pub(crate) fails: bool,
    /// The rules that shapes name of it, as a warning: it conforms nevertheless.
    pub(crate) finds: Vec<String>,
    pub(crate) message: Value,
}

/// Facts that shapes must find something in.
pub(crate) struct ShapeExample {
    pub(crate) title: String,
    /// The file of the shapes.
    pub(crate) shapes: String,
    /// The rules that they name.
    pub(crate) finds: Vec<String>,
    pub(crate) turtle: String,
}

/// An example that is not what it is said to be.
#[derive(Debug)]
pub struct BadExample {
    block: &'static str,
    title: String,
    why: String,
}

impl std::fmt::Display for BadExample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the example \"{}\" of the block {}: {}", self.title, self.block, self.why)
    }
}

impl std::error::Error for BadExample {}

impl Block {
    pub(crate) fn registered(&self) -> Map<String, Value> {
        serde_json::from_str(self.registration).unwrap_or_default()
    }

    pub(crate) fn examples(&self) -> Vec<Example> {
        let example = |line: &str| {
            let mut line: Value = serde_json::from_str(line).unwrap_or_default();
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let schema = text(&line["schema"]);
            // `2025-11-25#X` is in the file of that revision.
            let schema = match schema.split_once('#') {
                Some(("", anchor)) => format!("{}#{anchor}", self.schemas[0].0),
                Some((revision, anchor)) => format!("schema-{revision}.json#{anchor}"),
                None => schema,
            };
            let fails = line["fails"] == true;
            let finds = strings(&line["finds"]);
            Example { title: text(&line["title"]), schema, fails, finds, message: line["message"].take() }
        };
        self.examples.lines().map(example).collect()
    }

    /// What its shapes must find something in.
    fn shape_examples(&self) -> Vec<ShapeExample> {
        let example = |line: &str| {
            let line: Value = serde_json::from_str(line).unwrap_or_default();
            let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
            let finds = strings(&line["finds"]);
            ShapeExample { title: text("title"), shapes: text("shapes"), finds, turtle: text("turtle") }
        };
        self.shape_examples.lines().map(example).collect()
    }

    /// All files of the block. `all` has every schema by its `$id`, for references.
    pub(crate) fn files(&self, all: &BTreeMap<String, Value>) -> Result<Vec<BlockFile>, BadExample> {
        let path = |name: &str| format!("{}/{name}", self.name);
        let mut files = vec![
            BlockFile { path: path("bblock.json"), text: pretty(&self.registered().into()) },
            BlockFile { path: path("description.md"), text: self.description.to_owned() },
            BlockFile { path: path("context.jsonld"), text: pretty(&self.context) },
            BlockFile { path: path("ontology.ttl"), text: self.ontology.clone() },
        ];
        files.extend(
            self.schemas
                .iter()
                .map(|(name, schema)| BlockFile { path: path(name), text: pretty(&published(schema, self)) }),
        );
        if let Some([messages, sessions]) = self.shapes.and_then(parts_of_shapes) {
            files.push(BlockFile { path: path("shapes.ttl"), text: messages });
            files.push(BlockFile { path: path("session-shapes.ttl"), text: sessions });
        }
        files.push(BlockFile { path: path("types.ru"), text: types(&self.classes) });
        files.push(BlockFile { path: path("semantic-uplift.yaml"), text: UPLIFT.to_owned() });
        let mut report = Vec::new();
        let mut yaml = String::from("examples:\n");
        for (number, example) in self.examples().iter().enumerate() {
            let verdict = self.verdict(example, all)?;
            let name = format!("example_{}{}", number + 1, if example.fails { "-fail" } else { "" });
            let at = |extension: &str| path(&format!("results/{name}.{extension}"));
            let json = pretty(&example.message);
            let jsonld = pretty(&with_context(&example.message, "../context.jsonld".into()));
            let ttl = turtle(&things(&example.message, &self.context, &self.classes), &self.prefixes);
            let suffix = if example.fails { "validation_failed.txt" } else { "validation_passed.txt" };
            files.push(BlockFile { path: at("json"), text: json.clone() });
            files.push(BlockFile { path: at(suffix), text: format!("{verdict}\n") });
            if !example.fails {
                if !ttl.contains("[]") {
                    return Err(self.bad(&example.title, "it gives no facts".to_owned()));
                }
                files.push(BlockFile { path: at("jsonld"), text: jsonld.clone() });
                files.push(BlockFile { path: at("ttl"), text: ttl.clone() });
                // To the tools that read the list a warning is a failure.
                if example.finds.is_empty() {
                    yaml.push_str(&self.listed(example, &json, &ttl));
                }
            } else if self.fault(&format!("{}#", self.schemas[0].0), example, all)?.is_some() {
                // What is there must fail by the block's schema, and not only by a part of it.
                files.push(BlockFile { path: path(&format!("tests/{name}.json")), text: json });
            }
            let triples = triples(&ttl).map_err(|why| self.bad(&example.title, why))?;
            report.push(report::of_message(self, example, &name, &verdict, triples));
        }
        for (number, example) in self.shape_examples().iter().enumerate() {
            let name = format!("shape_{}-fail.ttl", number + 1);
            let triples = triples(&example.turtle).map_err(|why| self.bad(&example.title, why))?;
            report.push(report::of_shapes(example, &name, triples));
            files.push(BlockFile { path: path(&format!("results/{name}")), text: example.turtle.clone() });
            // A session has shapes of its own, which tools for building blocks do not know.
            if !example.shapes.ends_with("session-shapes.ttl") {
                files.push(BlockFile { path: path(&format!("tests/{name}")), text: example.turtle.clone() });
            }
        }
        let report = report::of_block(&self.registered(), &report);
        files.push(BlockFile { path: path("results/_report.json"), text: pretty(&report) });
        files.push(BlockFile { path: path("examples.yaml"), text: yaml });
        Ok(files)
    }

    /// An entry of the list of examples: the message with its part of the block's schema, and the same as JSON-LD and Turtle.
    fn listed(&self, example: &Example, json: &str, turtle: &str) -> String {
        let (file, part) = example.schema.split_once('#').unwrap_or((&example.schema, ""));
        let revision = file.strip_prefix("schema-").and_then(|rest| rest.strip_suffix(".json"));
        let anchor = revision.map_or_else(|| part.to_owned(), |revision| anchor_of(part, revision));
        let anchor = (!anchor.is_empty()).then(|| format!("#{anchor}"));
        let linked = pretty(&with_context(&example.message, context_for(&example.message, &self.context)));
        let mut entry = format!("  - title: {}\n    snippets:\n", Value::from(example.title.as_str()));
        entry.push_str(&snippet("json", anchor.as_deref(), json));
        entry.push_str(&snippet("jsonld", None, &linked));
        entry.push_str(&snippet("turtle", None, turtle));
        entry
    }

    /// Whether an example matches its schema, or fails as it must, and where.
    fn verdict(&self, example: &Example, all: &BTreeMap<String, Value>) -> Result<String, BadExample> {
        let place = self.fault(&example.schema, example, all)?;
        match (place.as_ref().map(|(place, _)| place.as_str()), example.fails) {
            (None, false) => Ok(format!("Valid by {}", example.schema)),
            (Some(""), true) => Ok(format!("Not valid by {}, as required", example.schema)),
            (Some(place), true) => Ok(format!("Not valid by {}, as required: {place}", example.schema)),
            (Some(_), false) => Err(self.bad(&example.title, place.map(|(_, why)| why).unwrap_or_default())),
            (None, true) => Err(self.bad(&example.title, "it must fail, and matches".to_owned())),
        }
    }

    /// Where an example does not match a part of a schema, `FILE#ANCHOR`, and why.
    fn fault(
        &self,
        part: &str,
        example: &Example,
        all: &BTreeMap<String, Value>,
    ) -> Result<Option<(String, String)>, BadExample> {
        let (file, anchor) = part.split_once('#').unwrap_or((part, ""));
        let schema = self.schemas.iter().find(|(name, _)| name == file).map(|(_, schema)| schema);
        let id = schema.and_then(|schema| schema["$id"].as_str()).unwrap_or_default();
        let resources = all.iter().map(|(id, schema)| (id.as_str(), schema.clone()));
        let fail = |why: &dyn std::fmt::Display| self.bad(&example.title, why.to_string());
        let registry = jsonschema::Registry::new().extend(resources).map_err(|e| fail(&e))?;
        let registry = registry.prepare().map_err(|e| fail(&e))?;
        let root = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": format!("{id}#{anchor}"),
        });
        let validator = jsonschema::options().with_registry(&registry).build(&root).map_err(|e| fail(&e))?;
        let error = validator.validate(&example.message).err();
        Ok(error.map(|error| (error.instance_path().as_str().to_owned(), error.to_string())))
    }

    fn bad(&self, title: &str, why: String) -> BadExample {
        BadExample { block: self.name, title: title.to_owned(), why }
    }
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|s| Some(s.as_str()?.to_owned())).collect()
}

/// How many facts a file of Turtle has.
fn triples(turtle: &str) -> Result<usize, String> {
    TurtleParser::new().for_slice(turtle.as_bytes()).try_fold(0, |count, triple| {
        triple.map(|_| count + 1).map_err(|error| format!("its Turtle cannot be read: {error}"))
    })
}

/// What a tool for building blocks does after the context.
const UPLIFT: &str = "additionalSteps:\n  - type: sparql-update\n    ref: types.ru\n";

/// The shapes of messages, and those of sessions: a message that stands alone has no answer, and need not have one.
fn parts_of_shapes(shapes: &str) -> Option<[String; 2]> {
    let (head, rest) = shapes.split_once("# Messages\n")?;
    let (messages, sessions) = rest.split_once("# Sessions\n")?;
    Some([
        format!("{head}# Messages\n{}", messages.trim_end().to_owned() + "\n"),
        format!("{head}# Sessions\n{sessions}"),
    ])
}

/// A member of a registration that is text.
pub(crate) fn text<'m>(members: &'m Map<String, Value>, name: &str) -> &'m str {
    members.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The message as a document of JSON-LD, with a context or the path of one.
fn with_context(message: &Value, context: Value) -> Value {
    match message {
        Value::Object(members) => {
            let mut members = members.clone();
            members.insert("@context".to_owned(), context);
            members.into()
        }
        batch => json!({"@context": context, "@graph": batch}),
    }
}

fn snippet(language: &str, schema: Option<&str>, code: &str) -> String {
    let mut yaml = format!("      - language: {language}\n");
    if let Some(schema) = schema {
        yaml.push_str(&format!("        schema-ref: {}\n", Value::from(schema)));
    }
    yaml.push_str("        code: |\n");
    for line in code.lines() {
        yaml.push_str(format!("          {line}").trim_end());
        yaml.push('\n');
    }
    yaml
}
