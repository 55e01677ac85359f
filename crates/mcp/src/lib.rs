//! The Model Context Protocol: servers and clients, for every published revision.
//!
//! # A server
//!
//! ```no_run
//! use sabir::transport;
//! use sabir_mcp::McpServer;
//!
//! /// The sum of two integers
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Add {
//!     a: i64,
//!     b: i64,
//! }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), sabir::Error> {
//!     let server = McpServer::new("adder", "1.0.0").tool("add", |_, Add { a, b }| async move { Ok(a + b) });
//!     server.serve(transport::stdio()).await
//! }
//! ```
//!
//! [`McpServer`] has the rest: resources, templates, prompts, completions. A function's [`McpCtx`] tells progress and log
//! messages, and asks the client's user or model. [`Catalog`] changes what is offered while the server runs.
//!
//! # A client
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use sabir_mcp::McpClient;
//!
//! let command = std::process::Command::new("adder");
//! let server = McpClient::new("me", "1.0.0").connect(sabir::transport::child(command)?).await?;
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
mod page;
mod schema;
mod server;
#[cfg(feature = "http")]
mod streamable_http;
mod string_args;
mod template;
mod types;

pub use client::{McpCall, McpClient, McpConnectError, McpSession};
pub use error::{McpResult, ToolError, code};
pub use sabir::McpRevision;
pub use server::{
    Cache, Catalog, Change, Interests, IntoContents, IntoPrompt, IntoToolResult, Json, McpCtx, McpLimits,
    McpServer, Partial,
};
#[cfg(feature = "http")]
pub use streamable_http::streamable_http;
pub use types::{
    Action, Annotations, ClientCapabilities, Content, Contents, Elicit, ElicitResult, Icon, Implementation,
    ListChanged, LogLevel, LogMessage, Meta, ProgressUpdate, Prompt, PromptArgument, PromptMessage,
    PromptResult, Resource, Resources, Role, Root, Sample, Sampled, SamplingMessage, ServerCapabilities,
    Template, Tool, ToolAnnotations, ToolResult,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
