//! The server over real sockets: what it detects, what it refuses, and what it survives.

#![allow(clippy::unwrap_used)]

#[path = "../http/client.rs"]
mod client;
mod client_certificates;
mod first_bytes;
mod frames;
mod hostile_frames;
mod http1;
mod http2;
mod limits;
mod open;
mod openers;
mod overload;
mod posts;
mod refused;
#[path = "../http/server.rs"]
mod server;
mod slow;
mod stop;
mod turns;
mod websocket;
mod wedges;
