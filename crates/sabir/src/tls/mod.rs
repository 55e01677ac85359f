//! TLS, by rustls.

mod server;

pub use server::ServerTls;
