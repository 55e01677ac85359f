//! What drives a session: the engine without I/O, and its drivers on tokio and on threads.

pub mod blocking;
pub(crate) mod call_slots;
#[cfg(feature = "http")]
pub(crate) mod caller;
pub(crate) mod config;
pub(crate) mod connection;
pub(crate) mod driving;
pub(crate) mod engine;
pub(crate) mod error;
pub(crate) mod io;
#[cfg(feature = "http")]
pub(crate) mod message_transport;
pub(crate) mod serve;
pub(crate) mod session_context;
pub(crate) mod signals;
mod starter;
pub(crate) mod streams;
mod subscriptions;
pub(crate) mod turn;
