//! Where messages are passed on to.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::OnceCell;

use crate::handler::ctx::Ctx;
use crate::handler::task::{Awaiting, BoxTask};
use crate::peer::commands::Command;
use crate::peer::reconnect::Reconnect;
use crate::peer::relayed::Relayed;
use crate::peer::{Peer, WeakPeer};
use crate::proxy::relay::{Relay, upstream_error};
use crate::router::Router;
#[cfg(feature = "tracing")]
use crate::router::client_spans::InClientSpan;
use crate::router::handlers::{Handler, RawFuture, owned};
use crate::runtime::serve::connect;
use crate::sync::lock;
use crate::transport::Transport;
#[cfg(feature = "tracing")]
use crate::transport::network::Network;
use crate::{CallError, Cause, Error, ErrorCode, ErrorObject, RawJson, Result};

/// How long an upstream may take to finish once the client has gone.
pub(super) const GRACE: Duration = Duration::from_secs(1);

/// Where [`Router::forward_to`] passes messages on to: a [`Peer`], or a [`Reconnect`], which connects again when its
/// connection has ended.
#[derive(Debug, Clone)]
pub struct Upstream(To);

#[derive(Debug, Clone)]
enum To {
    Peer(Peer),
    Reconnect(Arc<Reconnect>),
}

impl From<Peer> for Upstream {
    fn from(peer: Peer) -> Self {
        Upstream(To::Peer(peer))
    }
}

impl From<Reconnect> for Upstream {
    fn from(server: Reconnect) -> Self {
        Upstream::from(Arc::new(server))
    }
}

/// For those who call it themselves, too.
impl From<Arc<Reconnect>> for Upstream {
    fn from(server: Arc<Reconnect>) -> Self {
        Upstream(To::Reconnect(server))
    }
}

/// A handler that passes every call on, raw.
#[derive(Clone)]
pub(super) enum Forward {
    To(Upstream),
    /// Back to the client of a proxy. It refers to the upstream in turn, so one of them must not keep the other.
    Back(Arc<OnceLock<WeakPeer>>),
    /// To an upstream of the connection's own.
    Own(Arc<Opener>),
}

impl Handler for Forward {
    fn task(&self) -> BoxTask {
        let this = self.clone();
        let begin =
            move |ctx: Ctx, method: &str, raw: Option<&RawJson<'_>>| Ok(this.pass_on(ctx, method, raw));
        Awaiting::boxed(begin, |session, now, key, relayed: &Relayed| {
            session.reply_raw(now, key, relayed.result())
        })
    }

    fn call(&self, ctx: Ctx, method: &str, params: Option<&RawJson<'_>>) -> Result<RawFuture> {
        let passed_on = self.pass_on(ctx, method, params);
        Ok(Box::pin(async { passed_on.await.map(Relayed::into_result) }))
    }
}

impl Forward {
    #[cfg(not(feature = "tracing"))]
    fn pass_on(&self, ctx: Ctx, method: &str, params: Option<&RawJson<'_>>) -> Forwarding {
        self.relay(ctx, method, params)
    }

    #[cfg(feature = "tracing")]
    fn pass_on(&self, ctx: Ctx, method: &str, params: Option<&RawJson<'_>>) -> InClientSpan<Forwarding> {
        let routes = Arc::clone(&ctx.peer.shared.routes);
        InClientSpan::begin(&routes, method, || self.relay(ctx, method, params)).over(|| self.network())
    }

    /// The way to where it goes, if that is open.
    #[cfg(feature = "tracing")]
    fn network(&self) -> Option<Arc<Network>> {
        let current;
        let peer = match self {
            Forward::To(Upstream(To::Peer(peer))) => peer,
            Forward::To(Upstream(To::Reconnect(server))) => {
                current = server.current()?;
                &current
            }
            Forward::Back(_) | Forward::Own(_) => return None,
        };
        peer.shared.network.get().cloned()
    }

    fn relay(&self, ctx: Ctx, method: &str, params: Option<&RawJson<'_>>) -> Forwarding {
        match self {
            Forward::To(Upstream(To::Peer(peer))) => {
                Forwarding::Relay(Relay::new(peer, &ctx, method, params))
            }
            Forward::To(Upstream(To::Reconnect(server))) => {
                if let Some(peer) = server.current() {
                    return Forwarding::Relay(Relay::new(&peer, &ctx, method, params));
                }
                let server = Arc::clone(server);
                Forwarding::open(ctx, method, params, async move { server.peer().await.map_err(failed) })
            }
            Forward::Back(peer) => Forwarding::Relay(match peer.get().and_then(WeakPeer::upgrade) {
                Some(peer) => Relay::new(&peer, &ctx, method, params),
                None => Relay::refused(upstream_error(CallError::Closed(Cause::Ended))),
            }),
            Forward::Own(opener) => {
                let own = opener.upstream_of(&ctx, method);
                if let Some(peer) = own.peer.get() {
                    return Forwarding::Relay(Relay::new(peer, &ctx, method, params));
                }
                let (opener, caller) = (Arc::clone(opener), ctx.clone());
                Forwarding::open(ctx, method, params, async move {
                    own.peer.get_or_try_init(|| opener.open(&caller, &own)).await.cloned()
                })
            }
        }
    }
}

fn failed(error: Error) -> ErrorObject {
    ErrorObject::because(ErrorCode::UPSTREAM_FAILED, error)
}

/// A call that is passed on, at once or as soon as there is somebody to pass it on to.
enum Forwarding {
    Opening(RawFuture),
    Relay(Relay),
}

impl Forwarding {
    fn open(
        ctx: Ctx,
        method: &str,
        params: Option<&RawJson<'_>>,
        opening: impl Future<Output = Result<Peer>> + Send + 'static,
    ) -> Self {
        let (method, params) = (method.to_owned(), params.map(owned));
        Forwarding::Opening(Box::pin(async move {
            let peer = opening.await?;
            Relay::new(&peer, &ctx, &method, params.as_ref()).await.map(Relayed::into_result)
        }))
    }
}

impl Future for Forwarding {
    type Output = Result<Relayed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Forwarding::Opening(opening) => opening.as_mut().poll(cx).map_ok(Relayed::from),
            Forwarding::Relay(relay) => Pin::new(relay).poll(cx),
        }
    }
}

type Open =
    dyn Fn(&Ctx) -> Pin<Box<dyn Future<Output = std::result::Result<Transport, Error>> + Send>> + Send + Sync;

/// Opens an upstream for each connection.
pub(super) struct Opener {
    /// A router may have several.
    number: u64,
    open: Box<Open>,
}

/// The upstreams of a connection, by the number of their opener.
#[derive(Default)]
struct Upstreams(Mutex<Vec<(u64, Arc<Own>)>>);

/// The upstream of one connection.
#[derive(Default)]
struct Own {
    peer: OnceCell<Peer>,
    /// The client has sent `initialize`, as those of LSP and MCP do: only the client can begin such a session anew.
    is_initialized: AtomicBool,
}

impl Own {
    /// Whether the next message needs another one.
    fn is_spent(&self) -> bool {
        let is_over = self.peer.get().is_some_and(|peer| peer.cause().is_some());
        is_over && !self.is_initialized.load(Ordering::Relaxed)
    }
}

impl Opener {
    pub(super) fn new<F, Fut, E>(open: F) -> Self
    where
        F: Fn(&Ctx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = std::result::Result<Transport, E>> + Send + 'static,
        E: Into<Error>,
    {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let open: Box<Open> = Box::new(move |ctx| {
            let opening = open(ctx);
            Box::pin(async move { opening.await.map_err(Into::into) })
        });
        Opener { number: NEXT.fetch_add(1, Ordering::Relaxed), open }
    }

    /// The upstream of the caller, with one that has ended replaced by one to be opened.
    fn upstream_of(&self, ctx: &Ctx, method: &str) -> Arc<Own> {
        let upstreams = ctx.peer().extension::<Upstreams>();
        let mut upstreams = lock(&upstreams.0);
        let index = upstreams.iter().position(|(number, _)| *number == self.number).unwrap_or_else(|| {
            upstreams.push((self.number, Arc::default()));
            upstreams.len() - 1
        });
        let (_, own) = &mut upstreams[index];
        if own.is_spent() {
            *own = Arc::default();
        }
        if method == "initialize" {
            own.is_initialized.store(true, Ordering::Relaxed);
        }
        Arc::clone(own)
    }

    /// Opens the upstream of a connection, which ends when the connection does.
    async fn open(&self, ctx: &Ctx, own: &Arc<Own>) -> Result<Peer> {
        let client = Peer { on_behalf_of: None, ..ctx.peer().clone() };
        let transport = (self.open)(ctx).await.map_err(failed)?;
        let server = connect(transport, back_to(&client)).await.map_err(failed)?;
        let (peer, own) = (server.clone(), Arc::downgrade(own));
        tokio::spawn(async move {
            tokio::select! {
                _ = client.closed() => drop(server.shutdown(GRACE).await),
                _ = server.closed() => {
                    let is_initialized = |own: Arc<Own>| own.is_initialized.load(Ordering::Relaxed);
                    if own.upgrade().is_some_and(is_initialized) {
                        let _ = client.shared.command(Command::Shutdown(GRACE));
                    }
                }
            }
        });
        Ok(peer)
    }
}

/// Passes on to the client what its upstream asks and tells.
fn back_to(client: &Peer) -> Router {
    let known = OnceLock::new();
    let _ = known.set(client.downgrade());
    Router::new().forward(Forward::Back(Arc::new(known)))
}
