//! What is known about JSON-RPC traffic apart from carrying it.
//!
//! [`capture`] reads and writes what went over a wire, in Sabir's own format and the others that people have.
//! [`calls`] pairs answers with requests, [`index`] finds any of a million records at once, and [`filter`] is the
//! language that they are searched with. [`rules`] checks them, message by message and across a session, and explains
//! what is wrong. [`files`] is the model itself, [`graph`] makes graphs of captures under its terms, and [`blocks`] makes
//! building blocks of it.
//!
//! # Features
//!
//! None is on by default.
//!
//! | feature | adds |
//! |---|---|
//! | `graph` | captures as RDF, and SPARQL queries over them |
//! | both | the model as building blocks, and its documentation |
//! | `schemas` | params and results checked against the schemas that a session shows or that are given |

#[cfg(all(feature = "graph", feature = "schemas"))]
pub mod blocks;
pub mod calls;
pub mod capture;
pub mod files;
pub mod filter;
#[cfg(feature = "graph")]
pub mod graph;
pub mod index;
mod json_path;
pub mod markup;
pub mod rules;
