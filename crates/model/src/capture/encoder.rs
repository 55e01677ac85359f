//! The lines of a capture, without writing them anywhere.

use std::fmt;
use std::io::Write;
use std::time::Duration;

use sabir_proto::{Entry as Part, Incoming, LENIENT, Limits, Message, decode};

use super::{Direction, Event, Header};
use crate::calls::{Entry, Kind, Tracker};

/// Makes the lines of a capture, and pairs answers with requests on the way.
///
/// ```
/// use std::time::Duration;
/// use sabir_model::capture::{Direction, Encoder};
///
/// let mut encoder = Encoder::default();
/// let entry = encoder.message(Duration::from_nanos(5), Direction::ToServer, 1, br#"{"jsonrpc":"2.0","method":"x"}"#);
/// assert_eq!(encoder.tracker().names().method(entry.name), Some("x"));
/// let line = r#"{"n":1,"t":5,"d":">","c":1,"k":"note","m":"x","b":30,"msg":{"jsonrpc":"2.0","method":"x"}}"#;
/// assert_eq!(encoder.line(), format!("{line}\n").as_bytes());
/// ```
#[derive(Default)]
pub struct Encoder {
    line: Vec<u8>,
    tracker: Tracker,
    /// Members for the next message.
    extra: Vec<u8>,
    /// The exchange of HTTP that the next line is of.
    exchange: Option<u64>,
    /// How many headers there were: entries count them, the numbers of a capture do not.
    headers: u64,
}

impl Encoder {
    /// What a line ends with.
    pub const END: &'static [u8] = b"}\n";

    /// The line that was made last, with its line break.
    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// What follows the calls.
    pub fn tracker(&self) -> &Tracker {
        &self.tracker
    }

    /// The first line. Calls that are open stay so: a file may be one of several of a session.
    pub fn header(&mut self, header: &Header) {
        self.headers += 1;
        self.tracker.skip();
        self.line.clear();
        // Strings and numbers, which can always be written.
        let _ = serde_json::to_writer(&mut self.line, header);
        self.line.push(b'\n');
    }

    /// Says of the next message that parts of it were replaced.
    pub fn redacted(&mut self) {
        self.extra.extend_from_slice(br#","redacted":true"#);
    }

    /// Says of the next message or event which exchange of HTTP it is of. The head is left out of an event, which has one.
    pub fn exchange(&mut self, number: u64, head: Option<&str>) {
        self.exchange = Some(number);
        if let Some(head) = head {
            self.extra.extend_from_slice(br#","h":"#);
            let _ = serde_json::to_writer(&mut self.extra, head);
        }
    }

    /// What was sent as a message, whatever it is. `at` is the time since the header's.
    pub fn message(&mut self, at: Duration, direction: Direction, connection: u64, text: &[u8]) -> Entry {
        let (entry, apart) = self.message_apart(at, direction, connection, text);
        if let Some(text) = apart {
            self.line.extend_from_slice(text);
            self.end();
        }
        entry
    }

    /// The same without a copy of the message, which may be large: if it is given back, the line ends where it begins,
    /// and it is to be written with [`Encoder::END`] behind it.
    pub fn message_apart<'t>(
        &mut self,
        at: Duration,
        direction: Direction,
        connection: u64,
        text: &'t [u8],
    ) -> (Entry, Option<&'t [u8]>) {
        let decoded = decode(text, &LENIENT, &Limits::default());
        let entry = self.tracker.decoded(Some(at), Some(direction), connection, text.len(), &decoded);
        self.start(&entry);
        match &decoded {
            Err(_) => self.put(r#","k":"noise""#),
            Ok(Incoming::Batch(_)) => self.put(r#","k":"batch""#),
            Ok(Incoming::One(part)) => self.part(&entry, part),
        }
        self.put(r#","b":"#);
        self.number(text.len() as u64);
        self.line.append(&mut self.extra);
        if decoded.is_ok() && memchr::memchr2(b'\n', b'\r', text).is_none() {
            self.put(r#","msg":"#);
            return (entry, Some(text.trim_ascii()));
        }
        self.raw(text);
        self.end();
        (entry, None)
    }

    /// Bytes that were not meant as a message: `noise` among the messages, or `stderr`.
    pub fn stray(
        &mut self,
        at: Duration,
        direction: Direction,
        connection: u64,
        stderr: bool,
        text: &[u8],
    ) -> Entry {
        let kind = if stderr { Kind::Stderr } else { Kind::Noise };
        self.extra.clear();
        let entry = self.tracker.other(Some(at), Some(direction), connection, kind, text.len() as u64);
        self.start(&entry);
        let _ = write!(self.line, r#","k":"{kind}""#);
        self.raw(text);
        self.end();
        entry
    }

    /// Something that happened.
    pub fn event(&mut self, at: Duration, connection: u64, event: Event, text: &str) -> Entry {
        // An answer goes to the client; the rest goes nowhere.
        let direction = (event == Event::Http).then_some(Direction::ToClient);
        let entry = self.tracker.event(Some(at), direction, connection, event, text);
        self.extra.clear();
        self.start(&entry);
        let _ = write!(self.line, r#","k":"{}""#, entry.kind);
        if !text.is_empty() {
            self.raw(text.as_bytes());
        }
        self.end();
        entry
    }

    fn start(&mut self, entry: &Entry) {
        self.line.clear();
        self.put(r#"{"n":"#);
        self.number(entry.number - self.headers);
        self.put(r#","t":"#);
        self.number(u64::try_from(entry.time.unwrap_or_default().as_nanos()).unwrap_or(u64::MAX));
        match entry.direction {
            Some(Direction::ToServer) => self.put(r#","d":">""#),
            Some(Direction::ToClient) => self.put(r#","d":"<""#),
            None => {}
        }
        self.put(r#","c":"#);
        self.number(entry.connection);
        if let Some(exchange) = self.exchange.take() {
            self.put(r#","x":"#);
            self.number(exchange);
        }
    }

    /// What a message is, for those who search.
    fn part(&mut self, entry: &Entry, part: &Part<'_>) {
        let (kind, id, method) = match part {
            Ok(Message::Request(request)) => ("req", Some(&request.id), Some(&*request.method)),
            Ok(Message::Notification(notification)) => ("note", None, Some(&*notification.method)),
            Ok(Message::Response(response)) if response.outcome.is_ok() => ("res", Some(&response.id), None),
            Ok(Message::Response(response)) => ("err", Some(&response.id), None),
            Err(invalid) if invalid.response => ("res", invalid.id.as_ref(), None),
            Err(invalid) => ("req", invalid.id.as_ref(), None),
        };
        self.put(r#","k":""#);
        self.put(kind);
        self.put("\"");
        if let Some(id) = id {
            self.put(r#","id":"#);
            self.put(id.text());
        }
        let Encoder { line, tracker, .. } = self;
        if let Some(method) = method.or_else(|| tracker.names().method(entry.name)) {
            line.extend_from_slice(br#","m":"#);
            let _ = serde_json::to_writer(&mut *line, method);
        }
        if let Some(took) = entry.took {
            self.put(r#","ms":"#);
            self.number(took.as_millis() as u64);
            // A digit more in front keeps the zeros behind the point.
            let mut buffer = itoa::Buffer::new();
            let digits = &buffer.format(1_000_000 + took.subsec_nanos() % 1_000_000)[1..];
            self.put(".");
            self.put(&digits[..digits.trim_end_matches('0').len().max(1)]);
        }
    }

    fn number(&mut self, number: u64) {
        self.line.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }

    fn put(&mut self, text: &str) {
        self.line.extend_from_slice(text.as_bytes());
    }

    fn raw(&mut self, text: &[u8]) {
        let readable = String::from_utf8_lossy(text);
        if readable.as_bytes() != text {
            self.put(r#","lossy":true"#);
        }
        self.put(r#","raw":"#);
        let _ = serde_json::to_writer(&mut self.line, &readable);
    }

    fn end(&mut self) {
        self.line.extend_from_slice(Self::END);
    }
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tracker.fmt(f)
    }
}
