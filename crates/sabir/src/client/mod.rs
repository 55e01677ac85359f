//! The client side of transports that need more than a stream.

pub(crate) mod fetch;
pub(crate) mod http;
