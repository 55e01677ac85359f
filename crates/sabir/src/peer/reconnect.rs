//! A client that connects again.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout_at};

use crate::peer::call::Call;
use crate::peer::retry::{Pauses, retry_after};
use crate::peer::{Peer, written};
use crate::router::Router;
use crate::router::method::Method;
use crate::runtime::serve::connect;
use crate::sync::lock;
use crate::transport::{ConnectError, ConnectErrorKind, Transport};
use crate::{CallError, Error};

/// Longer than anybody waits, and what any clock can show.
const FOREVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

type Dial = Box<dyn Fn() -> Pin<Box<dyn Future<Output = Result<Transport, Error>> + Send>> + Send + Sync>;

/// Keeps a connection to a server that may come and go.
///
/// [`peer`](Self::peer) gives the connection that is open, or opens one, trying again for as long as
/// [`timeout`](Self::timeout) with growing pauses, unless that is hopeless: a wrong certificate or a refused
/// token. Nothing is sent twice unless [`call_idempotent`](Self::call_idempotent) is asked to: a call that was in flight
/// when the connection was lost ends with [`CallError::Closed`](crate::CallError::Closed), and only the
/// caller knows whether it may be made again. What the server kept for the old connection is gone with it.
/// [`Router::forward_to`] passes the calls of others on to it.
///
/// ```no_run
/// # async fn run() -> Result<(), sabir::Error> {
/// use sabir::{Reconnect, Router, transport};
///
/// let server = Reconnect::new(Router::new(), || transport::url("tcp://127.0.0.1:4000"));
/// let sum: i64 = server.call("add", (1, 2)).await?;
/// let again: i64 = server.call_idempotent("add", (1, 2)).await?; // made again if the connection is lost
/// let sum: i64 = server.peer().await?.call("add", (1, 2)).timeout(std::time::Duration::from_secs(1)).await?;
/// # Ok(())
/// # }
/// ```
pub struct Reconnect {
    dial: Dial,
    router: Router,
    timeout: Duration,
    /// The connection that is open, or was the last one to be.
    current: std::sync::Mutex<Option<Peer>>,
    /// Held by whoever connects.
    connecting: Mutex<()>,
}

impl Reconnect {
    /// Connects with `dial` whenever a connection is wanted and there is none: a function that returns a transport, or
    /// a future of one. The router answers what the server asks.
    pub fn new<F, Fut, E>(router: Router, dial: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: IntoFuture<Output = Result<Transport, E>>,
        Fut::IntoFuture: Send + 'static,
        E: Into<Error>,
    {
        let dial: Dial = Box::new(move || {
            let dialling = dial().into_future();
            Box::pin(async move { dialling.await.map_err(Into::into) })
        });
        Reconnect {
            dial,
            router,
            timeout: Duration::from_secs(30),
            current: Default::default(),
            connecting: Mutex::new(()),
        }
    }

    /// Sets for how long [`peer`](Self::peer) tries to connect before it gives up, and how long
    /// [`call_idempotent`](Self::call_idempotent) takes at the most, with all its attempts. 30 s.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    async fn attempt(&self) -> Result<Peer, Error> {
        connect((self.dial)().await?, self.router.clone()).await
    }

    /// Connects if need be, and calls a method, once. For a [`Call`](crate::Call) with a timeout or progress, use
    /// [`peer`](Self::peer).
    pub async fn call<R: DeserializeOwned>(
        &self,
        method: impl Into<Cow<'static, str>>,
        params: impl Serialize,
    ) -> Result<R, Error> {
        let params = written(&params)?;
        let call: Call<R> = Call::new(self.peer().await?, method.into(), Ok(params));
        Ok(call.await?)
    }

    /// Connects if need be, and calls a [`Method`], once.
    pub async fn call_method<P: Serialize, R: DeserializeOwned>(
        &self,
        method: Method<P, R>,
        params: P,
    ) -> Result<R, Error> {
        self.call(method.name(), params).await
    }

    /// Calls a method that may run twice without harm. If the connection is lost before the answer has come, or the
    /// server is overloaded or shutting down, the call is made again with growing pauses. Over HTTP that includes the
    /// statuses 429, 502, 503 and 504; a `Retry-After` makes the pause longer. Only the caller knows which methods these
    /// are: those that read, or that set a value.
    ///
    /// It never takes longer than [`timeout`](Self::timeout), whatever the server does: an attempt that is still open then
    /// is cancelled and ends with [`CallError::TimedOut`]. If the next attempt would be too late, the last error is
    /// returned at once.
    pub async fn call_idempotent<R: DeserializeOwned>(
        &self,
        method: impl Into<Cow<'static, str>>,
        params: impl Serialize,
    ) -> Result<R, Error> {
        let (method, params) = (method.into(), written(&params)?);
        let end = self.end();
        let mut pauses = Pauses::new();
        loop {
            let attempt = async {
                let peer = self.peer_until(end).await?;
                let call: Call<R> = Call::new(peer, method.clone(), Ok(params.clone()));
                Ok(call.await?)
            };
            let error = match timeout_at(end, attempt).await {
                Ok(Err(error)) => error,
                Ok(answered) => return answered,
                // Dropped, the call is cancelled.
                Err(_) => return Err(CallError::TimedOut.into()),
            };
            let Some(at_least) = retry_after(&error) else { return Err(error) };
            let pause = pauses.next(at_least);
            if pause >= end - Instant::now() {
                return Err(error);
            }
            sleep(pause).await;
        }
    }

    /// Connects if need be, and sends a notification.
    pub async fn notify(
        &self,
        method: impl Into<Cow<'static, str>>,
        params: impl Serialize,
    ) -> Result<(), Error> {
        Ok(self.peer().await?.notify(method, params).await?)
    }

    /// Connects if need be, and sends a notification by its [`Method`].
    pub async fn notify_method<P: Serialize>(&self, method: Method<P, ()>, params: P) -> Result<(), Error> {
        self.notify(method.name(), params).await
    }

    /// The connected peer, or the last error once [`timeout`](Self::timeout) is over.
    pub async fn peer(&self) -> Result<Peer, Error> {
        self.peer_until(self.end()).await
    }

    /// The connection, if one is open.
    pub(crate) fn current(&self) -> Option<Peer> {
        lock(&self.current).as_ref().filter(|peer| peer.cause().is_none()).cloned()
    }

    /// When the time is over that begins now.
    fn end(&self) -> Instant {
        let now = Instant::now();
        now.checked_add(self.timeout).unwrap_or(now + FOREVER)
    }

    async fn peer_until(&self, end: Instant) -> Result<Peer, Error> {
        let too_late = || -> Error {
            let reason = format!("no connection within {:?}", self.timeout);
            ConnectError::new(ConnectErrorKind::Timeout, "the server", reason).into()
        };
        if let Some(peer) = self.current() {
            return Ok(peer);
        }
        // Somebody else may be connecting, and has its own time for it.
        let Ok(_connecting) = timeout_at(end, self.connecting.lock()).await else { return Err(too_late()) };
        if let Some(peer) = self.current() {
            return Ok(peer);
        }
        let mut pauses = Pauses::new();
        loop {
            let error = match timeout_at(end, self.attempt()).await {
                Err(_) => return Err(too_late()),
                Ok(Ok(peer)) => {
                    *lock(&self.current) = Some(peer.clone());
                    return Ok(peer);
                }
                Ok(Err(error)) => error,
            };
            let pause = pauses.next(Duration::ZERO);
            if !error.may_pass() || pause >= end - Instant::now() {
                return Err(error);
            }
            sleep(pause).await;
        }
    }
}

impl std::fmt::Debug for Reconnect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reconnect").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}
