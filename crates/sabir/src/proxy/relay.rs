//! One call or notification on its way from one peer to another.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use sabir_proto::{JsonKind, SendError};

use crate::handler::ctx::Ctx;
use crate::peer::Peer;
use crate::peer::call::Call;
use crate::peer::commands::{Command, Shared};
use crate::peer::relayed::Relayed;
use crate::proxy::spelling::may_subscribe;
use crate::proxy::subscriptions::{SubscribeCall, Unsubscribe};
use crate::router::handlers::owned;
use crate::{CallError, ErrorCode, ErrorObject, RawJson, Result};

/// A proxy cannot tell the two apart: JSON-RPC has no count of hops.
const FULL: &str = "the upstream leaves as many calls unanswered as may be open (`Limits::calls`): \
                    it is overloaded, or proxies pass calls on in a circle";

/// Passes a message on, and the answer back. Dropped before the answer, it cancels at the other end.
pub(super) enum Relay {
    Call(Call<RawJson<'static>>),
    Subscribe(Box<SubscribeCall>),
    /// The other side leaves too much unread.
    Waiting {
        sent: Pin<Box<dyn Future<Output = std::result::Result<(), SendError>> + Send>>,
        _hold: HeldInput,
    },
    Done(Option<Result<()>>),
    /// There is no such subscription of this client.
    NotSubscribed,
}

impl Relay {
    pub(super) fn new(to: &Peer, ctx: &Ctx, method: &str, params: Option<&RawJson<'_>>) -> Self {
        match ctx.key {
            // Nearly all names show at once that they have nothing to do with subscriptions.
            Some(_) if may_subscribe(&ctx.peer.shared.routes, method) => {
                Relay::subscription(to, ctx, method, params)
            }
            Some(_) => Relay::Call(Call::relay(to.clone(), ctx, method, params)),
            None => Relay::notify(to, ctx, method, params),
        }
    }

    /// A call that subscribes or unsubscribes, by its name.
    #[cold]
    fn subscription(to: &Peer, ctx: &Ctx, method: &str, params: Option<&RawJson<'_>>) -> Self {
        match SubscribeCall::new(to, ctx, method, params) {
            Some(Ok(call)) => return Relay::Subscribe(Box::new(call)),
            Some(Err(refused)) => return Relay::refused(refused),
            None => {}
        }
        let call = || Call::relay(to.clone(), ctx, method, params);
        match Unsubscribe::of(to, ctx, method, params) {
            Some(Unsubscribe::Own(id)) => Relay::Call(Unsubscribe::watch(id, to, ctx, call())),
            Some(Unsubscribe::Foreign) => Relay::NotSubscribed,
            None => Relay::Call(call()),
        }
    }

    pub(super) fn refused(error: ErrorObject) -> Self {
        Relay::Done(Some(Err(error)))
    }

    fn notify(to: &Peer, ctx: &Ctx, method: &str, params: Option<&RawJson<'_>>) -> Self {
        if method == "notifications/progress"
            && params.is_some_and(|params| params.get("progressToken").is_some())
        {
            // Every token of a call that was passed on is ours, and this one belongs to no open call: clients end the
            // connection for less.
            return Relay::refused(ErrorObject::because(
                ErrorCode::INVALID_PARAMS,
                "the progress of no call that is open",
            ));
        }
        let command = Command::Notify {
            on_behalf_of: None,
            method: method.to_owned().into(),
            params: params.map(owned),
        };
        let shared = Arc::clone(&to.shared);
        if shared.is_full() {
            let _hold = HeldInput::new(&ctx.peer.shared);
            return Relay::Waiting {
                sent: Box::pin(async move { shared.send_when_ready(command).await }),
                _hold,
            };
        }
        Relay::Done(Some(shared.command(command).map_err(upstream_error)))
    }
}

impl Future for Relay {
    type Output = Result<Relayed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Relay::Call(call) => call.poll_relayed(cx).map_err(upstream_error),
            Relay::Subscribe(call) => call.poll(cx).map_err(upstream_error),
            Relay::NotSubscribed => Poll::Ready(Ok(RawJson::new("false").unwrap_or(RawJson::NULL).into())),
            Relay::Waiting { sent, .. } => {
                let sent = ready!(sent.as_mut().poll(cx));
                let sent = sent.map_err(|refused| upstream_error(CallError::NotSent(refused)));
                Poll::Ready(sent.map(|()| RawJson::NULL.into()))
            }
            Relay::Done(outcome) => {
                Poll::Ready(outcome.take().unwrap_or(Ok(())).map(|()| RawJson::NULL.into()))
            }
        }
    }
}

/// While it lives, the connection reads no more than it has room to keep: its input waits for another connection.
pub(super) struct HeldInput(Arc<Shared>);

impl HeldInput {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.holds_input.raise();
        HeldInput(Arc::clone(shared))
    }
}

impl Drop for HeldInput {
    fn drop(&mut self) {
        self.0.holds_input.lower();
    }
}

/// Whether whoever calls wants to hear of progress, by a token that has to be exchanged for one of ours.
pub(crate) fn has_progress_token(ctx: &Ctx) -> bool {
    let token = ctx.meta().and_then(|meta| meta.get("progressToken"));
    token.is_some_and(|token| matches!(token.kind(), JsonKind::String | JsonKind::Number))
}

/// What a caller is told of a call that could not be passed on, or was not answered.
pub(super) fn upstream_error(error: CallError) -> ErrorObject {
    match error {
        CallError::Error(answered) => answered,
        CallError::TimedOut => ErrorObject::standard(ErrorCode::TIMED_OUT),
        CallError::Cancelled => ErrorObject::standard(ErrorCode::REQUEST_CANCELLED),
        CallError::NotSent(SendError::TooManyCalls) => ErrorObject::because(ErrorCode::UPSTREAM_FAILED, FULL),
        CallError::NotSent(SendError::Congested) => ErrorObject::because(ErrorCode::OVERLOADED, error),
        error => ErrorObject::because(ErrorCode::UPSTREAM_FAILED, error),
    }
}
