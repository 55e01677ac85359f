//! A call that was made, as its caller sees it.

use std::borrow::Cow;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use sabir_proto::{CallOptions, SendError, TraceContext};
use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};

use crate::handler::ctx::Ctx;
use crate::peer::Peer;
use crate::peer::call_slot::{CallSlot, OnReply, Outcome};
use crate::peer::commands::{CallCommand, Command, Room};
use crate::peer::relayed::{self, Relayed};
use crate::proxy::relay::has_progress_token;
use crate::router::observe::{CallEnd, Observed, Side};
use crate::runtime::driving;
use crate::sync::lock;
use crate::{CallError, RawJson};

/// A method and its params, if they could be written.
type Unsent = (Cow<'static, str>, Result<Option<RawJson<'static>>, Box<CallError>>);

/// What a call knows of its result, its error and its progress.
type Types<R, E, T> = PhantomData<fn() -> (R, E, T)>;

/// A call: await it for its result. It is sent when it is first awaited, and cancelled when it is dropped
/// before its end.
///
/// A handler that awaits a call has the answer before the handler of anything that came behind it starts. For
/// other tasks that is likely and no more: on a runtime with several threads they run beside the connection.
/// [`on_reply`](Call::on_reply) sees the answer in order everywhere.
///
/// A typed client says more of it: `E` is what it fails with, `T` is its progress.
#[must_use = "a call is sent when it is awaited"]
pub struct Call<R, E = CallError, T = RawJson<'static>> {
    peer: Peer,
    slot: Arc<CallSlot>,
    unsent: Option<Unsent>,
    /// What it does if there are too many calls.
    room: Room,
    /// Whether it passes on a call of another peer.
    relays: bool,
    /// Whether the span of that one has one for this call below it.
    #[cfg(feature = "tracing")]
    in_span: bool,
    /// For observers, and its span.
    watched: Option<Box<Watched>>,
    /// Whether its outcome was taken: there is nothing to cancel.
    over: bool,
    types: Types<R, E, T>,
}

/// A call that somebody wants to know of.
struct Watched {
    start: Instant,
    method: String,
    #[cfg(feature = "tracing")]
    span: tracing::Span,
}

impl<R, E, T> Call<R, E, T> {
    pub(crate) fn new(
        peer: Peer,
        method: Cow<'static, str>,
        params: Result<Option<RawJson<'static>>, CallError>,
    ) -> Self {
        let unsent = Some((method, params.map_err(Box::new)));
        Call {
            peer,
            slot: Arc::default(),
            unsent,
            room: Room::Refused,
            relays: false,
            #[cfg(feature = "tracing")]
            in_span: false,
            watched: None,
            over: false,
            types: PhantomData,
        }
    }

    /// A call that is sent with its batch.
    pub(crate) fn in_batch(
        peer: Peer,
        method: &str,
        params: Option<&RawJson<'_>>,
        slot: Arc<CallSlot>,
    ) -> Self {
        let mut call = Call {
            peer,
            slot,
            unsent: None,
            room: Room::Refused,
            relays: false,
            #[cfg(feature = "tracing")]
            in_span: false,
            watched: None,
            over: false,
            types: PhantomData,
        };
        call.watch(method, params);
        call
    }

    /// Its start, for those who want to know.
    #[inline]
    fn watch(&mut self, method: &str, params: Option<&RawJson<'_>>) {
        if self.peer.shared.routes.watches_calls() {
            self.begin_watch(method, params);
        }
    }

    /// Reports its start to observers, and begins its span.
    #[cold]
    #[cfg_attr(not(feature = "tracing"), expect(unused_variables, reason = "spans name them"))]
    fn begin_watch(&mut self, method: &str, params: Option<&RawJson<'_>>) {
        let routes = Arc::clone(&self.peer.shared.routes);
        routes.tell(&Observed::CallStarted { side: Side::Ours, method, known: true });
        #[cfg(feature = "tracing")]
        let span = match &routes.client_spans {
            // A call that is passed on may have one already, from the router of its caller.
            Some(spans) if !self.in_span => spans.begin(method, params),
            _ => tracing::Span::none(),
        };
        #[cfg(feature = "tracing")]
        if let Some(network) = self.peer.shared.network.get().filter(|_| !span.is_disabled()) {
            network.record(&span);
        }
        #[cfg(feature = "tracing")]
        if let Some(trace) = routes.inject(&span) {
            let relays = self.relays;
            self.set(|options| {
                options.relay = relays;
                options.trace.get_or_insert(trace);
            });
        }
        self.watched = Some(Box::new(Watched {
            start: Instant::now(),
            method: method.to_owned(),
            #[cfg(feature = "tracing")]
            span,
        }));
    }

    /// Its end.
    #[inline]
    fn end_watch(&mut self, outcome: Result<&RawJson<'_>, &CallError>) {
        if let Some(watched) = self.watched.take() {
            self.report_end(&watched, outcome);
        }
    }

    #[cold]
    fn report_end(&self, watched: &Watched, outcome: Result<&RawJson<'_>, &CallError>) {
        let routes = &self.peer.shared.routes;
        #[cfg(feature = "tracing")]
        if let Some(spans) = &routes.client_spans
            && !watched.span.is_disabled()
        {
            if let Some(key) = self.slot.key() {
                watched.span.record("jsonrpc.request.id", key.id().to_string());
            }
            spans.end(&watched.span, &watched.method, outcome);
        }
        routes.tell(&Observed::CallEnded {
            side: Side::Ours,
            method: &watched.method,
            known: true,
            end: outcome.map_or_else(CallEnd::from, |_| CallEnd::Result),
            took: watched.start.elapsed(),
        });
    }

    /// Ends the call with [`CallError::TimedOut`] after this long, and cancels it. The time counts from when the
    /// call is sent; if it was sent already, from now.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.set(|options| options.timeout = Some(timeout));
        self
    }

    /// Lets each progress start the timeout anew, for `total` at the most. This asks for progress, as
    /// [`with_progress`](Call::with_progress) does.
    pub fn reset_on_progress(self, total: Duration) -> Self {
        self.set(|options| {
            options.reset_on_progress = true;
            options.progress = true;
            options.total_timeout = Some(total);
        });
        self
    }

    /// Asks the peer for progress, which [`progress`](Call::progress) then gives.
    ///
    /// The peer is asked in the params, so they must be an object, or absent. A call with other params is not
    /// sent, and a call that was sent already is cancelled: both end with
    /// [`SendError::Progress`](crate::SendError::Progress).
    pub fn with_progress(self) -> Self {
        self.set(|options| options.progress = true);
        self
    }

    /// Sends a trace context along, if the params are an object. Set it before the call is sent.
    pub fn trace(self, trace: TraceContext<'static>) -> Self {
        self.set(|options| options.trace = Some(trace));
        self
    }

    /// Waits until there is room, if [`Limits::calls`](crate::Limits::calls) are in flight already or the peer leaves
    /// too much unread. Without it such a call ends at once, with
    /// [`SendError::TooManyCalls`](crate::SendError::TooManyCalls) or
    /// [`SendError::Congested`](crate::SendError::Congested), so that nothing piles up unseen.
    ///
    /// Calls that wait go out in the order in which they were first awaited. A [`timeout`](Self::timeout) counts from
    /// when the call is sent. It does nothing for a call in a batch: a batch goes out as a whole or not at all.
    pub fn wait_for_room(mut self) -> Self {
        self.room = Room::Waits;
        self
    }

    /// Says how the call is to be made, or what can still be changed of it.
    fn set(&self, change: impl FnOnce(&mut CallOptions<'static>)) {
        let mut slot = lock(&self.slot.0);
        if slot.over {
            return;
        }
        if !slot.begun {
            return change(slot.options.get_or_insert_default());
        }
        let has_progress = slot.has_progress;
        drop(slot);
        let mut options = Box::<CallOptions<'_>>::default();
        change(&mut options);
        if options.progress && !has_progress {
            return self.give_up(CallError::NotSent(SendError::Progress));
        }
        if options.timeout.is_some() || options.total_timeout.is_some() {
            let slot = Arc::clone(&self.slot);
            // A connection that has ended has ended the call, too.
            let _ = self.peer.shared.command(Command::Expire { slot, options });
        }
    }

    /// Ends the call and tells the peer. Awaiting it gives [`CallError::Cancelled`].
    pub fn cancel(&self) {
        self.give_up(CallError::Cancelled);
    }

    fn give_up(&self, why: CallError) {
        if !self.slot.is_over() {
            self.slot.forget_hook();
            let words = self.relays.then(driving::cancel_words).flatten();
            let _ = self.peer.shared.command(Command::Cancel { slot: Arc::clone(&self.slot), words });
            self.slot.end(Err(why));
        }
    }

    /// The next progress of the call, or `None` once it has ended. Call it before awaiting the result: it
    /// asks the peer for progress, which must be done when the call is sent. A call in a batch asks
    /// [`with_progress`](Call::with_progress), which also says when that is refused.
    ///
    /// The type is read from all that the peer sent, or else from its member `progress`: a plain number will
    /// do where nothing more is wanted.
    pub async fn progress<U: DeserializeOwned>(&mut self) -> Option<U> {
        self.set(|options| options.progress = true);
        self.send();
        poll_fn(|cx| {
            let mut slot = lock(&self.slot.0);
            while let Some(value) = slot.progress.pop() {
                let number = || value.get("progress").and_then(|number| number.parse().ok());
                if let Some(progress) = value.parse().ok().or_else(number) {
                    return Poll::Ready(Some(progress));
                }
            }
            if slot.over {
                return Poll::Ready(None);
            }
            if slot.in_unsent_batch {
                drop(slot);
                self.slot.end(Err(CallError::NotSent(SendError::BatchNotSent)));
                return Poll::Ready(None);
            }
            slot.waker = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// The next [`progress`](Call::progress), in the type that the call has for it.
    pub async fn next_progress(&mut self) -> Option<T>
    where
        T: DeserializeOwned,
    {
        self.progress().await
    }

    fn send(&mut self) {
        let Some((method, params)) = self.unsent.take() else { return };
        self.watch(&method, params.as_ref().ok().and_then(Option::as_ref));
        let slot = Arc::clone(&self.slot);
        let sent = params.map_err(|error| *error).and_then(|params| {
            let call = CallCommand { method, params, slot, is_settled: false };
            self.peer.shared.command(Command::Call {
                on_behalf_of: self.peer.on_behalf_of,
                room: self.room,
                call,
            })
        });
        if let Err(error) = sent {
            self.slot.end(Err(error));
        }
    }
}

impl Call<RawJson<'static>> {
    /// The call that passes on the request of another peer.
    pub(crate) fn relay(peer: Peer, ctx: &Ctx, method: &str, params: Option<&RawJson<'_>>) -> Self {
        let (slot, method, params) = relayed::slot(method, params);
        let call = Call {
            peer,
            slot,
            unsent: Some((method, Ok(params))),
            room: Room::WaitsToSend,
            relays: true,
            #[cfg(feature = "tracing")]
            in_span: ctx.peer.shared.routes.client_spans.is_some(),
            watched: None,
            over: false,
            types: PhantomData,
        };
        let trace = call.forwarded_trace(ctx);
        if ctx.meta().is_some() || trace.is_some() {
            call.set(|options| {
                options.relay = true;
                options.trace = trace;
            });
            if let Some(key) = ctx.key.filter(|_| has_progress_token(ctx)) {
                lock(&call.slot.0).relayed = Some((Arc::clone(&ctx.peer.shared), key));
            }
        }
        call
    }

    /// The trace that a call is passed on with: that of the router's span, if it says so, or else the caller's, which
    /// goes on by itself unless it came in headers.
    fn forwarded_trace(&self, ctx: &Ctx) -> Option<TraceContext<'static>> {
        let routes = &ctx.peer.shared.routes;
        if let Some(trace) = routes.forward_trace.as_ref().filter(|_| ctx.meta().is_some()) {
            return trace(ctx);
        }
        #[cfg(feature = "tracing")]
        if routes.propagator.is_some() {
            return routes.inject(&tracing::Span::current());
        }
        #[cfg(feature = "http")]
        if self.peer.shared.headers.get().is_some() {
            return ctx.trace().map(TraceContext::into_owned);
        }
        None
    }

    /// Lets the call go on without its caller. Whether it was sent.
    pub(crate) fn detach(mut self) -> bool {
        if self.unsent.is_some() {
            return false;
        }
        self.over = true;
        self.end_watch(Err(&CallError::Cancelled));
        true
    }

    /// The outcome as it came, without a copy.
    pub(crate) fn poll_relayed(&mut self, cx: &mut Context<'_>) -> Poll<Result<Relayed, CallError>> {
        self.send();
        let mut slot = lock(&self.slot.0);
        let Some(outcome) = slot.outcome.take() else {
            slot.waker = Some(cx.waker().clone());
            return Poll::Pending;
        };
        drop(slot);
        self.over = true;
        self.end_watch(outcome.as_ref());
        Poll::Ready(outcome.map(|result| Relayed::new(result, &self.slot)))
    }
}

impl<R: DeserializeOwned, E: From<CallError>, T> Call<R, E, T> {
    /// Shows the outcome to `hook` as soon as it has come, before the handler of anything that came behind it
    /// starts. So nothing that follows an answer is missed, on any runtime: what the answer names, such as a
    /// subscription, is known before the first message that belongs to it is handled.
    ///
    /// ```
    /// use std::collections::HashSet;
    /// use std::sync::{Arc, Mutex};
    ///
    /// # async fn run(transport: sabir::Transport) -> Result<(), Box<dyn std::error::Error>> {
    /// let open = Arc::new(Mutex::new(HashSet::<u64>::new()));
    /// let known = Arc::clone(&open);
    /// let router = sabir::Router::new().method("event", move |_, id: u64| {
    ///     let expected = known.lock().unwrap().contains(&id);
    ///     async move { Ok(assert!(expected)) }
    /// });
    /// let peer = sabir::connect(transport, router).await?;
    /// let subscribe = peer.call::<u64>("subscribe", ());
    /// let id = subscribe.on_reply(move |id| open.lock().unwrap().extend(id.as_ref().ok())).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// It runs where the connection runs, so it should not take long. It runs once: also if the call fails, but
    /// not if the caller cancels or drops it. A later hook takes the place of an earlier one.
    pub fn on_reply(self, hook: impl FnOnce(&Result<R, E>) + Send + 'static) -> Self {
        let hook: OnReply = Box::new(move |outcome| hook(&read(outcome.clone())));
        let mut slot = lock(&self.slot.0);
        match slot.outcome.clone() {
            Some(outcome) => {
                drop(slot);
                hook(&outcome);
            }
            None => {
                let before = slot.hook.replace(hook);
                // Dropped outside of the lock: it may hold anything.
                drop(slot);
                drop(before);
            }
        }
        self
    }
}

/// The outcome in the caller's types.
fn read<R: DeserializeOwned, E: From<CallError>>(outcome: Outcome) -> Result<R, E> {
    let read = outcome.and_then(|result| {
        let ignored = |error: serde_json::Error| {
            R::deserialize(UnitOnly).map_err(|_| CallError::Decode(error.to_string().into()))
        };
        result.parse().or_else(ignored)
    });
    read.map_err(E::from)
}

/// Gives `()` to a type that asks for nothing else, and an error to all others: who wants `()` takes any result.
struct UnitOnly;

impl<'de> Deserializer<'de> for UnitOnly {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(serde::de::Error::custom("not a unit"))
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<R: DeserializeOwned, E: From<CallError>, T> Future for Call<R, E, T> {
    type Output = Result<R, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.send();
        let mut slot = lock(&self.slot.0);
        let Some(outcome) = slot.outcome.take() else {
            if slot.in_unsent_batch && !slot.over {
                drop(slot);
                self.slot.end(Err(CallError::NotSent(SendError::BatchNotSent)));
                return self.poll(cx);
            }
            slot.waker = Some(cx.waker().clone());
            return Poll::Pending;
        };
        drop(slot);
        self.over = true;
        self.end_watch(outcome.as_ref());
        Poll::Ready(read(outcome))
    }
}

impl<R, E, T> Drop for Call<R, E, T> {
    fn drop(&mut self) {
        if self.unsent.is_none() && !self.over {
            self.cancel();
            self.end_watch(Err(&CallError::Cancelled));
        }
    }
}

impl<R, E, T> std::fmt::Debug for Call<R, E, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call").field("sent", &self.unsent.is_none()).finish_non_exhaustive()
    }
}
