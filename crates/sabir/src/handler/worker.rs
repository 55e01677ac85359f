//! Tasks of the runtime that run spawned calls. A worker runs one call after the other: a task for each would be an
//! allocation of its own, and the slowest kind, since its address must be a multiple of 128.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Waker};

use tokio::runtime::{Handle, RuntimeFlavor};

use crate::handler::ctx::Ctx;
use crate::handler::task::guarded;
use crate::peer::commands::Shared;
use crate::router::handlers::{Handler, RawFuture};
use crate::runtime::driving;
use crate::sync::lock;
use crate::{ErrorCode, ErrorObject, RawJson, Result};

/// What a worker that has nothing to do takes, about.
pub(super) const IDLE_BYTES: usize = 768;

/// Longer texts are not kept for their memory.
const KEPT_TEXT: usize = 256;

pub(super) type Outcome = Result<RawJson<'static>>;

/// A task that runs calls, as the connection holds it. Dropped, the call that it runs is stopped where it next waits.
pub(super) struct Worker(Arc<WorkerShared>);

/// What a connection and its worker exchange.
struct WorkerShared {
    state: Mutex<State>,
    /// The worker's task, once it has run.
    task: OnceLock<Waker>,
    /// Whether it runs beside the connection, and not only in turn with it.
    parallel: bool,
}

struct State {
    order: Order,
    outcome: Option<Outcome>,
    text: Text,
    /// Whom to tell of the outcome.
    caller: Option<Waker>,
    /// The task has ended: with its runtime, or by a panic.
    gone: bool,
}

/// What the worker is to do next.
enum Order {
    Nothing,
    Run(Ctx),
    End,
}

/// The method and the params of a call. They are kept for their memory.
#[derive(Default)]
struct Text {
    method: String,
    params: Option<RawJson<'static>>,
    has_params: bool,
}

impl Text {
    fn set(&mut self, method: &str, params: Option<&RawJson<'_>>) {
        if self.method != method {
            self.method.clear();
            self.method.push_str(method);
        }
        self.has_params = params.is_some();
        if let Some(params) = params {
            self.params.get_or_insert(RawJson::NULL).copy_from(params);
        }
    }

    fn params(&self) -> Option<&RawJson<'static>> {
        self.params.as_ref().filter(|_| self.has_params)
    }

    /// Keeps no more memory than is worth it.
    fn shrink(&mut self) {
        if self.method.len() > KEPT_TEXT {
            self.method = String::new();
        }
        self.params.take_if(|params| params.as_str().len() > KEPT_TEXT);
    }
}

impl WorkerShared {
    /// The worker has something to do. A task that has not run yet will look by itself.
    fn wake(&self) {
        if let Some(task) = self.task.get() {
            task.wake_by_ref();
        }
    }
}

impl Worker {
    /// A new task, with its first call.
    pub(super) fn spawn(
        runtime: &Handle,
        handler: &Arc<dyn Handler>,
        ctx: Ctx,
        method: &str,
        params: Option<&RawJson<'_>>,
    ) -> Self {
        let parallel = runtime.runtime_flavor() != RuntimeFlavor::CurrentThread;
        let mut text = Text::default();
        text.set(method, params);
        count(parallel, &ctx.peer.shared);
        let state = State { order: Order::Run(ctx), outcome: None, text, caller: None, gone: false };
        let shared = Arc::new(WorkerShared { state: Mutex::new(state), task: OnceLock::new(), parallel });
        runtime.spawn(Work { shared: Arc::clone(&shared), handler: Arc::clone(handler), running: None });
        Worker(shared)
    }

    /// Runs one more call. The context comes back if the task has ended.
    pub(super) fn run(
        &self,
        ctx: Ctx,
        method: &str,
        params: Option<&RawJson<'_>>,
    ) -> std::result::Result<(), Ctx> {
        let mut state = lock(&self.0.state);
        if state.gone {
            return Err(ctx);
        }
        state.text.set(method, params);
        count(self.0.parallel, &ctx.peer.shared);
        state.order = Order::Run(ctx);
        drop(state);
        self.0.wake();
        Ok(())
    }

    /// The outcome of the call that it runs.
    pub(super) fn poll(&self, cx: &mut Context<'_>) -> Poll<Outcome> {
        let mut state = lock(&self.0.state);
        match state.outcome.take() {
            Some(outcome) => Poll::Ready(outcome),
            None => {
                state.caller = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        // Dropped outside of the lock: they may hold anything.
        let order = std::mem::replace(&mut state.order, Order::End);
        let caller = state.caller.take();
        drop(state);
        self.0.wake();
        if let Order::Run(ctx) = &order {
            uncount(self.0.parallel, &ctx.peer.shared);
        }
        drop((order, caller));
    }
}

/// The calls that run beside a connection are counted.
fn count(parallel: bool, shared: &Shared) {
    if parallel {
        shared.spawned.fetch_add(1, Ordering::Relaxed);
    }
}

fn uncount(parallel: bool, shared: &Shared) {
    if parallel {
        shared.spawned.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The task of a worker.
struct Work {
    shared: Arc<WorkerShared>,
    handler: Arc<dyn Handler>,
    running: Option<Running>,
}

/// A call, and the connection that it is handled for.
struct Running {
    shared: Arc<Shared>,
    call: RawFuture,
    text: Text,
}

impl Work {
    /// The outcome of a call is known: the connection is told.
    fn finish(&self, shared: Arc<Shared>, mut text: Text, outcome: Outcome) {
        uncount(self.shared.parallel, &shared);
        drop(shared);
        text.shrink();
        let mut state = lock(&self.shared.state);
        state.text = text;
        state.outcome = Some(outcome);
        let caller = state.caller.take();
        drop(state);
        if let Some(caller) = caller {
            caller.wake();
        }
    }

    /// Starts a call.
    fn begin(&mut self, ctx: Ctx, text: Text) {
        let shared = Arc::clone(&ctx.peer.shared);
        let handled = driving::handle(&shared);
        let begun = guarded(|| self.handler.call(ctx, &text.method, text.params()));
        drop(handled);
        match begun {
            Ok(call) => self.running = Some(Running { shared, call, text }),
            Err(error) => self.finish(shared, text, Err(error)),
        }
    }
}

impl Future for Work {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        // Before it looks: whoever gives an order after that can wake it.
        this.shared.task.get_or_init(|| cx.waker().clone());
        let mut state = lock(&this.shared.state);
        match std::mem::replace(&mut state.order, Order::Nothing) {
            Order::Nothing => drop(state),
            Order::Run(ctx) => {
                let text = std::mem::take(&mut state.text);
                drop(state);
                this.begin(ctx, text);
            }
            Order::End => {
                state.order = Order::End;
                return Poll::Ready(());
            }
        }
        let Some(Running { shared, call, .. }) = &mut this.running else { return Poll::Pending };
        let handled = driving::handle(shared);
        let outcome = match guarded(|| Ok(call.as_mut().poll(cx))) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(outcome)) => outcome,
            Err(panicked) => Err(panicked),
        };
        drop(handled);
        if let Some(Running { shared, call, text }) = this.running.take() {
            // What it holds is gone before the connection goes on.
            let dropped = guarded(|| {
                drop(call);
                Ok(())
            });
            this.finish(shared, text, dropped.and(outcome));
        }
        Poll::Pending
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let mut state = lock(&self.shared.state);
        state.gone = true;
        let order = std::mem::replace(&mut state.order, Order::End);
        drop(state);
        let unfinished = match order {
            Order::Run(ctx) => Some(Arc::clone(&ctx.peer.shared)),
            Order::Nothing | Order::End => self.running.take().map(|running| running.shared),
        };
        // Whoever waits still learns that there is no answer.
        if let Some(shared) = unfinished {
            self.finish(shared, Text::default(), Err(panicked()));
        }
    }
}

/// A handler that panicked says nothing.
fn panicked() -> ErrorObject {
    ErrorObject::standard(ErrorCode::INTERNAL_ERROR)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may")]

    use std::future::{pending, poll_fn};

    use tokio::runtime::Builder;

    use super::*;
    use crate::Router;

    /// A router's handler of `wait`, which never ends, and of everything else.
    fn handler(method: &str) -> Arc<dyn Handler> {
        let router = Router::new()
            .method("wait", |_, ()| pending::<Result<()>>())
            .method("double", |_, (n,): (u64,)| async move { Ok(2 * n) });
        Arc::clone(&router.into_routes().route(method).unwrap().handler)
    }

    fn context() -> (Ctx, Arc<Shared>) {
        let ctx = Ctx::for_test().build();
        let shared = Arc::clone(&ctx.peer.shared);
        (ctx, shared)
    }

    #[test]
    fn a_worker_runs_one_call_after_the_other_and_holds_nothing_between_them() {
        let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let (ctx, shared) = context();
        let number = |n: u64| RawJson::from_value(&[n]).unwrap();
        let worker = Worker::spawn(runtime.handle(), &handler("double"), ctx, "double", Some(&number(0)));
        for n in 0..100 {
            let outcome = runtime.block_on(poll_fn(|cx| worker.poll(cx)));
            assert_eq!(outcome.unwrap().as_str(), (2 * n).to_string());
            assert_eq!((Arc::strong_count(&shared), shared.spawned.load(Ordering::SeqCst)), (1, 0));
            let ctx = Ctx { peer: crate::Peer::new(Arc::clone(&shared)), ..Ctx::for_test().build() };
            assert!(worker.run(ctx, "double", Some(&number(n + 1))).is_ok());
        }
    }

    #[test]
    fn a_call_ends_with_the_runtime_and_the_worker_takes_no_other() {
        let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let (ctx, shared) = context();
        let worker = Worker::spawn(runtime.handle(), &handler("wait"), ctx, "wait", None);
        drop(runtime);
        let outcome = worker.poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(outcome, Poll::Ready(Err(error)) if error.code == ErrorCode::INTERNAL_ERROR));
        assert_eq!((Arc::strong_count(&shared), shared.spawned.load(Ordering::SeqCst)), (1, 0));
        assert!(worker.run(Ctx::for_test().build(), "wait", None).is_err());
    }

    #[test]
    fn long_texts_are_not_kept() {
        let mut text = Text::default();
        text.set(&"m".repeat(KEPT_TEXT + 1), Some(&RawJson::from_value(&"p".repeat(KEPT_TEXT)).unwrap()));
        text.shrink();
        assert_eq!((text.method.capacity(), text.params), (0, None));
    }
}
