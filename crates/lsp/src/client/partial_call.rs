//! A call whose result comes in parts.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use lsp_types::request::Request;
use sabir::{CallError, RawJson, Subscribe, Subscription, SubscriptionEnd, SubscriptionError};
use serde::de::DeserializeOwned;

/// Bytes of parts that wait for the caller.
pub(super) const MOST_BYTES: usize = 64 << 20;

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
    step: Step<P>,
    response: Option<Result<R::Result, CallError>>,
}

enum Step<P> {
    Asking(Box<Subscribe<P>>),
    Following(Subscription<P>),
    /// All parts are taken, and the response is there.
    Over,
}

impl<R: Request, P: DeserializeOwned> PartialCall<R, P> {
    pub(super) fn new(call: Subscribe<P>) -> Self {
        PartialCall { step: Step::Asking(Box::new(call)), response: None }
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
        loop {
            match &mut self.step {
                Step::Asking(call) => match Pin::new(call).poll(cx) {
                    Poll::Ready(Ok(parts)) => self.step = Step::Following(parts),
                    Poll::Ready(Err(error)) => self.end(Err(error)),
                    Poll::Pending => return Poll::Pending,
                },
                Step::Following(parts) => match Pin::new(&mut *parts).poll_next(cx) {
                    Poll::Ready(Some(part)) => return Poll::Ready(Some(part.map_err(undecodable))),
                    Poll::Ready(None) => {
                        let end = parts.end();
                        let lagged = matches!(end, Some(SubscriptionEnd::Lagged(_)));
                        self.end(response::<R>(end));
                        if lagged {
                            return Poll::Ready(Some(Err(too_much())));
                        }
                    }
                    Poll::Pending => return Poll::Pending,
                },
                Step::Over => return Poll::Ready(None),
            }
        }
    }

    fn end(&mut self, response: Result<R::Result, CallError>) {
        self.step = Step::Over;
        self.response = Some(response);
    }
}

/// The end of the parts is the response.
fn response<R: Request>(end: Option<SubscriptionEnd>) -> Result<R::Result, CallError> {
    match end {
        Some(SubscriptionEnd::Finished(rest)) => rest
            .unwrap_or(RawJson::NULL)
            .parse()
            .map_err(|error: serde_json::Error| CallError::Decode(error.to_string().into())),
        Some(SubscriptionEnd::Error(error)) => Err(CallError::Error(error)),
        Some(SubscriptionEnd::Disconnected(cause)) => Err(CallError::Closed(cause)),
        Some(SubscriptionEnd::Lagged(_)) => Err(too_much()),
        _ => Err(CallError::Cancelled),
    }
}

fn undecodable(error: SubscriptionError) -> CallError {
    let reason = match error {
        SubscriptionError::Decode { reason, .. } => reason,
        other => other.to_string(),
    };
    CallError::Decode(reason.into())
}

fn too_much() -> CallError {
    CallError::Decode(format!("more than {MOST_BYTES} bytes of partial results were not read").into())
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

impl<R: Request, P> std::fmt::Debug for PartialCall<R, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let step = match &self.step {
            Step::Asking(call) => format!("{call:?}"),
            Step::Following(parts) => format!("{parts:?}"),
            Step::Over => "over".to_owned(),
        };
        f.debug_struct("PartialCall").field("step", &step).finish_non_exhaustive()
    }
}
