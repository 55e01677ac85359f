//! The building blocks: up to date in the repository, complete, and the same to a processor that others wrote.
//!
//! `UPDATE=1 cargo test` writes `building-blocks/` anew.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use oxjsonld::JsonLdParser;
use oxrdf::dataset::{CanonicalizationAlgorithm, CanonicalizationHashAlgorithm};
use oxrdf::{Dataset, GraphName, Quad, Term, Triple};
use oxttl::TurtleParser;
use sabir_model::blocks::{BlockFile, DocsFormat, build, docs, mcp_definitions};
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../building-blocks")
}

fn built() -> BTreeMap<String, String> {
    build().unwrap().into_iter().map(|BlockFile { path, text, .. }| (path, text)).collect()
}

/// The files below a folder, by their paths in it.
fn on_disk(at: &Path, below: &str, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{below}{}", path.file_name().unwrap().to_str().unwrap());
        match path.is_dir() {
            true => on_disk(&path, &format!("{name}/"), found),
            false => drop(found.insert(name, fs::read_to_string(&path).unwrap())),
        }
    }
}

#[test]
fn the_repository_has_what_is_built() {
    let want = built();
    if std::env::var_os("UPDATE").is_some() {
        let _ = fs::remove_dir_all(folder());
        for (path, text) in &want {
            let path = folder().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
    let mut came = BTreeMap::new();
    on_disk(&folder(), "", &mut came);
    let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&came), names(&want));
    for (path, text) in want {
        assert_eq!(came[&path], text, "{path} is not up to date; UPDATE=1 writes it");
    }
}

fn canonical(triples: impl Iterator<Item = Triple>) -> BTreeSet<String> {
    let quads = triples.map(|t| Quad::new(t.subject, t.predicate, t.object, GraphName::DefaultGraph));
    let mut graph: Dataset = quads.collect();
    graph.canonicalize(CanonicalizationAlgorithm::Rdfc10 {
        hash_algorithm: CanonicalizationHashAlgorithm::Sha256,
    });
    graph.iter().map(|quad| quad.to_string()).collect()
}

fn turtle(text: &str) -> Vec<Triple> {
    TurtleParser::new().for_slice(text.as_bytes()).map(Result::unwrap).collect()
}

/// What a processor makes of a document that refers to a context.
fn processed(document: &str, context: &str) -> BTreeSet<String> {
    let mut document: Value = serde_json::from_str(document).unwrap();
    if document["@context"].is_string() {
        document["@context"] = serde_json::from_str::<Value>(context).unwrap()["@context"].take();
    }
    let quads = JsonLdParser::new()
        .for_slice(document.to_string().as_bytes())
        .map(Result::unwrap)
        .collect::<Vec<_>>();
    canonical(quads.into_iter().map(Triple::from))
}

#[test]
fn every_example_has_the_triples_that_a_processor_finds() {
    let files = built();
    let mut checked = 0;
    for (path, document) in
        files.iter().filter(|(path, _)| path.contains("/tests/") && path.ends_with(".jsonld"))
    {
        let context = &files[&format!("{}/context.jsonld", path.split('/').next().unwrap())];
        let facts = turtle(&files[&path.replace(".jsonld", ".ttl")]);
        // Classes are added after the context, by `types.ru`.
        let (classes, facts): (Vec<_>, Vec<_>) =
            facts.into_iter().partition(|fact| fact.predicate.as_str().ends_with("#type"));
        assert!(!classes.is_empty(), "{path} says no class");
        let want = canonical(facts.into_iter());
        assert!(!want.is_empty(), "{path} says nothing");
        assert_eq!(processed(document, context), want, "{path}");
        checked += 1;
    }
    assert!(checked > 35, "only {checked} examples");
    assert_eq!(
        processed(&files["bblocks.jsonld"], ""),
        canonical(turtle(&files["bblocks.ttl"]).into_iter()),
        "the register"
    );
}

/// With the folder alone every reference leads somewhere.
#[test]
fn every_reference_is_a_path_in_the_folder() {
    fn references<'v>(schema: &'v Value, found: &mut Vec<&'v str>) {
        match schema {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str));
                members.values().for_each(|inner| references(inner, found));
            }
            Value::Array(items) => items.iter().for_each(|inner| references(inner, found)),
            _ => {}
        }
    }
    let files = built();
    let mut count = 0;
    for (path, text) in files.iter().filter(|(path, _)| path.contains("/schema") && path.ends_with(".json")) {
        let schema: Value = serde_json::from_str(text).unwrap();
        assert!(schema.get("$id").is_none(), "{path}");
        let mut found = Vec::new();
        references(&schema, &mut found);
        for reference in found {
            let (file, anchor) = reference.split_once('#').unwrap_or((reference, ""));
            let target = match (file, file.strip_prefix("../")) {
                ("", _) => path.clone(),
                (_, Some(other)) => other.to_owned(),
                (beside, None) => format!("{}/{beside}", path.split('/').next().unwrap()),
            };
            let target = files.get(&target).unwrap_or_else(|| panic!("{path}: {reference}"));
            assert!(
                anchor.is_empty() || target.contains(&format!("\"$anchor\": \"{anchor}\"")),
                "{path}: {reference}"
            );
            count += 1;
        }
    }
    assert!(count > 500, "only {count} references");
}

/// The context that follows from the annotated schema says what the one says that it was annotated by.
#[test]
fn the_derived_context_means_what_the_source_means() {
    let files = built();
    let source = sabir_model::files::CONTEXT;
    for (path, document) in
        files.iter().filter(|(path, _)| path.starts_with("json-rpc/tests/") && path.ends_with(".jsonld"))
    {
        assert_eq!(
            processed(document, source),
            processed(document, &files["json-rpc/context.jsonld"]),
            "{path}"
        );
    }
}

/// All IRIs of the vocabularies in a text.
fn terms(text: &str, found: &mut BTreeSet<String>) {
    for start in
        ["http://json-rpc.org/ontology#", "http://modelcontextprotocol.io/ontology#", "urn:sabir:ontology"]
    {
        for (at, _) in text.match_indices(start) {
            let rest = &text[at..];
            let iri = &rest[..rest.find(['"', '>', ' ']).unwrap()];
            if iri.contains('#') && !iri.ends_with('#') {
                found.insert(iri.to_owned());
            }
        }
    }
}

#[test]
fn every_term_is_explained_and_says_where() {
    let files = built();
    let mut about: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut used = BTreeSet::new();
    for (path, text) in files.iter().filter(|(path, _)| path.ends_with(".ttl")) {
        for triple in turtle(text) {
            let (subject, object) = (Term::from(triple.subject), triple.object);
            [&subject, &object].iter().for_each(|term| terms(&format!("{term} "), &mut used));
            terms(&format!("{} ", triple.predicate), &mut used);
            if let Term::NamedNode(subject) = subject {
                let known = about.entry(subject.as_str().to_owned()).or_default();
                let defines = path.ends_with("ontology.ttl") || path.ends_with("alignment.ttl");
                known.extend(
                    defines.then(|| triple.predicate.as_str().rsplit('#').next().unwrap().to_owned()),
                );
            }
        }
    }
    for (path, text) in &files {
        if path.ends_with("context.jsonld") || path.contains("schema") || path.ends_with("types.ru") {
            terms(text, &mut used);
        }
    }
    assert!(used.len() > 250, "{used:?}");
    let (own, none) = ("urn:sabir:ontology", BTreeSet::new());
    for term in used.iter().filter(|term| !term.starts_with(own) || term[own.len()..].contains('#')) {
        for property in ["type", "label", "comment", "isDefinedBy"] {
            let said = about.get(term).unwrap_or(&none);
            assert!(said.contains(property), "{term} has no {property}");
        }
    }
}

#[test]
fn the_documentation_has_every_term_and_example() {
    for (format, start) in [(DocsFormat::Html, "<!doctype html>"), (DocsFormat::Markdown, "# ")] {
        let text = docs(format);
        assert!(text.starts_with(start));
        for word in [
            "jrpc:Request",
            "mcp:CallToolRequest",
            "mcpx:GetTaskRequest",
            "lspx:Progress",
            "a2ax:SendMessage",
            "tools/call",
            "RPC023",
            "slowest-methods",
        ] {
            assert!(text.contains(word), "{format:?} does not say {word}");
        }
        assert!(!text.contains("<script"));
    }
}

#[test]
fn definitions_are_read_without_their_texts() {
    let old = r##"{"definitions": {"Tool": {"description": "said", "type": "object", "properties": {"description": {"description": "said", "type": "string"}, "r": {"$ref": "#/definitions/Role"}}}}}"##;
    let new = old.replace("definitions\"", "$defs\"").replace("/definitions/", "/$defs/");
    let text = mcp_definitions(&[("2024-11-05", old), ("2025-11-25", &new)]).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let tool = &value["definitions"]["Tool"];
    assert_eq!(tool.as_array().unwrap().len(), 1, "the same in both: {text}");
    assert_eq!(tool[0]["in"], serde_json::json!(["2024-11-05", "2025-11-25"]));
    assert_eq!(tool[0]["schema"]["properties"]["r"]["$ref"], "#Role");
    assert!(!text.contains("said") && tool[0]["schema"]["properties"]["description"]["type"] == "string");
    for (wrong, why) in [("[", "EOF"), ("{}", "neither")] {
        let error = mcp_definitions(&[("2025-11-25", wrong)]).unwrap_err().to_string();
        assert!(error.contains("2025-11-25") && error.contains(why), "{error}");
    }
}
