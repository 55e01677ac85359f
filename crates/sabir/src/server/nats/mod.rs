//! A worker: one of those that serve the calls of a service behind NATS.

mod deadlines;
mod dispatch;
mod leaving;
mod link;
mod micro;
mod session;

use std::sync::Arc;
use std::time::Duration;

use sabir_proto::Config;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::Error;
use crate::router::Routes;
use crate::server::acceptor::Connections;
use crate::server::nats::dispatch::{Dispatcher, End};
use crate::transport::nats::Nats;
use crate::transport::nats::connect::service;
use crate::transport::network::Network;
use crate::transport::url::Url;

/// How long it may take to connect and subscribe.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// How long to wait before trying again to leave a server that is about to stop.
const RETRY: Duration = Duration::from_millis(500);

/// What all sessions of a worker share.
pub(super) struct Settings {
    pub(super) url: Url,
    pub(super) service: String,
    pub(super) routes: Arc<Routes>,
    pub(super) config: Config,
    pub(super) grace: Duration,
    pub(super) connections: Connections,
    pub(super) nats: Nats,
    pub(super) network: Arc<Network>,
}

/// A worker that is connected and subscribed.
pub(crate) struct Worker {
    settings: Arc<Settings>,
    dispatcher: Dispatcher,
}

impl Worker {
    /// Connects, and joins the workers of the service that the URL names.
    pub(crate) async fn start(
        url: &str,
        routes: Arc<Routes>,
        config: Config,
        grace: Duration,
        connections: Connections,
        nats: Nats,
    ) -> Result<Worker, Error> {
        let url = Url::parse(url)?;
        let service = service(&url)?.to_owned();
        let network = Arc::new(Network::of(&url));
        let settings = Settings { url, service, routes, config, grace, connections, nats, network };
        let settings = Arc::new(settings);
        let dispatcher = start(&settings, &[]).await?;
        Ok(Worker { settings, dispatcher })
    }

    /// Where it is reached.
    pub(crate) fn url(&self) -> &str {
        self.settings.url.as_str()
    }

    /// Serves until it is told to stop, and everything that is open has ended.
    pub(crate) async fn run(self, mut stop: watch::Receiver<bool>) -> Result<(), Error> {
        let Worker { settings, mut dispatcher } = self;
        let grace = settings.grace;
        // Connections that are left, until what they have is done.
        let mut left = JoinSet::new();
        loop {
            match dispatcher.run(&mut stop).await {
                End::Stopped => {
                    tokio::join!(dispatcher.finish(grace, stop), left.join_all());
                    return Ok(());
                }
                // The server is about to stop: another connection takes over before this one is left.
                End::Moving => match start(&settings, &dispatcher.known_servers()).await {
                    Ok(next) => {
                        let before = std::mem::replace(&mut dispatcher, next);
                        while left.try_join_next().is_some() {}
                        left.spawn(before.finish(grace, stop.clone()));
                    }
                    // The client reconnects by itself when the server is gone.
                    Err(_) => tokio::time::sleep(RETRY).await,
                },
                End::Lost(reason) => return Err(Error::Closed(sabir_proto::Cause::Lost(reason.into()))),
            }
        }
    }
}

async fn start(settings: &Arc<Settings>, known: &[String]) -> Result<Dispatcher, Error> {
    let starting = tokio::time::timeout(START_TIMEOUT, Dispatcher::start(Arc::clone(settings), known));
    starting.await.unwrap_or_else(|_| {
        let source = std::io::ErrorKind::TimedOut.into();
        Err(Error::Bind { url: settings.url.to_string(), source })
    })
}
