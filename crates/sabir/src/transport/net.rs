//! Sockets that are connected to.

use std::io;

use tokio::net::TcpStream;

use super::error::ConnectError;
use super::{ByteTransport, Transport};
use crate::Error;

/// Connects to a TCP address such as `127.0.0.1:4000`.
pub async fn tcp(address: impl tokio::net::ToSocketAddrs) -> Result<Transport, Error> {
    let connected = TcpStream::connect(address).await;
    let stream = connected.map_err(|error| ConnectError::socket("the TCP address", error))?;
    Ok(Transport::new(move || tcp_io(stream)))
}

/// A connected socket. Small messages are sent at once.
pub(crate) fn tcp_io(stream: TcpStream) -> io::Result<ByteTransport> {
    stream.set_nodelay(true)?;
    Ok(ByteTransport::over(Box::new(stream)))
}
