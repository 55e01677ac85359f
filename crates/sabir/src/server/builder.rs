//! The settings of a server, until it is bound to its address.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;

use sabir_proto::Config;
use tokio::sync::watch;

use crate::Error;
use crate::router::Router;
use crate::runtime::config::{config_setters, stop_setters};
use crate::server::accept_errors::AcceptErrors;
use crate::server::acceptor::{Connections, Protocols, ServerConfig};
use crate::server::bind::BoundListener;
#[cfg(feature = "nats")]
use crate::server::nats::Worker;
use crate::server::{Server, Source};
use crate::transport::Scheme;

/// Listens at a URL. The result is awaited, which binds the address, and [run](Server::run).
///
/// One port serves every protocol that is built in. The server detects from the first bytes of a connection which
/// one it is: JSON-RPC in lines or with `Content-Length` headers; with the feature `http`, HTTP/1.1, HTTP/2 and
/// WebSocket at the path of the URL; with the feature `tls` and a certificate (`ServerBuilder::tls`), all of that over
/// TLS. The scheme says what is served: everything at `tcp://127.0.0.1:4000` and `unix:/run/sabir.sock` (on
/// Windows `pipe:sabir`), only HTTP and WebSocket at `http://127.0.0.1:8080/rpc` and `ws:`, unless
/// [`ServerBuilder::protocols`] asks for more; and with `tls:`, `https:` and `wss:` only over TLS. Without a host, as in
/// `http://:8080`, only this machine can connect; to a Unix socket or a named pipe only this user.
///
/// With the feature `nats`, a URL such as `nats://127.0.0.1/adder` listens nowhere: it joins the workers of a service, who
/// share its calls.
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
///
/// Settings come before the `await`:
///
/// ```no_run
/// # async fn run(router: sabir::Router) -> Result<(), sabir::Error> {
/// use sabir::Connections;
///
/// let connections = Connections { total: 100, ..Connections::default() };
/// sabir::listen("tcp://127.0.0.1:4000", router).connections(connections).await?.run().await
/// # }
/// ```
#[must_use = "a server listens once it is awaited"]
pub fn listen(url: impl Into<String>, router: Router) -> ServerBuilder {
    ServerBuilder {
        url: url.into(),
        router,
        config: Config::default(),
        grace: Duration::from_millis(1500),
        protocols: None,
        connections: Connections::default(),
        accept_errors: AcceptErrors::default(),
        handles_signals: false,
        #[cfg(feature = "http")]
        http: crate::server::http::Http::new(),
        #[cfg(feature = "tls")]
        tls: None,
        #[cfg(feature = "nats")]
        nats: crate::transport::nats::Nats::default(),
    }
}

/// A server that is not bound yet: [`listen`] makes one. Awaiting it checks the settings and binds the address.
#[derive(Debug)]
pub struct ServerBuilder {
    url: String,
    router: Router,
    config: Config,
    grace: Duration,
    protocols: Option<Protocols>,
    connections: Connections,
    accept_errors: AcceptErrors,
    handles_signals: bool,
    #[cfg(feature = "http")]
    http: crate::server::http::Http,
    #[cfg(feature = "tls")]
    tls: Option<crate::server::tls::ServerTls>,
    #[cfg(feature = "nats")]
    nats: crate::transport::nats::Nats,
}

impl ServerBuilder {
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

    /// Calls this when a connection cannot be accepted, most likely because the process has no descriptors left: every ten
    /// seconds at the most. With the feature `tracing` it is a warning there, too.
    #[must_use]
    pub fn on_accept_error(mut self, tell: impl Fn(&std::io::Error) + Send + Sync + 'static) -> Self {
        self.accept_errors.set(Box::new(tell));
        self
    }

    /// Sets how HTTP is served: who may call, from which pages, with sessions or without.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn http(mut self, http: crate::server::http::Http) -> Self {
        self.http = http;
        self
    }

    /// Speaks TLS with this certificate: with clients that begin with it, or, if the scheme of the URL is `tls:`,
    /// `https:` or `wss:`, with all of them. With such a scheme it is required.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, tls: crate::server::tls::ServerTls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Sets how the worker of a `nats://` URL signs in, what it tells tools, and how often it says that it is alive.
    #[cfg(feature = "nats")]
    #[must_use]
    pub fn nats(mut self, nats: crate::transport::nats::Nats) -> Self {
        self.nats = nats;
        self
    }

    stop_setters!();

    async fn bind(self) -> Result<Server, Error> {
        let scheme = self.url.split_once("://").and_then(|(name, _)| Scheme::parse(name));
        #[cfg(feature = "http")]
        if let Some(reason) = self.unprotected(scheme) {
            return Err(Error::config(reason));
        }
        if scheme.is_some_and(Scheme::is_nats) {
            #[cfg(feature = "nats")]
            return self.join().await;
            #[cfg(not(feature = "nats"))]
            return Err(Error::config("cannot listen at a `nats:` URL without the feature `nats`"));
        }
        #[cfg(feature = "tls")]
        let tls = self.tls.as_ref().map(crate::server::tls::ServerTls::acceptor).transpose()?;
        #[cfg(feature = "tls")]
        let has_certificate = tls.is_some();
        #[cfg(not(feature = "tls"))]
        let has_certificate = false;
        let bound = BoundListener::bind(&self.url, has_certificate).await?;
        let streams = !bound.web;
        let stop = watch::channel(false).0;
        let config = ServerConfig {
            routes: self.router.into_routes(),
            config: self.config,
            grace: self.grace,
            protocols: self.protocols.unwrap_or(Protocols {
                lines: streams,
                headers: streams,
                ..Protocols::default()
            }),
            connections: self.connections,
            accept_errors: self.accept_errors,
            secure: bound.secure,
            #[cfg(feature = "http")]
            http: self.http,
            #[cfg(feature = "http")]
            path: bound.path,
            #[cfg(feature = "http")]
            local: bound.local,
            #[cfg(feature = "http")]
            host: bound.host,
            #[cfg(feature = "tls")]
            tls,
            stop: stop.clone(),
        };
        Ok(Server {
            source: Source::Listener(bound.listener, config.open()),
            url: bound.url,
            handles_signals: self.handles_signals,
            stop,
        })
    }

    /// Why what is served could not carry the credentials that are asked for: it would be served to everybody, or to nobody.
    #[cfg(feature = "http")]
    fn unprotected(&self, scheme: Option<Scheme>) -> Option<&'static str> {
        let has_permit = self.http.permit.is_some();
        let streams_only =
            self.protocols.is_some_and(|protocols| !protocols.http && (has_permit || !protocols.websocket));
        match scheme {
            _ if !self.http.is_protected() => None,
            // Messages of NATS have no headers of HTTP.
            Some(scheme) if scheme.is_nats() => {
                Some("the authorization of HTTP cannot protect a `nats:` URL: let NATS decide who may call")
            }
            Some(Scheme::Ws | Scheme::Wss) if has_permit => Some(
                "WebSocket is not served where each call needs a permission: listen at an `http:` URL instead",
            ),
            _ if streams_only => {
                Some("the authorization of HTTP cannot protect streams of messages: serve HTTP instead")
            }
            _ => None,
        }
    }

    /// Joins the workers of a service behind NATS.
    #[cfg(feature = "nats")]
    async fn join(self) -> Result<Server, Error> {
        let routes = self.router.into_routes();
        let starting = Worker::start(&self.url, routes, self.config, self.grace, self.connections, self.nats);
        let worker = starting.await?;
        Ok(Server {
            url: worker.url().to_owned(),
            source: Source::Nats(Box::new(worker)),
            handles_signals: self.handles_signals,
            stop: watch::channel(false).0,
        })
    }
}

impl IntoFuture for ServerBuilder {
    type Output = Result<Server, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<Server, Error>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.bind())
    }
}
