//! Where connections come from: a TCP port, or the file of a Unix socket.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};

use crate::transport::Scheme;

/// After how much silence TCP asks whether the peer is still there.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// What is inside an [`io::Error`] of [`listen`](crate::listen) that does not come from the system: it names the
/// address already.
#[derive(Debug)]
pub struct ListenError(String);

impl std::fmt::Display for ListenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ListenError {}

/// Connections that may wait to be accepted.
#[cfg(unix)]
const BACKLOG: u32 = 1024;

#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix {
        listener: tokio::net::UnixListener,
        _file: SocketFile,
    },
}

/// A connection that has come.
pub(crate) enum Accepted {
    Tcp(TcpStream, SocketAddr),
    #[cfg(unix)]
    Unix(tokio::net::UnixStream),
}

impl Accepted {
    /// Where it comes from, if that is known.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        match self {
            Accepted::Tcp(_, address) => Some(address.ip()),
            #[cfg(unix)]
            Accepted::Unix(_) => None,
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
    pub(crate) async fn bind(url: &str, has_certificate: bool) -> io::Result<BoundListener> {
        #[cfg(unix)]
        if let Some(path) = crate::transport::net::unix_path(url) {
            let (listener, _file) = bind_unix(path.as_ref())?;
            let listener = Listener::Unix { listener, _file };
            let url = format!("unix:{path}");
            return Ok(BoundListener {
                listener,
                url,
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
            return Err(io::Error::new(io::ErrorKind::Unsupported, ListenError(reason)));
        }
        let secure = known.is_secure();
        if secure && !has_certificate {
            let how = match cfg!(feature = "tls") {
                true => "give a certificate to `ServerBuilder::tls`",
                false => "sabir was built without its feature `tls`",
            };
            let reason = format!("cannot listen at `{url}` without TLS: {how}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, ListenError(reason)));
        }
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

fn unknown(url: &str) -> io::Error {
    let reason = format!("cannot listen at `{url}`: it is none of tcp: tls: http: https: ws: wss: unix:");
    io::Error::new(io::ErrorKind::InvalidInput, ListenError(reason))
}

impl Listener {
    pub(crate) async fn accept(&self) -> io::Result<Accepted> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                // Small messages are sent at once.
                stream.set_nodelay(true)?;
                // A peer that has vanished without a word is found after two minutes.
                let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE / 4);
                SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
                Ok(Accepted::Tcp(stream, address))
            }
            #[cfg(unix)]
            Listener::Unix { listener, .. } => Ok(Accepted::Unix(listener.accept().await?.0)),
        }
    }
}

/// The file of a Unix socket, removed with its listener.
#[cfg(unix)]
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: std::path::PathBuf,
    /// Which file it is: another server may have put its own there.
    inode: (u64, u64),
}

#[cfg(unix)]
impl SocketFile {
    fn inode(path: &std::path::Path) -> io::Result<(u64, u64)> {
        use std::os::unix::fs::MetadataExt;
        let metadata = std::fs::symlink_metadata(path)?;
        Ok((metadata.dev(), metadata.ino()))
    }
}

#[cfg(unix)]
impl Drop for SocketFile {
    fn drop(&mut self) {
        if Self::inode(&self.path).is_ok_and(|inode| inode == self.inode) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Binds a Unix socket that only this user can open. A file that an earlier server left behind, to which
/// nobody listens any more, is replaced.
#[cfg(unix)]
fn bind_unix(path: &std::path::Path) -> io::Result<(tokio::net::UnixListener, SocketFile)> {
    use std::os::unix::fs::PermissionsExt;

    let socket = tokio::net::UnixSocket::new_stream()?;
    match socket.bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            remove_stale(path)?;
            socket.bind(path)?;
        }
        bound => bound?,
    }
    let file = SocketFile { path: path.to_owned(), inode: SocketFile::inode(path)? };
    // Nobody gets in before it listens, and by then only this user does.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok((socket.listen(BACKLOG)?, file))
}

/// Removes a socket to which nobody listens. Anything else is left alone.
#[cfg(unix)]
fn remove_stale(path: &std::path::Path) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt;
    use std::os::unix::net::UnixStream;

    let refuse = |why| {
        let reason = format!("cannot listen at `{}`: {why}", path.display());
        Err(io::Error::new(io::ErrorKind::AddrInUse, ListenError(reason)))
    };
    if !std::fs::symlink_metadata(path)?.file_type().is_socket() {
        return refuse("there is a file of that name that is no socket");
    }
    match UnixStream::connect(path) {
        Err(refused) if refused.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        _ => refuse("another server listens there"),
    }
}
