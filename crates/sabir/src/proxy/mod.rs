//! Passing calls and notifications on from one peer to another, in both directions.

pub(crate) mod relay;
mod spelling;
pub(crate) mod subscriptions;
pub(crate) mod target;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use sabir_proto::{Config, Role, TraceContext};

use crate::Error;
use crate::handler::ctx::Ctx;
use crate::proxy::target::{Forward, GRACE, Opener, Upstream};
use crate::router::Router;
use crate::runtime::connection::Connection;
use crate::runtime::serve::{good_end, run};
use crate::transport::Transport;

/// Joins two peers: what one asks or tells, the other is asked or told. Serves `client` until it ends, and ends
/// `server` with it. A client that disconnects is not an error.
///
/// ```no_run
/// # async fn run() -> Result<(), sabir::Error> {
/// use sabir::transport;
///
/// let server = transport::child(std::process::Command::new("server"))?;
/// sabir::proxy(transport::stdio(), server).await
/// # }
/// ```
///
/// What is passed on, and what becomes of it, is that of [`Router::forward_to`], which is for proxies that also answer
/// something themselves. If the server ends first, the client's connection stays: each call that is open and each one
/// that follows is answered [`UPSTREAM_FAILED`](crate::ErrorCode::UPSTREAM_FAILED) with the cause, and so are subscriptions.
pub async fn proxy(client: impl Into<Transport>, server: impl Into<Transport>) -> Result<(), Error> {
    let opened = server.into().open().await?;
    let client_peer = Arc::new(OnceLock::new());
    let back = Router::new().forward(Forward::Back(Arc::clone(&client_peer)));
    let config = Config { role: Role::Client, ..opened.config };
    let server = Connection::new(config, back.into_routes(), opened.io, opened.on_report);
    let server_peer = server.peer();
    if let Some(network) = opened.network {
        server.set_network(network.into());
    }
    if let Some(process) = opened.process {
        let _ = server_peer.shared.process.set(process);
    }
    let opened = client.into().open().await?;
    let forward = Router::new().forward(Forward::To(server_peer.clone().into()));
    let client = Connection::new(opened.config, forward.into_routes(), opened.io, opened.on_report);
    let _ = client_peer.set(client.peer().downgrade());

    let mut client = pin!(run(client, opened.handles_signals, opened.grace));
    // It owns the connection, and drops it at its end: a process ends once its streams are gone.
    let mut server = pin!(run(server, false, GRACE));
    let mut server_ended = false;
    // One task drives both: what one has read, the other writes in the same turn.
    let cause = poll_fn(|cx| {
        let ended = client.as_mut().poll(cx);
        if !server_ended {
            server_ended = server.as_mut().poll(cx).is_ready();
        }
        match ended {
            Poll::Pending => client.as_mut().poll(cx),
            ended => ended,
        }
    })
    .await;
    if server_ended {
        server_peer.shutdown(GRACE).await;
    } else {
        tokio::join!(server, server_peer.shutdown(GRACE));
    }
    Ok(good_end(cause)?)
}

impl Router {
    /// Passes every method that has no handler of its own on to another peer: requests, with the answer back, and
    /// notifications. The heart of proxies, bridges and gateways.
    ///
    /// ```
    /// use sabir::{Router, transport};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), sabir::Error> {
    /// # let (ours, theirs) = transport::memory();
    /// # tokio::spawn(sabir::serve(theirs, Router::new().method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) })));
    /// let upstream = sabir::connect(ours, Router::new()).await?;
    /// let router = Router::new().method("ping", |_, ()| async { Ok("pong") }).forward_to(upstream);
    /// let sum: i64 = router.call("add", (1, 2)).await?;
    /// assert_eq!(sum, 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// - Params, results and errors go on as the text that came. `jsonrpc`, the id and the method are written anew.
    /// - Each connection numbers its own calls, so clients of one upstream cannot meet in an id. A client's
    ///   `_meta.progressToken` becomes the number of the call, for the same reason, and its own one, be it a string or a number, is
    ///   put back into each `notifications/progress`. Progress that belongs to no open call is dropped.
    ///   `workDoneToken` and `partialResultToken` of LSP go on as they are.
    /// - A client that cancels, and one that is gone, cancels upstream, in the same style and with the same reason.
    /// - Nothing is added to the params. A trace context goes on as it came, unless
    ///   [`forward_trace`](Router::forward_trace) gives another one.
    /// - Notifications stay in order. If the upstream reads slowly, they wait, and their connection reads no further;
    ///   progress is dropped then.
    /// - Items of a subscription go to the client that has made it, and a subscriber is told of the end of its upstream, or
    ///   loses its connection where nothing else would tell it. Subscriptions are recognised by `subscribe` in the method's
    ///   name; others are [declared](Router::forward_subscription).
    /// - An upstream that fails to answer is [`UPSTREAM_FAILED`](crate::ErrorCode::UPSTREAM_FAILED), and `data.reason` says why; one that has
    ///   ended fails each call in this way, unless it is a [`Reconnect`](crate::Reconnect), and so does one that leaves [`Limits::calls`](crate::Limits::calls) unanswered:
    ///   proxies that pass calls on in a circle end so.
    ///
    /// A [`Reconnect`](crate::Reconnect) in place of the peer opens the next connection when one has ended. Messages wait for it, as long as
    /// [`Reconnect::timeout`](crate::Reconnect::timeout) says; calls that were open in between fail. Its server must not need to know who it
    /// talks to: nobody repeats an `initialize`.
    ///
    /// ```no_run
    /// use sabir::{Reconnect, Router, transport};
    ///
    /// let server = Reconnect::new(Router::new(), || transport::tcp("127.0.0.1:4000"));
    /// let router = Router::new().forward_to(server);
    /// ```
    ///
    /// What the upstream asks in return, and tells beside items, goes to the router that it was connected with. For both directions each
    /// client needs an upstream of its own: [`forward_each`](Router::forward_each).
    #[must_use]
    pub fn forward_to(self, upstream: impl Into<Upstream>) -> Self {
        self.forward(Forward::To(upstream.into()))
    }

    /// Passes every method that has no handler on to an upstream of each connection's own, and what the upstream asks
    /// and tells back to the client. It is opened by `open` with the first message that is passed on, and ends
    /// with the connection.
    ///
    /// ```no_run
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// use sabir::{Ctx, Router, transport};
    ///
    /// let router = Router::new()
    ///     .method("health", |_, ()| async { Ok("well") })
    ///     .forward_each(|_: &Ctx| async { transport::child(std::process::Command::new("server")) });
    /// sabir::listen("tcp://127.0.0.1:4000", router).await?.run().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// An upstream that cannot be opened fails the call with [`UPSTREAM_FAILED`](crate::ErrorCode::UPSTREAM_FAILED); the next one tries again.
    /// One that has ended is opened anew with the next message. If the client has sent `initialize`, as those of LSP and MCP do,
    /// only the client can begin again: then its connection ends with the upstream, once its open calls are answered.
    /// Everything else is as [`forward_to`](Router::forward_to) says.
    #[must_use]
    pub fn forward_each<F, Fut, E>(self, open: F) -> Self
    where
        F: Fn(&Ctx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Transport, E>> + Send + 'static,
        E: Into<Error>,
    {
        self.forward(Forward::Own(Arc::new(Opener::new(open))))
    }

    /// Asks `trace` for the trace context of each call that is passed on, in place of the caller's: so spans of the
    /// upstream stand below the one of this router. It is called where the call is made, inside of all layers and spans, and
    /// only its parts that the caller sent too are used.
    #[must_use]
    pub fn forward_trace(
        mut self,
        trace: impl Fn(&Ctx) -> Option<TraceContext<'static>> + Send + Sync + 'static,
    ) -> Self {
        self.routes.forward_trace = Some(Arc::new(trace));
        self
    }

    fn forward(mut self, forward: Forward) -> Self {
        let route = self.route(forward);
        self.routes.add_fallback("".into(), route);
        self.routes.forwards = true;
        self
    }
}
