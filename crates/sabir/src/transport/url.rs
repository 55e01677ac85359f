//! Transports by their URL.

use std::io;

use tokio::net::TcpStream;

use super::net::{tcp_io, unix_path};
use super::{Transport, Way};

/// How to open a connection to a URL.
#[derive(Default)]
pub(crate) struct Dial {}

/// Whatever a URL names: `tcp://127.0.0.1:4000` or `unix:/run/sabir.sock`. It is connected to when it is
/// used; [`connect`](crate::connect) takes the URL itself.
pub fn url(url: impl Into<String>) -> Transport {
    let url = url.into();
    Transport::dialled(move |dial| Box::pin(async move { open(&url, dial).await }))
}

async fn open(url: &str, _: Dial) -> io::Result<Way> {
    if let Some(address) = url.strip_prefix("tcp://") {
        return tcp_io(TcpStream::connect(address).await?).map(Way::Bytes);
    }
    #[cfg(unix)]
    if let Some(path) = unix_path(url) {
        return Ok(Way::Bytes(super::net::unix_io(tokio::net::UnixStream::connect(path).await?)));
    }
    let reason = format!("cannot connect to `{url}`: expected tcp://HOST:PORT or unix:PATH");
    Err(io::Error::new(io::ErrorKind::InvalidInput, reason))
}

impl From<&str> for Transport {
    fn from(text: &str) -> Self {
        url(text)
    }
}

impl From<String> for Transport {
    fn from(text: String) -> Self {
        url(text)
    }
}
