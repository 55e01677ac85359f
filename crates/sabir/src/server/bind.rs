//! Where connections come from: a TCP port, or a Unix socket or named pipe.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};

use crate::Error;
use crate::transport::{Scheme, local, socket};

/// After how much silence TCP asks whether the peer is still there.
const KEEPALIVE: Duration = Duration::from_secs(60);

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

impl Accepted {
    /// Where it comes from, if that is known.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        match self {
            Accepted::Tcp(_, address) => Some(address.ip()),
            Accepted::Local(_) => None,
        }
    }
}

/// What a URL to listen at asks for.
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only HTTP has paths and hosts"))]
#[derive(Debug)]
pub(crate) struct BoundListener {
    pub(crate) listener: Listener,
    /// The URL with the port that was chosen.
    pub(crate) url: String,
    /// Where HTTP and WebSocket are served.
    pub(crate) path: String,
    /// Only TLS is spoken.
    pub(crate) secure: bool,
    /// Only this machine can connect.
    pub(crate) local: bool,
    /// The URL asks for HTTP or WebSocket.
    pub(crate) web: bool,
    /// The host that the URL names, unless it stands for all addresses of the machine.
    pub(crate) host: Option<String>,
}

impl BoundListener {
    /// Binds the address of a URL. Without a host that is this machine alone. A scheme that asks for TLS needs a
    /// certificate.
    pub(crate) async fn bind(url: &str, has_certificate: bool) -> Result<BoundListener, Error> {
        let failed = |source| Error::Bind { url: url.to_owned(), source };
        let unusable = |reason| Error::config(format!("cannot listen: {reason}"));
        if let Some(address) = local::address(url).map_err(unusable)? {
            let listener = Listener::Local(local::Listener::bind(address).map_err(failed)?);
            return Ok(BoundListener {
                listener,
                url: format!("{}:{address}", local::SCHEME.name()),
                path: "/".to_owned(),
                secure: false,
                local: true,
                web: false,
                host: None,
            });
        }
        let (scheme, rest) = url.split_once("://").ok_or_else(|| unknown(url))?;
        let known = Scheme::parse(scheme).ok_or_else(|| unknown(url))?;
        if known.is_web() && !cfg!(feature = "http") {
            let reason = format!("cannot listen at `{url}`: sabir was built without its feature `http`");
            return Err(Error::config(reason));
        }
        let secure = known.is_secure();
        if secure && !has_certificate {
            let how = match cfg!(feature = "tls") {
                true => "give a certificate to `ServerBuilder::tls`",
                false => "sabir was built without its feature `tls`",
            };
            let reason = format!("cannot listen at `{url}` without TLS: {how}");
            return Err(Error::config(reason));
        }
        let (authority, path) = match rest.find('/') {
            Some(slash) => rest.split_at(slash),
            None => (rest, ""),
        };
        let address = match authority.strip_prefix(':') {
            Some(port) => format!("127.0.0.1:{port}"),
            None => authority.to_owned(),
        };
        let listener = TcpListener::bind(&address).await.map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        Ok(BoundListener {
            listener: Listener::Tcp(listener),
            url: format!("{scheme}://{bound}{path}"),
            path: if path.is_empty() { "/".to_owned() } else { path.to_owned() },
            secure,
            local: bound.ip().is_loopback(),
            web: known.is_web(),
            host: host_of(&address, bound.ip()),
        })
    }
}

/// The host of an address to bind. One that was named is one that clients may call.
fn host_of(address: &str, bound: IpAddr) -> Option<String> {
    let host = address.rsplit_once(':').map(|(host, _)| host.to_owned());
    host.filter(|host| !bound.is_unspecified() && !host.is_empty())
}

fn unknown(url: &str) -> Error {
    let local = local::SCHEME.name();
    let reason = format!(
        "cannot listen at `{url}`: expected one of tcp:, tls:, http:, https:, ws:, wss:, nats:, {local}:"
    );
    Error::config(reason)
}

impl Listener {
    pub(crate) async fn accept(&self) -> io::Result<Accepted> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                // These fail if the peer has left already, which reading will tell.
                let _ = socket::prepare(&stream);
                // A peer that has vanished without a word is found after two minutes.
                let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE / 4);
                let _ = SockRef::from(&stream).set_tcp_keepalive(&keepalive);
                Ok(Accepted::Tcp(stream, address))
            }
            Listener::Local(listener) => Ok(Accepted::Local(listener.accept().await?)),
        }
    }
}
