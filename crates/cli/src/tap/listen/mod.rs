//! Listens, and passes each connection on to a target.

mod flushes;
mod head;
mod http;
mod login;
mod relay;
mod send;
mod socket;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::Proxy;
use login::Login;
use sabir::ServerTls;
use sabir::transport::Url;
use sabir_model::capture::Event;
use send::Sends;
use socket::End;
use socket2::{SockRef, TcpKeepalive};
#[cfg(unix)]
use tokio::net::UnixListener;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::queue::Queue;
use crate::exit::{Exit, Failure};
use crate::peer::Chosen;
use crate::print::Printer;
use crate::target::{Address, Target};
use crate::view::Sender;
use crate::web::{Duplex, Web};

/// Connections at the same time, whatever they have become.
const CONNECTIONS: usize = 1024;

/// How long a peer may take for the handshake of TLS, or to be connected to.
const HANDSHAKE: Duration = Duration::from_secs(20);

/// How long a connection may be silent before the system asks whether its peer is still there.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// How long to wait when no connection can be accepted, for lack of descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// Where to listen and whom to pass connections on to.
pub(super) struct Listen {
    pub(super) at: Url,
    /// Any free port will do.
    is_any_port: bool,
    pub(super) target: Address,
    pub(super) tls: Option<ServerTls>,
    pub(super) web: Web,
    /// For what the page sends, if it may.
    sends: Option<Arc<Sends>>,
    /// For clients that have no credentials.
    login: Option<Arc<Login>>,
}

impl Listen {
    pub(super) fn new(at: &str, target: Chosen, tls: Option<ServerTls>, web: Web) -> Result<Self, Failure> {
        let web = web.with(target.headers);
        let target = match target.target {
            Target::Url(target) => target,
            other => {
                return Err(Failure::usage(format_args!("{other} is not a URL to pass connections on to"))
                    .hint("a tap of a command starts it: `sabir tap -- COMMAND`"));
            }
        };
        // Port 0 is for listening alone: a URL cannot have it.
        let is_any_port =
            at.split("://").nth(1).and_then(|rest| rest.split('/').next()?.strip_suffix(":0")).is_some();
        let at = match is_any_port {
            true => Url::parse(&at.replacen(":0", ":1", 1)),
            false => Url::parse(at),
        };
        let at = at.map_err(Failure::usage)?;
        let (listens, calls) = (at.scheme(), target.scheme());
        if listens.is_nats() {
            return Err(Failure::usage(
                "a tap cannot listen behind NATS: workers and callers have no connection to each other",
            )
            .hint("listen at tcp://127.0.0.1:0 and let the caller connect there: TARGET may be nats://HOST/SERVICE"));
        }
        if listens.is_web() != calls.is_web() {
            let other = if calls.is_web() { "http:// or https://" } else { "tcp://, tls:// or unix:" };
            let what = format!("{} and {} do not fit together", listens.name(), calls.name());
            return Err(Failure::usage(what).hint(format_args!("listen at {other} for this target")));
        }
        // Which service is a part of the URL, and a caller of lines is one session of it.
        if calls.is_nats() && target.path() == "/" {
            return Err(Failure::usage(format_args!("`{target}` names no service"))
                .hint("write it as nats://HOST/SERVICE"));
        }
        let web = web.for_target(&target)?;
        Ok(Listen { at, is_any_port, target, tls, web, sends: None, login: None })
    }

    /// Logs in for clients that have no credentials.
    pub(super) async fn log_in(&mut self, printer: &Printer) -> Result<(), Failure> {
        self.login = Some(Arc::new(Login::open(self, printer).await?));
        Ok(())
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
        // Whoever is told that it listens may end it.
        let ended = super::platform::asked_to_end();
        printer.note(&format!("listening at {}, for {}", listener.url(&self.at), self.target));
        let shared = Arc::new(self.shared(queue)?);
        if let Some(sends) = &shared.sends {
            sends.listens(shared.proxy.clone());
        }
        tokio::select! {
            () = shared.serve_all(&listener, CONNECTIONS) => {}
            () = ended => {}
        }
        Ok(())
    }

    fn shared(self, queue: Arc<Queue>) -> Result<Shared, Failure> {
        Ok(Shared {
            proxy: Proxy::new(&self, queue.clone())?,
            target: self.target,
            tls: self.tls.filter(|_| self.at.scheme().is_secure()),
            web: self.web,
            queue,
            connections: AtomicU64::new(0),
            sends: self.sends,
        })
    }
}

/// What all connections use.
struct Shared {
    target: Address,
    tls: Option<ServerTls>,
    web: Web,
    queue: Arc<Queue>,
    proxy: Arc<Proxy>,
    connections: AtomicU64,
    sends: Option<Arc<Sends>>,
}

impl Shared {
    /// Serves so many connections at the same time. Others wait to be accepted.
    async fn serve_all(self: Arc<Self>, listener: &Listener, most: usize) {
        let slots = Arc::new(Semaphore::new(most));
        loop {
            let Ok(slot) = slots.clone().acquire_owned().await else { return };
            match listener.accept().await {
                Ok(stream) => {
                    let shared = self.clone();
                    tokio::spawn(async move {
                        shared.serve(stream).await;
                        drop(slot);
                    });
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// Serves a connection until it ends.
    async fn serve(&self, client: End) {
        let connection = self.connections.fetch_add(1, Ordering::Relaxed) + 1;
        let client = match &self.tls {
            None => client,
            Some(tls) => match tokio::time::timeout(HANDSHAKE, tls.accept(client.stream)).await {
                Ok(Ok(stream)) => End { stream: Box::pin(stream), ..client },
                Ok(Err(error)) => {
                    return self.queue.event(connection, Event::Mark, format!("no TLS: {error}"));
                }
                Err(_) => return self.queue.event(connection, Event::Mark, "no TLS in time"),
            },
        };
        if self.target.scheme().is_web() {
            return http::serve(client, connection, self.proxy.clone()).await;
        }
        match End::dial(&self.target, &self.web).await {
            Ok(mut server) => {
                self.queue.event(connection, Event::Open, "");
                let ending = server.ending.take();
                let of = relay::streams(connection);
                let how = relay::both(client, server, of, &self.queue, self.sends.as_deref()).await;
                // It tells more than that nothing can be read or written any more.
                let reason = match ending {
                    Some(ending) => ending.await,
                    None => None,
                };
                let broken = || how.err().map_or(String::new(), |error| error.to_string());
                self.queue.event(connection, Event::Close, reason.unwrap_or_else(broken));
            }
            Err(error) => {
                self.queue.event(connection, Event::Close, format!("cannot connect to the target: {error}"));
            }
        }
    }
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

    async fn accept(&self) -> io::Result<End> {
        match self {
            Listener::Tcp(listener) => Ok(End::tcp(accept_tcp(listener).await?)),
            #[cfg(unix)]
            Listener::Unix(listener, _) => Ok(End::other(Box::pin(listener.accept().await?.0))),
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
        if let Listener::Unix(_, path) = self {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::time::Instant;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const UPGRADE: &str = "GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
    const SWITCHED: &str =
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";

    fn target(url: &str) -> Chosen {
        Target::parse(url).ok().unwrap().into()
    }

    /// Reads to the end of a head.
    async fn head(stream: &mut TcpStream) -> String {
        let mut came = Vec::new();
        while !came.ends_with(b"\r\n\r\n") {
            came.push(stream.read_u8().await.unwrap());
        }
        String::from_utf8(came).unwrap()
    }

    /// A target that greets, and then says what it hears until it hears no more: how many have been open at once.
    async fn echo(greets: bool) -> (String, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap().to_string();
        let (open, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let peak = most.clone();
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let open = open.clone();
                most.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::spawn(async move {
                    if greets {
                        head(&mut stream).await;
                        stream.write_all(SWITCHED.as_bytes()).await.unwrap();
                    }
                    while let Ok(byte @ 1..) = stream.read_u8().await {
                        stream.write_u8(byte).await.unwrap();
                    }
                    open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        (at, peak)
    }

    /// Silent connections and those that have become WebSockets keep their place until they end.
    #[tokio::test]
    async fn connections_of_every_kind_are_limited() {
        const MOST: usize = 2;
        for (listens, is_web) in [("tcp://127.0.0.1:0", false), ("http://127.0.0.1:0/", true)] {
            let (at, peak) = echo(is_web).await;
            let scheme = if is_web { "http" } else { "tcp" };
            let listen =
                Listen::new(listens, target(&format!("{scheme}://{at}")), None, Web::default()).ok().unwrap();
            let listener = Listener::bind(&listen.at, true).await.unwrap();
            // The only kind where there are no Unix sockets.
            #[allow(irrefutable_let_patterns)]
            let Listener::Tcp(bound) = &listener else { panic!("not TCP") };
            let address = bound.local_addr().unwrap();
            let shared = Arc::new(listen.shared(Arc::new(Queue::new(Instant::now()))).ok().unwrap());
            tokio::spawn(async move { shared.serve_all(&listener, MOST).await });
            let mut open = Vec::new();
            for _ in 0..MOST {
                let mut stream = TcpStream::connect(address).await.unwrap();
                if is_web {
                    stream.write_all(UPGRADE.as_bytes()).await.unwrap();
                    assert_eq!(head(&mut stream).await, SWITCHED);
                }
                stream.write_u8(7).await.unwrap();
                assert_eq!(stream.read_u8().await.unwrap(), 7);
                open.push(stream);
            }
            let mut late = TcpStream::connect(address).await.unwrap();
            late.write_all(if is_web { UPGRADE.as_bytes() } else { &[8] }).await.unwrap();
            // Whoever has a place too many is heard of soon. That nobody is does not hang on this time.
            let early = tokio::time::timeout(Duration::from_millis(100), late.read_u8()).await;
            assert!(early.is_err(), "{listens}: one more than {MOST}");
            drop(open.pop());
            assert_eq!(late.read_u8().await.unwrap(), if is_web { b'H' } else { 8 });
            assert_eq!(peak.load(Ordering::SeqCst), MOST, "{listens}");
        }
    }

    // Windows does not say what was set.
    #[cfg(unix)]
    #[tokio::test]
    async fn peers_that_vanish_are_noticed() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let accepted = accept_tcp(&listener).await.unwrap();
        assert_eq!(SockRef::from(&accepted).tcp_keepalive_time().unwrap(), KEEPALIVE);
    }
}
