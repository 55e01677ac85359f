//! A handler that runs: a future that writes its own answer.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use sabir_proto::{RequestKey, Session};
use serde::Serialize;

use crate::desk::Desk;
use crate::{ErrorCode, ErrorObject, RawJson, Result};

/// A handler's future with its types forgotten.
///
/// It is given the desk when it is polled, so that a result goes from the handler's own type straight into
/// the output buffer, with nothing in between.
pub(crate) trait Task: Send {
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>, desk: &mut Desk, key: Option<RequestKey>)
    -> Poll<()>;
}

pub(crate) type BoxTask = Pin<Box<dyn Task>>;

pin_project! {
    pub(crate) struct Answering<F, W> {
        #[pin]
        future: F,
        write: W,
    }
}

type Write<R> = fn(&mut Session, RequestKey, &R) -> bool;

impl<F, R> Answering<F, Write<R>>
where
    F: Future<Output = Result<R>>,
{
    /// Any result, by serde.
    pub(crate) fn new(future: F) -> Self
    where
        R: Serialize,
    {
        Answering { future, write: Session::reply::<R> }
    }
}

impl<F> Answering<F, Write<RawJson<'static>>>
where
    F: Future<Output = Result<RawJson<'static>>>,
{
    /// A result that is JSON already: it goes out as it is.
    pub(crate) fn raw(future: F) -> Self {
        Answering { future, write: |session, key, raw| session.reply_raw(key, raw) }
    }
}

impl<F, R> Task for Answering<F, Write<R>>
where
    F: Future<Output = Result<R>> + Send,
{
    fn poll(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        desk: &mut Desk,
        key: Option<RequestKey>,
    ) -> Poll<()> {
        let this = self.project();
        let outcome = match catch_unwind(AssertUnwindSafe(|| this.future.poll(cx))) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(outcome)) => outcome,
            Err(_) => Err(panicked()),
        };
        // What the handler sent before it returned goes out before its answer.
        desk.carry_out_wishes();
        if let Some(key) = key {
            match outcome {
                Ok(result) => (this.write)(&mut desk.session, key, &result),
                Err(error) => desk.session.reply_error(key, &error),
            };
            desk.finished(key);
        }
        Poll::Ready(())
    }
}

/// What the caller learns of a panic: nothing of the inside. The panic hook has printed it already.
pub(crate) fn panicked() -> ErrorObject {
    ErrorObject::standard(ErrorCode::INTERNAL_ERROR)
}
