//! Calling over HTTP, WebSocket and TLS: what a server sends, and what the caller sees.
//!
//! The servers are scripts on a raw socket: they wait for a request, note it down, and send bytes.

#![cfg(feature = "http")]
#![allow(clippy::unwrap_used)]

#[path = "client/answers.rs"]
mod answers;
#[path = "client/hostile.rs"]
mod hostile;
#[cfg(feature = "tls")]
#[path = "client/hostile_http2.rs"]
mod hostile_http2;
#[path = "client/hostile_websocket.rs"]
mod hostile_websocket;
#[path = "client/script.rs"]
mod script;
#[path = "client/sessions.rs"]
mod sessions;
#[path = "client/sockets.rs"]
mod sockets;
#[path = "client/subscriptions.rs"]
mod subscriptions;
#[cfg(feature = "tls")]
#[path = "client/tls.rs"]
mod tls;
