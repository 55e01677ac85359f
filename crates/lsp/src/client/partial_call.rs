//! A call whose result comes in parts.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use lsp_types::request::Request;
use sabir::{Call, CallError, RawJson};
use serde::de::DeserializeOwned;

use super::session::LspSession;
use super::state::lock;

/// Bytes of parts that wait for the caller.
const MOST_BYTES: usize = 64 << 20;

/// A request whose result comes in parts: a [`Stream`] of them, which ends when the response has come.
/// [`response`](Self::response) is the rest of the result: empty where all of it came in parts, and all of it where the
/// server does not send parts.
///
/// ```
/// # async fn run(server: sabir_lsp::LspSession, params: sabir_lsp::lsp_types::ReferenceParams)
/// # -> Result<(), sabir::CallError> {
/// use sabir_lsp::lsp_types::{Location, request::References};
///
/// let mut call = server.request_in_parts::<References, Vec<Location>>(params);
/// let mut places = Vec::new();
/// while let Some(part) = call.next().await {
///     places.extend(part?);
/// }
/// places.extend(call.response().await?.unwrap_or_default());
/// # Ok(())
/// # }
/// ```
///
/// Dropped before the response, it cancels the request. If it is not read while parts come, up to 64 MiB of them
/// are kept, and then it ends with an error.
#[must_use = "a call is sent when it is awaited"]
pub struct PartialCall<R: Request, P> {
    call: Call<R::Result>,
    response: Option<Result<R::Result, CallError>>,
    parts: Arc<Parts>,
    /// Too much came that was not read.
    gave_up: bool,
    token: String,
    session: LspSession,
    types: PhantomData<fn() -> P>,
}

/// What has come of a call, and was not read yet.
#[derive(Debug, Default)]
pub(super) struct Parts(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    values: VecDeque<RawJson<'static>>,
    bytes: usize,
    overflowed: bool,
    waker: Option<Waker>,
}

impl Parts {
    pub(super) fn push(&self, value: RawJson<'static>) {
        let mut waiting = lock(&self.0);
        waiting.bytes += value.as_str().len();
        if waiting.bytes <= MOST_BYTES && !waiting.overflowed {
            waiting.values.push_back(value);
        } else {
            *waiting = Waiting { overflowed: true, waker: waiting.waker.take(), ..Waiting::default() };
        }
        let waker = waiting.waker.take();
        drop(waiting);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<R: Request, P: DeserializeOwned> PartialCall<R, P> {
    pub(super) fn new(session: LspSession, call: Call<R::Result>, token: String, parts: Arc<Parts>) -> Self {
        PartialCall { call, response: None, parts, gave_up: false, token, session, types: PhantomData }
    }

    /// The next part; `None` when the response has come.
    pub async fn next(&mut self) -> Option<Result<P, CallError>>
    where
        R::Result: Unpin,
    {
        poll_fn(|cx| self.poll_part(cx)).await
    }

    /// The response. Parts that were not read are dropped.
    pub async fn response(mut self) -> Result<R::Result, CallError>
    where
        R::Result: Unpin,
    {
        loop {
            if let Some(response) = self.response.take() {
                return response;
            }
            let _ = self.next().await;
        }
    }

    fn poll_part(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<P, CallError>>>
    where
        R::Result: Unpin,
    {
        // First, since what came before the response is in the queue by then.
        if self.response.is_none()
            && let Poll::Ready(response) = Pin::new(&mut self.call).poll(cx)
        {
            self.response = Some(response);
        }
        let mut waiting = lock(&self.parts.0);
        if waiting.overflowed && !self.gave_up {
            self.gave_up = true;
            self.call.cancel();
            let reason = format!("more than {MOST_BYTES} bytes of partial results were not read");
            let error = CallError::Unfit(reason.into());
            self.response = Some(Err(error.clone()));
            return Poll::Ready(Some(Err(error)));
        }
        let Some(part) = waiting.values.pop_front() else {
            if self.response.is_some() {
                return Poll::Ready(None);
            }
            waiting.waker = Some(cx.waker().clone());
            return Poll::Pending;
        };
        waiting.bytes -= part.as_str().len();
        drop(waiting);
        Poll::Ready(Some(part.parse().map_err(|error| CallError::Unfit(error.to_string().into()))))
    }
}

impl<R: Request, P: DeserializeOwned> Stream for PartialCall<R, P>
where
    R::Result: Unpin,
{
    type Item = Result<P, CallError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_part(cx)
    }
}

impl<R: Request, P> Drop for PartialCall<R, P> {
    fn drop(&mut self) {
        self.session.forget_parts(&self.token);
    }
}

impl<R: Request, P> std::fmt::Debug for PartialCall<R, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PartialCall").field("token", &self.token).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may")]

    use super::*;

    #[test]
    fn parts_that_nobody_reads_are_dropped() {
        let parts = Parts::default();
        let part = RawJson::from_value(&"x".repeat(1 << 20)).unwrap();
        for _ in 0..MOST_BYTES / (1 << 20) + 5 {
            parts.push(part.clone());
        }
        let waiting = lock(&parts.0);
        assert!(waiting.overflowed && waiting.values.is_empty());
    }
}
