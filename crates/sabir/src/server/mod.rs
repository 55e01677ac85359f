//! Serving every connection that comes.

pub(crate) mod acceptor;
pub(crate) mod bind;
pub(crate) mod deadline_timer;
pub(crate) mod detect;
#[cfg(feature = "http")]
pub(crate) mod http;
pub(crate) mod limiter;
#[cfg(feature = "http")]
pub(crate) mod lingering_close;
#[cfg(any(feature = "http", feature = "tls"))]
pub(crate) mod prefixed;
#[cfg(feature = "tls")]
pub(crate) mod tls;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use sabir_proto::Config;
use tokio::sync::watch;

use crate::router::{Router, Routes};
use crate::runtime::config::config_setters;
use crate::server::acceptor::{Connections, Door, Protocols};
use crate::server::bind::{Accepted, Place};

/// Listens at a URL for connections that [`Server::run`] then serves.
///
/// One port serves everything that is built in, told apart by the first bytes of a connection: JSON-RPC in
/// lines or with `Content-Length` headers; with the feature `http`, HTTP/1.1, HTTP/2 and WebSocket at the
/// path of the URL; with the feature `tls` and a [certificate](Server::tls), all of that over TLS. The scheme
/// says what to call it, and whether only TLS is let in: `tcp://127.0.0.1:4000`,
/// `http://127.0.0.1:8080/rpc`, `ws:`, `unix:/run/sabir.sock`, on Windows `pipe:sabir`; `tls:`, `https:`, `wss:`.
/// Without a host, as in `http://:8080`, only this machine can connect; to a Unix socket or a named pipe only this
/// user.
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
    Ok(Server {
        place: Place::bind(url).await?,
        routes: router.into_routes(),
        config: Config::default(),
        grace: Duration::from_millis(1500),
        protocols: Protocols::default(),
        connections: Connections::default(),
        heeds_signals: false,
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
    place: Place,
    routes: Arc<Routes>,
    config: Config,
    grace: Duration,
    protocols: Protocols,
    connections: Connections,
    heeds_signals: bool,
    #[cfg(feature = "http")]
    http: crate::server::http::Http,
    #[cfg(feature = "tls")]
    tls: Option<crate::server::tls::ServerTls>,
    stop: watch::Sender<bool>,
}

impl Server {
    /// Where it listens, with the port that was chosen.
    pub fn url(&self) -> &str {
        &self.place.url
    }

    config_setters!();

    /// Switches protocols off.
    #[must_use]
    pub fn protocols(mut self, protocols: Protocols) -> Self {
        self.protocols = protocols;
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

    /// Stops in good order when the process is asked to, by SIGTERM or SIGINT, on Windows by Ctrl-C,
    /// Ctrl-Break or the closing of the console.
    #[must_use]
    pub fn heed_signals(mut self) -> Self {
        self.heeds_signals = true;
        self
    }

    /// A handle that stops the server: connections finish what is open, for as long as the
    /// [grace](Self::grace) at the most.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Serves until it is stopped, and every connection has ended.
    pub async fn run(self) -> io::Result<()> {
        let listener = self.place.listener;
        let door = Door {
            routes: self.routes,
            config: self.config,
            grace: self.grace,
            protocols: self.protocols,
            connections: self.connections,
            secure: self.place.secure,
            #[cfg(feature = "http")]
            http: self.http,
            #[cfg(feature = "http")]
            path: self.place.path,
            #[cfg(feature = "http")]
            local: self.place.local,
            #[cfg(feature = "tls")]
            tls: self.tls,
            stop: self.stop.clone(),
        };
        let entrance = door.open()?;
        let mut stop = self.stop.subscribe();
        let signals = self.heeds_signals;
        let stopped = async {
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => {}
                () = crate::runtime::signals::asked_to_stop(), if signals => drop(self.stop.send_replace(true)),
            }
        };
        let mut stopped = std::pin::pin!(stopped);
        loop {
            let accepted = tokio::select! {
                accepted = entrance.next(&listener) => accepted,
                () = &mut stopped => break,
            };
            match accepted {
                Ok((place, Accepted::Tcp(stream, address))) => entrance.let_in(place, stream, Some(address)),
                Ok((place, Accepted::Local(stream))) => entrance.let_in(place, stream, None),
                // Out of descriptors, most likely: others will be closed.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
        // Whoever comes now is refused rather than kept waiting, and the next server may have the address.
        drop(listener);
        entrance.empty().await;
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
