//! The Model Context Protocol: servers and clients, for every published revision.
//!
//! # A server
//!
//! ```no_run
//! use sabir::transport;
//! use sabir_mcp::Server;
//!
//! /// The sum of two integers
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Add {
//!     a: i64,
//!     b: i64,
//! }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), sabir::Cause> {
//!     let server = Server::new("adder", "1.0.0").tool("add", |_, Add { a, b }| async move { Ok(a + b) });
//!     server.serve(transport::stdio()).await
//! }
//! ```
//!
//! [`Server`] has the rest: resources, templates, prompts, completions. A function's [`Ctx`] tells progress and log
//! messages, and asks the client's user or model. [`Catalog`] changes what is offered while the server runs.
//!
//! # A client
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use sabir_mcp::Client;
//!
//! let command = std::process::Command::new("adder");
//! let server = Client::new("me", "1.0.0").connect(sabir::transport::child(command)?).await?;
//! let sum = server.call("add", serde_json::json!({"a": 1, "b": 2})).await?;
//! assert_eq!(sum.text(), "3");
//! # Ok(())
//! # }
//! ```
//!
//! # Two eras
//!
//! | | up to 2025-11-25 | from 2026-07-28 |
//! |---|---|---|
//! | opens with | `initialize`, once | nothing: every request says who asks |
//! | a function asks back | by a request to the client | by a result with questions; the client calls again |
//! | changes are told | to everybody, and by `resources/subscribe` | on `subscriptions/listen` |
//! | log messages | by `logging/setLevel` | for requests that ask for them |
//!
//! The same functions serve both, at the same time and on the same connection. What a revision does not know is
//! left out when it is spoken.
//!
//! # Features
//!
//! None is on by default.
//!
//! | feature | adds |
//! |---|---|
//! | `http` | Streamable HTTP, as a server and as a client |
//! | `tracing` | spans of requests, for the crate `tracing` |
//! | `fuzzing` | private parsers for the project's own fuzz targets; not part of the API |

mod client;
mod error;
mod form;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
#[allow(missing_docs)]
pub mod fuzzing;
#[cfg_attr(not(feature = "http"), allow(dead_code))]
mod headers;
#[cfg(feature = "http")]
mod http;
mod page;
mod schema;
mod server;
mod string_args;
mod template;
mod types;

pub use client::{Client, ConnectError, Request, Session};
pub use error::{Failure, Result, code};
#[cfg(feature = "http")]
pub use http::http;
pub use sabir::McpRevision as Revision;
pub use server::{
    Cache, Catalog, Change, Ctx, Interests, IntoContents, IntoPrompt, IntoToolResult, Json, Limits, Partial,
    Server,
};
pub use types::{
    Action, Annotations, ClientCapabilities, Content, Contents, Elicit, ElicitResult, Icon, Implementation,
    Level, ListChanged, LogMessage, Meta, Progress, Prompt, PromptArgument, PromptMessage, PromptResult,
    Resource, Resources, Role, Root, Sample, Sampled, SamplingMessage, ServerCapabilities, Template, Tool,
    ToolAnnotations, ToolResult,
};

/// The examples of the documents are tests too.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/mcp.md")]
struct Documents;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
