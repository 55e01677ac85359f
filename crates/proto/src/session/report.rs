//! What the peer did wrong, for those who want to know.

use std::borrow::Cow;
use std::fmt;

use super::event::Undelivered;
use crate::escape::escape_controls;
use crate::frame::FrameFault;
use crate::json::scan::ParseError;
use crate::message::Invalid;
use crate::message::error::ErrorObject;
use crate::message::id::Id;

/// What the peer did wrong. Of one batch, the first hundred are reported.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Report<'s> {
    /// A message that is not JSON.
    NotJson {
        /// Its bytes.
        text: Cow<'s, [u8]>,
        /// What is wrong.
        error: ParseError,
    },
    /// JSON that is not a valid message.
    Invalid(Invalid<'s>),
    /// Bytes that had to be skipped.
    Frame(FrameFault),
    /// A request with an id that another one, still open, has.
    DuplicateId(Id<'s>),
    /// A request for which there was no room. It was refused.
    Overloaded(Id<'s>),
    /// A notification for which there was no room. It is lost.
    Dropped {
        /// Its method.
        method: Cow<'s, str>,
    },
    /// An answer to a call that has ended, by timeout or cancel.
    LateReply(Id<'s>),
    /// An answer to nothing that was asked.
    UnknownReply(Id<'s>),
    /// An error without an id: the peer could not read something that we sent.
    PeerError(ErrorObject<'s>),
    /// A notification or an answer of ours that did not reach the peer, or that it refused.
    Undelivered(Undelivered),
    /// A notification whose handler failed, or that has none: nothing else reports it. The engine itself
    /// never says this; it is for what is built on it.
    NotificationFailed {
        /// Its method.
        method: Cow<'s, str>,
        /// What a request would have been answered with.
        error: ErrorObject<'s>,
    },
}

impl Report<'_> {
    /// The same report, free of what it borrowed from.
    pub fn into_owned(self) -> Report<'static> {
        match self {
            Report::NotJson { text, error } => Report::NotJson { text: Cow::Owned(text.into_owned()), error },
            Report::Invalid(Invalid { id, fault, response }) => {
                Report::Invalid(Invalid { id: id.map(Id::into_owned), fault, response })
            }
            Report::Frame(fault) => Report::Frame(fault),
            Report::DuplicateId(id) => Report::DuplicateId(id.into_owned()),
            Report::Overloaded(id) => Report::Overloaded(id.into_owned()),
            Report::Dropped { method } => Report::Dropped { method: Cow::Owned(method.into_owned()) },
            Report::LateReply(id) => Report::LateReply(id.into_owned()),
            Report::UnknownReply(id) => Report::UnknownReply(id.into_owned()),
            Report::PeerError(error) => Report::PeerError(error.into_owned()),
            Report::Undelivered(what) => Report::Undelivered(what),
            Report::NotificationFailed { method, error } => Report::NotificationFailed {
                method: Cow::Owned(method.into_owned()),
                error: error.into_owned(),
            },
        }
    }

    /// A word for what was reported, for metrics: there are as many as variants.
    pub fn kind(&self) -> &'static str {
        match self {
            Report::NotJson { .. } => "not_json",
            Report::Invalid(_) => "invalid",
            Report::Frame(_) => "frame",
            Report::DuplicateId(_) => "duplicate_id",
            Report::Overloaded(_) => "overloaded",
            Report::Dropped { .. } => "dropped",
            Report::LateReply(_) => "late_reply",
            Report::UnknownReply(_) => "unknown_reply",
            Report::PeerError(_) => "peer_error",
            Report::Undelivered(_) => "undelivered",
            Report::NotificationFailed { .. } => "notification_failed",
        }
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Report::NotJson { error, .. } => write!(f, "not JSON: {error}"),
            Report::Invalid(invalid) => invalid.fmt(f),
            Report::Frame(fault) => fault.fmt(f),
            Report::DuplicateId(id) => write!(f, "request refused: id {id} is already in flight"),
            Report::Overloaded(id) => write!(f, "request {id} refused: too many are waiting"),
            Report::Dropped { method } => {
                write!(f, "notification `{}` dropped: too many are waiting", escape_controls(method))
            }
            Report::LateReply(id) => write!(f, "late answer to call {id}"),
            Report::UnknownReply(id) => write!(f, "answer with id {id}, which no call has"),
            Report::PeerError(error) => write!(f, "the peer reports an error without an id: {error}"),
            Report::Undelivered(what) => write!(f, "not delivered: {what}"),
            Report::NotificationFailed { method, error } => {
                write!(f, "notification `{}` failed: {error}", escape_controls(method))
            }
        }
    }
}
