//! A client that connects again.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use sabir_proto::SendError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;

use crate::peer::call::Call;
use crate::peer::{Peer, written};
use crate::router::Router;
use crate::router::method::Method;
use crate::runtime::serve::connect;
use crate::transport::{ConnectError, ConnectErrorKind, Transport};
use crate::{CallError, Error, ErrorCode, RawJson};

/// The pause before the second attempt, and the longest one.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

type Dial = Box<dyn Fn() -> Pin<Box<dyn Future<Output = Result<Transport, Error>> + Send>> + Send + Sync>;

/// Keeps a connection to a server that may come and go.
///
/// [`peer`](Self::peer) gives the connection that is open, or opens one, trying again for as long as
/// [`timeout`](Self::timeout) with growing pauses, unless that is hopeless: a wrong certificate or a refused
/// token. Nothing is sent twice unless [`call_idempotent`](Self::call_idempotent) is asked to: a call that was in flight
/// when the connection was lost ends with [`CallError::Closed`](crate::CallError::Closed), and only the
/// caller knows whether it may be made again. What the server kept for the old connection is gone with it.
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
    peer: Mutex<Option<Peer>>,
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
        Reconnect { dial, router, timeout: Duration::from_secs(30), peer: Mutex::new(None) }
    }

    /// Sets for how long [`peer`](Self::peer) tries to connect before it gives up. 30 s.
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
        self.attempt_call(method.into(), params).await
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
    /// server is overloaded or shutting down, the call is made again with growing pauses, until
    /// [`timeout`](Self::timeout) is over. Only the caller knows which methods these are: those that read, or that set
    /// a value.
    pub async fn call_idempotent<R: DeserializeOwned>(
        &self,
        method: impl Into<Cow<'static, str>>,
        params: impl Serialize,
    ) -> Result<R, Error> {
        let (method, params) = (method.into(), written(&params)?);
        let end = tokio::time::Instant::now() + self.timeout;
        let mut pause = FIRST_PAUSE;
        loop {
            let error = match self.attempt_call(method.clone(), params.clone()).await {
                Err(error) if may_call_again(&error) => error,
                outcome => return outcome,
            };
            if tokio::time::Instant::now() + pause > end {
                return Err(error);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
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

    async fn attempt_call<R: DeserializeOwned>(
        &self,
        method: Cow<'static, str>,
        params: Option<RawJson<'static>>,
    ) -> Result<R, Error> {
        let call: Call<R> = Call::new(self.peer().await?, method, Ok(params));
        Ok(call.await?)
    }

    /// The connected peer, or the last error once [`timeout`](Self::timeout) is over.
    pub async fn peer(&self) -> Result<Peer, Error> {
        let mut current = self.peer.lock().await;
        if let Some(peer) = current.as_ref().filter(|peer| peer.cause().is_none()) {
            return Ok(peer.clone());
        }
        let end = tokio::time::Instant::now() + self.timeout;
        let mut pause = FIRST_PAUSE;
        loop {
            let error = match tokio::time::timeout_at(end, self.attempt()).await {
                Err(_) => {
                    let reason = format!("no connection within {:?}", self.timeout);
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
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// Whether a call that failed so may have a better chance with another connection, or a little later.
fn may_call_again(error: &Error) -> bool {
    match error {
        Error::Call(CallError::Closed(_) | CallError::NotSent(SendError::Closed)) => true,
        // Without an answer of HTTP, it is the connection that failed.
        Error::Call(CallError::Undelivered(what)) => what.status.is_none() && what.too_large.is_none(),
        Error::Call(CallError::Error(error)) => {
            matches!(error.code, ErrorCode::OVERLOADED | ErrorCode::SHUTTING_DOWN)
        }
        _ => false,
    }
}

impl std::fmt::Debug for Reconnect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reconnect").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}
