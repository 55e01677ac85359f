//! Server-sent events: a stream of bytes cut into events, within a limit.
//!
//! Clients of this crate read them by themselves; this is for those who speak HTTP on their own.

use std::time::Duration;

/// The longest pause that a server may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// The shortest one: a server that asks for none would be asked again hundreds of times a second.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);

/// The longest id that is kept.
const LONGEST_ID: usize = 1024;

/// An event of the stream.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A message.
    Data(Vec<u8>),
    /// One that was over the limit, and was skipped.
    TooLarge,
}

/// What a line may have beside its data: the name of the field.
const SLACK: usize = 64;

/// Reads a stream of events. Feed it, then take events out until there are none. Events of other types than `message`
/// are skipped.
///
/// ```
/// use sabir::sse::{Event, Parser};
///
/// let mut parser = Parser::new(1 << 20);
/// parser.feed(b"id: 7\ndata: {}\n\ndata: [");
/// assert_eq!(parser.next(), Some(Event::Data(b"{}".to_vec())));
/// assert_eq!(parser.next(), None);
/// assert_eq!(parser.id.as_deref(), Some("7"));
/// ```
#[derive(Debug)]
pub struct Parser {
    limit: usize,
    /// What has come and is not read yet: at most one piece and the start of a line.
    unread: Vec<u8>,
    /// How far `unread` was searched for the end of a line.
    searched: usize,
    /// The line is over the limit, and its rest is skipped.
    skipping: bool,
    /// The last line ended in CR: an LF that follows belongs to it.
    after_cr: bool,
    begun: bool,
    data: Vec<u8>,
    has_data: bool,
    too_large: bool,
    /// The event has a name of its own, and is not a message.
    named: bool,
    /// Its name is `endpoint`.
    names_endpoint: bool,
    pending_id: Option<String>,
    /// The id of the last event that was whole.
    pub id: Option<String>,
    /// How long to wait before connecting again, if the server has said so.
    pub retry: Option<Duration>,
    /// Where to post messages, if an event called `endpoint` has said so: MCP's first transport begins with one.
    pub endpoint: Option<String>,
}

impl Parser {
    /// A parser of events with at most `limit` bytes of data each.
    pub fn new(limit: usize) -> Self {
        Parser {
            limit,
            unread: Vec::new(),
            searched: 0,
            skipping: false,
            after_cr: false,
            begun: false,
            data: Vec::new(),
            has_data: false,
            too_large: false,
            named: false,
            names_endpoint: false,
            pending_id: None,
            id: None,
            retry: None,
            endpoint: None,
        }
    }

    /// Whether the event that is coming is over the limit already, so that it will be skipped.
    pub fn is_over_limit(&self) -> bool {
        self.too_large
    }

    /// Bytes that it holds.
    pub fn held(&self) -> usize {
        self.unread.len() + self.data.len()
    }

    /// Takes the next bytes of the stream, however it is cut.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
    }

    /// The next event that is whole.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Option<Event> {
        let mut done = 0;
        let event = loop {
            let rest = &self.unread[done..];
            if self.after_cr && !rest.is_empty() {
                self.after_cr = false;
                done += usize::from(rest[0] == b'\n');
                continue;
            }
            let from = self.searched.saturating_sub(done).min(rest.len());
            let Some(end) = rest[from..].iter().position(|byte| matches!(byte, b'\r' | b'\n')) else {
                self.searched = self.unread.len();
                break None;
            };
            let end = from + end;
            self.after_cr = rest[end] == b'\r';
            let line = done..done + end;
            done += end + 1;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            // It is too long all the same if it came in one piece.
            if line.len() > self.limit + SLACK {
                self.too_large = true;
                self.data = Vec::new();
                continue;
            }
            if let Some(event) = self.line(line) {
                break Some(event);
            }
        };
        self.unread.drain(..done);
        self.searched = self.searched.saturating_sub(done);
        // A line that is too long will not be looked at: only its end is waited for.
        if self.skipping || self.unread.len() > self.limit + SLACK && event.is_none() {
            if !self.skipping {
                self.skipping = true;
                self.too_large = true;
                self.data = Vec::new();
            }
            if event.is_none() {
                self.unread.clear();
                self.searched = 0;
            }
        }
        event
    }

    /// One line, without its end. An empty one ends an event.
    fn line(&mut self, line: std::ops::Range<usize>) -> Option<Event> {
        let unread = std::mem::take(&mut self.unread);
        let mut text = &unread[line];
        if !std::mem::replace(&mut self.begun, true) {
            text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        }
        let event = if text.is_empty() { self.dispatch() } else { self.field(text) };
        self.unread = unread;
        event
    }

    fn field(&mut self, line: &[u8]) -> Option<Event> {
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" if self.too_large || self.data.len() + value.len() + 1 > self.limit + 1 => {
                self.too_large = true;
                self.data = Vec::new();
            }
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => {
                self.named = !matches!(value, b"" | b"message");
                self.names_endpoint = value == b"endpoint";
            }
            b"id" if value.len() <= LONGEST_ID && !value.contains(&0) => {
                // One that is not UTF-8 is left out, as one with a NUL is.
                if let Ok(id) = std::str::from_utf8(value) {
                    self.pending_id = Some(id.to_owned());
                }
            }
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                let ms = std::str::from_utf8(value).ok().and_then(|ms| ms.parse().ok());
                let pause = ms.map(|ms| Duration::from_millis(ms).clamp(SHORTEST_PAUSE, LONGEST_PAUSE));
                self.retry = pause.or(self.retry);
            }
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Event> {
        if let Some(id) = self.pending_id.take() {
            self.id = Some(id);
        }
        let data = std::mem::take(&mut self.data);
        self.has_data = false;
        let named = std::mem::take(&mut self.named);
        if std::mem::take(&mut self.names_endpoint) && data.len() <= LONGEST_ID {
            self.endpoint = String::from_utf8(data.clone()).ok().or(self.endpoint.take());
        }
        if std::mem::take(&mut self.too_large) {
            return Some(Event::TooLarge);
        }
        // An event without data only has an id to remember.
        (!data.is_empty() && !named).then_some(Event::Data(data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 32;

    /// The events of a stream, whichever way it is cut into pieces; and the id and pause at its end.
    fn check(stream: &[u8], want: &[&str], id: Option<&str>, retry: Option<u64>) {
        for size in [1, 2, 3, 7, 1000] {
            let mut parser = Parser::new(LIMIT);
            let mut came = Vec::new();
            for piece in stream.chunks(size) {
                parser.feed(piece);
                while let Some(event) = parser.next() {
                    came.push(match event {
                        Event::Data(data) => String::from_utf8_lossy(&data).into_owned(),
                        Event::TooLarge => "too large".to_owned(),
                    });
                }
                assert!(parser.held() <= 2 * LIMIT + 64 + size, "it holds {}", parser.held());
            }
            let stream = String::from_utf8_lossy(stream);
            assert_eq!(came, want, "{stream:?} in pieces of {size}");
            assert_eq!(parser.id.as_deref(), id, "{stream:?}");
            assert_eq!(parser.retry, retry.map(Duration::from_millis), "{stream:?}");
        }
    }

    #[test]
    fn streams_and_their_events() {
        check(b"data: {}\n\n", &["{}"], None, None);
        check(b"data:{}\r\n\r\n", &["{}"], None, None);
        check(b"data: {}\r\rdata: []\r\r", &["{}", "[]"], None, None);
        check(b"\xEF\xBB\xBFdata: 1\n\n", &["1"], None, None);
        check(b": comment\n\n:\n\ndata: 1\n\n", &["1"], None, None);
        check(b"data: [1,\ndata: 2]\n\n", &["[1,\n2]"], None, None);
        check(b"data\ndata: 1\n\n", &["\n1"], None, None);
        check(b"event: message\ndata: 1\n\nevent: ping\ndata: 2\n\ndata: 3\n\n", &["1", "3"], None, None);
        check(b"id: a\ndata:\n\nid: b\ndata: 1\n\n", &["1"], Some("b"), None);
        check(b"id: a\ndata: 1\n\nid: b\ndata: 2\n", &["1"], Some("a"), None);
        check(b"id: a\0b\ndata: 1\n\n", &["1"], None, None);
        check(b"id: a\nid: \xff\ndata: 1\n\n", &["1"], Some("a"), None);
        check(b"retry: 500\n\nretry: soon\n\nretry: +7\n\n", &[], None, Some(500));
        check(b"retry: 99999999999999\n\n", &[], None, Some(3_600_000));
        check(b"retry: 0\n\n", &[], None, Some(100));
        check(b"unknown: field\nDATA: 1\n\ndata: 2\n\n", &["2"], None, None);
        // What is never ended never was.
        check(b"data: 1\n", &[], None, None);
    }

    #[test]
    fn an_endpoint_is_no_message() {
        let mut parser = Parser::new(LIMIT);
        parser.feed(b"event: endpoint\ndata: /post?id=1\n\ndata: 1\n\n");
        assert_eq!(parser.next(), Some(Event::Data(b"1".to_vec())));
        assert_eq!(parser.endpoint.as_deref(), Some("/post?id=1"));
    }

    #[test]
    fn what_is_too_large_is_skipped() {
        let long = "x".repeat(5 * LIMIT);
        check(format!("id: a\ndata: {long}\n\ndata: 2\n\n").as_bytes(), &["too large", "2"], Some("a"), None);
        check(format!(": {long}\ndata: 1\n\ndata: 2\n\n").as_bytes(), &["too large", "2"], None, None);
        let lines = "data: 1234567890\n".repeat(9);
        check(format!("{lines}\ndata: 2\n\n").as_bytes(), &["too large", "2"], None, None);
        check(long.as_bytes(), &[], None, None);
        check(format!("data: {}\n\n", "y".repeat(LIMIT)).as_bytes(), &[&"y".repeat(LIMIT)], None, None);
    }
}
