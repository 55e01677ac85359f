//! The formal model as building blocks that others can register: JSON-RPC, and MCP, LSP and A2A on it by reference.
//!
//! Each block has a registration, a description, schemas whose members say what they mean (`x-jsonld-id`), the context that
//! follows from them, an ontology, and examples in JSON, JSON-LD and Turtle that are checked against their part of the
//! schema. [`build`] makes all of it from `files/`; what it makes is in `building-blocks/` of the repository.
//!
//! ```
//! let files = sabir_model::blocks::build()?;
//! assert!(files.iter().any(|file| file.path == "mcp/schema-2025-11-25.json"));
//! # Ok::<(), sabir_model::blocks::BadExample>(())
//! ```

mod annotate;
mod block;
mod definitions;
mod docs;
mod json;
mod mcp;
mod mcp_terms;
mod ogc;
mod published;
mod register;
mod uplift;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::files;
use annotate::{Documents, Prefixes};
pub use block::BadExample;
use block::Block;
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

/// All files of all blocks, and their register.
pub fn build() -> Result<Vec<BlockFile>, BadExample> {
    let Blocks { blocks, documents } = Blocks::new();
    let mut made = register::files(&blocks);
    for block in &blocks {
        made.extend(block.files(&documents.0)?);
    }
    made.extend(ogc::files());
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
        let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        let mut documents = Documents::default();
        let base = base_schema();
        documents.add(base.clone());
        let mut mcp_envelope = with_names(parse(files::MCP_SCHEMA));
        documents.add(mcp_envelope.clone());
        mcp_envelope["x-envelope"] = true.into();
        let (lsp, a2a) = (envelope(files::LSP_SCHEMA), envelope(files::A2A_SCHEMA));
        documents.add(lsp.clone());
        documents.add(a2a.clone());
        let (definitions, published) = (Definitions::kept(), mcp::Published::read());
        let mut revisions = Vec::new();
        for revision in &definitions.revisions {
            let schema = mcp::schema(&definitions, &published, revision);
            documents.add(schema.clone());
            revisions.push((format!("schema-{revision}.json"), schema));
        }
        // What a reference to the block alone leads to.
        let any = mcp::any_revision(&definitions);
        documents.add(any.clone());
        revisions.insert(0, ("schema.json".to_owned(), any));
        revisions.push(("schema-envelope.json".to_owned(), mcp_envelope));
        let classes = mcp::classes(&definitions, &published);
        let context = |ids: &[&str]| documents.context(ids);
        let all: Vec<_> =
            definitions.revisions.iter().map(|of| format!("urn:sabir:schema:mcp:{of}")).collect();
        let all: Vec<_> = all.iter().map(String::as_str).collect();
        let blocks = vec![
            Block {
                name: "json-rpc",
                registration: source!("json-rpc", "bblock.json"),
                description: source!("json-rpc", "description.md"),
                examples: source!("json-rpc", "examples.jsonl"),
                context: context(&[mcp::BASE]),
                schemas: vec![("schema.json".to_owned(), base)],
                ontology: files::ONTOLOGY.to_owned(),
                shapes: Some(files::SHAPES),
                types: TYPES.to_owned(),
                classes: BTreeMap::new(),
                prefixes: base_prefixes(),
            },
            Block {
                name: "mcp",
                registration: source!("mcp", "bblock.json"),
                description: source!("mcp", "description.md"),
                examples: source!("mcp", "examples.jsonl"),
                context: context(&all),
                schemas: revisions,
                ontology: mcp_terms::ontology(&definitions, &published, &documents),
                shapes: None,
                types: mcp::types(&classes),
                classes,
                prefixes: mcp::prefixes(),
            },
            Block {
                name: "lsp",
                registration: source!("lsp", "bblock.json"),
                description: source!("lsp", "description.md"),
                examples: source!("lsp", "examples.jsonl"),
                context: context(&["urn:sabir:schema:lsp-envelope", mcp::BASE]),
                schemas: vec![("schema.json".to_owned(), lsp)],
                ontology: source!("lsp", "ontology.ttl").to_owned(),
                shapes: None,
                types: TYPES.to_owned(),
                classes: BTreeMap::new(),
                prefixes: base_prefixes(),
            },
            Block {
                name: "a2a",
                registration: source!("a2a", "bblock.json"),
                description: source!("a2a", "description.md"),
                examples: source!("a2a", "examples.jsonl"),
                context: context(&["urn:sabir:schema:a2a-envelope", mcp::BASE]),
                schemas: vec![("schema.json".to_owned(), a2a)],
                ontology: source!("a2a", "ontology.ttl").to_owned(),
                shapes: None,
                types: TYPES.to_owned(),
                classes: BTreeMap::new(),
                prefixes: base_prefixes(),
            },
        ];
        Blocks { blocks, documents }
    }
}

fn base_prefixes() -> Prefixes {
    let context: Value = serde_json::from_str(files::CONTEXT).unwrap_or_default();
    let prefix =
        |name: &str| (name.to_owned(), context["@context"][name].as_str().unwrap_or_default().to_owned());
    Prefixes(vec![prefix("jrpc"), prefix("rpcx")])
}

/// JSON-RPC's own schema, annotated by its context.
fn base_schema() -> Value {
    let mut schema: Value = serde_json::from_str(files::SCHEMA).unwrap_or_default();
    let context: Value = serde_json::from_str(files::CONTEXT).unwrap_or_default();
    let terms = context["@context"].as_object().cloned().unwrap_or_default();
    for definition in ["Request", "Notification", "Response", "ErrorResponse"] {
        annotate::by_context(&mut schema, definition, &terms, &base_prefixes());
    }
    with_names(schema)
}

/// An envelope that has no terms of its own.
fn envelope(text: &str) -> Value {
    with_names(serde_json::from_str(text).unwrap_or_default())
}

fn with_names(mut schema: Value) -> Value {
    schema["x-jsonld-base"] = "urn:sabir:message:".into();
    schema["x-jsonld-prefixes"] = base_prefixes().json();
    schema
}
