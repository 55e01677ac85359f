//! What others rely on in the building blocks: the keys and paths that tools for building blocks read, classes that belong
//! together, and errors by protocol.

#![allow(clippy::unwrap_used)]

mod built;

use std::collections::{BTreeMap, BTreeSet};

use built::{built, canonical, processed, turtle};
use sabir_model::blocks::build;
use serde_json::Value;

/// What OGC's own tool, bblocks-postprocess, reads of a folder of sources: it finds every file, and every anchor in the one
/// schema of a block that it knows.
#[test]
fn the_folder_is_what_tools_for_building_blocks_read() {
    let files = built();
    assert!(files["bblocks-config.yaml"].contains("identifier-prefix: sabir.\nimports: []\n"));
    let register: Value = serde_json::from_str(&files["register.json"]).unwrap();
    for block in ["json-rpc", "mcp", "lsp", "a2a"] {
        let parsed = |name: &str| -> Value {
            let path = format!("{block}/{name}");
            serde_json::from_str(&files[&path]).unwrap_or_else(|error| panic!("{path}: {error}"))
        };
        let registered = parsed("bblock.json");
        assert_eq!(registered["itemIdentifier"], format!("sabir.{block}"), "the prefix, and the folder");
        let own = files.contains_key(&format!("{block}/shapes.ttl"));
        let shapes = registered["shaclShapes"].as_array().map(Vec::as_slice).unwrap_or_default();
        assert_eq!(shapes.iter().any(|name| name == "shapes.ttl"), own, "{block} names its shapes");
        let mut entries = register["bblocks"].as_array().unwrap().iter();
        let entry = entries.find(|entry| entry["itemIdentifier"] == registered["itemIdentifier"]).unwrap();
        assert_eq!(entry["schema"]["application/yaml"], entry["schema"]["application/json"]);
        // Examples name anchors of that schema, and nothing beside it.
        let schema = &files[&format!("{block}/schema.json")];
        let examples = &files[&format!("{block}/examples.yaml")];
        let mut count = 0;
        for line in examples.lines() {
            if let Some(anchor) = line.trim().strip_prefix("schema-ref: ") {
                let anchor = anchor.trim_matches('"').strip_prefix('#').unwrap_or_else(|| panic!("{line}"));
                assert!(schema.contains(&format!("\"$anchor\": \"{anchor}\"")), "{block}: {anchor}");
                count += 1;
            }
        }
        assert!(count >= 8, "{block}: only {count} examples");
        // What is in `tests` is checked by that schema, or by the shapes: all of it must fail.
        let tests: Vec<_> =
            files.keys().filter(|path| path.starts_with(&format!("{block}/tests/"))).collect();
        assert!(tests.len() >= 3, "{tests:?}");
        for path in tests {
            assert!(path.ends_with("-fail.json") || path.ends_with("-fail.ttl"), "{path}");
        }
    }
}

/// The contexts in the list of examples are parts of the block's: they give the same facts.
#[test]
fn examples_bring_the_context_that_they_need() {
    let files = built();
    let mut count = 0;
    for block in ["json-rpc", "mcp", "lsp", "a2a"] {
        let examples = &files[&format!("{block}/examples.yaml")];
        for entry in examples.split("      - language: jsonld\n        code: |\n").skip(1) {
            let (document, turtle_after) = entry.split_once("      - language: turtle\n").unwrap();
            let facts =
                turtle_after.split("  - title: ").next().unwrap().replacen("        code: |\n", "", 1);
            let facts: String = facts.lines().map(|line| format!("{}\n", line.trim_start())).collect();
            let facts = turtle(&facts).into_iter().filter(|fact| !fact.predicate.as_str().ends_with("#type"));
            let value: Value = serde_json::from_str(document).unwrap();
            assert!(value["@context"].is_object(), "{document}");
            assert_eq!(processed(document, ""), canonical(facts), "{document}");
            count += 1;
        }
    }
    assert!(count > 90, "only {count} examples");
}

/// Who imports a register takes its names as they are: they must be whole.
#[test]
fn with_an_address_a_register_names_files_by_url() {
    let home = "https://example.org/blocks/";
    let files: BTreeMap<_, _> = build(Some("https://example.org/blocks"))
        .unwrap()
        .into_iter()
        .map(|file| (file.path, file.text))
        .collect();
    let register: Value = serde_json::from_str(&files["register.json"]).unwrap();
    assert_eq!(register["baseURL"], home);
    let mut count = 0;
    let mut check = |text: &str| {
        if text.contains('/') && !text.contains(' ') && text.ends_with(|c: char| c.is_ascii_alphabetic()) {
            if let Some(path) = text.strip_prefix(home) {
                assert!(files.contains_key(path), "{text}");
                count += 1;
            } else {
                assert!(text.starts_with("https://") || text.starts_with("text/"), "{text}");
            }
        }
    };
    fn texts(value: &Value, check: &mut dyn FnMut(&str)) {
        match value {
            Value::String(text) => check(text),
            Value::Array(items) => items.iter().for_each(|item| texts(item, check)),
            Value::Object(members) => members.values().for_each(|member| texts(member, check)),
            _ => {}
        }
    }
    texts(&register, &mut check);
    assert!(count > 40, "only {count} files");
    for path in ["bblocks.ttl", "bblocks.jsonld"] {
        assert!(files[path].contains("https://example.org/blocks/mcp/schema.json"), "{path}");
    }
    let rest = build(None).unwrap().into_iter().filter(|file| files[&file.path] != file.text).count();
    assert_eq!(rest, 3, "nothing else has the address");
}

/// Each class of MCP has one above it, a comment of its own, and a request leads to its params and its result.
#[test]
fn classes_of_mcp_belong_together() {
    let files = built();
    let facts = turtle(&files["mcp/ontology.ttl"]);
    let said = |property: &str| -> BTreeMap<String, BTreeSet<String>> {
        let mut said = BTreeMap::<String, BTreeSet<String>>::new();
        for fact in facts.iter().filter(|fact| fact.predicate.as_str().ends_with(property)) {
            said.entry(fact.subject.to_string()).or_default().insert(fact.object.to_string());
        }
        said
    };
    let (types, above) = (said("#type"), said("#subClassOf"));
    let (params, results, comments) = (said("#paramsClass"), said("#resultClass"), said("#comment"));
    let mut alone = Vec::new();
    let mut count = 0;
    for (class, _) in types.iter().filter(|(_, of)| of.iter().any(|of| of.ends_with("owl#Class>"))) {
        let local = class.rsplit(['#', '>']).nth(1).unwrap_or_default();
        let named = above.get(class).into_iter().flatten().any(|above| above.starts_with('<'));
        if class.starts_with('<') && !named {
            alone.push(local);
        }
        if local.ends_with("Result") && local != "Result" {
            let mut reached: BTreeSet<&String> = BTreeSet::from([class]);
            let mut waiting = vec![class];
            while let Some(class) = waiting.pop() {
                waiting.extend(above.get(class).into_iter().flatten().filter(|&above| reached.insert(above)));
            }
            assert!(reached.iter().any(|class| class.ends_with("/ontology#Result>")), "{class}");
            count += 1;
        }
        if local.ends_with("Request") && results.contains_key(class) {
            let has_params = params.contains_key(class);
            assert!(
                has_params || ["PingRequest", "ListRootsRequest"].contains(&local) || local.contains("Task"),
                "{class}"
            );
        }
    }
    assert!(count > 20, "only {count} results");
    assert_eq!(alone, ["Operation", "Outcome", "Part"]);
    // A comment says more than the name of the member, or the members of the class.
    let bare = ["The member", "The members", "Has `", "In revision", "`"];
    for (term, comments) in &comments {
        for comment in comments {
            let comment = comment.trim_start_matches('"');
            assert!(!bare.iter().any(|start| comment.starts_with(start)), "{term}: {comment}");
        }
    }
}

/// Each code that a protocol gives a meaning to has a class, and codes of servers have theirs.
#[test]
fn errors_have_classes_by_the_codes_of_their_protocol() {
    let files = built();
    for (block, codes) in [
        ("json-rpc", vec![-32700, -32600, -32601, -32602, -32603]),
        ("mcp", vec![-32002, -32042, -32020, -32021, -32022, -32601]),
        ("lsp", vec![-32002, -32001, -32800, -32801, -32802, -32803, -32601]),
        ("a2a", (-32009..=-32001).chain([-32601]).collect()),
    ] {
        let types = &files[&format!("{block}/types.ru")];
        assert!(types.contains("jrpc:ServerError") && types.contains("-32099"), "{block}");
        for code in codes {
            assert!(types.contains(&format!("({code} <")), "{block}: {code}");
        }
    }
    let found = |path: &str, fact: &str| files[path].contains(fact);
    let not_found = "mcpx:ResourceNotFound ;\n    a jrpc:ServerError";
    assert!(files.iter().any(|(path, _)| path.starts_with("mcp/results/") && found(path, not_found)));
}

/// Where the definitions are from, for those who make them anew.
#[test]
fn the_sources_of_mcp_are_named() {
    let sources: Value = serde_json::from_str(include_str!("../files/mcp/sources.json")).unwrap();
    let definitions: Value = serde_json::from_str(include_str!("../files/mcp/definitions.json")).unwrap();
    let from = &sources["definitions.json"];
    let hex = |value: &Value, length: usize| {
        value.as_str().is_some_and(|text| text.len() == length && text.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    assert!(hex(&from["commit"], 40) && hex(&sources["published.json"]["commit"], 40));
    let sums = from["sha256"].as_object().unwrap();
    let revisions: Vec<_> = definitions["revisions"].as_array().unwrap().iter().collect();
    assert_eq!(sums.len(), revisions.len());
    for revision in revisions {
        assert!(hex(&sums[revision.as_str().unwrap()], 64), "{revision}");
    }
}
