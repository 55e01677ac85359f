//! What methods take and return, in words and schemas: descriptions, documents, checks, services.

pub(crate) mod describe;
pub(crate) mod discover;
pub mod openrpc;
pub(crate) mod service;
#[cfg(feature = "validate")]
pub(crate) mod validate;
