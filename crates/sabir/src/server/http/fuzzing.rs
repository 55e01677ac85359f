//! Parsers of the HTTP server, for fuzzers.

use crate::server::http::fast::head::{Parsed, parse};
use crate::server::http::sse::{self, EventId};

/// What the fast path makes of these bytes.
#[derive(Debug)]
pub enum FastHead {
    /// A request that it takes: its parts, the length of its head, and that of its body.
    Post(Box<http::request::Parts>, usize, usize),
    /// More bytes are needed.
    Partial,
    /// They are hyper's.
    Other,
}

pub fn fast_head(bytes: &[u8]) -> FastHead {
    match parse(bytes) {
        Parsed::Post { parts, head, length } => FastHead::Post(parts, head, length),
        Parsed::Partial => FastHead::Partial,
        Parsed::Other => FastHead::Other,
    }
}

/// The id of an event as a client repeats it: whether it answers a POST, its stream and its number.
pub fn event_id(text: &str) -> Option<(bool, u64, u64)> {
    EventId::parse(text).map(|EventId { posted, stream, number }| (posted, stream, number))
}

/// A message as an event.
pub fn event(id: Option<(bool, u64, u64)>, message: &[u8]) -> Vec<u8> {
    let id = id.map(|(posted, stream, number)| EventId { posted, stream, number });
    sse::event(id, message).to_vec()
}

/// Serves one connection, as a server at an `http:` URL does.
pub async fn serve_connection<S>(stream: S, router: crate::Router, http: crate::Http)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
{
    use crate::server::acceptor::{Connections, Protocols, ServerConfig};
    let config = ServerConfig {
        routes: router.into_routes(),
        config: sabir_proto::Config::default(),
        grace: std::time::Duration::from_secs(1),
        protocols: Protocols { lines: false, headers: false, ..Protocols::default() },
        connections: Connections::default(),
        accept_errors: Default::default(),
        secure: false,
        http,
        path: "/".to_owned(),
        local: true,
        host: None,
        #[cfg(feature = "tls")]
        tls: None,
        stop: tokio::sync::watch::channel(false).0,
    };
    config.open().serve_one(stream).await;
}
