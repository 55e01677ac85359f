//! JSON-RPC 2.0: servers, clients, and both at once.

#[cfg(unix)]
pub mod blocking;
mod call;
mod connection;
mod ctx;
mod desk;
mod engine;
mod listen;
mod method;
mod params;
mod peer;
mod reconnect;
mod router;
mod serve;
mod shared;
mod task;
pub mod transport;

pub use call::Call;
pub use ctx::Ctx;
pub use listen::{Server, Stopper, listen};
pub use method::{Method, MethodName};
pub use peer::{Batch, Peer};
pub use reconnect::Reconnect;
pub use router::{Next, Router};
pub use sabir_proto::{
    Cause, Dialect, ErrorCode, Framing, JsonKind, LENIENT, LSP, Limits, MCP, MCP_2024_11_05, MCP_2025_03_26,
    MCP_2025_06_18, MCP_2025_11_25, MCP_2026_07_28, PLAIN, RawJson, Refused, Report, TraceContext,
};
pub use serve::{connect, serve};
pub use transport::Transport;

/// The error that a handler answers with.
pub type ErrorObject = sabir_proto::ErrorObject<'static>;

/// Why a call did not end in a result.
pub type CallError = sabir_proto::CallError<'static>;

/// What a handler returns.
pub type Result<T> = std::result::Result<T, ErrorObject>;

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
