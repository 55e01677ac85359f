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
//! [`McpServer`] has the rest: resources, templates, prompts, completions, [tasks](Tool::task), [skills](Skill),
//! [extensions](Extension). A function's [`McpCtx`] sends progress and log messages, and asks the client's user or model.
//! [`Catalog`] changes what is offered while the server runs.
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
//! # What grows with the protocol
//!
//! Enums, and structs that a program only receives, are `#[non_exhaustive]`. Structs that a program writes, such as [`Tool`]
//! or [`McpLimits`], are open: end them with `..Tool::new(name, description)` or `..Default::default()`, and they compile
//! with the fields of later revisions, too.
//!
//! # Two eras
//!
//! | | up to 2025-11-25 | from 2026-07-28 |
//! |---|---|---|
//! | opens with | `initialize`, once | nothing: every request says who asks |
//! | a function asks back | by a request to the client | by a result with questions; the client calls again |
//! | changes are sent | to everybody, and by `resources/subscribe` | on `subscriptions/listen` |
//! | log messages | by `logging/setLevel` | for requests that ask for them |
//!
//! The same functions serve both, at the same time and on the same connection. What a revision does not know is
//! left out when it is spoken.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `default` | `macros`, `validate` |
//! | `macros` | `#[sabir_mcp::tools]` |
//! | `validate` | arguments of tools checked against the schemas that they are listed with |
//! | `http` | Streamable HTTP, as a server and as a client |
//! | `auth` | authorization by OAuth over HTTP, as a client and as a server; includes `http` and TLS |
//! | `redb` | tasks that outlive the process, in a file |
//! | `testing` | fake clients, recordings and checks, for tests of servers |
//! | `tracing` | spans of requests, for the crate `tracing` |
//! | `fuzzing` | private parsers for the project's own fuzz targets; not part of the API |

#[cfg(feature = "auth")]
mod auth;
mod bounded;
mod client;
#[cfg(feature = "tracing")]
mod client_spans;
mod error;
mod extensions;
mod form;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
#[allow(missing_docs)]
pub mod fuzzing;
#[cfg_attr(not(feature = "http"), allow(dead_code))]
mod headers;
mod operation;
mod page;
mod schema;
mod server;
#[cfg(feature = "http")]
mod streamable_http;
mod string_args;
mod template;
#[cfg(feature = "testing")]
pub mod testing;
mod types;
mod variants;

#[cfg(feature = "auth")]
pub use auth::{
    AuthError, ClientCredentials, CredentialStore, FileStore, Identity, IdentityProvider, Introspection,
    JwsAlgorithm, LoggedOut, LoopbackBrowser, MemoryStore, OAuth, OAuthSession, ProtectedServer,
    Registration, ResourceServer, SigningKey, StoreLock, Tokens, UserAgent, Visit,
};
pub use client::{ListPages, McpCall, McpClient, McpConnectError, McpHeaders, McpSession, McpTask, Started};
#[cfg(feature = "tracing")]
#[doc(hidden)]
pub use client_spans::McpSpans;
pub use error::{McpResult, ToolError, code};
pub use extensions::{
    Extension, ListenField, SKILLS_EXTENSION, Skill, SkillEntry, SkillFile, TypedResult, UI_EXTENSION,
    UI_MIME_TYPE, UiDomains, UiPage, UiPermissions,
};
pub use operation::McpOperation;
pub use sabir::McpRevision;
#[cfg(feature = "redb")]
pub use server::RedbTasks;
pub use server::{
    Cache, Catalog, Change, Interests, IntoContents, IntoPrompt, IntoToolResult, Json, McpCtx, McpLimits,
    McpServer, MemoryTasks, Partial, StoreFuture, TaskOptions, TaskOutcome, TaskRecord, TaskStore,
    TaskStoreLimits, Tools,
};
#[cfg(feature = "http")]
pub use streamable_http::streamable_http;
pub use types::{
    Action, Annotations, ClientCapabilities, Content, Contents, Elicit, ElicitResult, Icon, Implementation,
    ListChanged, LogLevel, LogMessage, Meta, ProgressUpdate, Prompt, PromptArgument, PromptMessage,
    PromptResult, Resource, Resources, Role, Root, Sample, Sampled, SamplingMessage, ServerCapabilities,
    TASKS_EXTENSION, Task, TaskStatus, TaskSupport, Template, Tool, ToolAnnotations, ToolExecution,
    ToolResult,
};

/// Makes the methods of a struct tools: those with the attribute `#[tool]`. [`McpServer::tools`] adds them to a server.
///
/// ```
/// use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
///
/// use sabir_mcp::{McpCtx, McpResult, McpServer};
///
/// #[derive(Default)]
/// struct Counter {
///     value: AtomicI64,
/// }
///
/// #[sabir_mcp::tools]
/// impl Counter {
///     /// Adds to the counter
///     #[tool]
///     async fn add(
///         &self,
///         /// How much
///         amount: i64,
///     ) -> i64 {
///         self.value.fetch_add(amount, Relaxed) + amount
///     }
///
///     /// Counts down to zero
///     #[tool(title = "Count down", idempotent)]
///     async fn reset(&self, ctx: McpCtx) -> McpResult<&'static str> {
///         let from = self.value.swap(0, Relaxed);
///         ctx.progress((from, from)).await;
///         if from == 0 { Err("it is zero already")? }
///         Ok("reset")
///     }
///
///     /// Writes the counter to a file
///     #[tool(name = "save_to")]
///     fn save(&self, path: std::path::PathBuf, comment: Option<String>) -> std::io::Result<()> {
///         std::fs::write(path, format!("{} {}", self.value.load(Relaxed), comment.unwrap_or_default()))
///     }
/// }
///
/// let server = McpServer::new("counter", "1.0.0").tools(Counter::default());
/// ```
///
/// - Methods take `&self`. An `async fn` runs in the task of its connection; a plain `fn` may block, and runs on a thread
///   ([`McpServer::max_blocking_threads`]).
/// - Arguments are the tool's arguments, by name: owned types with serde's `Deserialize` and `JsonSchema`. An `Option` may be
///   left out; `#[serde(…)]` and `#[schemars(…)]` work as on the field of a struct, so `#[serde(default)]` or
///   `#[serde(flatten)]`, too. An argument of the type [`McpCtx`] is the call's context.
/// - The return type is whatever implements [`IntoToolResult`], or a `Result` of it with any error that `?` takes.
/// - Doc comments of the method and its arguments are the descriptions that the model reads.
///
/// | option of `#[tool(…)]` | says |
/// |---|---|
/// | `name = "save_to"` | its name; the method's, unless this is set |
/// | `title = "Count down"` | a name for people |
/// | `icon = "https://example.com/icon.png"` | an image to show; several are allowed |
/// | `task`, `task_only` | it runs as a task: [`Tool::task`], [`Tool::task_only`] |
/// | `read_only`, `destructive`, `idempotent`, `open_world` | the hints of [`ToolAnnotations`]; also `destructive = false` |
#[cfg(feature = "macros")]
pub use sabir_macros::tools;

/// What the macros make use of. Not for anybody else: it changes without notice.
#[cfg(feature = "macros")]
#[doc(hidden)]
pub mod private {
    pub use {schemars, serde};
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
