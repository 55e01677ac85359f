//! What HTTP answers, to the byte, over a real socket.

#![allow(clippy::unwrap_used)]

mod client;
mod golden;
mod server;
mod streams;
