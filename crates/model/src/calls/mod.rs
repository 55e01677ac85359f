//! Which answer belongs to which request, while traffic goes by.
//!
//! A [`Tracker`] is given records one after the other and makes an [`Entry`] of each: what it is, whom it calls, how the
//! call stands and how long it took. It keeps the open requests and the names, both up to a limit, and nothing else, so
//! it can follow a connection for ever. The writer of captures, the [index](crate::index) and the
//! [filters](crate::filter) stand on it.
//!
//! ```
//! use std::time::Duration;
//! use sabir_model::calls::{Status, Tracker};
//! use sabir_model::capture::Direction::{ToClient, ToServer};
//!
//! let mut tracker = Tracker::default();
//! let ms = |ms| Some(Duration::from_millis(ms));
//! let call = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#;
//! let call = tracker.message(ms(1), Some(ToServer), 1, call);
//! assert_eq!(call.status, Some(Status::Pending));
//! assert_eq!(tracker.names().tool(call.name), Some("echo"));
//! let answer = tracker.message(ms(6), Some(ToClient), 1, br#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
//! assert_eq!((answer.status, answer.took), (Some(Status::Ok), ms(5)));
//! assert_eq!(tracker.settled()[0].number, call.number);
//! ```

mod names;
mod rounds;
mod tracker;

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::time::Duration;

use sabir_proto::Id;

use crate::capture::{Direction, Event};

pub use names::{Name, Names};
pub use tracker::{Settled, Tracker};

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
#[non_exhaustive]
#[repr(u8)]
pub enum Kind {
    Request,
    Notification,
    /// An answer with a result.
    Result,
    /// An answer with an error.
    Error,
    Batch,
    /// JSON, but not a message.
    Invalid,
    Noise,
    Stderr,
    Open,
    Close,
    Exit,
    Gap,
    Mark,
    /// An answer of HTTP that is more, or less, than its message.
    Http,
    /// The header of a capture.
    Start,
    /// A part of the file that cannot be read.
    Damage,
}

/// All kinds, in the order of their numbers.
pub(crate) const KINDS: [Kind; 16] = [
    Kind::Request,
    Kind::Notification,
    Kind::Result,
    Kind::Error,
    Kind::Batch,
    Kind::Invalid,
    Kind::Noise,
    Kind::Stderr,
    Kind::Open,
    Kind::Close,
    Kind::Exit,
    Kind::Gap,
    Kind::Mark,
    Kind::Http,
    Kind::Start,
    Kind::Damage,
];

impl Kind {
    /// As in the `k` of a capture, where that has it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Request => "req",
            Kind::Notification => "note",
            Kind::Result => "res",
            Kind::Error => "err",
            Kind::Batch => "batch",
            Kind::Invalid => "invalid",
            Kind::Noise => "noise",
            Kind::Stderr => "stderr",
            Kind::Open => "open",
            Kind::Close => "close",
            Kind::Exit => "exit",
            Kind::Gap => "gap",
            Kind::Mark => "mark",
            Kind::Http => "http",
            Kind::Start => "start",
            Kind::Damage => "damage",
        }
    }

    /// Whether it was sent as a message.
    pub fn is_message(self) -> bool {
        matches!(
            self,
            Kind::Request | Kind::Notification | Kind::Result | Kind::Error | Kind::Batch | Kind::Invalid
        )
    }
}

impl From<Event> for Kind {
    fn from(event: Event) -> Self {
        match event {
            Event::Open => Kind::Open,
            Event::Close => Kind::Close,
            Event::Exit => Kind::Exit,
            Event::Gap => Kind::Gap,
            Event::Mark => Kind::Mark,
            Event::Http => Kind::Http,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Status {
    /// It has no answer yet, or never got one.
    Pending = 1,
    /// It was answered with a result.
    Ok,
    /// It was answered with an error, or with the result of a tool that has failed (`isError` of MCP).
    Error,
    /// Its caller has cancelled it, and if it was answered, then as cancelled.
    Cancelled,
    /// It was cancelled, and answered all the same.
    Late,
    /// The answer asks for input: the call goes on with another request, which repeats its `requestState`.
    Input,
}

/// All of them, in the order of their numbers.
pub(crate) const STATUSES: [Status; 6] =
    [Status::Pending, Status::Ok, Status::Error, Status::Cancelled, Status::Late, Status::Input];

impl Status {
    /// As it is written in filters.
    pub fn name(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Ok => "ok",
            Status::Error => "error",
            Status::Cancelled => "cancel",
            Status::Late => "late",
            Status::Input => "input",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What is known of a record apart from its content.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// Counts up from 1.
    pub number: u64,
    /// Time since the session started, where that is known.
    pub time: Option<Duration>,
    /// Which way it went, where that is known.
    pub direction: Option<Direction>,
    /// The connection.
    pub connection: u64,
    /// What it is.
    pub kind: Kind,
    /// How the call stands that it belongs to. In a batch the worst counts.
    pub status: Option<Status>,
    /// The method and the tool that it calls or answers.
    pub name: Name,
    /// The code of an error, or the status of HTTP.
    pub code: Option<i64>,
    /// The other half: of a request the answer, of an answer the request, of a cancel what it cancels.
    pub other: Option<u64>,
    /// Time between request and answer.
    pub took: Option<Duration>,
    /// Where a call takes several requests: the time since the first of them.
    pub total: Option<Duration>,
    /// Bytes of the content.
    pub bytes: u64,
    /// Of the id; equal ids have equal ones.
    pub(crate) id: u32,
}

impl Entry {
    /// How long a call that has no answer has taken until `now`, which is counted like `time`.
    pub fn age(&self, now: Duration) -> Option<Duration> {
        let is_open =
            self.status == Some(Status::Pending) && matches!(self.kind, Kind::Request | Kind::Batch);
        is_open.then_some(now.saturating_sub(self.time?))
    }
}

/// A number that is the same for ids that are equal. None is 0.
pub(crate) fn id_hash(id: &Id<'_>) -> u32 {
    let hash = foldhash::fast::FixedState::default();
    let mut state = hash.build_hasher();
    id.hash(&mut state);
    (std::hash::Hasher::finish(&state) as u32).max(1)
}
