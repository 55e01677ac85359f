//! Unix sockets.

use std::io;
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixSocket, UnixStream};

use crate::Error;
use crate::transport::network::Network;
use crate::transport::{ByteTransport, ConnectError, Scheme, Transport};

pub(crate) const SCHEME: Scheme = Scheme::Unix;
/// How a URL is written.
pub(crate) const WRITTEN: &str = "unix:PATH";
pub(crate) const HERE: &str = "Unix sockets";

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1024;

pub(crate) type Stream = UnixStream;

/// Connects to a Unix socket.
pub async fn unix(path: impl AsRef<Path>) -> Result<Transport, Error> {
    let url = format!("unix:{}", path.as_ref().display());
    let connected = UnixStream::connect(path).await;
    let stream = connected.map_err(|error| ConnectError::socket(&url, error))?;
    Ok(Transport::new(move || Ok(ByteTransport::over(Box::new(stream)))).over(Network::accepted(false)))
}

pub(crate) async fn connect(path: &str) -> io::Result<Stream> {
    UnixStream::connect(path).await
}

/// A socket that is listened at.
#[derive(Debug)]
pub(crate) struct Listener {
    listener: UnixListener,
    _file: SocketFile,
}

impl Listener {
    pub(crate) fn bind(path: &str) -> io::Result<Self> {
        let (listener, _file) = bind_unix(path.as_ref())?;
        Ok(Listener { listener, _file })
    }

    pub(crate) async fn accept(&self) -> io::Result<Stream> {
        Ok(self.listener.accept().await?.0)
    }
}

/// The file of a Unix socket, removed with its listener.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    /// Which file it is: another server may have put its own there.
    inode: (u64, u64),
}

impl SocketFile {
    fn inode(path: &Path) -> io::Result<(u64, u64)> {
        use std::os::unix::fs::MetadataExt;
        let metadata = std::fs::symlink_metadata(path)?;
        Ok((metadata.dev(), metadata.ino()))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if Self::inode(&self.path).is_ok_and(|inode| inode == self.inode) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Binds a Unix socket that only this user can open. A file that an earlier server left behind, to which
/// nobody listens any more, is replaced.
fn bind_unix(path: &Path) -> io::Result<(UnixListener, SocketFile)> {
    use std::os::unix::fs::PermissionsExt;

    let socket = UnixSocket::new_stream()?;
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
fn remove_stale(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt;

    let refuse = |why| Err(io::Error::new(io::ErrorKind::AddrInUse, why));
    if !std::fs::symlink_metadata(path)?.file_type().is_socket() {
        return refuse("a file with this name exists and is not a socket");
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Err(refused) if refused.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        _ => refuse("another server listens there"),
    }
}
