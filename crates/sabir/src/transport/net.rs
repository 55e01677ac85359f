//! Sockets that are connected to.

use std::io;

use tokio::net::TcpStream;

use super::error::ConnectError;
use super::network::Network;
use super::{ByteTransport, Transport, socket};
use crate::Error;

/// Connects to a TCP address such as `127.0.0.1:4000`.
pub async fn tcp(address: impl tokio::net::ToSocketAddrs) -> Result<Transport, Error> {
    let connected = TcpStream::connect(address).await;
    let stream = connected.map_err(|error| ConnectError::socket("the TCP address", error))?;
    let network = stream.peer_addr().map_or_else(|_| Network::accepted(true), Network::connected);
    Ok(Transport::new(move || tcp_io(stream)).over(network))
}

/// A connected socket.
pub(crate) fn tcp_io(stream: TcpStream) -> io::Result<ByteTransport> {
    socket::prepare(&stream)?;
    Ok(ByteTransport::over(Box::new(stream)))
}
