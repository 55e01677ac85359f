//! Language servers, and a client that drives them.
//!
//! # A server
//!
//! ```no_run
//! use sabir_lsp::lsp_types::request::HoverRequest;
//! use sabir_lsp::lsp_types::{Hover, HoverContents, HoverParams, MarkedString};
//! use sabir_lsp::{Exit, LspCtx, LspServer};
//!
//! async fn hover(ctx: LspCtx, params: HoverParams) -> sabir::Result<Option<Hover>> {
//!     let at = params.text_document_position_params;
//!     let document = ctx.document(&at.text_document.uri)?;
//!     let line = document.line(at.position.line).unwrap_or_default();
//!     Ok(Some(Hover { contents: HoverContents::Scalar(MarkedString::String(line.to_owned())), range: None }))
//! }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<Exit, sabir::Error> {
//!     LspServer::new("lines", "1.0.0").request::<HoverRequest>(hover).serve(sabir::transport::stdio()).await
//! }
//! ```
//!
//! [`LspServer`] says what is done around handlers: the lifecycle, [documents](Documents), order. A handler's [`LspCtx`] has the
//! [client](ClientPeer) to call, [progress](WorkDone), and [partial results](PartialResults).
//!
//! # A client
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use sabir_lsp::{LspClient, file_uri};
//!
//! let clangd = sabir::transport::child(std::process::Command::new("clangd"))?;
//! let server = LspClient::new("me", "1.0.0").connect(clangd).await?;
//! let uri = file_uri("/src/main.c".as_ref()).ok_or("a relative path")?;
//! server.open(uri.clone(), "c", "int main( { }").await?;
//! println!("{:?}", server.diagnostics(&uri).await?);
//! server.shutdown().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Codes of errors
//!
//! | code | when | by |
//! |---|---|---|
//! | `-32002` | before `initialize` | itself |
//! | `-32600` | after `shutdown` | itself |
//! | `-32601` | no handler | itself |
//! | `-32602` | params that do not fit, with the path to the member; a document that is not open | itself, [`LspCtx::document`] |
//! | `-32603` | a handler failed, or panicked | itself |
//! | `-32800` | the client has cancelled the request | itself |
//! | `-32801` | a document has changed | [`LspCtx::check_current`], [`content_modified`] |
//! | `-32802` | the server cannot say now | [`server_cancelled`] |
//! | `-32803` | it cannot be done, and the user should read why | [`code::REQUEST_FAILED`] |

mod client;
mod client_process;
mod document;
mod error;
mod handler;
mod params;
mod server;
mod uri;

pub use client::answers::ACKNOWLEDGED;
pub use client::{LspClient, LspSession, PartialCall};
pub use document::{Document, DocumentLimits, Documents, PositionEncoding};
pub use error::{code, content_modified, server_cancelled};
pub use handler::LspHandler;
pub use lsp_types;
pub use server::{ClientPeer, Exit, ExitReason, LspCtx, LspServer, PartialResults, WorkDone};
pub use uri::{file_path, file_uri};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
