//! Error codes and the error object.

use std::any::type_name;
use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::escape::escape_controls;
use crate::json::cursor::Cursor;
use crate::json::raw::{JsonKind, RawJson};
use crate::json::string::JsonStr;
use crate::session::CallError;

/// The number that says what kind of error it is. Any integer is legal on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ErrorCode(pub i64);

impl ErrorCode {
    /// What came is not JSON.
    pub const PARSE_ERROR: ErrorCode = ErrorCode(-32700);
    /// What came is JSON, but not a valid message.
    pub const INVALID_REQUEST: ErrorCode = ErrorCode(-32600);
    /// There is no such method.
    pub const METHOD_NOT_FOUND: ErrorCode = ErrorCode(-32601);
    /// The params do not fit the method.
    pub const INVALID_PARAMS: ErrorCode = ErrorCode(-32602);
    /// The handler failed.
    pub const INTERNAL_ERROR: ErrorCode = ErrorCode(-32603);

    /// The peer has as many subscriptions as a connection may have.
    pub const TOO_MANY_SUBSCRIPTIONS: ErrorCode = ErrorCode(-32006);
    /// A message is larger than the receiver takes. The id is null unless it is in the first bytes of the message.
    pub const MESSAGE_TOO_LARGE: ErrorCode = ErrorCode(-32007);
    /// The answer is larger than may be sent.
    pub const ANSWER_TOO_LARGE: ErrorCode = ErrorCode(-32008);
    /// Too many requests are in flight or waiting.
    pub const OVERLOADED: ErrorCode = ErrorCode(-32009);
    /// A batch has more entries than the receiver takes.
    pub const BATCH_TOO_LONG: ErrorCode = ErrorCode(-32010);
    /// The handler took too long.
    pub const TIMED_OUT: ErrorCode = ErrorCode(-32012);
    /// The receiver is about to close the connection and takes no new requests.
    pub const SHUTTING_DOWN: ErrorCode = ErrorCode(-32013);
    /// A subscription has no more items. This is not a failure; only some [styles](crate::EndSignal::Always) send it.
    pub const SUBSCRIPTION_FINISHED: ErrorCode = ErrorCode(-32014);
    /// The subscriber read too slowly, and the subscription has ended.
    pub const SUBSCRIPTION_LAGGED: ErrorCode = ErrorCode(-32015);

    /// A proxy had no answer from the server behind it: `data.reason` says why.
    pub const UPSTREAM_FAILED: ErrorCode = ErrorCode(-32016);

    /// The caller asked to cancel the request (from LSP).
    pub const REQUEST_CANCELLED: ErrorCode = ErrorCode(-32800);

    /// The standard message for a code, as the specification prints it; `None` for an application's own.
    pub fn message(self) -> Option<&'static str> {
        Some(match self {
            ErrorCode::PARSE_ERROR => "Parse error",
            ErrorCode::INVALID_REQUEST => "Invalid Request",
            ErrorCode::METHOD_NOT_FOUND => "Method not found",
            ErrorCode::INVALID_PARAMS => "Invalid params",
            ErrorCode::INTERNAL_ERROR => "Internal error",
            ErrorCode::TOO_MANY_SUBSCRIPTIONS => "Too many subscriptions on the connection",
            ErrorCode::MESSAGE_TOO_LARGE => "Message too large",
            ErrorCode::ANSWER_TOO_LARGE => "Answer too large",
            ErrorCode::OVERLOADED => "Overloaded",
            ErrorCode::BATCH_TOO_LONG => "Batch too long",
            ErrorCode::TIMED_OUT => "Timed out",
            ErrorCode::SHUTTING_DOWN => "Shutting down",
            ErrorCode::UPSTREAM_FAILED => "Upstream failed",
            ErrorCode::SUBSCRIPTION_FINISHED => "Subscription finished",
            ErrorCode::SUBSCRIPTION_LAGGED => "Subscription lagged",
            ErrorCode::REQUEST_CANCELLED => "Request cancelled",
            _ => return None,
        })
    }

    /// Whether the error is about a message as a whole, and not about the method that it calls.
    pub(crate) fn refuses_message(self) -> bool {
        [
            ErrorCode::PARSE_ERROR,
            ErrorCode::INVALID_REQUEST,
            ErrorCode::MESSAGE_TOO_LARGE,
            ErrorCode::OVERLOADED,
            ErrorCode::SHUTTING_DOWN,
        ]
        .contains(&self)
    }

    /// Whether the error is about a batch as a whole.
    pub(crate) fn refuses_batch(self) -> bool {
        /// What jsonrpsee answers where batches are turned off.
        const NO_BATCHES: ErrorCode = ErrorCode(-32005);
        self == ErrorCode::BATCH_TOO_LONG || self == NO_BATCHES
    }

    /// Whether the code is in the range that the specification reserves for itself and for servers.
    pub fn is_reserved(self) -> bool {
        (-32768..=-32000).contains(&self.0)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl From<i64> for ErrorCode {
    fn from(code: i64) -> Self {
        ErrorCode(code)
    }
}

/// The `error` member of a response.
///
/// ```
/// use sabir_proto::{ErrorCode, ErrorObject};
///
/// let error = ErrorObject::new(ErrorCode::INVALID_PARAMS, "Invalid params").with_data("`b` is missing");
/// assert_eq!(error.to_string(), r#"-32602: Invalid params ("`b` is missing")"#);
/// ```
#[derive(Debug, Clone)]
pub struct ErrorObject<'a> {
    /// What kind of error it is.
    pub code: ErrorCode,
    /// One short sentence for people.
    pub message: Cow<'a, str>,
    /// Anything more, for programs.
    pub data: Option<RawJson<'a>>,
    /// Rarely there, and so behind a pointer: error objects are moved with every message.
    made_from: Option<Box<MadeFrom>>,
}

/// What an error object was made from.
#[derive(Debug, Clone)]
enum MadeFrom {
    /// An error that `?` met: names its type.
    Error(fn() -> &'static str),
    /// Text that would not be written in the same way.
    Text(Box<str>),
}

/// What is sent decides: two objects are equal if they look the same to a peer.
impl PartialEq for ErrorObject<'_> {
    fn eq(&self, other: &Self) -> bool {
        (self.code, &self.message, &self.data) == (other.code, &other.message, &other.data)
    }
}

impl Eq for ErrorObject<'_> {}

impl<'a> ErrorObject<'a> {
    /// An error without data.
    pub fn new(code: impl Into<ErrorCode>, message: impl Into<Cow<'a, str>>) -> Self {
        let (code, message) = (code.into(), message.into());
        ErrorObject { code, message, data: None, made_from: None }
    }

    /// An error with the standard message of its code.
    pub fn standard(code: ErrorCode) -> ErrorObject<'static> {
        ErrorObject::new(code, code.message().unwrap_or("Server error"))
    }

    /// A standard error that says why: `data` is `{"reason": …}`.
    pub fn because(code: ErrorCode, reason: impl fmt::Display) -> ErrorObject<'static> {
        #[derive(Serialize)]
        struct Data {
            reason: String,
        }
        ErrorObject::standard(code).with_data(Data { reason: reason.to_string() })
    }

    /// The same error with `data` attached. Data that cannot be written as JSON is left out.
    #[must_use]
    pub fn with_data(mut self, data: impl Serialize) -> Self {
        self.data = RawJson::from_value(&data).ok();
        self
    }

    /// The type of the error that `?` made it from, with its path: for logs. It is not sent, since it says more
    /// of a program's inside than a caller need know; [`with_exception`](Self::with_exception) puts it into the data.
    pub fn exception(&self) -> Option<&'static str> {
        match self.made_from.as_deref()? {
            MadeFrom::Error(name) => Some(name()),
            MadeFrom::Text(_) => None,
        }
    }

    /// The text that it was read from, unless it was changed since: who passes an error on sends it as it came, with
    /// the same escapes and in the same order.
    pub(crate) fn text(&self) -> Option<&str> {
        match self.made_from.as_deref()? {
            MadeFrom::Text(text) if ErrorObject::read(text).is_ok_and(|read| read == *self) => Some(text),
            _ => None,
        }
    }

    /// The same error with [`exception`](Self::exception) in its data, as `{"exception": …}`, if it was made from
    /// an error and has no other data.
    #[must_use]
    pub fn with_exception(self) -> Self {
        #[derive(Serialize)]
        struct Data {
            exception: &'static str,
        }
        match self.exception() {
            Some(exception) if self.data.is_none() => self.with_data(Data { exception }),
            _ => self,
        }
    }

    /// The same error, free of what it borrowed from.
    pub fn into_owned(self) -> ErrorObject<'static> {
        ErrorObject {
            code: self.code,
            message: Cow::Owned(self.message.into_owned()),
            data: self.data.map(RawJson::into_owned),
            made_from: self.made_from,
        }
    }

    /// Reads an error object from valid JSON text.
    pub(crate) fn read(text: &'a str) -> Result<Self, ErrorFault> {
        match ErrorObject::usual(text) {
            Some(error) => Ok(error),
            None => ErrorObject::any(text),
        }
    }

    /// A code and a message in their usual order and spelling, which need no second look at each byte.
    fn usual(text: &'a str) -> Option<Self> {
        let rest = text.strip_prefix(r#"{"code":"#)?;
        let (code, rest) = rest.split_at(rest.bytes().position(|c| c == b',')?);
        let message = rest.strip_prefix(r#","message":""#)?.strip_suffix(r#""}"#)?;
        if code == "-0" || memchr::memchr2(b'"', b'\\', message.as_bytes()).is_some() {
            return None;
        }
        Some(ErrorObject::new(ErrorCode(code.parse().ok()?), message))
    }

    fn any(text: &'a str) -> Result<Self, ErrorFault> {
        let (mut code, mut message, mut data) = (None, None, None);
        for (name, value) in Cursor::trusted(text).members() {
            let slot = match name.value().as_deref() {
                Some("code") => &mut code,
                Some("message") => &mut message,
                Some("data") => &mut data,
                _ => continue,
            };
            if slot.replace(value).is_some() {
                return Err(ErrorFault::Duplicate);
            }
        }
        let code = code.ok_or(ErrorFault::NoCode)?;
        let message = message.ok_or(ErrorFault::NoMessage)?;
        let number = code.parse().map_err(|_| ErrorFault::Code(JsonKind::of(code)))?;
        let string = JsonStr::trusted(message).ok_or_else(|| ErrorFault::Message(JsonKind::of(message)))?;
        let as_written = is_as_written(text, code, message, data);
        let message = string.value().unwrap_or(Cow::Borrowed(message));
        Ok(ErrorObject {
            code: ErrorCode(number),
            message,
            data: data.map(RawJson::trusted),
            made_from: (!as_written).then(|| Box::new(MadeFrom::Text(text.into()))),
        })
    }
}

/// Whether an error object with these members would be written as this text: in this order, with nothing between them,
/// and without escapes, which can be spelled in several ways.
fn is_as_written(text: &str, code: &str, message: &str, data: Option<&str>) -> bool {
    let data_length = data.map_or(0, |data| ",\"data\":".len() + data.len());
    let length = "{\"code\":,\"message\":}".len() + code.len() + message.len() + data_length;
    let in_order =
        code.as_ptr() < message.as_ptr() && data.is_none_or(|data| message.as_ptr() < data.as_ptr());
    text.len() == length && in_order && code != "-0" && memchr::memchr(b'\\', message.as_bytes()).is_none()
}

/// What is wrong inside an `error` member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorFault {
    NoCode,
    NoMessage,
    Code(JsonKind),
    Message(JsonKind),
    Duplicate,
}

impl fmt::Display for ErrorFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorFault::NoCode => f.write_str("`error.code` is missing"),
            ErrorFault::NoMessage => f.write_str("`error.message` is missing"),
            ErrorFault::Code(JsonKind::Number) => f.write_str("`error.code` must be an integer of 64 bits"),
            ErrorFault::Code(found) => write!(f, "`error.code` must be an integer, found {found}"),
            ErrorFault::Message(found) => write!(f, "`error.message` must be a string, found {found}"),
            ErrorFault::Duplicate => f.write_str("a member of `error` occurs twice"),
        }
    }
}

impl fmt::Display for ErrorObject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, escape_controls(&self.message))?;
        match &self.data {
            Some(data) => write!(f, " ({data})"),
            None => Ok(()),
        }
    }
}

/// Any error becomes an error object: `-32603` with the error's own text. An error that a call of ours was answered
/// with goes on as it came. This is what `?` does in a handler.
///
/// It takes all errors that are `Send + Sync`, `anyhow::Error` and its like, `Box<dyn Error + Send + Sync>`, and texts. A
/// plain `Box<dyn Error>` is not among them: one rule cannot take both boxes, and in async code the other one is usual.
/// Use `.map_err(|error| error.to_string())?` there.
///
/// For that reason `ErrorObject` does not implement `std::error::Error`; [`CallError`] does.
impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for ErrorObject<'_> {
    fn from(error: E) -> Self {
        let error = error.into();
        match error.downcast_ref::<CallError>() {
            Some(CallError::Error(answered)) => answered.clone(),
            Some(CallError::TimedOut) => ErrorObject::standard(ErrorCode::TIMED_OUT),
            _ => ErrorObject {
                made_from: Some(Box::new(MadeFrom::Error(type_name::<E>))),
                ..ErrorObject::new(ErrorCode::INTERNAL_ERROR, error.to_string())
            },
        }
    }
}

impl Serialize for ErrorObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Wire<'s> {
            code: ErrorCode,
            message: &'s str,
            #[serde(skip_serializing_if = "Option::is_none")]
            data: Option<&'s RawJson<'s>>,
        }
        Wire { code: self.code, message: &self.message, data: self.data.as_ref() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ErrorObject<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        if raw.kind() != JsonKind::Object {
            return Err(serde::de::Error::custom("an error must be an object"));
        }
        ErrorObject::read(raw.as_str()).map(ErrorObject::into_owned).map_err(serde::de::Error::custom)
    }
}
