//! The command lines of `sabir graph` and `sabir model`.

use clap::ValueEnum;

#[cfg(feature = "graph")]
#[derive(Debug, clap::Args)]
#[command(after_help = "\
FILE is a capture, one message per line, a transcript, or messages behind Content-Length headers. Several are one
graph, in which calls are joined by the trace id in their `_meta`.

A QUERY is SPARQL, @FILE, or one of
  slowest-methods      how long each method took
  error-rate           how often each method failed
  unanswered-requests  requests without an answer
  late-notifications   progress that came after the answer
  reused-ids           requests with the id of an open request
  ignored-cancels      cancelled requests that were answered with a result
  call-tree            which call caused which, by trace context
  slowest-chains       calls in whose course others were made, the slowest first
  tools-never-called   tools that were listed and not called (MCP)
  failed-arguments     calls of tools that failed, with their arguments (MCP)
  broken-results       results that do not match the tool's output schema (MCP)
  who-asked-what       who asked for what, how often, and how it went
The prefixes jrpc, rpcx, mcp, mcpx, prov, rdf, rdfs, owl and xsd, and c for the names of the graph, need not be
declared; `sabir model ontology` explains the terms.

Exit codes: 0 ok, 1 the query found or took too much, 2 usage, 3 cannot read, 4 it took too long.

Examples:
  sabir graph session.jrl > session.ttl
  sabir graph session.jrl --query slowest-methods
  sabir graph session.jrl --svg sequence > session.svg
  sabir graph gateway.jrl files.jrl --query slowest-chains
  sabir graph session.jrl --query 'SELECT ?line ?m { ?r jrpc:hasMethod ?m ; rpcx:line ?line } LIMIT 5' --csv")]
pub(crate) struct GraphArgs {
    /// Captured traffic; - for standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// The syntax of the graph
    #[arg(long, value_enum, value_name = "SYNTAX", default_value = "turtle", conflicts_with = "query")]
    pub(crate) format: GraphFormat,
    /// Run this query instead of writing the graph
    #[arg(long, value_name = "QUERY")]
    pub(crate) query: Option<String>,
    /// Print one JSON object per row
    #[arg(long, requires = "query")]
    pub(crate) json: bool,
    /// Print rows as CSV
    #[arg(long, requires = "query", conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Draw the messages in their order, or who called what
    #[arg(long, value_enum, value_name = "PICTURE", conflicts_with_all = ["query", "format"])]
    pub(crate) svg: Option<GraphPicture>,
    /// How long the query or the picture may take, such as 500ms, 30s or 2m
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = super::units::duration)]
    pub(crate) timeout: std::time::Duration,
    /// The prefix of the IRIs of messages [default: urn:sabir:capture:NAME#, with the name of the file]
    #[arg(long, value_name = "IRI", value_parser = base_iri)]
    pub(crate) base: Option<String>,
}

#[cfg(feature = "graph")]
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum GraphFormat {
    Turtle,
    #[value(name = "ntriples")]
    NTriples,
    /// N-Triples, with the session of each
    #[value(name = "nquads")]
    NQuads,
    #[value(name = "jsonld")]
    JsonLd,
    /// Turtle, with a graph for each session
    #[value(name = "trig")]
    TriG,
}

#[cfg(feature = "graph")]
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum GraphPicture {
    /// The session as a sequence
    Sequence,
    /// The call graph
    Calls,
}

#[cfg(feature = "graph")]
impl From<GraphPicture> for sabir_model::graph::Picture {
    fn from(picture: GraphPicture) -> Self {
        match picture {
            GraphPicture::Sequence => sabir_model::graph::Picture::Sequence,
            GraphPicture::Calls => sabir_model::graph::Picture::Calls,
        }
    }
}

#[cfg(feature = "graph")]
impl From<GraphFormat> for sabir_model::graph::Syntax {
    fn from(format: GraphFormat) -> Self {
        use sabir_model::graph::Syntax;
        match format {
            GraphFormat::Turtle => Syntax::Turtle,
            GraphFormat::NTriples => Syntax::NTriples,
            GraphFormat::NQuads => Syntax::NQuads,
            GraphFormat::JsonLd => Syntax::JsonLd,
            GraphFormat::TriG => Syntax::TriG,
        }
    }
}

/// An absolute IRI, without characters that would end it in one of the syntaxes.
#[cfg(feature = "graph")]
fn base_iri(text: &str) -> Result<String, String> {
    let (scheme, rest) = text.split_once(':').ok_or("it must begin with a scheme, such as https: or urn:")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) || !scheme.chars().all(plain) {
        return Err(format!("`{scheme}` is not a valid scheme; one is https or urn"));
    }
    let bad = |c: char| c.is_whitespace() || c.is_control() || "<>\"{}|^`\\".contains(c);
    match rest.chars().find(|c| bad(*c)) {
        Some(bad) => Err(format!("{bad:?} is not allowed in an IRI")),
        None if rest.ends_with(['#', '/', ':']) => Ok(text.to_owned()),
        None => Err("it must end with #, / or : for names to follow".to_owned()),
    }
}

/// An address on the web, for files below it.
#[cfg(all(feature = "graph", feature = "schemas"))]
fn http_url(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let host = rest.ok_or("it must begin with https:// or http://")?;
    if host.is_empty() || host.starts_with('/') {
        return Err("it names no host".to_owned());
    }
    let bad = |c: &char| c.is_whitespace() || c.is_control() || "<>\"{}|^`\\?#".contains(*c);
    match host.chars().find(bad) {
        Some(bad) => Err(format!("{bad:?} is not allowed in it")),
        None => Ok(text.to_owned()),
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
NAME is
  for schema    json-rpc (the default), mcp-envelope, lsp-envelope or a2a-envelope; those of
                MCP's revisions refer to each other: build writes them
  for context   message (the default), session, or one of a block: json-rpc, mcp, lsp, a2a;
                with the names that OGC has published: ogc, ogc-mcp
  for ontology  json-rpc (the default), mcp, lsp or a2a
  for shapes    json-rpc (the default) or mcp
  for query     the name of a query; all are listed without one
  for docs      html (the default) or markdown
  for build     the folder that the building blocks are written to
  for mcp       a folder with the protocol's own schemas, as REVISION/schema.json

Examples:
  sabir model schema > json-rpc.schema.json
  sabir model schema mcp-envelope --draft 07
  sabir model context
  sabir model query slowest-methods
  sabir model docs > model.html
  sabir model build building-blocks
  sabir model build site --base-url https://example.org/blocks/")]
pub(crate) struct ModelArgs {
    /// Which part
    #[arg(value_enum, value_name = "PART")]
    pub(crate) part: ModelPart,
    /// Which one of them; see below
    pub(crate) name: Option<String>,
    /// Which draft of JSON Schema
    #[arg(long, value_enum, value_name = "DRAFT")]
    pub(crate) draft: Option<Draft>,
    /// Where the folder that build writes will be served: its register then names files by URL
    #[cfg(all(feature = "graph", feature = "schemas"))]
    #[arg(long, value_name = "URL", value_parser = http_url)]
    pub(crate) base_url: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModelPart {
    /// JSON Schema of messages
    Schema,
    /// JSON-LD context, to read messages as RDF
    Context,
    /// The meaning of the terms, in OWL
    Ontology,
    /// Constraints beyond the schema, in SHACL
    Shapes,
    /// Queries on a session, in SPARQL; lists them without a name
    Query,
    /// All of it for people to read
    #[cfg(all(feature = "graph", feature = "schemas"))]
    Docs,
    /// Writes the building blocks: registration, annotated schemas, contexts, checked examples
    #[cfg(all(feature = "graph", feature = "schemas"))]
    Build,
    /// The definitions of MCP, read from the protocol's own schemas
    #[cfg(all(feature = "graph", feature = "schemas"))]
    Mcp,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Draft {
    #[value(name = "2020-12")]
    Newest,
    #[value(name = "07")]
    Draft07,
}
