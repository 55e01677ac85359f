//! Listens, and passes each connection on to a target.

mod http;
mod relay;
mod send;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::Proxy;
use sabir::ServerTls;
use sabir::transport::{RawStreams, Transport, Url};
use sabir_model::capture::Event;
use send::Sends;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
#[cfg(unix)]
use tokio::net::UnixListener;
use tokio::sync::Semaphore;

use super::queue::Queue;
use crate::exit::{Exit, Failure};
use crate::print::Printer;
use crate::view::Sender;
use crate::web::Web;

/// Connections at the same time. Others wait to be accepted.
const CONNECTIONS: usize = 1024;

/// How long a peer may take for the handshake of TLS, or to be connected to.
const HANDSHAKE: Duration = Duration::from_secs(20);

/// How long to wait when no connection can be accepted, for lack of descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// Where to listen and whom to pass connections on to.
pub(super) struct Listen {
    pub(super) at: Url,
    /// Any free port will do.
    is_any_port: bool,
    pub(super) target: Url,
    pub(super) tls: Option<ServerTls>,
    pub(super) web: Web,
    /// For what the page sends, if it may.
    sends: Option<Arc<Sends>>,
}

/// A stream of either side.
pub(super) type Duplex = Pin<Box<dyn ReadWrite>>;

pub(super) trait ReadWrite: AsyncRead + AsyncWrite + Send {}

impl<S: AsyncRead + AsyncWrite + Send> ReadWrite for S {}

impl Listen {
    pub(super) fn new(at: &str, target: &str, tls: Option<ServerTls>, web: Web) -> Result<Self, Failure> {
        let target = Url::parse(target).map_err(Failure::usage)?;
        // Port 0 is for listening alone: a URL cannot have it.
        let is_any_port =
            at.split("://").nth(1).and_then(|rest| rest.split('/').next()?.strip_suffix(":0")).is_some();
        let at = match is_any_port {
            true => Url::parse(&at.replacen(":0", ":1", 1)),
            false => Url::parse(at),
        };
        let at = at.map_err(Failure::usage)?;
        let (listens, calls) = (at.scheme(), target.scheme());
        if listens.is_nats() || calls.is_nats() {
            return Err(Failure::usage(
                "a tap cannot stand between NATS and its clients: they have no connection to each other",
            )
            .hint(
                "--trace shows the messages of one caller; `sabir replay` and `sabir mock` take nats:// URLs",
            ));
        }
        if listens.is_web() != calls.is_web() {
            let other = if calls.is_web() { "http:// or https://" } else { "tcp://, tls:// or unix:" };
            let what = format!("{} and {} do not fit together", listens.name(), calls.name());
            return Err(Failure::usage(what).hint(format_args!("listen at {other} for this target")));
        }
        Ok(Listen { at, is_any_port, target, tls, web, sends: None })
    }

    /// Sends for the page.
    pub(super) fn sender(&mut self) -> Sender {
        send::sender(self.sends.insert(Arc::default()).clone())
    }

    /// Listens until the user ends it.
    pub(super) async fn run(self, queue: Arc<Queue>, printer: &Printer) -> Result<(), Failure> {
        let listener = Listener::bind(&self.at, self.is_any_port).await.map_err(|error| {
            let failure = Failure::new(Exit::Connect, format_args!("cannot listen at {}: {error}", self.at));
            match error.kind() {
                io::ErrorKind::AddrInUse => failure.hint("use another port or path; port 0 is any free port"),
                _ => failure,
            }
        })?;
        printer.note(&format!("listening at {}, for {}", listener.url(&self.at), self.target));
        let shared = Arc::new(Shared {
            proxy: Proxy::new(&self, queue.clone())?,
            target: self.target,
            tls: self.tls.filter(|_| self.at.scheme().is_secure()),
            web: self.web,
            queue,
            connections: AtomicU64::new(0),
            sends: self.sends,
        });
        if let Some(sends) = &shared.sends {
            sends.listens(shared.proxy.clone());
        }
        let slots = Arc::new(Semaphore::new(CONNECTIONS));
        let accept = async {
            loop {
                let Ok(slot) = slots.clone().acquire_owned().await else { return };
                match listener.accept().await {
                    Ok(stream) => {
                        let shared = shared.clone();
                        tokio::spawn(async move {
                            shared.serve(stream).await;
                            drop(slot);
                        });
                    }
                    Err(_) => tokio::time::sleep(PAUSE).await,
                }
            }
        };
        tokio::select! {
            () = accept => {}
            () = super::platform::asked_to_end() => {}
        }
        Ok(())
    }
}

/// What all connections use.
struct Shared {
    target: Url,
    tls: Option<ServerTls>,
    web: Web,
    queue: Arc<Queue>,
    proxy: Arc<Proxy>,
    connections: AtomicU64,
    sends: Option<Arc<Sends>>,
}

impl Shared {
    async fn serve(&self, stream: Duplex) {
        let connection = self.connections.fetch_add(1, Ordering::Relaxed) + 1;
        let client = match &self.tls {
            None => stream,
            Some(tls) => match tokio::time::timeout(HANDSHAKE, tls.accept(stream)).await {
                Ok(Ok(stream)) => Box::pin(stream),
                Ok(Err(error)) => {
                    return self.queue.event(connection, Event::Mark, format!("no TLS: {error}"));
                }
                Err(_) => return self.queue.event(connection, Event::Mark, "no TLS in time"),
            },
        };
        if self.target.scheme().is_web() {
            return http::serve(client, connection, self.proxy.clone()).await;
        }
        match dial(&self.target, &self.web).await {
            Ok(server) => {
                self.queue.event(connection, Event::Open, "");
                let of = relay::streams(connection);
                let how = relay::both(client, server, of, &self.queue, self.sends.as_deref()).await;
                self.queue.event(
                    connection,
                    Event::Close,
                    how.err().map_or(String::new(), |error| error.to_string()),
                );
            }
            Err(error) => {
                self.queue.event(connection, Event::Close, format!("cannot connect to the target: {error}"));
            }
        }
    }
}

/// Connects to the target.
async fn dial(target: &Url, web: &Web) -> io::Result<Duplex> {
    let transport = match target.scheme() {
        scheme if scheme.is_web() => {
            let scheme = if scheme.is_secure() { "tls" } else { "tcp" };
            let host = match target.host() {
                host if host.contains(':') => format!("[{host}]"),
                host => host.to_owned(),
            };
            sabir::transport::url(format!("{scheme}://{host}:{}", target.port()))
        }
        _ => sabir::transport::url(target.to_string()),
    };
    let streams = Transport::into_streams(web.trust(transport));
    let RawStreams { read, write, .. } =
        tokio::time::timeout(HANDSHAKE, streams).await.map_err(|_| io::ErrorKind::TimedOut)??;
    Ok(Box::pin(tokio::io::join(read, write)))
}

enum Listener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixListener, std::path::PathBuf),
}

impl Listener {
    async fn bind(at: &Url, is_any_port: bool) -> io::Result<Self> {
        match at.scheme() {
            #[cfg(unix)]
            sabir::transport::Scheme::Unix => {
                let path = std::path::PathBuf::from(at.host());
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
                Ok(Listener::Unix(bound, path))
            }
            // A Unix socket or a named pipe, where there is none.
            _ if at.port() == 0 => {
                Err(io::Error::new(io::ErrorKind::Unsupported, "a tap cannot listen there"))
            }
            _ => {
                let port = if is_any_port { 0 } else { at.port() };
                Ok(Listener::Tcp(TcpListener::bind((at.host(), port)).await?))
            }
        }
    }

    /// Where it listens, with the port that was chosen.
    fn url(&self, asked: &Url) -> String {
        match self {
            Listener::Tcp(listener) => {
                let path = if asked.scheme().is_web() { asked.path() } else { "" };
                match listener.local_addr() {
                    Ok(address) => format!("{}://{address}{path}", asked.scheme().name()),
                    Err(_) => asked.to_string(),
                }
            }
            #[cfg(unix)]
            Listener::Unix(..) => asked.to_string(),
        }
    }

    async fn accept(&self) -> io::Result<Duplex> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok(Box::pin(stream))
            }
            #[cfg(unix)]
            Listener::Unix(listener, _) => Ok(Box::pin(listener.accept().await?.0)),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Listener::Unix(_, path) = self {
            let _ = std::fs::remove_file(path);
        }
    }
}
