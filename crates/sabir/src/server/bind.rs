//! Where connections come from: a TCP port, or a Unix socket or named pipe.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};

use crate::transport::local;

#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    Local(local::Listener),
}

/// A connection that has come.
pub(crate) enum Accepted {
    Tcp(TcpStream, SocketAddr),
    Local(local::Stream),
}

/// What a URL to listen at asks for.
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only HTTP has paths and hosts"))]
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) listener: Listener,
    /// The URL with the port that was chosen.
    pub(crate) url: String,
    /// Where HTTP and WebSocket are served.
    pub(crate) path: String,
    /// Only TLS is spoken.
    pub(crate) secure: bool,
    /// Only this machine can connect.
    pub(crate) local: bool,
}

impl Place {
    /// Binds the address of a URL. Without a host that is this machine alone.
    pub(crate) async fn bind(url: &str) -> io::Result<Place> {
        if let Some(address) = local::address(url)? {
            let listener = Listener::Local(local::Listener::bind(address)?);
            let url = format!("{}:{address}", local::SCHEME);
            return Ok(Place { listener, url, path: "/".to_owned(), secure: false, local: true });
        }
        let (scheme, rest) = url.split_once("://").ok_or_else(|| unknown(url))?;
        let secure = match scheme {
            "tcp" => false,
            "tls" => true,
            "http" | "ws" if cfg!(feature = "http") => false,
            "https" | "wss" if cfg!(feature = "http") => true,
            "http" | "ws" | "https" | "wss" => {
                let reason = format!("cannot listen at `{url}`: sabir was built without its feature `http`");
                return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
            }
            _ => return Err(unknown(url)),
        };
        let (authority, path) = match rest.find('/') {
            Some(slash) => rest.split_at(slash),
            None => (rest, ""),
        };
        let address = match authority.strip_prefix(':') {
            Some(port) => format!("127.0.0.1:{port}"),
            None => authority.to_owned(),
        };
        let listener = TcpListener::bind(&address).await?;
        let bound = listener.local_addr()?;
        Ok(Place {
            listener: Listener::Tcp(listener),
            url: format!("{scheme}://{bound}{path}"),
            path: if path.is_empty() { "/".to_owned() } else { path.to_owned() },
            secure,
            local: bound.ip().is_loopback(),
        })
    }
}

fn unknown(url: &str) -> io::Error {
    let local = local::SCHEME;
    let reason = format!("cannot listen at `{url}`: it is none of tcp: tls: http: https: ws: wss: {local}:");
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

impl Listener {
    pub(crate) async fn accept(&self) -> io::Result<Accepted> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                // Small messages are sent at once.
                stream.set_nodelay(true)?;
                Ok(Accepted::Tcp(stream, address))
            }
            Listener::Local(listener) => Ok(Accepted::Local(listener.accept().await?)),
        }
    }
}
