//! Named pipes.
//!
//! They are streams in both directions, but cannot be closed in one of them: the end of what the peer sends is the
//! end of the connection.

mod access;

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::windows::named_pipe::{ClientOptions, NamedPipeClient, NamedPipeServer, ServerOptions};
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};
use windows_sys::Win32::Foundation::{ERROR_ACCESS_DENIED, ERROR_PIPE_BUSY};

use crate::Error;
use crate::transport::endpoint::CONNECT_TIMEOUT;
use crate::transport::network::Network;
use crate::transport::{ByteTransport, ConnectError, Scheme, Transport};

pub(crate) const SCHEME: Scheme = Scheme::Pipe;
/// How a URL is written.
pub(crate) const WRITTEN: &str = "pipe:NAME";
pub(crate) const HERE: &str = "named pipes";

/// How often a pipe is tried whose instances are all taken.
const RETRY: Duration = Duration::from_millis(20);

/// Connects to a named pipe: by its name alone, as in `sabir`, or by its whole path, as in `\\.\pipe\sabir`.
pub async fn pipe(name: impl AsRef<str>) -> Result<Transport, Error> {
    let url = format!("pipe:{}", name.as_ref());
    let connected = connect(name.as_ref()).await;
    let stream = connected.map_err(|error| ConnectError::socket(&url, error))?;
    Ok(Transport::new(move || Ok(ByteTransport::over(Box::new(stream)))).over(Network::accepted(false)))
}

/// The whole path of a pipe.
pub(crate) fn path(name: &str) -> String {
    if name.starts_with(r"\\") { name.to_owned() } else { format!(r"\\.\pipe\{name}") }
}

pub(crate) async fn connect(name: &str) -> io::Result<Stream> {
    let path = path(name);
    let connecting = async {
        loop {
            match ClientOptions::new().open(&path) {
                Ok(pipe) => return Ok(Stream::Client(pipe)),
                // The server is about to make the next instance.
                Err(error) if has_code(&error, ERROR_PIPE_BUSY) => sleep(RETRY).await,
                Err(error) => return Err(error),
            }
        }
    };
    timeout(CONNECT_TIMEOUT, connecting).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

fn has_code(error: &io::Error, code: u32) -> bool {
    error.raw_os_error() == Some(code.cast_signed())
}

/// A pipe that is listened at: the instance that the next client gets.
#[derive(Debug)]
pub(crate) struct Listener {
    path: String,
    next: Mutex<NamedPipeServer>,
}

impl Listener {
    /// Makes a pipe that only this user can open, on this machine.
    pub(crate) fn bind(name: &str) -> io::Result<Self> {
        let path = path(name);
        let first = access::create(ServerOptions::new().first_pipe_instance(true), &path);
        let first = first.map_err(|error| match has_code(&error, ERROR_ACCESS_DENIED) {
            true => io::Error::new(io::ErrorKind::AddrInUse, "another server listens there"),
            false => error,
        })?;
        Ok(Listener { path, next: Mutex::new(first) })
    }

    /// May be dropped at any time: no client is lost.
    pub(crate) async fn accept(&self) -> io::Result<Stream> {
        let mut next = self.next.lock().await;
        next.connect().await?;
        let following = access::create(&ServerOptions::new(), &self.path)?;
        Ok(Stream::Server(std::mem::replace(&mut *next, following)))
    }
}

/// Either end of a pipe.
#[derive(Debug)]
pub(crate) enum Stream {
    Client(NamedPipeClient),
    Server(NamedPipeServer),
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = match self.get_mut() {
            Stream::Client(pipe) => Pin::new(pipe).poll_read(cx, buffer),
            Stream::Server(pipe) => Pin::new(pipe).poll_read(cx, buffer),
        };
        match read {
            // The peer has closed its end, and everything is read.
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => Poll::Ready(Ok(())),
            read => read,
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Client(pipe) => Pin::new(pipe).poll_write(cx, bytes),
            Stream::Server(pipe) => Pin::new(pipe).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Client(pipe) => Pin::new(pipe).poll_flush(cx),
            Stream::Server(pipe) => Pin::new(pipe).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}
