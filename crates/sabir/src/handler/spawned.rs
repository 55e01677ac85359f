//! Handlers that run beside their connection: as tasks of the runtime or, where there is none, on threads.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, unconstrained};

use crate::handler::ctx::Ctx;
use crate::handler::task::{self, Awaiting, BoxTask};
use crate::peer::commands::Shared;
use crate::router::handlers::{Handler, RawFuture, owned};
use crate::runtime::{blocking, driving};
use crate::{ErrorCode, ErrorObject, RawJson, Result};

type Outcome = Result<RawJson<'static>>;

/// A handler whose calls run beside the connection, all of each: reading the params, and writing the result as JSON.
pub(crate) struct Spawned(pub(crate) Arc<dyn Handler>);

impl Handler for Spawned {
    fn task(&self) -> BoxTask {
        let handler = Arc::clone(&self.0);
        let begin = move |ctx, method: &str, raw: Option<&RawJson<'_>>| spawn(&handler, ctx, method, raw);
        Awaiting::boxed(begin, task::raw())
    }

    fn call(&self, ctx: Ctx, method: &str, params: Option<&RawJson<'_>>) -> Result<RawFuture> {
        Ok(Box::pin(spawn(&self.0, ctx, method, params)?))
    }
}

/// Starts a call, which from here on runs elsewhere.
fn spawn(
    handler: &Arc<dyn Handler>,
    ctx: Ctx,
    method: &str,
    params: Option<&RawJson<'_>>,
) -> Result<SpawnedCall> {
    let (handler, method, params) = (Arc::clone(handler), method.to_owned(), params.map(owned));
    let shared = Arc::clone(&ctx.peer.shared);
    let call = async move { handler.call(ctx, &method, params.as_ref())?.await };
    match Handle::try_current() {
        Ok(runtime) => {
            let counted =
                (runtime.runtime_flavor() != RuntimeFlavor::CurrentThread).then(|| Counted::new(&shared));
            Ok(SpawnedCall::Task(runtime.spawn(InHandler { shared, counted, call })))
        }
        Err(_) => {
            let (stop, stopped) = oneshot::channel::<()>();
            let threads = Arc::clone(&shared.routes.threads);
            let call = InHandler { shared, counted: None, call };
            let run = threads.run(move || {
                blocking::wait(async {
                    tokio::select! {
                        biased;
                        _ = stopped => None,
                        outcome = call => Some(outcome),
                    }
                })
            })?;
            let outcome = Box::pin(async move { run.await.flatten().flatten() });
            Ok(SpawnedCall::Thread { outcome, _stop: stop })
        }
    }
}

/// A call that runs beside the connection. Dropped, it is stopped where it next waits.
enum SpawnedCall {
    Task(JoinHandle<Outcome>),
    Thread { outcome: Pin<Box<dyn Future<Output = Option<Outcome>> + Send>>, _stop: oneshot::Sender<()> },
}

impl Future for SpawnedCall {
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let outcome = match self.get_mut() {
            // Thousands may have finished since the connection's last turn: none of them is to wait for another one.
            SpawnedCall::Task(task) => {
                Pin::new(&mut unconstrained(task)).poll(cx).map(std::result::Result::ok)
            }
            SpawnedCall::Thread { outcome, .. } => outcome.as_mut().poll(cx),
        };
        // A handler that panicked says nothing.
        outcome
            .map(|outcome| outcome.unwrap_or_else(|| Err(ErrorObject::standard(ErrorCode::INTERNAL_ERROR))))
    }
}

impl Drop for SpawnedCall {
    fn drop(&mut self) {
        if let SpawnedCall::Task(task) = self {
            task.abort();
        }
    }
}

pin_project_lite::pin_project! {
    /// A call that knows which connection it is handled for, wherever it is polled.
    struct InHandler<F> {
        shared: Arc<Shared>,
        counted: Option<Counted>,
        #[pin]
        call: F,
    }
}

impl<F: Future> Future for InHandler<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _handled = driving::handle(this.shared);
        this.call.poll(cx)
    }
}

/// One of the spawned calls of a connection, while it lasts.
struct Counted(Arc<Shared>);

impl Counted {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.spawned.fetch_add(1, Ordering::Relaxed);
        Counted(Arc::clone(shared))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.spawned.fetch_sub(1, Ordering::Relaxed);
    }
}
