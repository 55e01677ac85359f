//! The formal model as building blocks that others can register: JSON-RPC, and MCP, LSP and A2A on it by reference.
//!
//! Each block has a registration, a description, schemas whose members say what they mean (`x-jsonld-id`), the context that
//! follows from them, an ontology, and examples in JSON, JSON-LD and Turtle that are checked against their part of the
//! schema. [`build`] makes all of it from `files/`; what it makes is in `building-blocks/` of the repository.
//!
//! ```
//! let files = sabir_model::blocks::build(None)?;
//! assert!(files.iter().any(|file| file.path == "mcp/schema-2025-11-25.json"));
//! # Ok::<(), sabir_model::blocks::BadExample>(())
//! ```

mod annotate;
mod block;
mod classes;
mod definitions;
mod docs;
mod inline;
mod json;
mod mcp;
mod mcp_parts;
mod mcp_terms;
mod ogc;
mod published;
mod register;
mod report;
mod uplift;

use std::fmt::Write;

use serde_json::Value;

use crate::files;
use annotate::{Documents, Prefixes};
pub use block::BadExample;
use block::Block;
use classes::Classes;
use definitions::Definitions;
pub use definitions::{NotMcp, mcp_definitions};
pub use docs::{DocsFormat, docs};

/// A file of the blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockFile {
    /// Where it goes, with `/` between folders.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// All files of all blocks, and their register. With the address that the folder will have, the register names every file
/// by its URL: a register that others import must.
pub fn build(base_url: Option<&str>) -> Result<Vec<BlockFile>, BadExample> {
    let Blocks { blocks, documents } = Blocks::new();
    let mut made = register::files(&blocks, base_url);
    for block in &blocks {
        made.extend(block.files(&documents.0)?);
    }
    let mcp = blocks.iter().find(|block| block.name == "mcp").map(|block| &block.context);
    made.extend(ogc::files(mcp.unwrap_or(&Value::Null)));
    made.push(BlockFile { path: "README.md".to_owned(), text: README.to_owned() });
    made.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(made)
}

/// The ontology of MCP, in Turtle.
pub fn mcp_ontology() -> String {
    let Blocks { blocks, .. } = Blocks::new();
    blocks.into_iter().find(|block| block.name == "mcp").map(|block| block.ontology).unwrap_or_default()
}

/// The blocks, and every schema that they refer to.
struct Blocks {
    blocks: Vec<Block>,
    documents: Documents,
}

const JRPC: &str = "http://json-rpc.org/ontology#";
const README: &str = include_str!("../../files/blocks/README.md");
/// SPARQL that adds the classes of JSON-RPC.
const TYPES: &str = include_str!("../../files/types.ru");

macro_rules! source {
    ($name:literal, $file:literal) => {
        include_str!(concat!("../../files/blocks/", $name, "/", $file))
    };
}

impl Blocks {
    fn new() -> Blocks {
        let mut documents = Documents::default();
        let base_classes = Classes::read(files::ONTOLOGY, &[JRPC]);
        documents.add(base_schema(&base_classes));
        let mcp = McpBlock::new(&mut documents, &base_classes);
        let lsp = Small::new(
            &mut documents,
            source!("lsp", "ontology.ttl"),
            "lspx",
            files::LSP_SCHEMA,
            source!("lsp", "context.jsonld"),
        );
        let a2a = Small::new(
            &mut documents,
            source!("a2a", "ontology.ttl"),
            "a2ax",
            files::A2A_SCHEMA,
            source!("a2a", "context.jsonld"),
        );
        let schema = |id: &str| ("schema.json".to_owned(), documents.0[id].clone());
        let blocks = vec![
            Block {
                name: "json-rpc",
                registration: source!("json-rpc", "bblock.json"),
                description: source!("json-rpc", "description.md"),
                examples: source!("json-rpc", "examples.jsonl"),
                context: documents.context(&[mcp::BASE]),
                schemas: vec![schema(mcp::BASE)],
                ontology: files::ONTOLOGY.to_owned(),
                shapes: Some(files::SHAPES),
                shape_examples: source!("json-rpc", "shapes.jsonl"),
                classes: base_classes.clone(),
                prefixes: base_prefixes(),
            },
            Block {
                name: "mcp",
                registration: source!("mcp", "bblock.json"),
                description: source!("mcp", "description.md"),
                examples: source!("mcp", "examples.jsonl"),
                context: mcp.context(&documents),
                schemas: mcp.schemas(&documents),
                ontology: mcp.ontology,
                shapes: Some(files::MCP_SHAPES),
                shape_examples: source!("mcp", "shapes.jsonl"),
                classes: mcp.classes.and(&base_classes),
                prefixes: mcp::prefixes(),
            },
            Block {
                name: "lsp",
                registration: source!("lsp", "bblock.json"),
                description: source!("lsp", "description.md"),
                examples: source!("lsp", "examples.jsonl"),
                context: documents.context(&[&lsp.id]),
                schemas: vec![schema(&lsp.id)],
                ontology: source!("lsp", "ontology.ttl").to_owned(),
                shapes: None,
                shape_examples: source!("lsp", "shapes.jsonl"),
                classes: lsp.classes.and(&base_classes),
                prefixes: lsp.prefixes,
            },
            Block {
                name: "a2a",
                registration: source!("a2a", "bblock.json"),
                description: source!("a2a", "description.md"),
                examples: source!("a2a", "examples.jsonl"),
                context: documents.context(&[&a2a.id]),
                schemas: vec![schema(&a2a.id)],
                ontology: source!("a2a", "ontology.ttl").to_owned(),
                shapes: None,
                shape_examples: source!("a2a", "shapes.jsonl"),
                classes: a2a.classes.and(&base_classes),
                prefixes: a2a.prefixes,
            },
        ];
        Blocks { blocks, documents }
    }
}

/// What MCP's block is made of.
struct McpBlock {
    definitions: Definitions,
    ontology: String,
    classes: Classes,
}

impl McpBlock {
    /// Adds the schemas of all revisions to the documents.
    fn new(documents: &mut Documents, base: &Classes) -> McpBlock {
        let (definitions, published) = (Definitions::kept(), mcp::Published::read());
        documents.add(annotated(
            files::MCP_SCHEMA,
            source!("mcp", "envelope-context.jsonld"),
            &mcp::prefixes(),
        ));
        for revision in &definitions.revisions {
            documents.add(mcp::schema(&definitions, &published, revision));
        }
        // What a reference to the block alone leads to.
        let any = mcp::any_revision(&definitions, documents);
        documents.add(any);
        let ontology = mcp_terms::ontology(&definitions, &published, documents, base);
        let classes = Classes::read(&ontology, &[&published.namespace, mcp::OWN]);
        for revision in &definitions.revisions {
            // A name that JSON-RPC has too, such as `InternalError`, keeps its meaning there.
            let is_there =
                |name: &str| definitions.get(name, revision).is_some() && !base.names.contains_key(name);
            let names = classes.names.iter().filter(|(name, _)| is_there(name));
            let names = names.map(|(name, iri)| (name.clone(), iri.clone())).collect();
            if let Some(schema) = documents.0.get_mut(&mcp::revision_id(revision)) {
                annotate::add_extra_terms(schema, &names);
            }
        }
        McpBlock { definitions, ontology, classes }
    }

    fn context(&self, documents: &Documents) -> Value {
        let all: Vec<_> = self.definitions.revisions.iter().map(|of| mcp::revision_id(of)).collect();
        let all: Vec<_> = all.iter().map(String::as_str).collect();
        documents.context(&all)
    }

    /// By their files.
    fn schemas(&self, documents: &Documents) -> Vec<(String, Value)> {
        let schema = |file: String, id: &str| (file, documents.0[id].clone());
        let mut schemas = vec![schema("schema.json".to_owned(), mcp::ANY)];
        schemas.extend(
            self.definitions
                .revisions
                .iter()
                .map(|of| schema(format!("schema-{of}.json"), &mcp::revision_id(of))),
        );
        schemas.push(schema("schema-envelope.json".to_owned(), mcp::ENVELOPE));
        schemas
    }
}

/// A protocol of which there is the envelope only.
struct Small {
    id: String,
    classes: Classes,
    prefixes: Prefixes,
}

impl Small {
    /// Adds its schema to the documents.
    fn new(documents: &mut Documents, ontology: &str, short: &str, schema: &str, context: &str) -> Small {
        let mut prefixes = base_prefixes();
        let context_value = parsed(context);
        let namespace = context_value["@context"][short].as_str().unwrap_or_default().to_owned();
        prefixes.0.push((short.to_owned(), namespace.clone()));
        let classes = Classes::read(ontology, &[&namespace]);
        let mut schema = annotated(schema, context, &prefixes);
        annotate::add_extra_terms(&mut schema, &classes.names);
        let id = schema["$id"].as_str().unwrap_or_default().to_owned();
        documents.add(schema);
        Small { id, classes, prefixes }
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// The classes of errors in an ontology, by their codes.
#[cfg(test)]
pub(crate) fn error_codes(ontology: &str, namespaces: &[&str]) -> Vec<(i64, String)> {
    Classes::read(ontology, namespaces).by_code.into_iter().collect()
}

/// SPARQL that adds the classes of messages and errors.
fn types(classes: &Classes) -> String {
    let mut text = TYPES.trim_end().to_owned();
    if !classes.by_method.is_empty() {
        text.push_str(" ;\nINSERT { ?m a ?class } WHERE {\n  VALUES (?method ?class) {\n");
        for (method, class) in &classes.by_method {
            let _ = writeln!(text, "    (\"{method}\" <{class}>)");
        }
        text.push_str("  }\n  ?m jrpc:hasMethod ?method\n}");
    }
    text.push_str(" ;\nINSERT { ?error a ?class } WHERE {\n  VALUES (?code ?class) {\n");
    for (code, class) in &classes.by_code {
        let _ = writeln!(text, "    ({code} <{class}>)");
    }
    text.push_str("  }\n  ?error jrpc:hasErrorCode ?code\n}\n");
    text
}

fn base_prefixes() -> Prefixes {
    let context: Value = serde_json::from_str(files::CONTEXT).unwrap_or_default();
    let prefix =
        |name: &str| (name.to_owned(), context["@context"][name].as_str().unwrap_or_default().to_owned());
    Prefixes(vec![prefix("jrpc"), prefix("rpcx")])
}

/// JSON-RPC's own schema, annotated by its context.
fn base_schema(classes: &Classes) -> Value {
    let mut schema = annotated(files::SCHEMA, "{}", &base_prefixes());
    annotate::add_extra_terms(&mut schema, &classes.names);
    schema
}

/// A schema, annotated by the context of JSON-RPC and what another one adds to it.
fn annotated(schema: &str, context: &str, prefixes: &Prefixes) -> Value {
    let mut schema = parsed(schema);
    let mut terms = parsed(files::CONTEXT)["@context"].as_object().cloned().unwrap_or_default();
    terms.extend(parsed(context)["@context"].as_object().cloned().unwrap_or_default());
    let definitions: Vec<_> =
        schema["$defs"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    for definition in definitions {
        annotate::by_context(&mut schema, &definition, &terms, prefixes);
    }
    schema["x-jsonld-base"] = "urn:sabir:message:".into();
    schema["x-jsonld-prefixes"] = prefixes.json();
    schema
}
