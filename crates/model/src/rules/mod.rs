//! The rules that traffic is checked by, and the checker.
//!
//! [`rules`] lists them; each says why it matters and how to fix a violation. A [`Checker`] is given
//! [`Record`]s, one after the other, and tells what is wrong with each, by itself and after what came before.
//!
//! ```
//! use sabir_model::capture::Reader;
//! use sabir_model::rules::{Checker, Profile};
//!
//! let text = r#"> {"jsonrpc":"2.0","id":1,"method":"add","params":3}"#;
//! let mut reader = Reader::new(text.as_bytes())?;
//! let mut checker = Checker::new(Profile::JsonRpc);
//! let mut found = Vec::new();
//! while let Some(record) = reader.next()? {
//!     found.extend(checker.check(&record));
//! }
//! found.extend(checker.finish());
//! assert_eq!(found[0].rule.id, "RPC003");
//! assert_eq!(found[0].to_string(), "1:51 error[RPC003]: `params` must be an array or an object, found number");
//! # Ok::<(), sabir_model::capture::ReadError>(())
//! ```
//!
//! A message that is in order costs one pass for its envelope and one for what is in it; nothing is parsed into
//! values. Memory does not grow with the traffic: open requests are kept in 64 MiB at most, answered ones in
//! 1 MiB, 256 connections at a time. At a bound the older half is forgotten. Answers to what was forgotten are
//! not checked. The schemas that sessions show may take 64 MiB, read and compiled; later ones are
//! not used.
//!
//! With the feature `schemas`, params and results are compared with the schemas that a session shows in its own
//! answers to `rpc.discover` and `tools/list`, and with those that [`Checker::openrpc`] is given. Without it, nothing is.

mod engine;
mod protocols;
mod schemas;
mod table;

pub use engine::checker::Checker;
pub use engine::finding::{Excerpt, Finding};
pub use protocols::profile::{Profile, UnknownProfile};
pub use sabir_proto::McpRevision as Revision;
#[cfg(feature = "graph")]
pub(crate) use schemas::{MemoryBudget, Tool};
pub use schemas::{NotOpenRpc, OpenRpc};
pub use table::{
    LIVE001, LIVE002, LIVE003, LIVE004, LIVE005, LIVE006, LIVE007, LIVE008, LIVE009, Rule, Scope, Severity,
    rule, rules,
};

#[cfg(doc)]
use crate::capture::Record;
