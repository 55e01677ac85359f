//! What is known about JSON-RPC traffic apart from carrying it.
//!
//! [`capture`] reads and writes what went over a wire, in Sabir's own format and the others that people have.

pub mod capture;
