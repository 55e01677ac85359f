//! The building blocks: up to date in the repository, complete, and the same to a processor that others wrote.
//!
//! `UPDATE=1 cargo test` writes `building-blocks/` anew.

#![allow(clippy::unwrap_used)]

mod built;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use built::{built, canonical, processed, turtle};
use oxrdf::Term;
use sabir_model::blocks::{DocsFormat, docs, mcp_definitions};
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../building-blocks")
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

#[test]
fn every_example_has_the_triples_that_a_processor_finds() {
    let files = built();
    let mut checked = 0;
    for (path, document) in
        files.iter().filter(|(path, _)| path.contains("/results/") && path.ends_with(".jsonld"))
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
        files.iter().filter(|(path, _)| path.starts_with("json-rpc/results/") && path.ends_with(".jsonld"))
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

/// What is in the files is in the documentation: every class, property and individual, every shape, example and query.
#[test]
fn the_documentation_has_every_term_and_example() {
    let files = built();
    let mut words: BTreeSet<String> = sabir_model::files::QUERIES.iter().map(|q| q.name.to_owned()).collect();
    let short = [
        ("http://json-rpc.org/ontology#", "jrpc:"),
        ("http://modelcontextprotocol.io/ontology#", "mcp:"),
        ("urn:sabir:ontology#", "rpcx:"),
        ("urn:sabir:ontology:mcp#", "mcpx:"),
        ("urn:sabir:ontology:lsp#", "lspx:"),
        ("urn:sabir:ontology:a2a#", "a2ax:"),
        ("urn:sabir:shapes#", ""),
        ("urn:sabir:shapes:mcp#", ""),
    ];
    for (path, text) in
        files.iter().filter(|(path, _)| path.ends_with("ontology.ttl") || path.ends_with("shapes.ttl"))
    {
        for triple in turtle(text) {
            let Term::NamedNode(subject) = Term::from(triple.subject) else { continue };
            let name = short
                .iter()
                .find_map(|(iri, prefix)| Some([prefix, subject.as_str().strip_prefix(iri)?].concat()));
            match (name, &triple.object) {
                // A shape that others only refer to has no message of its own.
                (Some(name), _) if !path.ends_with("shapes.ttl") => drop(words.insert(name)),
                (Some(name), Term::BlankNode(_)) if triple.predicate.as_str().ends_with("#property") => {
                    words.extend((name != "Error").then_some(name));
                }
                _ => {}
            }
        }
    }
    for (_, text) in files.iter().filter(|(path, _)| path.ends_with("_report.json")) {
        let report: Value = serde_json::from_str(text).unwrap();
        let items = report["items"].as_array().unwrap().iter();
        let messages = items.filter(|item| item["source"]["filename"].as_str().unwrap().ends_with(".json"));
        words.extend(messages.map(|item| item["source"]["title"].as_str().unwrap().to_owned()));
    }
    assert!(words.len() > 450, "only {} words", words.len());
    for (format, start) in [(DocsFormat::Html, "<!doctype html>"), (DocsFormat::Markdown, "# ")] {
        let text = docs(format).replace("&#39;", "'");
        assert!(text.starts_with(start));
        let missing: Vec<_> = words.iter().filter(|word| !text.contains(word.as_str())).collect();
        assert!(missing.is_empty(), "{format:?} does not say {missing:?}");
        let diagrams: &[&str] = match format {
            DocsFormat::Html => &[
                "aria-label=\"classes\"",
                "aria-label=\"properties between classes\"",
                "tools/call forecast",
            ],
            _ => &[
                "  mcp_Result <|-- mcpx_PaginatedResult",
                "  mcp_CallToolRequest --> mcpx_CallToolRequestParams : rpcx_params",
                "  jrpc_ErrorResponse --> jrpc_Error : jrpc_hasError",
                "  client->>server: tools/call forecast",
                "  server-->>client: failed: tools/call",
            ],
        };
        for part in diagrams {
            assert!(text.contains(part), "{format:?} has no {part}");
        }
        assert!(!text.contains("<script"));
    }
}

/// Each schema says what its members mean, and has the names of classes that go with them.
#[test]
fn every_schema_is_annotated() {
    let files = built();
    let mut count = 0;
    for (path, text) in files.iter().filter(|(path, _)| path.contains("/schema") && path.ends_with(".json")) {
        let schema: Value = serde_json::from_str(text).unwrap();
        for word in ["x-jsonld-base", "x-jsonld-prefixes"] {
            assert!(!schema[word].is_null(), "{path} has no {word}");
        }
        assert!(text.contains("\"x-jsonld-id\""), "{path} says of no member what it means");
        // The envelope has the classes of JSON-RPC, and the schema of all revisions those of each of them.
        if !path.ends_with("mcp/schema.json") && !path.ends_with("envelope.json") {
            let terms =
                schema["x-jsonld-extra-terms"].as_object().unwrap_or_else(|| panic!("{path} has no terms"));
            let block = path.split('/').next().unwrap();
            let context: Value = serde_json::from_str(&files[&format!("{block}/context.jsonld")]).unwrap();
            for (name, class) in terms {
                assert_eq!(&context["@context"][name], class, "{path}: {name}");
                count += 1;
            }
        }
    }
    assert!(count > 400, "only {count} terms");
    let mcp: Value = serde_json::from_str(&files["mcp/context.jsonld"]).unwrap();
    assert_eq!(mcp["@context"]["CallToolResult"], "http://modelcontextprotocol.io/ontology#CallToolResult");
    assert_eq!(mcp["@context"]["ErrorResponse"], "http://json-rpc.org/ontology#ErrorResponse");
}

/// Valid examples of a block, each with its part of the schema.
fn examples(files: &BTreeMap<String, String>, block: &str) -> Vec<(String, Value)> {
    let report: Value = serde_json::from_str(&files[&format!("{block}/results/_report.json")]).unwrap();
    let items = report["items"].as_array().unwrap().iter();
    let valid = items.filter(|item| item["source"]["requireFail"] == false);
    let example = |item: &Value| {
        let file = item["source"]["filename"].as_str().unwrap();
        let schema = item["sections"][0]["entries"][0]["filename"].as_str().unwrap();
        let message = serde_json::from_str(&files[&format!("{block}/results/{file}")]).unwrap();
        (schema.to_owned(), message)
    };
    valid.map(example).collect()
}

#[test]
fn every_class_of_a_small_block_occurs_in_an_example() {
    let files = built();
    for (block, namespace) in [("lsp", "urn:sabir:ontology:lsp#"), ("a2a", "urn:sabir:ontology:a2a#")] {
        let of_files = |end: &str| -> String {
            let found = files
                .iter()
                .filter(|(path, _)| path.starts_with(&format!("{block}/results/")) && path.ends_with(end));
            found.map(|(_, text)| text.as_str()).collect()
        };
        let facts = of_files(".ttl");
        let mut count = 0;
        for triple in turtle(&files[&format!("{block}/ontology.ttl")]) {
            let Term::NamedNode(term) = Term::from(triple.subject) else { continue };
            let Some(local) = term.as_str().strip_prefix(namespace) else { continue };
            if triple.predicate.as_str().ends_with("#type") {
                let name = format!("{block}x:{local}");
                assert!(facts.contains(&format!("{name} ")), "{name} is in no example");
                count += 1;
            }
        }
        assert!(count > 5, "only {count} terms of {block}");
    }
    assert_ne!(files["lsp/context.jsonld"], files["a2a/context.jsonld"]);
}

#[test]
fn every_method_and_result_of_mcp_has_an_example() {
    let files = built();
    let examples = examples(&files, "mcp");
    let messages = || {
        examples
            .iter()
            .flat_map(|(_, message)| message.as_array().map_or(vec![message], |all| all.iter().collect()))
    };
    let methods: BTreeSet<_> = messages().filter_map(|message| message["method"].as_str()).collect();
    let ontology = &files["mcp/ontology.ttl"];
    let all: Vec<_> = ontology.split("owl:onProperty jrpc:hasMethod ; owl:hasValue \"").skip(1).collect();
    assert!(all.len() > 30, "only {} methods", all.len());
    for rest in all {
        let method = rest.split('"').next().unwrap();
        assert!(methods.contains(method), "{method} has no example");
    }
    let parts: BTreeSet<_> = examples.iter().filter_map(|(schema, _)| schema.split('#').nth(1)).collect();
    for rest in ontology.split("mcpx:resultClass ").skip(1).filter(|rest| !rest.starts_with("a ")) {
        let class = rest.split([' ', ':']).nth(1).unwrap();
        assert!(parts.contains(format!("{class}Response").as_str()), "{class} has no example");
    }
    let has = |place: &str| messages().any(|message| message.pointer(place).is_some());
    assert!(has("/result/task") && has("/result/inputRequests") && has("/error") && has("/result/isError"));
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        assert!(examples.iter().any(|(schema, _)| schema.contains(revision)), "{revision} has no example");
    }
}

/// Reports say what was checked: for each valid example its schema, the facts in both spellings, and shapes.
#[test]
fn reports_have_a_section_for_each_check() {
    let files = built();
    for (path, text) in files.iter().filter(|(path, _)| path.ends_with("_report.json")) {
        let report: Value = serde_json::from_str(text).unwrap();
        for item in report["items"].as_array().unwrap() {
            let names: Vec<_> =
                item["sections"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
            let file = item["source"]["filename"].as_str().unwrap();
            let want: &[&str] = match (item["source"]["requireFail"] == true, file.ends_with(".ttl")) {
                (false, _) => &["JSON_SCHEMA", "JSON_LD", "TURTLE", "SHACL"],
                (true, false) => &["JSON_SCHEMA"],
                (true, true) => &["TURTLE", "SHACL"],
            };
            assert_eq!(names, want, "{path}: {file}");
            for section in item["sections"].as_array().unwrap() {
                let by_build = section["name"] == "JSON_SCHEMA"
                    || (section["name"] == "TURTLE" && file.ends_with(".ttl"));
                for entry in section["entries"].as_array().unwrap() {
                    let by = entry["checkedBy"].as_str().unwrap();
                    assert_eq!(by == "sabir model build", by_build, "{path}: {file}: {by}");
                }
            }
            if file.ends_with(".ttl") {
                assert!(!turtle(&files[&path.replace("_report.json", file)]).is_empty());
            } else if item["source"]["requireFail"] == false {
                let ttl = file.replace(".json", ".ttl");
                let facts = turtle(&files[&path.replace("_report.json", &ttl)]).len();
                let said = item["sections"][2]["entries"][0]["message"].as_str().unwrap();
                assert!(said.starts_with(&format!("{facts} triples")), "{path}: {ttl}: {said}");
            }
        }
    }
}

/// With the published names a message gives the same facts, but for those names.
#[test]
fn the_published_names_give_the_same_facts() {
    let files = built();
    let mut count = 0;
    for (block, theirs) in [("json-rpc", "ogc/context.jsonld"), ("mcp", "ogc/mcp-context.jsonld")] {
        for (path, document) in files
            .iter()
            .filter(|(path, _)| path.starts_with(&format!("{block}/results/")) && path.ends_with(".jsonld"))
        {
            let renamed = |facts: BTreeSet<String>| -> BTreeSet<String> {
                let names = [
                    ("<http://json-rpc.org/ontology#hasVersion>", "<http://json-rpc.org/ontology#version>"),
                    ("<urn:sabir:ontology#id>", "<http://json-rpc.org/ontology#hasId>"),
                    ("<urn:sabir:ontology#params>", "<http://json-rpc.org/ontology#hasParameters>"),
                    ("<urn:sabir:ontology#result>", "<http://json-rpc.org/ontology#hasResult>"),
                ];
                // Names of nodes follow from what is said of them: without them the facts are comparable.
                let plain = |fact: &String| {
                    let words = fact.split(' ').map(|word| if word.starts_with("_:") { "_:" } else { word });
                    let fact = words.collect::<Vec<_>>().join(" ");
                    names.iter().fold(fact, |fact, (ours, published)| fact.replace(ours, published))
                };
                facts.iter().map(plain).collect()
            };
            let ours = renamed(processed(document, &files[&format!("{block}/context.jsonld")]));
            let came = processed(document, &files[theirs]);
            assert!(came.iter().any(|fact| fact.contains("#version>")), "{path}");
            assert_eq!(renamed(came), ours, "{path}");
            count += 1;
        }
    }
    assert!(count > 60, "only {count} examples");
}

/// What is published is defined by us or aligned with what is.
#[test]
fn every_published_term_has_a_meaning_here() {
    let files = built();
    let published = include_str!("../files/mcp/published.json");
    let published: Value = serde_json::from_str(published).unwrap();
    let mut known = BTreeSet::new();
    for path in ["mcp/ontology.ttl", "json-rpc/ontology.ttl", "ogc/alignment.ttl"] {
        known.extend(turtle(&files[path]).into_iter().map(|triple| triple.subject.to_string()));
    }
    let listed = ["classes", "properties"].iter().flat_map(|kind| published[kind].as_array().unwrap());
    let members = published["members"].as_object().unwrap().values();
    let names: BTreeSet<_> = listed.chain(members).map(|name| name.as_str().unwrap()).collect();
    assert!(names.len() > 200, "only {} names", names.len());
    let unknown: Vec<_> = names
        .into_iter()
        .filter(|name| !known.contains(&format!("<http://modelcontextprotocol.io/ontology#{name}>")))
        .collect();
    assert!(unknown.is_empty(), "neither defined nor aligned: {unknown:?}");
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
