//! NATS: a service is a name, its workers share the load, and callers find them through any server of a cluster.
//!
//! A call is a message to `jr.SERVICE.rpc`, where the workers are one queue group; its text is the JSON-RPC message as it
//! is. Its reply subject ends in the caller's session and the call's id, so that everything that comes back, also the
//! server's "no responders", says what it belongs to. What a worker says before its answer carries the worker's own
//! subject as the reply subject: cancels, answers to its calls and the rest of a large message go there.

pub(crate) mod connect;
pub(crate) mod link;
mod open_calls;
pub(crate) mod options;
pub(crate) mod parts;
pub(crate) mod services;
pub(crate) mod streams;
pub(crate) mod trace;
pub(crate) mod wire;

pub use options::Nats;
pub use services::{Endpoint, Instance, Service, services};
