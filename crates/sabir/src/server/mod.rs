//! Serving every connection that comes.

pub(crate) mod acceptor;
pub(crate) mod bind;
pub(crate) mod budget;
pub(crate) mod deadline_timer;
pub(crate) mod detect;
#[cfg(all(feature = "fuzzing", feature = "http"))]
pub(crate) mod fuzzing;
#[cfg(feature = "http")]
pub(crate) mod http;
pub(crate) mod limiter;
pub(crate) mod lingering_close;
#[cfg(any(feature = "http", feature = "tls"))]
pub(crate) mod prefixed;
pub(crate) mod streams;
#[cfg(feature = "tls")]
pub(crate) mod tls;

use std::sync::Arc;
use std::time::Duration;

use sabir_proto::Config;
use tokio::sync::watch;

use crate::Error;
use crate::router::{Router, Routes};
use crate::runtime::config::config_setters;
use crate::server::acceptor::{Connections, Protocols, ServerConfig};
use crate::server::bind::{Accepted, BoundListener};

/// Listens at a URL for connections that [`Server::run`] then serves.
///
/// One port serves everything that is built in, told apart by the first bytes of a connection: JSON-RPC in
/// lines or with `Content-Length` headers; with the feature `http`, HTTP/1.1, HTTP/2 and WebSocket at the
/// path of the URL; with the feature `tls` and a [certificate](Server::tls), all of that over TLS. The scheme
/// says what is served: everything at `tcp://127.0.0.1:4000` and `unix:/run/sabir.sock` (on Windows `pipe:sabir`),
/// only HTTP and WebSocket at `http://127.0.0.1:8080/rpc` and `ws:`, unless [`Server::protocols`] asks for more; and
/// with `tls:`, `https:` and `wss:` only over TLS. Without a host, as in `http://:8080`, only this machine can
/// connect; to a Unix socket or a named pipe only this user.
///
/// ```no_run
/// # async fn run() -> Result<(), sabir::Error> {
/// use sabir::Router;
///
/// let router = Router::new().method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) });
/// let server = sabir::listen("tcp://127.0.0.1:0", router).await?;
/// eprintln!("serving on {}", server.url());
/// server.run().await
/// # }
/// ```
pub async fn listen(url: &str, router: Router) -> Result<Server, Error> {
    Ok(Server {
        bound: BoundListener::bind(url).await?,
        routes: router.into_routes(),
        config: Config::default(),
        grace: Duration::from_millis(1500),
        protocols: None,
        connections: Connections::default(),
        handles_signals: false,
        #[cfg(feature = "http")]
        http: crate::server::http::Http::new(),
        #[cfg(feature = "tls")]
        tls: None,
        stop: watch::channel(false).0,
    })
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    bound: BoundListener,
    routes: Arc<Routes>,
    config: Config,
    grace: Duration,
    protocols: Option<Protocols>,
    connections: Connections,
    handles_signals: bool,
    #[cfg(feature = "http")]
    http: crate::server::http::Http,
    #[cfg(feature = "tls")]
    tls: Option<crate::server::tls::ServerTls>,
    stop: watch::Sender<bool>,
}

impl Server {
    /// Where it listens, with the port that was chosen.
    pub fn url(&self) -> &str {
        &self.bound.url
    }

    config_setters!();

    /// Sets which protocols are served. Without it: HTTP and WebSocket if that is what the scheme of the URL says
    /// (`http:`, `https:`, `ws:`, `wss:`), and all of them otherwise.
    #[must_use]
    pub fn protocols(mut self, protocols: Protocols) -> Self {
        self.protocols = Some(protocols);
        self
    }

    /// Sets how many connections there may be, and how long they may take for what.
    #[must_use]
    pub fn connections(mut self, connections: Connections) -> Self {
        self.connections = connections;
        self
    }

    /// Sets how HTTP is served: who may come in, from which pages, with sessions or without.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn http(mut self, http: crate::server::http::Http) -> Self {
        self.http = http;
        self
    }

    /// Speaks TLS with whoever does.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, tls: crate::server::tls::ServerTls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Sets how long connections may take to finish what is open once the server is stopped. 1.5 s.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Stops in good order when the process is asked to, by SIGTERM or SIGINT, on Windows by Ctrl-C, Ctrl-Break or
    /// the closing of the console. Without it the server installs no handlers for these, and they do what the
    /// process has set: by default they end it.
    #[must_use]
    pub fn with_signals(mut self) -> Self {
        self.handles_signals = true;
        self
    }

    /// A handle that stops the server: connections finish what is open, for as long as the
    /// [grace](Self::grace) at the most.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Serves until it is stopped, and every connection has ended.
    pub async fn run(self) -> Result<(), Error> {
        let listener = self.bound.listener;
        let streams = !self.bound.web;
        let config = ServerConfig {
            routes: self.routes,
            config: self.config,
            grace: self.grace,
            protocols: self.protocols.unwrap_or(Protocols {
                lines: streams,
                headers: streams,
                ..Protocols::default()
            }),
            connections: self.connections,
            secure: self.bound.secure,
            #[cfg(feature = "http")]
            http: self.http,
            #[cfg(feature = "http")]
            path: self.bound.path,
            #[cfg(feature = "http")]
            local: self.bound.local,
            #[cfg(feature = "http")]
            host: self.bound.host,
            #[cfg(feature = "tls")]
            tls: self.tls,
            stop: self.stop.clone(),
        };
        let acceptor = config.open()?;
        let mut stop = self.stop.subscribe();
        let handles_signals = self.handles_signals;
        let stopped = async {
            // `select!` evaluates the expressions of disabled branches too, and this one would install handlers.
            let signals = async {
                match handles_signals {
                    true => crate::runtime::signals::asked_to_stop().await,
                    false => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => {}
                () = signals => drop(self.stop.send_replace(true)),
            }
        };
        let mut stopped = std::pin::pin!(stopped);
        loop {
            let accepted = tokio::select! {
                accepted = acceptor.next(&listener) => accepted,
                () = &mut stopped => break,
            };
            match accepted {
                Ok((bound, Accepted::Tcp(stream, address))) => acceptor.spawn(bound, stream, Some(address)),
                Ok((bound, Accepted::Local(stream))) => acceptor.spawn(bound, stream, None),
                // Out of descriptors, most likely: others will be closed.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
        // Whoever comes now is refused rather than kept waiting, and the next server may have the address.
        drop(listener);
        acceptor.wait_until_empty().await;
        Ok(())
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
