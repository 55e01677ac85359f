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

use crate::Error;
use crate::router::Routes;
use crate::server::acceptor::Connections;
use crate::server::nats::dispatch::{Dispatcher, End};
use crate::transport::nats::Nats;
use crate::transport::nats::connect::service;
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
        let settings = Arc::new(Settings { url, service, routes, config, grace, connections, nats });
        let dispatcher = start(&settings).await?;
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
        loop {
            match dispatcher.run(&mut stop).await {
                End::Stopped => {
                    dispatcher.finish(grace).await;
                    return Ok(());
                }
                // The server is about to stop: another connection takes over before this one is left.
                End::Moving => match start(&settings).await {
                    Ok(next) => {
                        let before = std::mem::replace(&mut dispatcher, next);
                        tokio::spawn(before.finish(grace));
                    }
                    // The client reconnects by itself when the server is gone.
                    Err(_) => tokio::time::sleep(RETRY).await,
                },
                End::Lost(reason) => return Err(Error::Closed(sabir_proto::Cause::Lost(reason.into()))),
            }
        }
    }
}

async fn start(settings: &Arc<Settings>) -> Result<Dispatcher, Error> {
    let starting = tokio::time::timeout(START_TIMEOUT, Dispatcher::start(Arc::clone(settings)));
    starting.await.unwrap_or_else(|_| {
        let source = std::io::ErrorKind::TimedOut.into();
        Err(Error::Bind { url: settings.url.to_string(), source })
    })
}
