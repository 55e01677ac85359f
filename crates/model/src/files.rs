//! The formal model, as the files in `crates/model/files` have it.

/// JSON Schema of JSON-RPC 2.0 (2020-12).
pub const SCHEMA: &str = include_str!("../files/json-rpc.schema.json");
/// The same for tools that know only draft-07.
pub const SCHEMA_DRAFT_07: &str = include_str!("../files/json-rpc.draft-07.schema.json");
/// MCP's envelope, built by reference on [`SCHEMA`].
pub const MCP_SCHEMA: &str = include_str!("../files/mcp-envelope.schema.json");
/// The same for tools that know only draft-07, built on [`SCHEMA_DRAFT_07`].
pub const MCP_SCHEMA_DRAFT_07: &str = include_str!("../files/mcp-envelope.draft-07.schema.json");
/// The envelope of LSP, built by reference on [`SCHEMA`].
pub const LSP_SCHEMA: &str = include_str!("../files/lsp-envelope.schema.json");
/// The envelope of A2A, built by reference on [`SCHEMA`].
pub const A2A_SCHEMA: &str = include_str!("../files/a2a-envelope.schema.json");
/// JSON-LD 1.1 context for messages as they are.
pub const CONTEXT: &str = include_str!("../files/context.jsonld");
/// JSON-LD 1.1 context of the documents that `sabir graph` writes.
pub const SESSION_CONTEXT: &str = include_str!("../files/session.context.jsonld");
/// The ontology, in Turtle.
pub const ONTOLOGY: &str = include_str!("../files/ontology.ttl");
/// The SHACL shapes, in Turtle.
pub const SHAPES: &str = include_str!("../files/shapes.ttl");
/// The SHACL shapes of MCP, in Turtle, beside [`SHAPES`].
pub const MCP_SHAPES: &str = include_str!("../files/mcp/shapes.ttl");

/// A question that many have about a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Query {
    /// What it is called.
    pub name: &'static str,
    /// SPARQL.
    pub text: &'static str,
}

impl Query {
    /// What it asks, in one line: its first.
    pub fn about(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches(['#', ' '])
    }
}

macro_rules! queries {
    ($($name:literal),+ $(,)?) => {
        /// The questions, in SPARQL.
        pub const QUERIES: &[Query] =
            &[$(Query { name: $name, text: include_str!(concat!("../files/queries/", $name, ".rq")) }),+];
    };
}

queries! {
    "slowest-methods",
    "error-rate",
    "unanswered-requests",
    "late-notifications",
    "reused-ids",
    "ignored-cancels",
    "call-tree",
    "slowest-chains",
    "tools-never-called",
    "failed-arguments",
    "broken-results",
    "who-asked-what",
}
