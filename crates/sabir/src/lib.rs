//! JSON-RPC 2.0: servers, clients, and both at once.
//!
//! # A server
//!
//! ```no_run
//! use sabir::{Router, transport};
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), sabir::Error> {
//!     let router = Router::new().method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) });
//!     sabir::serve(transport::stdio(), router).await
//! }
//! ```
//!
//! [`Router`] describes handlers, params, errors, state and layers. [`listen`] serves sockets and HTTP. [`blocking`]
//! needs no async runtime.
//!
//! # A client
//!
//! ```no_run
//! # async fn run() -> Result<(), sabir::Error> {
//! use sabir::{Router, transport};
//! use std::{process::Command, time::Duration};
//!
//! let peer = sabir::connect(transport::child(Command::new("adder"))?, Router::new()).await?;
//! let sum: i64 = peer.call("add", (1, 2)).timeout(Duration::from_secs(5)).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Both at once
//!
//! Both sides of a connection may call, and a handler may call back while its caller waits.
//!
//! ```
//! use sabir::{Ctx, ErrorObject, Method};
//!
//! const CONFIRM: Method<String, bool> = Method::new("confirm");
//!
//! async fn delete(ctx: Ctx, path: String) -> sabir::Result<u64> {
//!     if !ctx.peer().call_method(CONFIRM, format!("delete {path}?")).await? {
//!         return Err(ErrorObject::new(1, "refused"));
//!     }
//!     Ok(1)
//! }
//! ```
//!
//! # Progress and cancellation
//!
//! ```
//! # async fn run(peer: sabir::Peer) -> Result<(), sabir::CallError> {
//! use sabir::Method;
//! use std::{collections::BTreeMap, time::Duration};
//!
//! const INDEX: Method<BTreeMap<String, String>, u64> = Method::new("index");
//!
//! let root = BTreeMap::from([("root".to_owned(), "/".to_owned())]);
//! let mut call = peer.call_method(INDEX, root).timeout(Duration::from_secs(30));
//! while let Some(files) = call.progress::<u64>().await {
//!     if files > 10_000 {
//!         call.cancel();
//!     }
//! }
//! let total = call.await?;
//! # Ok(())
//! # }
//! ```
//!
//! A handler is dropped at its next `await` when its call is cancelled, unless it has called
//! [`Ctx::cancelled`]. Dropping a [`Call`] cancels it.
//!
//! # How a connection ends
//!
//! | what happens | calls in flight end with | handlers | `serve` returns |
//! |---|---|---|---|
//! | the peer closes its side | `Closed(Ended)` | finish, and are answered | `Ok` |
//! | the peer closes the pipe that we write to, noticed at the next write or at the end of the input | `Closed(Lost)` | dropped | `Ok` |
//! | the socket fails | `Closed(Lost)`, with the system's error | dropped | `Err` |
//! | a child process exits | `Closed(Lost)`, with its exit status | dropped | |
//! | [`Peer::shutdown`], or SIGTERM, SIGINT or Ctrl-C after [`Transport::with_signals`] | answered, or `Closed(Shutdown)` after the grace | finish, or are answered `-32013` after the grace | `Ok` |
//! | the peer reads nothing for a minute | `Closed(Stalled)` | dropped | `Err` |
//! | a call times out | `TimedOut`; the peer is told to cancel | | |
//! | an answer breaks the protocol | `Malformed`, with the fault | | |
//!
//! [`sabir_proto::Session`] documents the order of handlers and the guarantees of every connection, [`Limits`] how much
//! a peer may use.
//!
//! # Features
//!
//! None is on by default: standard streams, processes, sockets and [`blocking`] need none.
//!
//! | feature | adds |
//! |---|---|
//! | `http` | HTTP and WebSocket, as a server and as a client |
//! | `tls` | TLS for every network transport |
//! | `nats` | services behind NATS, as workers and as callers; includes `http` and `tls` |
//! | `nkeys` | `nats`, with nkeys and credentials files to sign in with |
//! | `schema` | methods with descriptions and schemas, OpenRPC documents, `rpc.discover` |
//! | `service` | `#[sabir::service]` and `#[derive(sabir::RpcError)]`; includes `schema` |
//! | `validate` | params checked against their schemas; includes `schema` |
//! | `tracing` | spans of calls, for the crate `tracing`, and traces that go on over connections |
//! | `fuzzing` | private parsers for the project's own fuzz targets; not part of the API |

// What a service's author writes: methods and their handlers.
mod handler;
mod router;
#[cfg(feature = "schema")]
mod schema;
// What a caller holds.
mod peer;
// What passes calls on.
mod proxy;
// Where connections come from.
#[cfg(feature = "http")]
mod client;
mod server;
pub mod transport;
// What drives them.
mod runtime;
// What all of them share between threads.
mod sync;

/// Private parsers, for the targets in `fuzz`.
#[cfg(all(feature = "fuzzing", feature = "http"))]
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::client::http::fuzzing::{Streamed, events};
    pub use crate::server::fuzzing::detect;
    pub use crate::server::http::fuzzing::{FastHead, event, event_id, fast_head, serve_connection};
}

/// What the crates of this project share, and nobody else should use.
#[doc(hidden)]
pub mod internal {
    #[cfg(feature = "tracing")]
    pub use crate::router::client_spans::{ClientSpans, JsonRpcSpans};
    pub use crate::server::limiter::network;
    pub use crate::sync::lock;
}

/// The types of HTTP that this crate takes and gives.
#[cfg(feature = "http")]
pub use ::http;
#[cfg(feature = "http")]
pub use client::fetch::{Fetch, is_public};
#[cfg(feature = "http")]
pub use client::http::sse;
#[cfg(feature = "http")]
pub use client::http::{Authorized, Authorizer, Verdict};
/// The trait of streams, which handlers of subscriptions return and [`Subscription`] implements.
pub use futures_core::Stream;
pub use handler::ctx::Ctx;
pub use handler::feed::{Feed, IntoFeed};
pub use handler::sink::{PendingSink, Sink, SinkError};
pub use handler::test_ctx::TestCtx;
pub use peer::batch::Batch;
pub use peer::call::Call;
pub use peer::reconnect::Reconnect;
pub use peer::resubscribe::{Followed, Resubscribing, resubscribing};
pub use peer::subscription::{Lag, Subscribe, Subscription, SubscriptionEnd, SubscriptionError};
pub use peer::{Peer, WeakPeer};
pub use proxy::proxy;
pub use proxy::target::Upstream;
pub use router::Router;
pub use router::call::RouterCall;
pub use router::layer::Next;
pub use router::method::{Method, MethodName};
pub use router::observe::{CallEnd, Observed, Side, WorkerEvent};
pub use router::params::parse;
#[cfg(feature = "tracing")]
pub use router::propagate::Propagator;
pub use runtime::blocking;
pub use runtime::error::{ConfigError, Error};
pub use runtime::serve::{connect, serve};
#[cfg(feature = "service")]
pub use sabir_macros::RpcError;
// Here, where its example can run: a macro's crate cannot depend on the one that the macro is for.
#[cfg(feature = "service")]
#[doc(inline)]
#[doc = include_str!("schema/service.md")]
pub use sabir_macros::service;
pub use sabir_proto::{
    CallError, Cause, DeliveryFailure, Dialect, EndSignal, ErrorCode, Framing, Id, JsonKind, LENIENT, LSP,
    Limits, Lost, MCP, MCP_2024_11_05, MCP_2025_03_26, MCP_2025_06_18, MCP_2025_11_25, MCP_2026_07_28,
    McpRevision, Overflow, PLAIN, RawJson, Report, Routing, SendError, SinkEnd, SubscriptionIds,
    SubscriptionStyle, TraceContext, Undelivered, error_reason,
};
#[cfg(feature = "schema")]
pub use schema::describe::{Description, ErrorDescription, describe};
#[cfg(feature = "schema")]
pub use schema::openrpc;
#[cfg(feature = "schema")]
#[doc(hidden)]
pub use schema::service::private;
#[cfg(feature = "schema")]
pub use schema::service::{Progress, RpcError, ServiceError};
pub use server::acceptor::{Connections, Protocols};
pub use server::builder::{ServerBuilder, listen};
#[cfg(all(feature = "http", feature = "tls"))]
pub use server::http::peer_address::PeerCertificates;
#[cfg(feature = "http")]
pub use server::http::{Body, Denied, Http, HttpService, Remote, SessionOpener, Sessions};
#[cfg(feature = "tls")]
pub use server::tls::ServerTls;
pub use server::{Server, Stopper};
#[cfg(feature = "nats")]
pub use transport::nats::Nats;
#[cfg(feature = "http")]
pub use transport::websocket::WebSocket;
pub use transport::{ConnectError, ConnectErrorKind, Transport};

/// The error that a handler answers with.
pub type ErrorObject = sabir_proto::ErrorObject<'static>;

/// What a handler returns.
pub type Result<T> = std::result::Result<T, ErrorObject>;
