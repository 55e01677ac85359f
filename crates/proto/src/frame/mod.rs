//! Where one message ends and the next begins.
//!
//! A [`Deframer`] cuts a stream of bytes into the bytes of single messages. It looks at each byte once
//! however the stream is chunked and keeps no bytes of its own. What is too large or damaged is reported once
//! and skipped; the next message is whole.

mod headers;
mod lines;

use std::fmt;

use headers::Headers;
use lines::Lines;

/// Message framing: how a connection marks where a message ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Framing {
    /// One message per line. `\r\n`, blank lines and a last line without its line break are understood.
    Lines,
    /// A block of headers with `Content-Length` before each message, as in LSP. Header names are read in
    /// any case and order; unknown ones are ignored.
    Headers,
    /// The transport itself delimits messages: a WebSocket frame, an HTTP body.
    Whole,
}

impl Framing {
    /// Tells the framing of a byte stream from how it begins; `None` if more bytes are needed.
    ///
    /// ```
    /// use sabir_proto::Framing;
    ///
    /// assert_eq!(Framing::detect(b"content-LENGTH: 2\r\n\r\n{}"), Some(Framing::Headers));
    /// assert_eq!(Framing::detect(b" {\"jsonrpc\""), Some(Framing::Lines));
    /// assert_eq!(Framing::detect(b"Cont"), None);
    /// ```
    pub fn detect(start: &[u8]) -> Option<Framing> {
        const HEADER: &[u8] = b"content-";
        let start = start.trim_ascii_start();
        let known = start.len().min(HEADER.len());
        if start[..known].eq_ignore_ascii_case(&HEADER[..known]) {
            return (known == HEADER.len()).then_some(Framing::Headers);
        }
        Some(Framing::Lines)
    }
}

/// One step of a [`Deframer`]. `used` counts the bytes at the front of the input that are done with, the
/// message's own included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Cut<'a> {
    /// The bytes of one message.
    Message { body: &'a [u8], used: usize },
    /// Nothing more until further bytes come. `missing` of them at least, where that is known.
    More { used: usize, missing: usize },
    /// Something had to be skipped, which is reported once. The stream goes on. `start` is how a message
    /// begins that is too large; it is empty for other faults.
    Fault { fault: FrameFault, start: &'a [u8], used: usize },
}

/// Why bytes of the stream had to be skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameFault {
    /// The message is longer than the limit.
    TooLarge {
        /// How many bytes are taken.
        limit: usize,
    },
    /// A line among the headers is not a header.
    NotAHeader,
    /// A header line is too long.
    HeaderTooLong,
    /// The headers ended without a `Content-Length`.
    NoLength,
    /// `Content-Length` is not a number, or is given twice with different values.
    BadLength,
    /// The stream ended in the middle of a message.
    Truncated,
}

impl fmt::Display for FrameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameFault::TooLarge { limit } => write!(f, "a message may have {limit} bytes at most"),
            FrameFault::NotAHeader => f.write_str("expected a header such as `Content-Length: 42`"),
            FrameFault::HeaderTooLong => f.write_str("a header line is too long"),
            FrameFault::NoLength => f.write_str("the headers have no `Content-Length`"),
            FrameFault::BadLength => f.write_str("`Content-Length` is not one decimal number"),
            FrameFault::Truncated => f.write_str("the stream ended in the middle of a message"),
        }
    }
}

/// Cuts a stream into messages. The caller keeps the bytes:
///
/// ```
/// use sabir_proto::{Cut, Deframer, Framing};
///
/// let mut deframer = Deframer::new(Some(Framing::Lines), 1024);
/// let mut unread: &[u8] = b"{\"a\":1}\r\n\n{\"b\":2}\n{\"c\"";
/// let mut messages = Vec::new();
/// loop {
///     match deframer.cut(unread) {
///         Cut::Message { body, used } => {
///             messages.push(body);
///             unread = &unread[used..];
///         }
///         Cut::Fault { used, .. } => unread = &unread[used..],
///         Cut::More { used, .. } => {
///             unread = &unread[used..];
///             break; // read more behind what is left
///         }
///     }
/// }
/// assert_eq!(messages, [b"{\"a\":1}", b"{\"b\":2}"]);
/// assert_eq!(unread, b"{\"c\"");
/// ```
#[derive(Debug)]
pub struct Deframer {
    state: State,
    /// A byte order mark is tolerated here and nowhere else.
    at_start: bool,
    limit: usize,
}

#[derive(Debug)]
enum State {
    Unknown,
    Lines(Lines),
    Headers(Headers),
}

/// How much of a message is shown that is too large to take: enough for its id, in nearly every message.
const START: usize = 4096;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

impl Deframer {
    /// A deframer for a stream, with the size limit for one message. Without a framing it is detected.
    ///
    /// # Panics
    /// [`Framing::Whole`] leaves nothing to cut.
    pub fn new(framing: Option<Framing>, limit: usize) -> Self {
        let state = match framing {
            None => State::Unknown,
            Some(Framing::Lines) => State::Lines(Lines::default()),
            Some(Framing::Headers) => State::Headers(Headers::default()),
            Some(Framing::Whole) => panic!("whole messages need no deframer"),
        };
        Deframer { state, at_start: true, limit }
    }

    /// The framing, once it is known.
    pub fn framing(&self) -> Option<Framing> {
        match self.state {
            State::Unknown => None,
            State::Lines(_) => Some(Framing::Lines),
            State::Headers(_) => Some(Framing::Headers),
        }
    }

    /// The next message at the front of `unread`. Each call must be given what the last one left, with
    /// new bytes only behind it.
    #[inline(always)]
    pub fn cut<'a>(&mut self, unread: &'a [u8]) -> Cut<'a> {
        if !self.at_start {
            match &mut self.state {
                State::Lines(lines) => return lines.cut(unread, self.limit),
                State::Headers(headers) => return headers.cut(unread, self.limit),
                State::Unknown => {}
            }
        }
        self.cut_first(unread)
    }

    /// The same where the framing may have to be found out.
    #[inline(never)]
    fn cut_first<'a>(&mut self, unread: &'a [u8]) -> Cut<'a> {
        let used = self.start(unread);
        if self.at_start || matches!(self.state, State::Unknown) {
            return Cut::More { used, missing: 1 };
        }
        self.cut(&unread[used..]).with_more_used(used)
    }

    /// What is left when the stream has ended.
    pub fn finish<'a>(&mut self, unread: &'a [u8]) -> Cut<'a> {
        let used = self.start(unread);
        self.at_start = false;
        let rest = &unread[used..];
        let cut = match &mut self.state {
            State::Headers(headers) => headers.finish(rest, self.limit),
            State::Lines(lines) => lines.finish(rest, self.limit),
            State::Unknown => {
                let mut lines = Lines::default();
                let cut = lines.finish(rest, self.limit);
                self.state = State::Lines(lines);
                cut
            }
        };
        cut.with_more_used(used)
    }

    /// Skips what may stand before the first message, and finds out the framing. How much is done with.
    fn start(&mut self, unread: &[u8]) -> usize {
        let mut used = 0;
        if self.at_start {
            if unread.len() < BYTE_ORDER_MARK.len() && BYTE_ORDER_MARK.starts_with(unread) {
                return 0;
            }
            if unread.starts_with(BYTE_ORDER_MARK) {
                used = BYTE_ORDER_MARK.len();
            }
            self.at_start = false;
        }
        if matches!(self.state, State::Unknown) {
            // White space does not tell the framing, and endless white space must not be buffered.
            used = unread.len() - unread[used..].trim_ascii_start().len();
            match Framing::detect(&unread[used..]) {
                Some(Framing::Headers) => self.state = State::Headers(Headers::default()),
                Some(_) => self.state = State::Lines(Lines::default()),
                None => {}
            }
        }
        used
    }
}

impl<'a> Cut<'a> {
    fn fault(fault: FrameFault, used: usize) -> Cut<'a> {
        Cut::Fault { fault, start: &[], used }
    }

    /// `text` is what has come of the message.
    fn too_large(limit: usize, text: &'a [u8], used: usize) -> Cut<'a> {
        Cut::Fault { fault: FrameFault::TooLarge { limit }, start: message_start(text, limit), used }
    }

    fn with_more_used(self, more: usize) -> Cut<'a> {
        match self {
            Cut::Message { body, used } => Cut::Message { body, used: used + more },
            Cut::More { used, missing } => Cut::More { used: used + more, missing },
            Cut::Fault { fault, start, used } => Cut::Fault { fault, start, used: used + more },
        }
    }
}

/// What is shown of a message that is larger than `limit`.
pub(crate) fn message_start(message: &[u8], limit: usize) -> &[u8] {
    &message[..message.len().min(start_len(limit))]
}

fn start_len(limit: usize) -> usize {
    limit.min(START)
}
