//! Captured traffic: one format of our own, readers for it and for what else people have, and a writer.
//!
//! A capture (`.jrl`) is newline-delimited JSON: a header, then a line for each thing that happened.
//!
//! ```text
//! {"jrl":1,"at":"2026-11-15T12:00:00.123Z","tool":"sabir/0.1","transport":"stdio","profile":"mcp"}
//! {"n":1,"t":1234567,"d":">","c":1,"k":"req","id":7,"m":"tools/call","b":118,"msg":{…}}
//! {"n":2,"t":6234567,"d":"<","c":1,"k":"res","id":7,"m":"tools/call","ms":5.0,"b":90,"msg":{…}}
//! {"n":3,"t":6300000,"d":"<","c":1,"k":"noise","raw":"Starting…"}
//! ```
//!
//! | member | meaning |
//! |---|---|
//! | `n` | number of the line's record, counting up |
//! | `t` | nanoseconds since the header's `at`, by a clock that never jumps |
//! | `d` | `>` from client to server, `<` from server to client |
//! | `c` | connection; 1 if it is left out |
//! | `k` | `req`, `note`, `res`, `err`, `batch`; `noise`, `stderr`; `http`; `open`, `close`, `exit`, `gap`, `mark` |
//! | `x`, `h` | of HTTP: the number of the exchange, and its head |
//! | `id`, `m`, `ms`, `b` | the id, the method, the time since the request, the bytes on the wire: for `grep` |
//! | `msg` | the message byte for byte |
//! | `raw` | a string instead of `msg`, where the bytes are not one line of JSON |
//!
//! Whatever else is there is ignored, and so is a last line that is torn: a writer that is killed leaves at most
//! one. A second header in the same file starts a new session.
//!
//! [`Reader`] finds out by itself which [`Format`] it is given, and hands out [`Record`]s one at a time, in
//! memory that does not grow with the file. [`Writer`] writes captures; [`Encoder`] makes their lines, for those who
//! write them in their own way.

pub(crate) mod clock;
mod detect;
mod encoder;
mod line;
mod reader;
mod redact;
mod source;
mod writer;

use std::borrow::Cow;
use std::fmt;
use std::time::{Duration, SystemTime};

use sabir_proto::{FrameFault, ParseError};
use serde::{Deserialize, Serialize};

pub use encoder::Encoder;
pub(crate) use line::exchange as line_exchange;
pub use reader::{ReadError, Reader};
pub use redact::{RedactError, RedactRule, Redactor};
pub use writer::Writer;

/// Bytes of one line or message, at most. A longer one is skipped without being kept, and said to be.
pub const LONGEST: usize = 64 << 20;

/// How captured traffic is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Sabir's own: see the [module](self).
    Capture,
    /// One message per line, and nothing else.
    Messages,
    /// Sabir's notation for wire text: [`sabir_proto::transcript`].
    Transcript,
    /// Messages behind `Content-Length` headers, as in LSP.
    Headers,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Capture => "capture",
            Format::Messages => "messages",
            Format::Transcript => "transcript",
            Format::Headers => "headers",
        })
    }
}

/// Which way something went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the client: the side that connected, or started the other.
    ToServer,
    /// From the server.
    ToClient,
}

impl Direction {
    /// `>` or `<`.
    pub fn sign(self) -> char {
        match self {
            Direction::ToServer => '>',
            Direction::ToClient => '<',
        }
    }

    /// The other way.
    #[must_use]
    pub fn reversed(self) -> Direction {
        match self {
            Direction::ToServer => Direction::ToClient,
            Direction::ToClient => Direction::ToServer,
        }
    }
}

/// The first line of a capture. Only the version is always there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the format: 1.
    #[serde(rename = "jrl")]
    pub version: u32,
    /// When the session started, as in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// What wrote the capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// `stdio`, `tcp`, `http` …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// The message framing: `lines`, `headers` or `whole`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<String>,
    /// The protocol on top of JSON-RPC, such as `mcp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The command that was started, if one was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cmd: Vec<String>,
    /// The address of the server, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

impl Header {
    /// Of a session that starts at this time.
    pub fn starting(at: SystemTime) -> Self {
        Header { at: Some(date_time(at)), ..Header::default() }
    }

    /// When the session started, where that is known.
    pub fn started(&self) -> Option<SystemTime> {
        clock::Moment::parse(self.at.as_deref()?)?.time()
    }
}

/// A time as in RFC 3339, in UTC.
pub fn date_time(time: SystemTime) -> String {
    clock::Moment::at(time).date_time()
}

impl Default for Header {
    fn default() -> Self {
        Header {
            version: 1,
            at: None,
            tool: None,
            transport: None,
            frame: None,
            profile: None,
            cmd: Vec::new(),
            target: None,
        }
    }
}

/// One thing that happened, and where it is written down.
#[derive(Debug, Clone, PartialEq)]
pub struct Record<'a> {
    /// Counts up from 1 within a file.
    pub number: u64,
    /// The line of the file in which the content begins, from 1.
    pub line: u64,
    /// The byte of that line at which it begins, from 1.
    pub column: u64,
    /// The same as an offset into the file, from 0.
    pub offset: u64,
    /// How many bytes of the file the content takes.
    pub length: u64,
    /// Whether the bytes of the content are in the file as they are. If not, they are written there with escapes.
    pub verbatim: bool,
    /// Time since the session started, where that was written down.
    pub time: Option<Duration>,
    /// Which way, where that was written down.
    pub direction: Option<Direction>,
    /// The connection; 1 where that was not written down.
    pub connection: u64,
    /// The exchange of HTTP that it is of, where that was written down.
    pub exchange: Option<Exchange<'a>>,
    /// What it is.
    pub what: What<'a>,
}

impl Record<'_> {
    /// With its own copy of the content.
    pub fn into_owned(self) -> Record<'static> {
        Record { what: self.what.into_owned(), exchange: self.exchange.map(Exchange::into_owned), ..self }
    }
}

/// A request of HTTP and its response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange<'a> {
    /// The same of a request and its response.
    pub number: u64,
    /// The method with the path, or the status, and the headers in the lines below. Of a stream of events, only the first
    /// message has it.
    pub head: Option<Cow<'a, str>>,
}

impl Exchange<'_> {
    /// With its own copy of the head.
    pub fn into_owned(self) -> Exchange<'static> {
        Exchange { number: self.number, head: self.head.map(|head| Cow::Owned(head.into_owned())) }
    }

    /// The value of the first header of this name, which is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.as_deref()?.lines().skip(1).filter_map(|line| line.split_once(':'));
        fields.find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

/// What a [`Record`] is about.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum What<'a> {
    /// A session starts: a header.
    Start(Header),
    /// What was sent as a message. It may be anything, even no JSON.
    Message(Cow<'a, [u8]>),
    /// Bytes among the messages that were not meant as one, such as a log line on standard output.
    Noise(Cow<'a, [u8]>),
    /// What a process wrote to standard error.
    Stderr(Cow<'a, [u8]>),
    /// Something happened to the connection, or was noted down.
    Event(Event, Cow<'a, str>),
    /// This part of the file cannot be read, and was skipped.
    Damage(Damage),
}

impl What<'_> {
    fn into_owned(self) -> What<'static> {
        let owned = |bytes: Cow<'_, [u8]>| Cow::Owned(bytes.into_owned());
        match self {
            What::Start(header) => What::Start(header),
            What::Message(bytes) => What::Message(owned(bytes)),
            What::Noise(bytes) => What::Noise(owned(bytes)),
            What::Stderr(bytes) => What::Stderr(owned(bytes)),
            What::Event(event, text) => What::Event(event, Cow::Owned(text.into_owned())),
            What::Damage(damage) => What::Damage(damage),
        }
    }
}

/// What can happen beside messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum Event {
    Open,
    Close,
    Exit,
    /// Records are missing here.
    Gap,
    Mark,
    /// An answer of HTTP: its text begins with the status, and has its headers in the lines below.
    Http,
}

/// Why a part of a file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Damage {
    /// The line is longer than [`LONGEST`].
    TooLong,
    /// The line is not JSON.
    NotJson(ParseError),
    /// The line is JSON, but not a record.
    NotARecord(&'static str),
    /// The line is not of the notation for transcripts.
    NotTheNotation(String),
    /// The headers or the length of a message are wrong.
    Frame(FrameFault),
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::TooLong => write!(f, "the line is longer than {} MiB", LONGEST >> 20),
            Damage::NotJson(error) => write!(f, "the line is not JSON: {error}"),
            Damage::NotARecord(why) => f.write_str(why),
            Damage::NotTheNotation(why) => f.write_str(why),
            Damage::Frame(FrameFault::TooLarge { limit }) => {
                write!(f, "the message is longer than {} MiB", limit >> 20)
            }
            Damage::Frame(fault) => fault.fmt(f),
        }
    }
}
