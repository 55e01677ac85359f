//! Sockets that are connected to.

use std::io;

use tokio::net::TcpStream;

use super::{Transport, streams};

/// Connects to a TCP address such as `127.0.0.1:4000`.
pub async fn tcp(address: impl tokio::net::ToSocketAddrs) -> io::Result<Transport> {
    tcp_stream(TcpStream::connect(address).await?)
}

/// A connected socket. Small messages are sent at once.
pub(crate) fn tcp_stream(stream: TcpStream) -> io::Result<Transport> {
    stream.set_nodelay(true)?;
    let (read, write) = stream.into_split();
    Ok(streams(read, write))
}

/// Connects to a Unix socket.
#[cfg(unix)]
pub async fn unix(path: impl AsRef<std::path::Path>) -> io::Result<Transport> {
    Ok(unix_stream(tokio::net::UnixStream::connect(path).await?))
}

#[cfg(unix)]
pub(crate) fn unix_stream(stream: tokio::net::UnixStream) -> Transport {
    let (read, write) = stream.into_split();
    streams(read, write)
}
