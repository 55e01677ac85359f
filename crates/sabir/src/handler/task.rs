//! A handler that runs, and writes its own answer.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use sabir_proto::{RequestKey, Session, Time};
use serde::Serialize;

use crate::handler::ctx::Ctx;
use crate::runtime::session_context::SessionContext;
use crate::{ErrorCode, ErrorObject, RawJson, Result};

/// A type-erased handler that runs for a call. When it is done it can start another call, so its memory is reused.
///
/// It is given the session context when it is polled, so that a result goes from the handler's own type straight into
/// the output buffer, with nothing in between.
pub(crate) trait Task: Send {
    /// Takes on a call. The error is its answer.
    fn start(self: Pin<&mut Self>, ctx: Ctx, method: &str, params: Option<&RawJson<'_>>) -> Result<()>;

    /// Goes on, and answers if there is nothing more to wait for.
    fn poll(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        context: &mut SessionContext,
        key: Option<RequestKey>,
    ) -> Poll<()>;

    /// What it takes while it has nothing to do.
    fn bytes(&self) -> usize {
        size_of_val(self)
    }
}

pub(crate) type BoxTask = Pin<Box<dyn Task>>;

/// How a result is written as an answer.
type Write<R> = fn(&mut Session, Time, RequestKey, &R) -> bool;

/// Any result, by serde.
pub(crate) fn typed<R: Serialize>() -> Write<R> {
    Session::reply::<R>
}

/// A result that is JSON already: it goes out as it is.
pub(crate) fn raw() -> Write<RawJson<'static>> {
    |session, now, key, raw| session.reply_raw(now, key, raw)
}

pin_project! {
    /// A handler that may have to wait.
    pub(crate) struct Awaiting<B, F, W> {
        begin: B,
        #[pin]
        future: Option<F>,
        write: W,
    }
}

impl<B, F, R> Awaiting<B, F, Write<R>>
where
    B: Fn(Ctx, &str, Option<&RawJson<'_>>) -> Result<F> + Send + 'static,
    F: Future<Output = Result<R>> + Send + 'static,
    R: 'static,
{
    /// A task whose calls are begun by `begin`.
    pub(crate) fn boxed(begin: B, write: Write<R>) -> BoxTask {
        Box::pin(Awaiting { begin, future: None, write })
    }
}

impl<B, F, R> Task for Awaiting<B, F, Write<R>>
where
    B: Fn(Ctx, &str, Option<&RawJson<'_>>) -> Result<F> + Send,
    F: Future<Output = Result<R>> + Send,
{
    fn start(self: Pin<&mut Self>, ctx: Ctx, method: &str, params: Option<&RawJson<'_>>) -> Result<()> {
        let mut this = self.project();
        let future = guarded(|| (this.begin)(ctx, method, params))?;
        this.future.set(Some(future));
        Ok(())
    }

    fn poll(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        context: &mut SessionContext,
        key: Option<RequestKey>,
    ) -> Poll<()> {
        let mut this = self.project();
        let Some(future) = this.future.as_mut().as_pin_mut() else { return Poll::Ready(()) };
        let outcome = match guarded(|| Ok(future.poll(cx))) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(outcome)) => outcome,
            Err(panicked) => Err(panicked),
        };
        this.future.set(None);
        context.answer(key, outcome, *this.write);
        Poll::Ready(())
    }
}

pin_project! {
    /// A handler that is done as soon as it has started.
    pub(crate) struct Immediate<B, R, W> {
        run: B,
        result: Option<R>,
        write: W,
    }
}

impl<B, R> Immediate<B, R, Write<R>>
where
    B: Fn(Ctx, Option<&RawJson<'_>>) -> Result<R> + Send + 'static,
    R: Send + 'static,
{
    /// A task whose calls are run by `run`.
    pub(crate) fn boxed(run: B, write: Write<R>) -> BoxTask {
        Box::pin(Immediate { run, result: None, write })
    }
}

impl<B, R> Task for Immediate<B, R, Write<R>>
where
    B: Fn(Ctx, Option<&RawJson<'_>>) -> Result<R> + Send,
    R: Send,
{
    fn start(self: Pin<&mut Self>, ctx: Ctx, _: &str, params: Option<&RawJson<'_>>) -> Result<()> {
        let this = self.project();
        *this.result = Some(guarded(|| (this.run)(ctx, params))?);
        Ok(())
    }

    fn poll(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        context: &mut SessionContext,
        key: Option<RequestKey>,
    ) -> Poll<()> {
        let this = self.project();
        if let Some(result) = this.result.take() {
            context.answer(key, Ok(result), *this.write);
        }
        Poll::Ready(())
    }
}

/// Runs user code. The caller learns that it panicked, without details: the panic hook has printed them already.
#[inline]
pub(super) fn guarded<T>(run: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|_| Err(ErrorObject::standard(ErrorCode::INTERNAL_ERROR)))
}
