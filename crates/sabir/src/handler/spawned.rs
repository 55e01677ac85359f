//! Handlers that run beside their connection: as tasks of the runtime or, where there is none, on threads.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use sabir_proto::RequestKey;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::handler::ctx::Ctx;
use crate::handler::task::{self, BoxTask, Task};
use crate::handler::worker::{IDLE_BYTES, Outcome, Worker};
use crate::router::handlers::{Handler, RawFuture, owned};
use crate::runtime::session_context::SessionContext;
use crate::runtime::{blocking, driving};
use crate::{ErrorCode, ErrorObject, RawJson, Result};

/// A handler whose calls run beside the connection, all of each: reading the params, and writing the result as JSON.
pub(crate) struct Spawned(pub(crate) Arc<dyn Handler>);

impl Handler for Spawned {
    fn task(&self) -> BoxTask {
        Box::pin(SpawnedTask { handler: Arc::clone(&self.0), call: None })
    }

    fn call(&self, ctx: Ctx, method: &str, params: Option<&RawJson<'_>>) -> Result<RawFuture> {
        let mut call = SpawnedCall::start(&self.0, ctx, method, params)?;
        Ok(Box::pin(poll_fn(move |cx| call.poll(cx))))
    }
}

/// One call after the other, each of which runs elsewhere.
struct SpawnedTask {
    handler: Arc<dyn Handler>,
    call: Option<SpawnedCall>,
}

impl Task for SpawnedTask {
    fn start(self: Pin<&mut Self>, ctx: Ctx, method: &str, params: Option<&RawJson<'_>>) -> Result<()> {
        let this = self.get_mut();
        let ctx = match &this.call {
            Some(SpawnedCall::Worker(worker)) => match worker.run(ctx, method, params) {
                Ok(()) => return Ok(()),
                Err(ctx) => ctx,
            },
            _ => ctx,
        };
        this.call = None;
        this.call = Some(SpawnedCall::start(&this.handler, ctx, method, params)?);
        Ok(())
    }

    fn poll(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        context: &mut SessionContext,
        key: Option<RequestKey>,
    ) -> Poll<()> {
        let this = self.get_mut();
        let Some(call) = &mut this.call else { return Poll::Ready(()) };
        let outcome = ready!(call.poll(cx));
        // A worker can run another one.
        this.call.take_if(|call| matches!(call, SpawnedCall::Thread { .. }));
        context.answer(key, outcome, task::raw());
        Poll::Ready(())
    }

    fn bytes(&self) -> usize {
        size_of_val(self) + IDLE_BYTES
    }
}

/// A call that runs beside the connection. Dropped, it is stopped where it next waits.
enum SpawnedCall {
    Worker(Worker),
    Thread { outcome: Pin<Box<dyn Future<Output = Option<Outcome>> + Send>>, _stop: oneshot::Sender<()> },
}

impl SpawnedCall {
    fn start(
        handler: &Arc<dyn Handler>,
        ctx: Ctx,
        method: &str,
        params: Option<&RawJson<'_>>,
    ) -> Result<SpawnedCall> {
        if let Ok(runtime) = Handle::try_current() {
            return Ok(SpawnedCall::Worker(Worker::spawn(&runtime, handler, ctx, method, params)));
        }
        let (handler, method, params) = (Arc::clone(handler), method.to_owned(), params.map(owned));
        let shared = Arc::clone(&ctx.peer.shared);
        let threads = Arc::clone(&shared.routes.threads);
        let call = async move { handler.call(ctx, &method, params.as_ref())?.await };
        let (stop, stopped) = oneshot::channel::<()>();
        let run = threads.run(move || {
            let _handled = driving::handle(&shared);
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

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Outcome> {
        match self {
            SpawnedCall::Worker(worker) => worker.poll(cx),
            // A handler that panicked says nothing.
            SpawnedCall::Thread { outcome, .. } => outcome.as_mut().poll(cx).map(|outcome| {
                outcome.unwrap_or_else(|| Err(ErrorObject::standard(ErrorCode::INTERNAL_ERROR)))
            }),
        }
    }
}
