//! Serving every connection that comes.

mod accept_errors;
pub(crate) mod acceptor;
pub(crate) mod activity;
pub(crate) mod bind;
pub(crate) mod budget;
pub(crate) mod builder;
pub(crate) mod deadline_timer;
mod descriptors;
pub(crate) mod detect;
#[cfg(all(feature = "fuzzing", feature = "http"))]
pub(crate) mod fuzzing;
#[cfg(feature = "http")]
pub(crate) mod http;
pub(crate) mod limiter;
pub(crate) mod lingering_close;
pub(crate) mod metered;
#[cfg(feature = "nats")]
pub(crate) mod nats;
#[cfg(any(feature = "http", feature = "tls"))]
pub(crate) mod prefixed;
pub(crate) mod serving;
pub(crate) mod streams;
#[cfg(feature = "tls")]
pub(crate) mod tls;

use std::fmt;
use std::time::Duration;

use tokio::sync::watch;

use crate::Error;
use crate::server::acceptor::Acceptor;
use crate::server::bind::{Accepted, Listener};

/// A server that is bound to its address. [`listen`](crate::listen) makes one.
pub struct Server {
    source: Source,
    url: String,
    handles_signals: bool,
    stop: watch::Sender<bool>,
}

/// Where calls come from.
pub(crate) enum Source {
    /// Connections.
    Listener(Listener, Acceptor),
    /// Messages of NATS.
    #[cfg(feature = "nats")]
    Nats(Box<nats::Worker>),
}

impl Server {
    /// Where it listens, with the port that was chosen.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A handle that stops the server: connections finish what is open, for as long as the
    /// [grace](crate::ServerBuilder::grace) at the most.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Serves until it is stopped, and every connection has ended.
    pub async fn run(self) -> Result<(), Error> {
        let mut stop = self.stop.subscribe();
        #[cfg(feature = "nats")]
        let told = stop.clone();
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
        let (listener, acceptor) = match self.source {
            Source::Listener(listener, acceptor) => (listener, acceptor),
            #[cfg(feature = "nats")]
            Source::Nats(worker) => {
                let watching = async {
                    stopped.await;
                    std::future::pending().await
                };
                return tokio::select! {
                    ended = worker.run(told) => ended,
                    never = watching => never,
                };
            }
        };
        loop {
            let accepted = tokio::select! {
                accepted = acceptor.next(&listener) => accepted,
                () = &mut stopped => break,
            };
            match accepted {
                Ok((bound, Accepted::Tcp(stream, address))) => acceptor.spawn(bound, stream, Some(address)),
                Ok((bound, Accepted::Local(stream))) => acceptor.spawn(bound, stream, None),
                // It may fail again and again, and must not take the processor for that.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
        // Whoever comes now is refused rather than kept waiting, and the next server may have the address.
        drop(listener);
        acceptor.wait_until_empty().await;
        Ok(())
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("url", &self.url).finish_non_exhaustive()
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
