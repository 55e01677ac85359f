//! The register of all blocks: for programs as JSON, and the same as RDF.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::blocks::BlockFile;
use crate::blocks::block::{Block, text};
use crate::blocks::json::pretty;

/// Where the blocks are, as far as their names go: nobody need be able to fetch it.
const HOME: &str = "urn:sabir:block:";

const PREFIXES: [(&str, &str); 6] = [
    ("bblocks", "https://www.opengis.net/def/bblocks/"),
    ("dcat", "http://www.w3.org/ns/dcat#"),
    ("dct", "http://purl.org/dc/terms/"),
    ("rdfs", "http://www.w3.org/2000/01/rdf-schema#"),
    ("skos", "http://www.w3.org/2004/02/skos/core#"),
    ("xsd", "http://www.w3.org/2001/XMLSchema#"),
];

/// What is said of a block.
enum Object {
    Term(&'static str),
    Iri(String),
    Text(String),
    Typed(String, &'static str),
}

type Facts = Vec<(&'static str, Object)>;

pub(crate) fn files(blocks: &[Block], base_url: Option<&str>) -> Vec<BlockFile> {
    let base = base_url.map(|url| format!("{}/", url.trim_end_matches('/')));
    let entries: Vec<_> =
        blocks.iter().map(|block| entry(block, base.as_deref().unwrap_or_default())).collect();
    let mut register = json!({ "name": NAME, "abstract": ABSTRACT, "bblocks": entries });
    if let Some(base) = &base {
        register["baseURL"] = json!(base);
    }
    let home = if base.is_some() { "" } else { HOME };
    let facts: Vec<_> = entries.iter().map(|entry| facts(entry, home)).collect();
    // Else the tool would take the prefix of its authors, and look for their register.
    let config = format!(
        "identifier-prefix: sabir.\nimports: []\nname: {}\nabstract: {}\n",
        json!(NAME),
        json!(ABSTRACT),
    );
    vec![
        BlockFile { path: "bblocks-config.yaml".to_owned(), text: config },
        BlockFile { path: "register.json".to_owned(), text: pretty(&register) },
        BlockFile { path: "bblocks.jsonld".to_owned(), text: linked(&facts) },
        BlockFile { path: "bblocks.ttl".to_owned(), text: turtle(&facts) },
    ]
}

const NAME: &str = "Sabir: building blocks for JSON-RPC";
const ABSTRACT: &str =
    "JSON-RPC 2.0 and protocols on it: schemas, contexts, ontologies, shapes and examples.";

/// The registration of a block, with where its files are.
fn entry(block: &Block, base: &str) -> Map<String, Value> {
    let mut entry = block.registered();
    let identifier = text(&entry, "itemIdentifier").to_owned();
    let at = |file: &str| Value::from(format!("{base}{}/{file}", block.name));
    let mut add = |name: &str, value: Value| {
        entry.insert(name.to_owned(), value);
    };
    // Whoever imports the register takes the one that is YAML: all JSON is.
    let schema = at(&block.schemas[0].0);
    add("schema", json!({"application/json": schema, "application/yaml": schema}));
    if block.schemas.len() > 1 {
        let all: Map<_, _> = block
            .schemas
            .iter()
            .skip(1)
            .map(|(file, _)| {
                (file.trim_start_matches("schema-").trim_end_matches(".json").to_owned(), at(file))
            })
            .filter(|(revision, _)| revision != "envelope")
            .collect();
        add("schemaByRevision", all.into());
    }
    add("ldContext", at("context.jsonld"));
    add("ontology", at("ontology.ttl"));
    // By the block that they come from: what holds for JSON-RPC holds for what stands on it.
    let has_own = block.shapes.is_some() && block.name != "json-rpc";
    let shapes = |file: &str| {
        let mut shapes =
            Map::from_iter([("sabir.json-rpc".to_owned(), json!([format!("{base}json-rpc/{file}")]))]);
        if has_own {
            shapes.insert(identifier.clone(), json!([at(file)]));
        }
        shapes.into()
    };
    add("shaclShapes", shapes("shapes.ttl"));
    // For what `sabir graph` makes of a session; a message that stands alone need not conform.
    add("sessionShapes", shapes("session-shapes.ttl"));
    let published = match block.name {
        "json-rpc" => Some("ogc/context.jsonld"),
        "mcp" => Some("ogc/mcp-context.jsonld"),
        _ => None,
    };
    if let Some(context) = published {
        // By name, so that they are in the same order in maps that keep theirs and in those that do not.
        let (alignment, context) = (format!("{base}ogc/alignment.ttl"), format!("{base}{context}"));
        add("ogc", json!({"alignment": alignment, "ldContext": context}));
    }
    add("semanticUplift", at("semantic-uplift.yaml"));
    add("documentation", json!({"markdown": {"mediatype": "text/markdown", "url": at("description.md")}}));
    add("testOutputs", at("results/_report.json"));
    add("validationPassed", true.into());
    entry
}

/// `home` is what the paths of files follow.
fn facts(entry: &Map<String, Value>, home: &str) -> (String, Facts) {
    let said = |name: &str| text(entry, name).to_owned();
    let class = if text(entry, "itemClass") == "model" { "bblocks:Model" } else { "bblocks:Schema" };
    let named = |name: &Value| Object::Iri([HOME, name.as_str().unwrap_or_default()].concat());
    let home = |path: &Value| Object::Iri([home, path.as_str().unwrap_or_default()].concat());
    let mut facts = vec![
        ("a", Object::Term("skos:Concept")),
        ("a", Object::Term("dcat:Dataset")),
        ("a", Object::Term(class)),
        ("skos:inScheme", Object::Iri(HOME.to_owned())),
        ("rdfs:label", Object::Text(said("name"))),
        ("dct:title", Object::Text(said("title"))),
        ("dct:abstract", Object::Text(said("abstract"))),
        ("dct:hasVersion", Object::Text(said("version"))),
        ("dct:created", Object::Typed(said("dateTimeAddition"), "xsd:dateTime")),
        ("dct:modified", Object::Typed(said("dateOfLastChange"), "xsd:date")),
        ("bblocks:status", Object::Iri(format!("http://www.opengis.net/def/status/{}", said("status")))),
        ("bblocks:hasSchema", home(&entry["schema"]["application/json"])),
        ("bblocks:hasJsonLdContext", home(&entry["ldContext"])),
        ("bblocks:hasOntology", home(&entry["ontology"])),
    ];
    let listed = |name: &str| entry[name].as_array().cloned().unwrap_or_default();
    let shapes = |name: &str| {
        let by_block = entry[name].as_object().into_iter().flatten();
        by_block.flat_map(|(_, paths)| paths.as_array()).flatten().map(home).collect::<Vec<_>>()
    };
    facts.extend(shapes("shaclShapes").into_iter().map(|file| ("bblocks:hasShaclShapes", file)));
    let ogc = entry.get("ogc").and_then(Value::as_object).into_iter().flatten().map(|(_, path)| home(path));
    facts.extend(shapes("sessionShapes").into_iter().chain(ogc).map(|file| ("dct:relation", file)));
    facts.extend(listed("dependsOn").iter().map(|other| ("bblocks:dependsOn", named(other))));
    let link = |source: &Value| Object::Iri(source["link"].as_str().unwrap_or_default().to_owned());
    facts.extend(listed("sources").iter().map(|source| ("dct:source", link(source))));
    ([HOME, text(entry, "itemIdentifier")].concat(), facts)
}

fn linked(blocks: &[(String, Facts)]) -> String {
    let node = |(name, facts): &(String, Facts)| {
        let mut node = Map::from_iter([("@id".to_owned(), json!(name))]);
        for (property, object) in facts {
            let (key, value) = match object {
                Object::Term(class) => ("@type", json!(class)),
                Object::Iri(iri) => (*property, json!({"@id": iri})),
                Object::Text(text) => (*property, json!(text)),
                Object::Typed(text, datatype) => (*property, json!({"@value": text, "@type": datatype})),
            };
            match node.entry(key).or_insert_with(|| json!([])) {
                Value::Array(values) => values.push(value),
                other => *other = value,
            }
        }
        Value::from(node)
    };
    let context: Map<_, _> = PREFIXES.iter().map(|(short, iri)| ((*short).to_owned(), json!(iri))).collect();
    pretty(&json!({"@context": context, "@graph": blocks.iter().map(node).collect::<Vec<_>>()}))
}

fn turtle(blocks: &[(String, Facts)]) -> String {
    let mut out = String::new();
    for (short, iri) in PREFIXES {
        let _ = writeln!(out, "@prefix {short}: <{iri}> .");
    }
    for (name, facts) in blocks {
        let _ = write!(out, "\n<{name}>");
        for (i, (property, object)) in facts.iter().enumerate() {
            let _ = write!(out, "{} {property} ", if i == 0 { "" } else { " ;\n " });
            let _ = match object {
                Object::Term(term) => write!(out, "{term}"),
                Object::Iri(iri) => write!(out, "<{iri}>"),
                Object::Text(text) => write!(out, "{}", Value::from(text.as_str())),
                Object::Typed(text, datatype) => write!(out, "\"{text}\"^^{datatype}"),
            };
        }
        out.push_str(" .\n");
    }
    out
}
