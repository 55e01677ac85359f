//! Writes captures: one line is one write, so that a killed writer leaves at most one torn line.

use std::collections::HashMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use sabir_proto::{Entry, Id, Incoming, LENIENT, Limits, Message, decode};

use super::{Direction, Event, Header};

/// Open requests whose answers get the method and the duration. Beyond it they do not.
const OPEN: usize = 16_384;

/// Writes a capture, line by line.
///
/// ```
/// use std::time::Duration;
/// use sabir_model::capture::{Direction, Header, Writer};
///
/// let mut file = Vec::new();
/// let mut writer = Writer::new(&mut file, &Header::default())?;
/// let ms = Duration::from_millis;
/// writer.message(ms(1), Direction::ToServer, 1, br#"{"jsonrpc":"2.0","id":7,"method":"x"}"#)?;
/// writer.message(ms(6), Direction::ToClient, 1, br#"{"jsonrpc":"2.0","id":7,"result":2}"#)?;
/// let text = String::from_utf8_lossy(&file);
/// let answer = r#"{"n":2,"t":6000000,"d":"<","c":1,"k":"res","id":7,"m":"x","ms":5.0,"b":35,"msg":{"#;
/// assert!(text.lines().nth(2).unwrap().starts_with(answer));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Writer<W> {
    out: W,
    line: Vec<u8>,
    number: u64,
    open: HashMap<(u64, Direction, Id<'static>), Asked>,
}

/// When a request was sent, and its method.
type Asked = (Duration, Box<str>);

impl Writer<File> {
    /// Opens a file to append to, making it if need be. A line that an earlier writer left torn is ended, so that it
    /// stays the only one that is lost.
    pub fn append(path: impl AsRef<Path>, header: &Header) -> io::Result<Self> {
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        if file.seek(SeekFrom::End(0))? > 0 {
            file.seek(SeekFrom::End(-1))?;
            let mut last = [0];
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                file.write_all(b"\n")?;
            }
        }
        Writer::new(file, header)
    }
}

impl<W: Write> Writer<W> {
    /// Starts with the header. `out` should not buffer if the capture is to survive a crash.
    pub fn new(out: W, header: &Header) -> io::Result<Self> {
        let mut writer = Writer { out, line: Vec::new(), number: 0, open: HashMap::new() };
        serde_json::to_writer(&mut writer.line, header)?;
        writer.end_line()?;
        Ok(writer)
    }

    /// Writes down what was sent as a message, whatever it is. `at` is the time since the header's.
    pub fn message(
        &mut self,
        at: Duration,
        direction: Direction,
        connection: u64,
        text: &[u8],
    ) -> io::Result<()> {
        self.start(at, Some(direction), connection);
        let decoded = decode(text, &LENIENT, &Limits::default());
        let json = decoded.is_ok();
        match decoded {
            Err(_) => self.put(r#","k":"noise""#),
            Ok(Incoming::Batch(entries)) => {
                self.put(r#","k":"batch""#);
                entries.iter().for_each(|entry| drop(self.follow(at, direction, connection, entry)));
            }
            Ok(Incoming::One(entry)) => self.entry(at, direction, connection, &entry),
        }
        self.put(&format!(r#","b":{}"#, text.len()));
        if json && memchr::memchr2(b'\n', b'\r', text).is_none() {
            self.put(r#","msg":"#);
            self.line.extend_from_slice(text.trim_ascii());
        } else {
            self.raw(text)?;
        }
        self.end()
    }

    /// Writes down bytes that were not meant as a message: `noise` among the messages, or `stderr`.
    pub fn stray(
        &mut self,
        at: Duration,
        direction: Direction,
        connection: u64,
        stderr: bool,
        text: &[u8],
    ) -> io::Result<()> {
        self.start(at, Some(direction), connection);
        self.put(if stderr { r#","k":"stderr""# } else { r#","k":"noise""# });
        self.raw(text)?;
        self.end()
    }

    /// Writes down that something happened.
    pub fn event(&mut self, at: Duration, connection: u64, event: Event, text: &str) -> io::Result<()> {
        self.start(at, None, connection);
        let kind = match event {
            Event::Open => "open",
            Event::Close => "close",
            Event::Exit => "exit",
            Event::Gap => "gap",
            Event::Mark => "mark",
        };
        self.put(&format!(r#","k":"{kind}""#));
        if !text.is_empty() {
            self.raw(text.as_bytes())?;
        }
        self.end()
    }

    fn start(&mut self, at: Duration, direction: Option<Direction>, connection: u64) {
        self.number += 1;
        self.line.clear();
        self.put(&format!(r#"{{"n":{},"t":{}"#, self.number, at.as_nanos()));
        if let Some(direction) = direction {
            self.put(&format!(r#","d":"{}""#, direction.sign()));
        }
        self.put(&format!(r#","c":{connection}"#));
    }

    fn put(&mut self, text: &str) {
        self.line.extend_from_slice(text.as_bytes());
    }

    /// What a message is, for those who search.
    fn entry(&mut self, at: Duration, direction: Direction, connection: u64, entry: &Entry<'_>) {
        let (kind, id, method) = match entry {
            Ok(Message::Request(request)) => ("req", Some(&request.id), Some(&*request.method)),
            Ok(Message::Notification(notification)) => ("note", None, Some(&*notification.method)),
            Ok(Message::Response(response)) if response.outcome.is_ok() => ("res", Some(&response.id), None),
            Ok(Message::Response(response)) => ("err", Some(&response.id), None),
            Err(invalid) if invalid.response => ("res", invalid.id.as_ref(), None),
            Err(invalid) => ("req", invalid.id.as_ref(), None),
        };
        self.put(&format!(r#","k":"{kind}""#));
        if let Some(id) = id {
            self.put(&format!(r#","id":{id}"#));
        }
        let asked = self.follow(at, direction, connection, entry);
        if let Some(method) = method.or(asked.as_ref().map(|(_, method)| &**method)) {
            self.put(&format!(r#","m":{}"#, serde_json::Value::from(method)));
        }
        if let Some((asked, _)) = &asked {
            self.put(&format!(r#","ms":{:?}"#, at.saturating_sub(*asked).as_secs_f64() * 1e3));
        }
    }

    /// Keeps a request until its answer, and gives it back then.
    fn follow(
        &mut self,
        at: Duration,
        direction: Direction,
        connection: u64,
        entry: &Entry<'_>,
    ) -> Option<Asked> {
        match entry {
            Ok(Message::Request(request)) if self.open.len() < OPEN => {
                let key = (connection, direction, request.id.clone().into_owned());
                self.open.insert(key, (at, (*request.method).into()));
                None
            }
            Ok(Message::Response(response)) => {
                self.open.remove(&(connection, direction.reversed(), response.id.clone().into_owned()))
            }
            _ => None,
        }
    }

    fn raw(&mut self, text: &[u8]) -> io::Result<()> {
        let readable = String::from_utf8_lossy(text);
        if readable.as_bytes() != text {
            self.put(r#","lossy":true"#);
        }
        self.put(r#","raw":"#);
        Ok(serde_json::to_writer(&mut self.line, &readable)?)
    }

    fn end(&mut self) -> io::Result<()> {
        self.line.push(b'}');
        self.end_line()
    }

    /// One write for the whole line.
    fn end_line(&mut self) -> io::Result<()> {
        self.line.push(b'\n');
        self.out.write_all(&self.line)
    }
}

impl<W> fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("number", &self.number).finish_non_exhaustive()
    }
}
