//! A client that connects again.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::sync::Mutex;

use crate::Error;
use crate::peer::Peer;
use crate::router::Router;
use crate::runtime::serve::connect;
use crate::transport::{ConnectError, ConnectErrorKind, Transport};

type Dial = Box<dyn Fn() -> Pin<Box<dyn Future<Output = Result<Transport, Error>> + Send>> + Send + Sync>;

/// Keeps a connection to a server that may come and go.
///
/// [`peer`](Self::peer) gives the connection that is open, or opens one, trying again for as long as
/// [`patience`](Self::patience) with growing pauses, unless that is hopeless: a wrong certificate or a refused token. Nothing is ever sent twice: a call that was in flight
/// when the connection was lost ends with [`CallError::Closed`](crate::CallError::Closed), and only the
/// caller knows whether it may be made again. What the server kept for the old connection is gone with it.
///
/// ```no_run
/// # async fn run() -> Result<(), sabir::Error> {
/// use sabir::{Reconnect, Router, transport};
///
/// let server = Reconnect::new(Router::new(), || transport::tcp("127.0.0.1:4000"));
/// let sum: i64 = server.peer().await?.call("add", (1, 2)).await?;
/// # Ok(())
/// # }
/// ```
pub struct Reconnect {
    dial: Dial,
    router: Router,
    patience: Duration,
    peer: Mutex<Option<Peer>>,
}

impl Reconnect {
    /// Connects with `dial` whenever a connection is wanted and there is none. The router answers what the
    /// server asks.
    pub fn new<F, Fut, E>(router: Router, dial: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Transport, E>> + Send + 'static,
        E: Into<Error>,
    {
        let dial: Dial = Box::new(move || {
            let dialling = dial();
            Box::pin(async move { dialling.await.map_err(Into::into) })
        });
        Reconnect { dial, router, patience: Duration::from_secs(30), peer: Mutex::new(None) }
    }

    /// Sets for how long [`peer`](Self::peer) tries to connect before it gives up. 30 s.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    async fn attempt(&self) -> Result<Peer, Error> {
        connect((self.dial)().await?, self.router.clone()).await
    }

    /// The connected peer, or the last error once [`patience`](Self::patience) is over.
    pub async fn peer(&self) -> Result<Peer, Error> {
        let mut current = self.peer.lock().await;
        if let Some(peer) = current.as_ref().filter(|peer| peer.cause().is_none()) {
            return Ok(peer.clone());
        }
        let end = tokio::time::Instant::now() + self.patience;
        let mut pause = Duration::from_millis(50);
        loop {
            let error = match tokio::time::timeout_at(end, self.attempt()).await {
                Err(_) => {
                    let reason = format!("no connection within {:?}", self.patience);
                    return Err(ConnectError::new(ConnectErrorKind::Timeout, "the server", reason).into());
                }
                Ok(Ok(peer)) => {
                    *current = Some(peer.clone());
                    return Ok(peer);
                }
                Ok(Err(error)) => error,
            };
            if !error.may_pass() || tokio::time::Instant::now() + pause > end {
                return Err(error);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(5));
        }
    }
}

impl std::fmt::Debug for Reconnect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reconnect").field("patience", &self.patience).finish_non_exhaustive()
    }
}
