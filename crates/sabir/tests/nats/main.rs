//! Services behind NATS, with real servers: calls in both directions, and everything that can break.
//!
//! All are ignored unless asked for, since they need the program `nats-server`, which NATS_SERVER names. `interop/run`
//! runs them, with the server of Debian and with a newer one.

#![cfg(feature = "nats")]
#![allow(clippy::unwrap_used)]

mod calls;
mod cluster;
#[cfg(feature = "nkeys")]
mod credentials;
mod discovery;
mod failures;
mod grace;
mod hostile;
mod load;
mod parts;
mod rights;
mod server;
mod service;
mod sessions;
mod slow_consumers;
