//! What the engine tells its driver.

use std::borrow::Cow;
use std::fmt;

use super::lost::Lost;
use super::outgoing::SendError;
use super::publish::SinkStats;
pub use super::report::Report;
use crate::byte_size::ByteSize;
use crate::json::raw::RawJson;
use crate::message::Fault;
use crate::message::error::{ErrorCode, ErrorObject};
use crate::message::id::Id;
use crate::time::Time;

/// A request of the peer, until it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestKey {
    pub(super) index: u32,
    pub(super) generation: u32,
}

/// A subscription of the peer: where its items go in, until it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SinkKey {
    pub(super) index: u32,
    pub(super) serial: u32,
}

/// A subscription of ours, until it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SubscriptionKey {
    pub(super) index: u32,
    pub(super) serial: u32,
}

/// A call of ours, until it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallKey {
    pub(super) id: u64,
    pub(super) index: u32,
}

impl RequestKey {
    /// A small number that no other open request has: an index for what a driver keeps with it.
    pub fn index(self) -> usize {
        self.index as usize
    }
}

impl SinkKey {
    /// A small number that no other open subscription of the peer has: an index for what a driver keeps with it.
    pub fn index(self) -> usize {
        self.index as usize
    }
}

impl SubscriptionKey {
    /// A small number that no other subscription of ours has: an index for what a driver keeps with it.
    pub fn index(self) -> usize {
        self.index as usize
    }
}

impl CallKey {
    /// A small number that no other open call has: an index for what a driver keeps with it.
    pub fn index(self) -> usize {
        self.index as usize
    }

    /// The id on the wire.
    pub fn id(self) -> u64 {
        self.id
    }
}

/// What to do next.
#[derive(Debug)]
pub enum Output<'s> {
    /// Something happened. There may be more: poll again.
    Event(Event<'s>),
    /// Nothing more happens by itself.
    Wait(Wait<'s>),
    /// It is over: everything is sent that can be, every call has ended. Close the transport.
    Done(Cause),
}

/// What can move the session on.
#[derive(Debug)]
#[non_exhaustive]
pub struct Wait<'s> {
    /// Bytes to write, if there are any. With [`Framing::Whole`](crate::Framing::Whole) they are one
    /// message.
    pub write: &'s [u8],
    /// Whether to read. Not while the peer leaves what we wrote unread, nor after its end.
    pub read: bool,
    /// When to poll again even if nothing comes.
    pub deadline: Option<Time>,
}

/// Which message of the peer something belongs to, in the driver's own numbers: on some transports an answer
/// must go back the way its request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Origin(pub u64);

impl Origin {
    /// It belongs to no message.
    pub const NONE: Origin = Origin(0);
}

/// A message to send, on a transport that delimits messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outgoing<'s> {
    /// The message. Empty if nothing more is sent, and only `last` changed.
    pub message: &'s [u8],
    /// What it answers, or was sent on behalf of.
    pub origin: Origin,
    /// Nothing more will follow in answer to that.
    pub last: bool,
    /// What it is for.
    pub purpose: Purpose,
}

impl Outgoing<'_> {
    /// The code of the error that it answers one request with.
    pub fn error(&self) -> Option<ErrorCode> {
        match self.purpose {
            Purpose::Error(code) => Some(code),
            _ => None,
        }
    }
}

/// What a message that goes out is for: some transports treat them differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// It calls, alone or in a batch: the ids of the calls, of which there are no others between.
    Call {
        /// The first id.
        first: u64,
        /// The last id.
        last: u64,
    },
    /// A notification.
    Notify,
    /// A cancel of the call with this id.
    Cancel(u64),
    /// It answers the peer: with a result, or a batch with all its answers.
    Answer,
    /// It answers one request with an error of this code.
    Error(ErrorCode),
}

/// What became of a message that the transport could not deliver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undelivered {
    /// What happened, for people.
    pub reason: Cow<'static, str>,
    /// The status with which the peer's side refused it, where the transport has such a thing: that of HTTP.
    pub status: Option<u16>,
    /// The limit in bytes, if an answer is larger than that.
    pub too_large: Option<usize>,
    /// What went wrong, for programs that decide by it.
    pub failure: DeliveryFailure,
}

/// What went wrong when a message was not delivered, or its answer was not usable.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum DeliveryFailure {
    /// None of the others.
    #[default]
    Other,
    /// No connection could be opened.
    Connect,
    /// Nobody serves what was called.
    NoWorker,
    /// The peer closed the connection without an answer.
    Closed,
    /// The peer does not speak the transport's protocol. These are the first bytes that it sent.
    WrongProtocol(Box<[u8]>),
    /// The peer's side refused the message with [`Undelivered::status`].
    Refused,
    /// It was refused with a redirect to this URL. Redirects are not followed.
    Redirected(Box<str>),
    /// It was refused for now. This is the value of `Retry-After`: seconds, or a date.
    RetryAfter(Box<str>),
    /// The session of the transport has ended.
    SessionEnded,
    /// The answer is empty.
    Empty,
    /// The connection closed before the answer was complete.
    Incomplete,
    /// The answer has this content type, which is not JSON.
    ContentType(Box<str>),
    /// The answer is not a JSON-RPC message.
    NotAMessage,
    /// The answer does not contain a response to this call.
    NoResponse,
    /// The answer is larger than [`Undelivered::too_large`].
    TooLarge,
}

impl Undelivered {
    /// The answer is larger than the limit for one message.
    pub fn too_large(limit: usize) -> Self {
        let reason = format!("the answer is larger than {}", ByteSize(limit)).into();
        Undelivered { reason, status: None, too_large: Some(limit), failure: DeliveryFailure::TooLarge }
    }

    /// With this failure.
    pub fn new(failure: DeliveryFailure, reason: impl Into<Cow<'static, str>>) -> Self {
        Undelivered { reason: reason.into(), status: None, too_large: None, failure }
    }
}

impl<R: Into<Cow<'static, str>>> From<R> for Undelivered {
    fn from(reason: R) -> Self {
        Undelivered::new(DeliveryFailure::Other, reason)
    }
}

impl fmt::Display for Undelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Undelivered {}

/// Something that happened on the connection.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub enum Event<'s> {
    /// Start a handler. It must end in one of `reply`, `reply_raw`, `reply_error` or `abandon`.
    Request {
        /// To answer with.
        key: RequestKey,
        /// The method.
        method: Cow<'s, str>,
        /// An array or an object.
        params: Option<RawJson<'s>>,
        /// The params' `_meta`, if they are an object that has one.
        /// [`TraceContext::from_meta`](crate::TraceContext::from_meta) reads a trace from it.
        meta: Option<RawJson<'s>>,
        /// The message that it came in.
        origin: Origin,
    },
    /// Start a handler. No other one is started until `finish_notification` is called.
    Notification {
        /// The method.
        method: Cow<'s, str>,
        /// An array or an object.
        params: Option<RawJson<'s>>,
    },
    /// The peer no longer wants the answer. Stop the handler and `abandon` the request, or let it finish.
    Cancel {
        /// Which one.
        key: RequestKey,
        /// Why, if the peer says so.
        reason: Option<Cow<'s, str>>,
    },
    /// A call of ours goes on.
    Progress {
        /// Which one.
        call: CallKey,
        /// What the peer sent: the `value` of `$/progress`, or all params of `notifications/progress`.
        value: RawJson<'s>,
    },
    /// A call of ours has ended. This comes once for each call, unless it was cancelled.
    Reply {
        /// Which one.
        call: CallKey,
        /// How.
        outcome: Result<RawJson<'s>, CallError>,
    },
    /// A subscription of the peer takes items again.
    SinkReady {
        /// Which one.
        sink: SinkKey,
    },
    /// A subscription of the peer has ended, and not by [`Session::finish`](crate::Session::finish): drop what makes
    /// its items. This comes once.
    SinkClosed {
        /// Which one.
        sink: SinkKey,
        /// Why.
        end: SinkEnd,
        /// How much it has sent, and lost.
        stats: SinkStats,
    },
    /// The peer has answered a request to subscribe. This comes once for each, unless it is left before.
    Subscribed {
        /// Which one. If it failed, it is gone.
        subscription: SubscriptionKey,
        /// The id, which is null where there is none.
        outcome: Result<Id<'s>, CallError>,
    },
    /// An item of a subscription of ours.
    Item {
        /// Which one.
        subscription: SubscriptionKey,
        /// What came.
        item: RawJson<'s>,
    },
    /// Items came before the response to their subscription, and there was no room to keep them.
    ItemsLost {
        /// Which one.
        subscription: SubscriptionKey,
        /// How many.
        count: u64,
    },
    /// A subscription of ours has ended, and not by [`Session::unsubscribe`](crate::Session::unsubscribe).
    SubscriptionEnded {
        /// Which one.
        subscription: SubscriptionKey,
        /// Why.
        end: SubscriptionClosed<'s>,
    },
    /// The peer has answered that it ended a subscription that we left.
    Unsubscribed {
        /// Which one.
        subscription: SubscriptionKey,
        /// Whether the peer still had it.
        outcome: Result<bool, CallError>,
    },
    /// The peer did something that it should not. The engine has dealt with it already.
    Report(Report<'s>),
}

/// Why a subscription of the peer has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SinkEnd {
    /// The peer has unsubscribed, or cancelled the request.
    Unsubscribed,
    /// The peer read too slowly.
    Lagged,
    /// The connection has ended, or is about to.
    Disconnected,
    /// The item was sent that no other follows: [`EndSignal::Outcome`](crate::EndSignal::Outcome).
    Finished,
}

/// Why a subscription of ours has ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SubscriptionClosed<'s> {
    /// There are no more items. Where the end is a response, this is its result.
    Finished(Option<RawJson<'s>>),
    /// It failed.
    Error(ErrorObject<'static>),
    /// The connection has ended.
    Disconnected(Cause),
    /// The transport cannot carry its items, and says why.
    Undelivered(Undelivered),
}

/// Why a call did not end in a result. The engine itself says all but `Cancelled`, `NotSent` and `Decode`,
/// which are for what is built on it.
///
/// It borrows from nothing: an error that has a lifetime cannot be held across an `await` in a task that
/// waits for several calls at once.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallError {
    /// The peer answered with an error.
    Error(ErrorObject<'static>),
    /// The time was up. The peer was told to cancel.
    TimedOut,
    /// The batch was answered, and this call was not.
    Unanswered,
    /// The answer is not a valid response.
    Malformed(Fault),
    /// It was sent, and the connection ended before its answer came. Whether the peer has acted on it is not known.
    Closed(Cause),
    /// The caller cancelled it.
    Cancelled,
    /// It was never sent: the peer has not seen it. [`SendError::Closed`] if the connection had ended before.
    NotSent(SendError),
    /// The result does not fit the type that the caller wants.
    Decode(Cow<'static, str>),
    /// The transport could not carry it, or its answer, and says why. Other calls may still succeed.
    Undelivered(Undelivered),
}

/// Why a connection ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// The peer closed its side.
    Ended,
    /// This side shut down.
    Shutdown,
    /// The peer read nothing for too long while there was something to send.
    Stalled,
    /// The peer read a subscription too slowly, and nothing else would tell it that it has missed items.
    Lagged,
    /// Nothing came for too long.
    Idle,
    /// The transport failed.
    Lost(Lost),
}

impl Event<'_> {
    /// The same event, free of what it borrowed from.
    pub fn into_owned(self) -> Event<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        match self {
            Event::Request { key, method, params, meta, origin } => Event::Request {
                key,
                origin,
                method: owned(method),
                params: params.map(RawJson::into_owned),
                meta: meta.map(RawJson::into_owned),
            },
            Event::Notification { method, params } => {
                Event::Notification { method: owned(method), params: params.map(RawJson::into_owned) }
            }
            Event::Cancel { key, reason } => Event::Cancel { key, reason: reason.map(owned) },
            Event::Progress { call, value } => Event::Progress { call, value: value.into_owned() },
            Event::Reply { call, outcome } => {
                Event::Reply { call, outcome: outcome.map(RawJson::into_owned) }
            }
            Event::SinkReady { sink } => Event::SinkReady { sink },
            Event::SinkClosed { sink, end, stats } => Event::SinkClosed { sink, end, stats },
            Event::Subscribed { subscription, outcome } => {
                Event::Subscribed { subscription, outcome: outcome.map(Id::into_owned) }
            }
            Event::Item { subscription, item } => Event::Item { subscription, item: item.into_owned() },
            Event::ItemsLost { subscription, count } => Event::ItemsLost { subscription, count },
            Event::SubscriptionEnded { subscription, end } => {
                Event::SubscriptionEnded { subscription, end: end.into_owned() }
            }
            Event::Unsubscribed { subscription, outcome } => Event::Unsubscribed { subscription, outcome },
            Event::Report(report) => Event::Report(report.into_owned()),
        }
    }
}

impl SubscriptionClosed<'_> {
    /// The same end, free of what it borrowed from.
    pub fn into_owned(self) -> SubscriptionClosed<'static> {
        match self {
            SubscriptionClosed::Finished(result) => {
                SubscriptionClosed::Finished(result.map(RawJson::into_owned))
            }
            SubscriptionClosed::Error(error) => SubscriptionClosed::Error(error),
            SubscriptionClosed::Disconnected(cause) => SubscriptionClosed::Disconnected(cause),
            SubscriptionClosed::Undelivered(reason) => SubscriptionClosed::Undelivered(reason),
        }
    }
}

impl CallError {
    /// Why the connection ended, if that is what kept the call from its answer: it had been sent
    /// ([`Closed`](Self::Closed)), or not ([`SendError::Closed`]).
    pub fn connection_end(&self) -> Option<&Cause> {
        match self {
            CallError::Closed(cause) | CallError::NotSent(SendError::Closed(cause)) => Some(cause),
            _ => None,
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Error(error) => error.fmt(f),
            CallError::TimedOut => f.write_str("timed out"),
            CallError::Unanswered => f.write_str("the answer to the batch left this call out"),
            CallError::Malformed(fault) => write!(f, "the answer breaks the protocol: {fault}"),
            CallError::Closed(cause) => write!(f, "no answer: {cause}"),
            CallError::Cancelled => f.write_str("cancelled"),
            CallError::NotSent(refused) => write!(f, "not sent: {refused}"),
            CallError::Decode(reason) => write!(f, "the result is not what was expected: {reason}"),
            CallError::Undelivered(what) => what.fmt(f),
        }
    }
}

impl std::error::Error for CallError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CallError::Malformed(fault) => Some(fault),
            CallError::Closed(cause) => Some(cause),
            CallError::NotSent(refused) => Some(refused),
            CallError::Undelivered(what) => Some(what),
            _ => None,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Ended => f.write_str("the peer closed the connection"),
            Cause::Shutdown => f.write_str("shut down"),
            Cause::Stalled => f.write_str("the peer stopped reading"),
            Cause::Lagged => f.write_str("the peer read a subscription too slowly"),
            Cause::Idle => f.write_str("idle timeout"),
            Cause::Lost(lost) => lost.fmt(f),
        }
    }
}

impl std::error::Error for Cause {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Cause::Lost(lost) => lost.error(),
            _ => None,
        }
    }
}
