//! Language servers.
mod client;
mod client_process;
mod document;
mod error;
mod handler;
mod params;
mod server;
mod uri;

pub use client::{LspClient, LspSession, PartialCall};
pub use document::{Document, DocumentLimits, Documents, PositionEncoding};
pub use error::{code, content_modified, server_cancelled};
pub use handler::LspHandler;
pub use lsp_types;
pub use server::{ClientPeer, Exit, ExitReason, LspCtx, LspServer, PartialResults, WorkDone};
pub use uri::{file_path, file_uri};
