//! Listens, and passes each connection on to a target.

mod ending;
mod flushes;
mod head;
mod http;
mod login;
mod relay;
mod send;
mod socket;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ending::Ending;
use http::Proxy;
use login::Login;
use sabir::ServerTls;
use sabir_model::capture::Event;
use send::Sends;
use socket::End;
use tokio::sync::Semaphore;

use super::queue::Queue;
use crate::exit::Failure;
use crate::listener::{Listener, Place};
use crate::peer::Chosen;
use crate::print::Printer;
use crate::target::{Address, Target};
use crate::view::Sender;
use crate::web::{Duplex, Web};

/// Connections at the same time, whatever they have become.
const CONNECTIONS: usize = 1024;

/// How long a peer may take for the handshake of TLS, or to be connected to.
const HANDSHAKE: Duration = Duration::from_secs(20);

/// How long the last rows of all connections may take.
const LAST_CLOSES: Duration = Duration::from_secs(1);

/// The connection that the end of the tap is recorded on.
const FIRST: u64 = 1;

/// How long to wait when no connection can be accepted, for lack of descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// Where to listen and whom to pass connections on to.
pub(super) struct Listen {
    pub(super) at: Place,
    pub(super) target: Address,
    pub(super) tls: Option<ServerTls>,
    pub(super) web: Web,
    /// For what the page sends, if it may.
    sends: Option<Arc<Sends>>,
    /// For clients that have no credentials.
    login: Option<Arc<Login>>,
    ending: Arc<Ending>,
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
        let at = Place::parse(at)?;
        let (listens, calls) = (at.url.scheme(), target.scheme());
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
        Ok(Listen { at, target, tls, web, sends: None, login: None, ending: Arc::default() })
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
        let listener = Listener::bind(&self.at).await?;
        // Whoever is told that it listens may end it.
        let ended = super::platform::asked_to_end();
        printer.note(&format!("listening at {}, for {}", listener.url(), self.target));
        let (ending, slots) = (self.ending.clone(), Arc::new(Semaphore::new(CONNECTIONS)));
        let shared = Arc::new(self.shared(queue.clone())?);
        if let Some(sends) = &shared.sends {
            sends.listens(shared.proxy.clone());
        }
        tokio::select! {
            () = shared.serve_all(&listener, slots.clone()) => {}
            () = ended => {}
        }
        // Each connection gets its last row before the tap gets its own.
        ending.begin();
        let _ = tokio::time::timeout(LAST_CLOSES, slots.acquire_many(CONNECTIONS as u32)).await;
        queue.event(FIRST, Event::Exit, ending::WHY);
        Ok(())
    }

    fn shared(self, queue: Arc<Queue>) -> Result<Shared, Failure> {
        Ok(Shared {
            proxy: Proxy::new(&self, queue.clone())?,
            target: self.target,
            tls: self.tls.filter(|_| self.at.url.scheme().is_secure()),
            web: self.web,
            queue,
            connections: AtomicU64::new(0),
            sends: self.sends,
            ending: self.ending,
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
    ending: Arc<Ending>,
}

impl Shared {
    /// Serves as many connections at the same time as there are slots. Others wait to be accepted.
    async fn serve_all(self: Arc<Self>, listener: &Listener, slots: Arc<Semaphore>) {
        loop {
            let Ok(slot) = slots.clone().acquire_owned().await else { return };
            match listener.accept().await {
                Ok(accepted) => {
                    let shared = self.clone();
                    tokio::spawn(async move {
                        shared.serve(End::of(accepted)).await;
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
                let both = relay::both(client, server, of, &self.queue, self.sends.as_deref());
                let how = self.ending.unless(both, of, &self.queue).await;
                // It tells more than that nothing can be read or written any more.
                let reason = match ending {
                    Some(ending) => tokio::select! {
                        reason = ending => reason,
                        () = self.ending.wait() => None,
                    },
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::time::Instant;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

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
            let listener = Listener::bind(&listen.at).await.ok().unwrap();
            let url = listener.url();
            let address = url.split("://").nth(1).unwrap().trim_end_matches('/').to_owned();
            let shared = Arc::new(listen.shared(Arc::new(Queue::new(Instant::now()))).ok().unwrap());
            let slots = Arc::new(Semaphore::new(MOST));
            tokio::spawn(async move { shared.serve_all(&listener, slots).await });
            let mut open = Vec::new();
            for _ in 0..MOST {
                let mut stream = TcpStream::connect(&address).await.unwrap();
                if is_web {
                    stream.write_all(UPGRADE.as_bytes()).await.unwrap();
                    assert_eq!(head(&mut stream).await, SWITCHED);
                }
                stream.write_u8(7).await.unwrap();
                assert_eq!(stream.read_u8().await.unwrap(), 7);
                open.push(stream);
            }
            let mut late = TcpStream::connect(&address).await.unwrap();
            late.write_all(if is_web { UPGRADE.as_bytes() } else { &[8] }).await.unwrap();
            // Whoever has a place too many is heard of soon. That nobody is does not hang on this time.
            let early = tokio::time::timeout(Duration::from_millis(100), late.read_u8()).await;
            assert!(early.is_err(), "{listens}: one more than {MOST}");
            drop(open.pop());
            assert_eq!(late.read_u8().await.unwrap(), if is_web { b'H' } else { 8 });
            assert_eq!(peak.load(Ordering::SeqCst), MOST, "{listens}");
        }
    }

    /// Nobody but the record notices.
    #[tokio::test]
    async fn a_recorder_that_panics_leaves_the_traffic_alone() {
        let (at, _) = echo(false).await;
        let listen = Listen::new("tcp://127.0.0.1:0", target(&format!("tcp://{at}")), None, Web::default())
            .ok()
            .unwrap();
        let listener = Listener::bind(&listen.at).await.ok().unwrap();
        let address = listener.url().replace("tcp://", "");
        let queue = Arc::new(Queue::new(Instant::now()));
        let taken = queue.clone();
        let recording = crate::tap::Recording::begin(queue.clone(), move || {
            assert!(taken.wait().is_none(), "a fault of the recorder, at the first that it takes");
        });
        let (shared, slots) =
            (Arc::new(listen.shared(queue.clone()).ok().unwrap()), Arc::new(Semaphore::new(1)));
        tokio::spawn(async move { shared.serve_all(&listener, slots).await });
        let mut stream = TcpStream::connect(address).await.unwrap();
        let mut left = 100;
        // Before, at the time and afterwards.
        while queue.is_needed() || left > 0 {
            stream.write_u8(7).await.unwrap();
            assert_eq!(stream.read_u8().await.unwrap(), 7);
            left -= i32::from(!queue.is_needed());
        }
        recording.finish();
    }
}
