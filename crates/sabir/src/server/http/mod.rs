//! HTTP, as a server: plain JSON-RPC over POST, and Streamable HTTP with its streams and sessions.
//!
//! It answers requests and knows nothing of sockets: those, and the time that a head may take, belong to the
//! acceptor, or to the application that it is mounted in.

pub(crate) mod body;
pub(crate) mod config;
pub(crate) mod conflicting_length;
pub(crate) mod connection;
pub(crate) mod content;
pub(crate) mod exchange;
pub(crate) mod fast;
#[cfg(feature = "fuzzing")]
#[allow(missing_docs, clippy::result_unit_err)]
pub(crate) mod fuzzing;
pub(crate) mod host_origin;
pub(crate) mod idle_monitor;
pub(crate) mod peer_address;
pub(crate) mod pending;
pub(crate) mod request_body;
pub(crate) mod response;
pub(crate) mod service;
pub(crate) mod session;
pub(crate) mod shutdown;
pub(crate) mod sse;
pub(crate) mod upgrade;

pub use body::Body;
pub(crate) use config::{Bound, Speaks};
pub use config::{Denied, Http, Remote, SessionOpener, Sessions};
pub(crate) use conflicting_length::{ConflictingLength, HeadWatch};
pub(crate) use service::ConnectionBudget;
pub use service::HttpService;
pub(crate) use shutdown::Stop;
pub(crate) use upgrade::ConnectionGuard;
