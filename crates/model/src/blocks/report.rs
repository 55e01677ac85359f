//! Reports of what was checked of the examples of a block: of each by which file, what that said, and who checked it.
//!
//! Schemas and the syntax of Turtle are checked here. That facts are as a processor of JSON-LD finds them, and that shapes
//! find what is said here, is for the tests, which run programs that others wrote: the report names them.

use serde_json::{Map, Value, json};

use crate::blocks::block::{Block, Example, ShapeExample, text};

const BUILD: &str = "sabir model build";
/// The tests that read the facts of JSON-LD as a processor does, and compare.
const PROCESSORS: &str = "crates/model/tests/blocks.rs with oxjsonld, interop/test_blocks.py with pyld and rdflib, interop/test_blocks.mjs with jsonld";
const PYSHACL: &str = "interop/test_blocks.py with pyshacl";
const ABOUT: &str = "The build checks schemas and the syntax of Turtle, and makes no report if one of these fails. What another `checkedBy` stands at, it expects: the tests that are named there check each of these entries.";

/// Of an example that has been compared with its schema, and made into so many facts.
pub(crate) fn of_message(block: &Block, example: &Example, name: &str, verdict: &str, facts: usize) -> Value {
    let entry = |file: String, message: String| json!({"filename": file, "isError": false, "message": message, "checkedBy": PROCESSORS});
    let section = |name: &str, title: &str, entries: Vec<Value>| json!({"name": name, "title": title, "entries": entries});
    let mut sections = vec![section(
        "JSON_SCHEMA",
        "JSON Schema",
        vec![json!({"filename": example.schema, "isError": false, "message": verdict, "checkedBy": BUILD})],
    )];
    if !example.fails {
        let uplifted = format!("context.jsonld and types.ru make {facts} triples of it");
        sections.push(section("JSON_LD", "JSON-LD", vec![entry(format!("{name}.jsonld"), uplifted)]));
        let same = format!("{facts} triples, the same as of the JSON-LD");
        sections.push(section("TURTLE", "Turtle", vec![entry(format!("{name}.ttl"), same)]));
        let shapes = shapes_of(block).into_iter().map(|file| {
            let found = if file.starts_with("../") || block.name == "json-rpc" {
                example.finds.as_slice()
            } else {
                &[]
            };
            let message = match found {
                [] => "Conforms".to_owned(),
                found => format!("Conforms, with a warning: {}", found.join(", ")),
            };
            json!({"filename": file, "isError": false, "message": message, "finds": found, "checkedBy": PYSHACL})
        });
        sections.push(section("SHACL", "SHACL", shapes.collect()));
    }
    json!({
        "source": {
            "type": if example.fails { "TEST_RESOURCE" } else { "EXAMPLE" },
            "filename": format!("{name}.json"),
            "requireFail": example.fails,
            "title": example.title,
        },
        "result": true,
        "sections": sections,
    })
}

/// The shapes that hold for messages of a block, from its folder.
fn shapes_of(block: &Block) -> Vec<&'static str> {
    match (block.name, block.shapes) {
        ("json-rpc", _) => vec!["shapes.ttl"],
        (_, Some(_)) => vec!["../json-rpc/shapes.ttl", "shapes.ttl"],
        _ => vec!["../json-rpc/shapes.ttl"],
    }
}

/// Of facts in which shapes must find something.
pub(crate) fn of_shapes(example: &ShapeExample, file: &str, facts: usize) -> Value {
    json!({
        "source": {"type": "TEST_RESOURCE", "filename": file, "requireFail": true, "title": example.title},
        "result": true,
        "sections": [
            {"name": "TURTLE", "title": "Turtle", "entries": [
                {"filename": file, "isError": false, "message": format!("{facts} triples"), "checkedBy": BUILD},
            ]},
            {"name": "SHACL", "title": "SHACL", "entries": [{
                "filename": example.shapes,
                "isError": false,
                "message": format!("Does not conform, as required: {}", example.finds.join(", ")),
                "finds": example.finds,
                "checkedBy": PYSHACL,
            }]},
        ],
    })
}

/// Of all examples of a block.
pub(crate) fn of_block(registered: &Map<String, Value>, items: &[Value]) -> Value {
    json!({
        "title": format!("Validation report for {}", text(registered, "itemIdentifier")),
        "bblockId": text(registered, "itemIdentifier"),
        "bblockName": text(registered, "name"),
        "description": ABOUT,
        "result": true,
        "items": items,
    })
}
