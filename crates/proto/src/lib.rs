//! JSON-RPC 2.0 without I/O: the grammar, the framings, and the engine that tracks calls.
//!
//! Bytes become messages, messages become calls, and nothing here touches a socket, a thread, a clock or an
//! async runtime; the crate builds for `wasm32-unknown-unknown`. Whoever wants a ready-made server or client
//! takes the crate `sabir`, which drives this one.
//!
//! From the bottom up:
//!
//! - [`decode`] reads one message in one pass: its shape, its [`Id`] with the text kept, its parts as
//!   borrowed [`RawJson`], or the exact error. [`Message::encode`] writes one.
//! - [`Deframer`] cuts a stream into messages, by lines or by `Content-Length` headers.
//! - [`Session`] is one end of a connection. Its documentation has the run loop.
//! - [`Dialect`] and [`Limits`] say what is legal and how much of it; both are plain data.
//! - [`Cursor`] walks JSON that is known to be valid; [`Deserializer`] reads types from it.
//! - [`transcript`] reads the notation in which wire text is written down.
//!
//! # One value, borrowed or owned
//!
//! [`Id`], [`RawJson`], [`ErrorObject`] and the messages borrow from the text they were read from. Each has
//! an `into_owned` that gives the same type with the lifetime `'static`; there is no second set of types.
//!
//! # Where the specification leaves a choice
//!
//! | question | answer |
//! |---|---|
//! | Is `1` the same id as `1.0`? | Yes: ids are compared by value. Each is echoed in its own spelling. |
//! | A request with the id null? | A request, answered with the id null; some [dialects](Dialect) refuse it. |
//! | A second request with an id in flight? | Refused with `-32600`, id null. |
//! | A member of the envelope twice? | An invalid request: no silent choice is made. |
//! | Lone surrogates in strings? | Grammatical, so they pass in params and ids; a method cannot have one. |
//! | Where does an error say why? | In `data.reason`, beside the standard message; `data.offset` for `-32700`. |
//! | An error with the id null? | It ends the call, or the calls of the batch, that alone waits for an answer; otherwise it is reported. |
//! | The order of answers in a batch? | The order in which they were ready. |
//! | An answer that is not a valid response? | It ends its call, and is never answered itself. |
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `schemars` | `JsonSchema` for [`RawJson`]: anything |

// Text: JSON, times, and what a terminal may be shown.
mod byte_size;
mod calendar;
mod escape;
mod json;
#[cfg(feature = "schemars")]
mod schema;

// The protocol: what a message is, and what is allowed.
mod dialect;
mod limits;
mod message;
mod revision;
mod subscription;

// Bytes to messages.
mod frame;

// Messages to calls.
mod session;
mod time;
mod transcript;

pub use byte_size::ByteSize;
pub use calendar::utc_timestamp;
pub use dialect::{
    Dialect, LENIENT, LSP, MCP, MCP_2024_11_05, MCP_2025_03_26, MCP_2025_06_18, MCP_2025_11_25,
    MCP_2026_07_28, NotificationStyle, PLAIN,
};
pub use escape::{escape_controls, is_terminal_control, push_escaped};
pub use frame::{Cut, Deframer, FrameFault, Framing};
pub use json::cursor::{Cursor, Elements, Members, Token, TokenKind};
pub use json::de::{Deserializer, error_reason};
pub use json::partial::partial_value_len;
pub use json::raw::{JsonKind, RawJson, serialize_text};
pub use json::scan::{ParseError, Syntax};
pub use json::string::JsonStr;
pub use limits::Limits;
pub use message::decode::{Entry, Incoming, decode};
pub use message::error::{ErrorCode, ErrorObject};
pub use message::id::Id;
pub use message::{ErrorPart, Fault, Invalid, Member, Message, Notification, Request, Response};
pub use revision::McpRevision;
pub use session::{
    Accept, Batch, BatchKey, CallError, CallKey, CallOptions, CancelOptions, Cause, Config, DeliveryFailure,
    Event, Finish, ItemError, Lost, Origin, Outgoing, Output, Overflow, Purpose, Report, RequestKey, Role,
    SendError, Session, SinkEnd, SinkKey, SinkStats, SubscriptionClosed, SubscriptionKey, TraceContext,
    Undelivered, Usage, Wait,
};
pub use subscription::{EndSignal, Routing, SubscriptionIds, SubscriptionStyle};
pub use time::Time;
pub use transcript::{Line, TranscriptError, transcript};

/// The example of the README is a test too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
