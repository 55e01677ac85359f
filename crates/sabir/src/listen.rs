//! Serving every connection that comes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use sabir_proto::Config;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use crate::connection::Connection;
use crate::router::{Router, Routes};
use crate::settings::config_setters;
use crate::shared::Wish;
use crate::transport::net::{tcp_io, unix_io};
use crate::transport::{Io, seed};

/// Connections that may be open at once.
const MOST_CONNECTIONS: usize = 4096;

/// Connections that may wait to be accepted.
#[cfg(unix)]
const BACKLOG: u32 = 1024;

/// Listens at a URL, `tcp://127.0.0.1:4000` or `unix:/run/sabir.sock`, for connections that
/// [`Server::run`] then serves. Each speaks lines or `Content-Length` headers, which is found out from its
/// first bytes.
///
/// ```no_run
/// # async fn run() -> std::io::Result<()> {
/// use sabir::Router;
///
/// let router = Router::new().method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) });
/// let server = sabir::listen("tcp://127.0.0.1:0", router).await?;
/// eprintln!("serving on {}", server.url());
/// server.run().await
/// # }
/// ```
pub async fn listen(url: &str, router: Router) -> io::Result<Server> {
    let (listener, url) = Listener::bind(url).await?;
    let config = Config::default();
    Ok(Server {
        listener,
        url,
        routes: router.into_routes(),
        config,
        grace: Duration::from_millis(1500),
        stop: watch::channel(false).0,
        connections: Arc::new(Semaphore::new(MOST_CONNECTIONS)),
    })
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: Listener,
    url: String,
    routes: Arc<Routes>,
    config: Config,
    grace: Duration,
    stop: watch::Sender<bool>,
    connections: Arc<Semaphore>,
}

#[derive(Debug)]
enum Listener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix {
        listener: tokio::net::UnixListener,
        _file: SocketFile,
    },
}

impl Server {
    /// Where it listens, with the port that was chosen.
    pub fn url(&self) -> &str {
        &self.url
    }

    config_setters!();

    /// A handle that stops the server: connections finish what is open, for 1.5 s at the most.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Serves until it is stopped, and every connection has ended.
    pub async fn run(self) -> io::Result<()> {
        let mut stop = self.stop.subscribe();
        let stopped = async {
            let _ = stop.wait_for(|stop| *stop).await;
        };
        let mut stopped = std::pin::pin!(stopped);
        loop {
            let free = Arc::clone(&self.connections);
            let Ok(permit) = free.acquire_owned().await else { break };
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = &mut stopped => break,
            };
            match accepted {
                Ok(io) => {
                    let connection = self.serve(io);
                    tokio::spawn(async move {
                        connection.await;
                        drop(permit);
                    });
                }
                // Out of descriptors, most likely: others will be closed.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
        // Whoever comes now is refused rather than kept waiting, and the next server may have the address.
        drop(self.listener);
        // All permits are back once all connections have ended.
        let _ = self.connections.acquire_many(MOST_CONNECTIONS as u32).await;
        Ok(())
    }

    fn serve(&self, io: Io) -> impl Future<Output = ()> + Send + 'static {
        let config = Config { seed: seed(), ..self.config };
        let routes = Arc::clone(&self.routes);
        let mut stop = self.stop.subscribe();
        let grace = self.grace;
        async move {
            let connection = Connection::new(config, routes, io, None);
            let peer = connection.peer();
            let mut connection = std::pin::pin!(connection);
            tokio::select! {
                _ = &mut connection => return,
                _ = stop.wait_for(|stop| *stop) => {}
            }
            let _ = peer.shared.wish(Wish::Shutdown(grace));
            connection.await;
        }
    }
}

/// Stops a [`Server`].
#[derive(Debug, Clone)]
pub struct Stopper(watch::Sender<bool>);

impl Stopper {
    /// Stops it.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Listener {
    async fn bind(url: &str) -> io::Result<(Listener, String)> {
        if let Some(address) = url.strip_prefix("tcp://") {
            let listener = TcpListener::bind(address).await?;
            let url = format!("tcp://{}", listener.local_addr()?);
            return Ok((Listener::Tcp(listener), url));
        }
        #[cfg(unix)]
        if let Some(path) = url.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            let (listener, _file) = bind_unix(path.as_ref())?;
            return Ok((Listener::Unix { listener, _file }, format!("unix:{path}")));
        }
        let reason = format!("cannot listen at `{url}`: expected tcp://HOST:PORT or unix:PATH");
        Err(io::Error::new(io::ErrorKind::InvalidInput, reason))
    }

    async fn accept(&self) -> io::Result<Io> {
        match self {
            Listener::Tcp(listener) => tcp_io(listener.accept().await?.0),
            #[cfg(unix)]
            Listener::Unix { listener, .. } => Ok(unix_io(listener.accept().await?.0)),
        }
    }
}

/// The file of a Unix socket, removed with its listener.
#[cfg(unix)]
#[derive(Debug)]
struct SocketFile {
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
        Err(io::Error::new(io::ErrorKind::AddrInUse, reason))
    };
    if !std::fs::symlink_metadata(path)?.file_type().is_socket() {
        return refuse("there is a file of that name that is no socket");
    }
    match UnixStream::connect(path) {
        Err(refused) if refused.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        _ => refuse("another server listens there"),
    }
}
