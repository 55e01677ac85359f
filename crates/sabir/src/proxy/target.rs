//! Where messages are passed on to.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::OnceCell;

use crate::handler::ctx::Ctx;
use crate::handler::task::{Awaiting, BoxTask};
use crate::peer::relayed::Relayed;
use crate::peer::{Peer, WeakPeer};
use crate::proxy::relay::{Relay, upstream_error};
use crate::router::Router;
use crate::router::handlers::{Handler, RawFuture, owned};
#[cfg(feature = "tracing")]
use crate::router::spans::InClientSpan;
use crate::runtime::serve::connect;
use crate::sync::lock;
use crate::transport::Transport;
use crate::{CallError, Cause, Error, ErrorCode, ErrorObject, RawJson, Result};

/// How long an upstream may take to finish once the client has gone.
pub(super) const GRACE: Duration = Duration::from_secs(1);

/// A handler that passes every call on, raw.
#[derive(Clone)]
pub(super) enum Forward {
    To(Peer),
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
        InClientSpan::begin(&routes, method, || self.relay(ctx, method, params))
    }

    fn relay(&self, ctx: Ctx, method: &str, params: Option<&RawJson<'_>>) -> Forwarding {
        match self {
            Forward::To(peer) => Forwarding::Relay(Relay::new(peer, &ctx, method, params)),
            Forward::Back(peer) => Forwarding::Relay(match peer.get().and_then(WeakPeer::upgrade) {
                Some(peer) => Relay::new(&peer, &ctx, method, params),
                None => Relay::refused(upstream_error(CallError::Closed(Cause::Ended))),
            }),
            Forward::Own(opener) => {
                let upstream = opener.upstream_of(&ctx);
                if let Some(peer) = upstream.get() {
                    return Forwarding::Relay(Relay::new(peer, &ctx, method, params));
                }
                let opener = Arc::clone(opener);
                let (method, params) = (method.to_owned(), params.map(owned));
                Forwarding::Opening(Box::pin(async move {
                    let peer = upstream.get_or_try_init(|| opener.open(&ctx)).await?;
                    Relay::new(peer, &ctx, &method, params.as_ref()).await.map(Relayed::into_result)
                }))
            }
        }
    }
}

/// A call that is passed on, at once or as soon as there is somebody to pass it on to.
enum Forwarding {
    Opening(RawFuture),
    Relay(Relay),
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
struct Upstreams(Mutex<Vec<(u64, Arc<OnceCell<Peer>>)>>);

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

    fn upstream_of(&self, ctx: &Ctx) -> Arc<OnceCell<Peer>> {
        let upstreams = ctx.peer().extension::<Upstreams>();
        let mut upstreams = lock(&upstreams.0);
        if let Some((_, upstream)) = upstreams.iter().find(|(number, _)| *number == self.number) {
            return Arc::clone(upstream);
        }
        let upstream = Arc::<OnceCell<Peer>>::default();
        upstreams.push((self.number, Arc::clone(&upstream)));
        upstream
    }

    /// Opens the upstream of a connection, which ends when the connection does.
    async fn open(&self, ctx: &Ctx) -> Result<Peer> {
        let client = Peer { on_behalf_of: None, ..ctx.peer().clone() };
        let failed = |error: Error| ErrorObject::because(ErrorCode::UPSTREAM_FAILED, error);
        let transport = (self.open)(ctx).await.map_err(failed)?;
        let server = connect(transport, back_to(&client)).await.map_err(failed)?;
        let ending = server.clone();
        tokio::spawn(async move {
            client.closed().await;
            ending.shutdown(GRACE).await;
        });
        Ok(server)
    }
}

/// Passes on to the client what its upstream asks and tells.
fn back_to(client: &Peer) -> Router {
    let known = OnceLock::new();
    let _ = known.set(client.downgrade());
    Router::new().forward(Forward::Back(Arc::new(known)))
}
