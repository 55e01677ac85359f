//! JSON-RPC 2.0 without I/O.

mod decimal;
mod decode;
mod dialect;
mod encode;
mod error;
mod find;
mod frame;
mod id;
mod limits;
mod message;
mod raw;
mod scan;
mod session;
#[cfg(target_arch = "x86_64")]
mod sse2;
mod time;
mod transcript;

pub use decode::{Entry, Incoming, decode};
pub use dialect::{
    Dialect, LENIENT, LSP, MCP, MCP_2024_11_05, MCP_2025_03_26, MCP_2025_06_18, MCP_2025_11_25,
    MCP_2026_07_28, PLAIN, Spelling,
};
pub use error::{ErrorCode, ErrorObject};
pub use frame::{Cut, Deframer, FrameFault, Framing};
pub use id::Id;
pub use limits::Limits;
pub use message::{ErrorPart, Fault, Invalid, Member, Message, Notification, Request, Response};
pub use raw::{JsonKind, RawJson};
pub use scan::{ParseError, Syntax};
pub use session::{
    Batch, CallError, CallKey, CallOptions, Cause, Config, Event, Output, Refused, Report, RequestKey,
    Session, TraceContext, Usage, Wait,
};
pub use time::Time;
pub use transcript::{Line, TranscriptError, transcript};
