//! Where a connection goes, in the words of OpenTelemetry's conventions.

use std::net::SocketAddr;

use crate::transport::url::{Scheme, Url};

/// What is known of the way to a server. Only spans say it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Network {
    /// A name, an address, or the path of a socket.
    address: Option<String>,
    port: Option<u16>,
    transport: Option<&'static str>,
    protocol: Option<&'static str>,
}

impl Network {
    /// The standard streams of a process.
    pub(crate) fn pipe() -> Self {
        Network { transport: Some("pipe"), ..Network::default() }
    }

    /// The way to the server of a URL.
    pub(crate) fn of(url: &Url) -> Self {
        let (transport, protocol) = match url.scheme() {
            Scheme::Tcp | Scheme::Tls => ("tcp", None),
            Scheme::Http | Scheme::Https => ("tcp", Some("http")),
            Scheme::Ws | Scheme::Wss => ("tcp", Some("websocket")),
            Scheme::Nats | Scheme::NatsTls => ("tcp", Some("nats")),
            Scheme::Unix => ("unix", None),
            Scheme::Pipe => ("pipe", None),
        };
        Network {
            address: Some(url.host().to_owned()),
            port: Some(url.port()).filter(|port| *port != 0),
            transport: Some(transport),
            protocol,
        }
    }

    /// The way to a socket that was connected.
    pub(crate) fn connected(address: SocketAddr) -> Self {
        let (address, port) = (Some(address.ip().to_string()), Some(address.port()));
        Network { address, port, ..Network::accepted(true) }
    }

    /// The way to the server of a stream that was accepted: over TCP, or inside this machine.
    pub(crate) fn accepted(is_tcp: bool) -> Self {
        let transport = if is_tcp { "tcp" } else { super::local::SCHEME.name() };
        Network { transport: Some(transport), ..Network::default() }
    }

    /// Without its end: it is the caller's.
    pub(crate) fn without_address(&self) -> Self {
        Network { address: None, port: None, ..self.clone() }
    }

    /// The way that a request of HTTP came, by what it says.
    #[cfg(all(feature = "http", feature = "tracing"))]
    pub(crate) fn of_request(parts: &http::request::Parts) -> Self {
        let named = parts.headers.get(http::header::HOST).and_then(|host| host.to_str().ok()?.parse().ok());
        let authority: Option<http::uri::Authority> = named.or_else(|| parts.uri.authority().cloned());
        let is_websocket = parts.headers.contains_key(http::header::SEC_WEBSOCKET_KEY);
        let is_tcp = parts.extensions.get::<crate::Remote>().is_some();
        Network {
            address: authority.as_ref().map(|named| named.host().trim_matches(['[', ']']).to_owned()),
            port: authority.and_then(|named| named.port_u16()),
            transport: is_tcp.then_some("tcp"),
            protocol: Some(if is_websocket { "websocket" } else { "http" }),
        }
    }

    /// Says it in a span, which has to have the fields.
    #[cfg(feature = "tracing")]
    pub(crate) fn record(&self, span: &tracing::Span) {
        if let Some(address) = &self.address {
            span.record("server.address", &**address);
        }
        if let Some(port) = self.port {
            span.record("server.port", port);
        }
        if let Some(transport) = self.transport {
            span.record("network.transport", transport);
        }
        if let Some(protocol) = self.protocol {
            span.record("network.protocol.name", protocol);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_say_it() {
        for (url, address, port, transport, protocol) in [
            ("tcp://127.0.0.1:4000", "127.0.0.1", Some(4000), "tcp", None),
            ("https://a.example/rpc", "a.example", Some(443), "tcp", Some("http")),
            ("ws://[::1]:80/", "::1", Some(80), "tcp", Some("websocket")),
            ("nats://me:secret@a.example,b.example:1/demo", "a.example", Some(4222), "tcp", Some("nats")),
            ("unix:/run/x.sock", "/run/x.sock", None, "unix", None),
            ("pipe:x", "x", None, "pipe", None),
        ] {
            let network = Network::of(&Url::parse(url).expect("a URL"));
            let want =
                Network { address: Some(address.to_owned()), port, transport: Some(transport), protocol };
            assert_eq!(network, want, "{url}");
        }
    }
}
