//! Captured sessions as graphs (RDF), written as text or queried in SPARQL.
//!
//! Each message is a node of its class, under the terms of `files/ontology.ttl`; an answer is linked with its
//! request, a cancel and news of progress with what they are about. There are no blank nodes: the same capture
//! gives the same text.
//!
//! ```
//! use sabir_model::capture::Reader;
//! use sabir_model::graph::{Answer, GraphBuilder, GraphMapper, Stop, named_query};
//!
//! let session = "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"nap\"}\n";
//! let mut reader = Reader::new(session.as_bytes())?;
//! let (mut mapper, mut builder) = (GraphMapper::new(), GraphBuilder::new("urn:example:nap#"));
//! while let Some(record) = reader.next()? {
//!     mapper.handle(&record, |node| {
//!         builder.add(node);
//!         Ok::<(), std::convert::Infallible>(())
//!     })?;
//! }
//! let unanswered = named_query("unanswered-requests").unwrap();
//! let answer = builder.build().query(unanswered.text, &Stop::default())?;
//! let Answer::Table(table) = answer else { panic!("it selects") };
//! assert_eq!(table.rows.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod terms;

// From records to nodes.
mod calls;
mod error_classes;
mod graph_mapper;
mod mcp;
mod message_mapper;
mod node;
mod traces;

// From nodes to text, and to answers.
mod canonical;
mod picture;
mod quads;
mod query;
mod sparql_text;
mod store;
mod write;

#[cfg(feature = "schemas")]
pub(crate) use canonical::canonical_json;
pub use graph_mapper::GraphMapper;
pub use node::Node;
pub use picture::{Picture, picture};
pub use query::{Answer, Cell, QueryError, Stop, Table, named_query};
pub use store::{Graph, GraphBuilder};
#[cfg(feature = "schemas")]
pub(crate) use write::literal::quoted as quote;
pub use write::{Syntax, Writer};
