//! Plain POST requests, answered without hyper.

pub(crate) mod admission;
pub(crate) mod connection;
pub(crate) mod head;
mod write;
