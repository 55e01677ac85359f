//! The client side of transports that need more than a stream.

pub(crate) mod http;
