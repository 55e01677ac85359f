//! The messages, borrowed from the text they came in or owned.

pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod error;
pub(crate) mod id;

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::dialect::PLAIN;
use crate::json::raw::{JsonKind, RawJson};
use crate::json::scan::ParseError;
use crate::limits::Limits;
use crate::message::decode::{Incoming, decode};
use crate::message::error::{ErrorCode, ErrorFault, ErrorObject};
use crate::message::id::Id;

/// One message that is not a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message<'a> {
    /// A call that wants an answer.
    Request(Request<'a>),
    /// A call that wants none.
    Notification(Notification<'a>),
    /// An answer.
    Response(Response<'a>),
}

/// A call that wants an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Request<'a> {
    pub id: Id<'a>,
    pub method: Cow<'a, str>,
    /// An array or an object.
    pub params: Option<RawJson<'a>>,
}

/// A call that wants no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Notification<'a> {
    pub method: Cow<'a, str>,
    /// An array or an object.
    pub params: Option<RawJson<'a>>,
}

/// The answer to a request: a result or an error, never both and never neither.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Response<'a> {
    /// Null where the request's own id could not be read.
    pub id: Id<'a>,
    pub outcome: Result<RawJson<'a>, ErrorObject<'a>>,
}

impl Message<'_> {
    /// The same message, free of what it borrowed from.
    pub fn into_owned(self) -> Message<'static> {
        match self {
            Message::Request(Request { id, method, params }) => Message::Request(Request {
                id: id.into_owned(),
                method: Cow::Owned(method.into_owned()),
                params: params.map(RawJson::into_owned),
            }),
            Message::Notification(Notification { method, params }) => Message::Notification(Notification {
                method: Cow::Owned(method.into_owned()),
                params: params.map(RawJson::into_owned),
            }),
            Message::Response(Response { id, outcome }) => Message::Response(Response {
                id: id.into_owned(),
                outcome: outcome.map(RawJson::into_owned).map_err(ErrorObject::into_owned),
            }),
        }
    }

    /// Appends the message to `out` as compact JSON text, without any framing.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Message::Request(Request { id, method, params }) => {
                encode::request(out, id.text(), method, params.as_ref());
            }
            Message::Notification(Notification { method, params }) => {
                encode::notification(out, method, params.as_ref());
            }
            Message::Response(Response { id, outcome: Ok(result) }) => {
                encode::result(out, id.text(), result);
            }
            Message::Response(Response { id, outcome: Err(error) }) => {
                encode::error(out, id.text(), error);
            }
        }
    }
}

/// The message as compact JSON text.
impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        self.encode(&mut text);
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

impl Serialize for Message<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawJson::new(self.to_string()).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Message<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        match decode(raw.as_str().as_bytes(), &PLAIN, &Limits::default()) {
            Ok(Incoming::One(Ok(message))) => Ok(message.into_owned()),
            Ok(Incoming::One(Err(invalid))) => Err(serde::de::Error::custom(invalid)),
            Ok(Incoming::Batch(_)) => Err(serde::de::Error::custom("a batch is not one message")),
            Err(error) => Err(serde::de::Error::custom(error)),
        }
    }
}

/// JSON that is not a valid message: what is wrong, and with which id to say so.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Invalid<'a> {
    /// The id, where it can be read.
    pub id: Option<Id<'a>>,
    /// What is wrong.
    pub fault: Fault,
    /// Whether it looks like a response. Such a message is never answered, or two peers could go on
    /// answering each other's errors for ever.
    pub response: bool,
}

impl Invalid<'_> {
    /// The error to answer with, unless it looks like a response.
    pub fn error(&self) -> ErrorObject<'static> {
        ErrorObject::because(self.code(), self.fault)
    }

    pub(crate) fn code(&self) -> ErrorCode {
        match self.fault {
            Fault::BatchTooLong { .. } => ErrorCode::BATCH_TOO_LONG,
            _ => ErrorCode::INVALID_REQUEST,
        }
    }
}

impl fmt::Display for Invalid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.response { "response" } else { "message" };
        match &self.id {
            Some(id) => write!(f, "invalid {kind} with id {id}: {}", self.fault),
            None => write!(f, "invalid {kind}: {}", self.fault),
        }
    }
}

impl std::error::Error for Invalid<'_> {}

/// The members of the envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Member {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Member::Jsonrpc => "`jsonrpc`",
            Member::Id => "`id`",
            Member::Method => "`method`",
            Member::Params => "`params`",
            Member::Result => "`result`",
            Member::Error => "`error`",
        })
    }
}

/// What is wrong with JSON that is not a valid message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// A message must be an object.
    NotAnObject(JsonKind),
    /// There is nothing that makes it a request, a notification or a response.
    Shapeless,
    /// The member must be there.
    Missing(Member),
    /// The member occurs more than once.
    Duplicate(Member),
    /// The member has the wrong kind of value.
    WrongKind {
        /// Which one.
        member: Member,
        /// What it must be, with its article.
        expected: &'static str,
        /// What it is.
        found: JsonKind,
    },
    /// `jsonrpc` is a string other than `"2.0"`.
    WrongVersion,
    /// The dialect wants integers.
    FractionalId,
    /// The string cannot be written in UTF-8.
    LoneSurrogate(Member),
    /// A call cannot be an answer at once.
    MethodWith(Member),
    /// A response has one or the other.
    ResultAndError,
    /// Something inside `error`.
    #[doc(hidden)]
    InError(ErrorPart),
    /// A batch must have entries.
    EmptyBatch,
    /// The dialect has no batches.
    BatchForbidden,
    /// The batch has more entries than the limit.
    BatchTooLong {
        /// How many are taken.
        limit: usize,
    },
}

/// What is wrong inside an `error` member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorPart(pub(crate) ErrorFault);

impl std::error::Error for Fault {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NotAnObject(found) => write!(f, "a message must be an object, found {found}"),
            Fault::Shapeless => f.write_str("there is no `method`, `result` or `error`"),
            Fault::Missing(member) => write!(f, "{member} is missing"),
            Fault::Duplicate(member) => write!(f, "{member} occurs more than once"),
            Fault::WrongKind { member, expected, found } => {
                write!(f, "{member} must be {expected}, found {found}")
            }
            Fault::WrongVersion => f.write_str("`jsonrpc` must be \"2.0\""),
            Fault::FractionalId => f.write_str("`id` must be an integer or a string, found a fraction"),
            Fault::LoneSurrogate(member) => write!(f, "{member} holds a lone surrogate"),
            Fault::MethodWith(member) => write!(f, "`method` and {member} cannot be combined"),
            Fault::ResultAndError => f.write_str("`result` and `error` cannot be combined"),
            Fault::InError(part) => part.0.fmt(f),
            Fault::EmptyBatch => f.write_str("a batch must have at least one entry"),
            Fault::BatchForbidden => f.write_str("batches are not part of this protocol: send one at a time"),
            Fault::BatchTooLong { limit } => write!(f, "a batch may have {limit} entries at most"),
        }
    }
}

impl ParseError {
    /// The error to answer with: it says where and why.
    pub fn error(&self) -> ErrorObject<'static> {
        #[derive(Serialize)]
        struct Data {
            reason: String,
            offset: usize,
        }
        ErrorObject::standard(ErrorCode::PARSE_ERROR)
            .with_data(Data { reason: self.reason.to_string(), offset: self.offset })
    }
}
