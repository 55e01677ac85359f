//! What is known about JSON-RPC traffic apart from carrying it.
//!
//! [`capture`] reads and writes what went over a wire, in Sabir's own format and the others that people have.
//! [`rules`] checks it, message by message and across a session, and explains what is wrong.

pub mod capture;
pub mod rules;
