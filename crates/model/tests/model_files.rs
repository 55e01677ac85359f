//! The files in `model/`, by tools that others wrote: the schemas say what the grammar says, the context gives the
//! triples that stand beside each example, and every term that is used is explained.

#![allow(clippy::unwrap_used)]

mod lower;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use oxjsonld::JsonLdParser;
use oxrdf::dataset::CanonicalizationAlgorithm;
use oxrdf::{Dataset, Quad, Term};
use oxttl::TurtleParser;
use sabir_model::files;
use sabir_model::rules::{Severity, rule};
use sabir_proto::{Incoming, Limits, Message, PLAIN, Response, decode};
use serde_json::{Value, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("files")
}

/// Each line of `verdicts.jsonl`: a message, what it is in JSON-RPC and what in MCP's envelope; null if nothing.
fn verdicts() -> Vec<(Value, Value)> {
    let text = fs::read_to_string(folder().join("examples/verdicts.jsonl")).unwrap();
    text.lines()
        .map(|line| {
            let mut case: Value = serde_json::from_str(line).unwrap();
            (case["message"].take(), case)
        })
        .collect()
}

/// Whether `schema` takes messages for what they are, by each anchor and as a whole.
fn check_schema(name: &str, schema: &str, base: &str, anchors: &[&str]) {
    let schema: Value = serde_json::from_str(schema).unwrap();
    let base: Value = serde_json::from_str(base).unwrap();
    let id = schema["$id"].as_str().unwrap();
    let resources = [&schema, &base].map(|schema| (schema["$id"].as_str().unwrap(), schema.clone()));
    let registry = jsonschema::Registry::new().extend(resources).unwrap().prepare().unwrap();
    let validator = |schema: &Value| jsonschema::options().with_registry(&registry).build(schema).unwrap();
    let whole = validator(&schema);
    let parts: Vec<_> = anchors
        .iter()
        .map(|anchor| {
            (*anchor, validator(&json!({"$schema": schema["$schema"], "$ref": format!("{id}#{anchor}")})))
        })
        .collect();
    for (message, verdict) in verdicts() {
        let want: Vec<_> = verdict[name].as_str().into_iter().collect();
        let came: Vec<_> =
            parts.iter().filter(|(_, part)| part.is_valid(&message)).map(|(name, _)| *name).collect();
        assert_eq!(came, want, "{id} says otherwise of {message}");
        assert_eq!(whole.is_valid(&message), !want.is_empty(), "{id} as a whole says otherwise of {message}");
    }
}

#[test]
fn the_schemas_tell_messages_apart() {
    let messages = ["Request", "Notification", "Response", "ErrorResponse", "Batch"];
    check_schema("jsonrpc", files::SCHEMA, files::SCHEMA, &messages);
    check_schema("jsonrpc", files::SCHEMA_DRAFT_07, files::SCHEMA_DRAFT_07, &messages);
    let messages = ["JSONRPCRequest", "JSONRPCNotification", "JSONRPCResultResponse", "JSONRPCErrorResponse"];
    check_schema("mcp", files::MCP_SCHEMA, files::SCHEMA, &messages);
    check_schema("mcp", files::MCP_SCHEMA_DRAFT_07, files::SCHEMA_DRAFT_07, &messages);
}

/// The grammar that the library runs on and the schema are one.
#[test]
fn the_schema_says_what_the_grammar_says() {
    for (message, verdict) in verdicts() {
        let text = message.to_string();
        let kind = |message: &Message<'_>| match message {
            Message::Request(_) => "Request",
            Message::Notification(_) => "Notification",
            Message::Response(Response { outcome: Ok(_), .. }) => "Response",
            Message::Response(Response { outcome: Err(_), .. }) => "ErrorResponse",
        };
        let came = match decode(text.as_bytes(), &PLAIN, &Limits::default()).unwrap() {
            Incoming::One(entry) => entry.as_ref().ok().map(kind),
            Incoming::Batch(entries) => {
                let replies =
                    entries.iter().filter(|entry| matches!(entry, Ok(Message::Response(_)))).count();
                let uniform = replies == 0 || replies == entries.len();
                (entries.iter().all(Result::is_ok) && uniform).then_some("Batch")
            }
        };
        assert_eq!(came, verdict["jsonrpc"].as_str(), "{text}");
    }
}

/// `UPDATE=1 cargo test` writes the twins.
#[test]
fn the_twins_for_draft_07_are_up_to_date() {
    for (name, newest, twin) in [
        ("json-rpc", files::SCHEMA, files::SCHEMA_DRAFT_07),
        ("mcp-envelope", files::MCP_SCHEMA, files::MCP_SCHEMA_DRAFT_07),
    ] {
        let lowered = lower::to_draft_07(newest);
        if std::env::var_os("UPDATE").is_some() {
            fs::write(folder().join(format!("{name}.draft-07.schema.json")), lowered).unwrap();
        } else {
            assert_eq!(lowered, twin, "{name}");
        }
    }
}

/// The N-Quads that a JSON-LD processor makes of a message with our context, blank nodes named in the standard way.
fn uplifted(message: &str) -> String {
    let context: Value = serde_json::from_str(files::CONTEXT).unwrap();
    let mut document: Value = serde_json::from_str(message).unwrap();
    let entries = match &mut document {
        Value::Array(entries) => entries.as_mut_slice(),
        one => std::slice::from_mut(one),
    };
    for entry in entries {
        if let Value::Object(members) = entry {
            members.insert("@context".to_owned(), context["@context"].clone());
        }
    }
    let quads = JsonLdParser::new().for_slice(document.to_string().as_bytes()).collect::<Result<Vec<_>, _>>();
    let mut graph: Dataset = quads.unwrap().into_iter().collect();
    graph.canonicalize(CanonicalizationAlgorithm::Rdfc10 {
        hash_algorithm: oxrdf::dataset::CanonicalizationHashAlgorithm::Sha256,
    });
    let mut lines: Vec<_> = graph.iter().map(|quad| format!("{} .\n", Quad::from(quad))).collect();
    lines.sort();
    lines.concat()
}

#[test]
fn the_context_gives_the_triples_beside_each_example() {
    let mut checked = 0;
    for entry in fs::read_dir(folder().join("examples/messages")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let want = fs::read_to_string(path.with_extension("nt")).unwrap();
            assert_eq!(uplifted(&fs::read_to_string(&path).unwrap()), want, "{}", path.display());
            checked += 1;
        }
    }
    assert!(checked > 5, "only {checked} examples found");
}

const VOCABULARIES: [(&str, &str); 4] = [
    ("jrpc", "http://json-rpc.org/ontology#"),
    ("rpcx", "urn:sabir:ontology#"),
    ("mcp", "http://modelcontextprotocol.io/ontology#"),
    ("mcpx", "urn:sabir:ontology:mcp#"),
];

/// All names in a Turtle file that begin with one of our two vocabularies.
fn own_names(turtle: &str, only_subjects: bool) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for triple in TurtleParser::new().for_slice(turtle.as_bytes()) {
        let triple = triple.unwrap();
        names.insert(triple.subject.to_string());
        if !only_subjects {
            names.insert(triple.predicate.to_string());
            if let Term::NamedNode(object) = &triple.object {
                names.insert(object.to_string());
            }
        }
    }
    names.retain(|name| VOCABULARIES.iter().any(|(_, iri)| name.starts_with(&format!("<{iri}"))));
    names
}

#[test]
fn every_term_that_is_used_is_explained() {
    let mut explained = own_names(files::ONTOLOGY, true);
    explained.extend(own_names(&sabir_model::blocks::mcp_ontology(), true));
    let check = |what: &str, used: BTreeSet<String>| {
        assert!(!used.is_empty(), "{what} uses no term");
        let unknown: Vec<_> = used.difference(&explained).collect();
        assert!(unknown.is_empty(), "{what} uses {unknown:?}");
    };
    check("the ontology", own_names(files::ONTOLOGY, false));
    check("the shapes", own_names(files::SHAPES, false));
    check("the shapes of MCP", own_names(files::MCP_SHAPES, false));
    let compact = |text: &str| -> BTreeSet<String> {
        let mut used = BTreeSet::new();
        for (label, iri) in VOCABULARIES {
            let label = format!("{label}:");
            for rest in text.split(label.as_str()).skip(1) {
                let name = &rest[..rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len())];
                if !name.is_empty() {
                    used.insert(format!("<{iri}{name}>"));
                }
            }
        }
        used
    };
    check("the context", compact(files::CONTEXT));
    check("the session context", compact(files::SESSION_CONTEXT));
    for query in files::QUERIES {
        check(query.name, compact(query.text));
    }
}

/// A shape that names a rule is as severe as that rule, and every rule that is named exists.
#[test]
fn the_shapes_name_rules_of_the_checker() {
    let named: usize = [files::SHAPES, files::MCP_SHAPES].iter().map(|shapes| rules_named(shapes)).sum();
    assert!(named >= 20, "the shapes name {named} rules only");
}

/// How many rules some shapes name.
fn rules_named(shapes: &str) -> usize {
    let shacl = |name: &str| format!("http://www.w3.org/ns/shacl#{name}");
    let triples: Vec<_> = TurtleParser::new().for_slice(shapes.as_bytes()).map(Result::unwrap).collect();
    let about = |subject: &oxrdf::NamedOrBlankNode, name: &str| {
        let found = triples.iter().find(|t| t.subject == *subject && t.predicate.as_str() == shacl(name));
        found.map(|triple| triple.object.clone())
    };
    let mut named = BTreeSet::new();
    for triple in triples.iter().filter(|triple| triple.predicate.as_str() == shacl("message")) {
        let Term::Literal(message) = &triple.object else { panic!("{triple} is not text") };
        // A constraint in SPARQL has the severity of the shape that it belongs to.
        let constraint = Term::from(triple.subject.clone());
        let shape =
            triples.iter().find(|t| t.predicate.as_str() == shacl("sparql") && t.object == constraint);
        let subject = shape.map_or(&triple.subject, |shape| &shape.subject);
        let severity = match about(subject, "severity").map(|severity| severity.to_string()) {
            None => Severity::Error,
            Some(iri) if iri.ends_with("#Warning>") => Severity::Warning,
            Some(iri) if iri.ends_with("#Info>") => Severity::Note,
            Some(iri) => panic!("{iri} is not a severity that is used here"),
        };
        let (ids, _) = message.value().split_once(": ").unwrap_or_default();
        for id in ids.split(", ").filter(|id| id.chars().any(|c| c.is_ascii_digit())) {
            let rule = rule(id).unwrap_or_else(|| panic!("the shapes name {id}, and there is no such rule"));
            assert_eq!(rule.severity, severity, "{id}: {message}");
            named.insert(rule.id);
        }
    }
    named.len()
}
