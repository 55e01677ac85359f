//! Listens where a URL says, for those who pass bytes on without a session of their own.

use std::io;
use std::time::Duration;

use sabir::transport::Url;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};
#[cfg(unix)]
use tokio::net::{UnixListener, UnixStream};

use crate::exit::{Exit, Failure};

/// How long a connection may be silent before the system asks whether its peer is still there.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// Where to listen.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) url: Url,
    /// Any free port will do.
    is_any_port: bool,
}

impl Place {
    pub(crate) fn parse(at: &str) -> Result<Place, Failure> {
        // Port 0 is for listening alone: a URL cannot have it.
        let is_any_port =
            at.split("://").nth(1).and_then(|rest| rest.split('/').next()?.strip_suffix(":0")).is_some();
        let url = if is_any_port { Url::parse(&at.replacen(":0", ":1", 1)) } else { Url::parse(at) };
        Ok(Place { url: url.map_err(Failure::usage)?, is_any_port })
    }
}

pub(crate) struct Listener {
    bound: Bound,
    url: Url,
}

enum Bound {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixListener, std::path::PathBuf),
}

/// A connection, as the system has it.
pub(crate) enum Accepted {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Listener {
    pub(crate) async fn bind(at: &Place) -> Result<Self, Failure> {
        let bound = Bound::at(at).await.map_err(|error| {
            let failure = Failure::new(Exit::Connect, format_args!("cannot listen at {}: {error}", at.url));
            match error.kind() {
                io::ErrorKind::AddrInUse => failure.hint("use another port or path; port 0 is any free port"),
                _ => failure,
            }
        })?;
        Ok(Listener { bound, url: at.url.clone() })
    }

    /// Where it listens, with the port that was chosen.
    pub(crate) fn url(&self) -> String {
        let asked = &self.url;
        match &self.bound {
            Bound::Tcp(listener) => {
                let path = if asked.scheme().is_web() { asked.path() } else { "" };
                match listener.local_addr() {
                    Ok(address) => format!("{}://{address}{path}", asked.scheme().name()),
                    Err(_) => asked.to_string(),
                }
            }
            #[cfg(unix)]
            Bound::Unix(..) => asked.to_string(),
        }
    }

    pub(crate) async fn accept(&self) -> io::Result<Accepted> {
        match &self.bound {
            Bound::Tcp(listener) => accept_tcp(listener).await.map(Accepted::Tcp),
            #[cfg(unix)]
            Bound::Unix(listener, _) => Ok(Accepted::Unix(listener.accept().await?.0)),
        }
    }
}

impl Bound {
    async fn at(Place { url, is_any_port }: &Place) -> io::Result<Self> {
        match url.scheme() {
            #[cfg(unix)]
            sabir::transport::Scheme::Unix => {
                let path = std::path::PathBuf::from(url.host());
                let bound = match UnixListener::bind(&path) {
                    // What an earlier process has left behind.
                    Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                        use std::os::unix::fs::FileTypeExt;
                        if !std::fs::symlink_metadata(&path)?.file_type().is_socket() {
                            let why = "a file with this name exists and is not a socket";
                            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
                        }
                        if std::os::unix::net::UnixStream::connect(&path).is_ok() {
                            return Err(error);
                        }
                        std::fs::remove_file(&path)?;
                        UnixListener::bind(&path)?
                    }
                    bound => bound?,
                };
                Ok(Bound::Unix(bound, path))
            }
            // A Unix socket or a named pipe, where there is none.
            _ if url.port() == 0 => {
                Err(io::Error::new(io::ErrorKind::Unsupported, "bytes cannot be passed on from there"))
            }
            _ => {
                let port = if *is_any_port { 0 } else { url.port() };
                Ok(Bound::Tcp(TcpListener::bind((url.host(), port)).await?))
            }
        }
    }
}

async fn accept_tcp(listener: &TcpListener) -> io::Result<TcpStream> {
    let (stream, _) = listener.accept().await?;
    stream.set_nodelay(true)?;
    // A peer that has vanished without a word must not keep its place.
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE / 4);
    let _ = SockRef::from(&stream).set_tcp_keepalive(&keepalive);
    Ok(stream)
}

impl Drop for Listener {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Bound::Unix(_, path) = &self.bound {
            let _ = std::fs::remove_file(path);
        }
    }
}

// Windows does not say what was set.
#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn peers_that_vanish_are_noticed() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let accepted = accept_tcp(&listener).await.unwrap();
        assert_eq!(SockRef::from(&accepted).tcp_keepalive_time().unwrap(), KEEPALIVE);
    }
}
