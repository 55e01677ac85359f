//! What is known about JSON-RPC traffic apart from carrying it.
//!
//! [`capture`] reads and writes what went over a wire, in Sabir's own format and the others that people have. [`files`] is the formal
//! model itself, and [`graph`] makes graphs of captures under its terms.

pub mod capture;
pub mod files;
#[cfg(feature = "graph")]
pub mod graph;
