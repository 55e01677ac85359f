//! Reads captured traffic in any of the formats, one record at a time.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use sabir_proto::{Cut, Deframer, Framing, transcript};

use super::detect::{Beginning, detect};
use super::line;
use super::source::{Line, Position, Source, after};
use super::{Damage, Direction, Event, Format, Header, LONGEST, Record, What};

/// How far to look for the first line that is not blank.
const FIRST_LINE: usize = 1 << 20;

/// Hands out what is in a file of captured traffic, one [`Record`] at a time, in bounded memory.
///
/// ```
/// use sabir_model::capture::{Direction, Format, Reader, What};
///
/// let text = "# A call.\n> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}\n";
/// let mut reader = Reader::new(text.as_bytes())?;
/// assert_eq!(reader.format(), Format::Transcript);
/// let record = reader.next()?.unwrap();
/// assert_eq!((record.line, record.column), (2, 3));
/// assert_eq!(record.direction, Some(Direction::ToServer));
/// assert!(matches!(record.what, What::Message(_)));
/// assert!(reader.next()?.is_none());
/// # Ok::<(), sabir_model::capture::ReadError>(())
/// ```
pub struct Reader<R> {
    source: Source<R>,
    format: Format,
    header: Option<Header>,
    deframer: Deframer,
    /// How many records there were.
    number: u64,
    /// Time in a transcript.
    time: Duration,
    torn: bool,
}

/// Why a file cannot be read at all.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The system says so.
    Io(io::Error),
    /// It is something else than captured traffic: what, and what to do about it.
    Foreign(&'static str),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Io(error) => error.fmt(f),
            ReadError::Foreign(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ReadError::Io(error) => Some(error),
            ReadError::Foreign(_) => None,
        }
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        ReadError::Io(error)
    }
}

impl Reader<File> {
    /// Opens a file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        Reader::new(File::open(path)?)
    }
}

impl<R: Read> Reader<R> {
    /// Reads as far as it takes to find out the format.
    pub fn new(input: R) -> Result<Self, ReadError> {
        let mut source = Source::new(input);
        while !has_first_line(source.unread()) && source.fill()? {}
        let Beginning { format, skip } = detect(source.unread()).map_err(ReadError::Foreign)?;
        let start = &source.unread()[skip..];
        let first = start.trim_ascii_start().split(|&byte| byte == b'\n').next().unwrap_or_default();
        let header = match (format, line::parse(first)) {
            (Format::Capture, Ok(line::Parsed { what: What::Start(header), .. })) => Some(header),
            _ => None,
        };
        source.pass(skip);
        Ok(Reader {
            source,
            format,
            header,
            deframer: Deframer::new(Some(Framing::Headers), LONGEST),
            number: 0,
            time: Duration::ZERO,
            torn: false,
        })
    }

    /// How the traffic is written down.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The header, if the file begins with one. Each comes as a [`What::Start`] too.
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// Whether the last line of a capture was torn, and left out. Known at the end.
    pub fn torn(&self) -> bool {
        self.torn
    }

    /// The next record, or `None` at the end. After an error, reading cannot go on, unless the input says that it would
    /// have to wait ([`io::ErrorKind::WouldBlock`]): a file that others write to is followed so.
    #[allow(clippy::should_implement_trait)] // It lends: no iterator can.
    pub fn next(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        match self.format {
            Format::Capture => self.capture(),
            Format::Messages => self.message(),
            Format::Transcript => self.transcript(),
            Format::Headers => self.headers(),
        }
    }

    fn capture(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        let Some(line) = self.line()? else { return Ok(None) };
        let bytes = self.source.slice(line.range.clone());
        if line.too_long {
            return Ok(Some(damaged(self.number, line.position, 0, Damage::TooLong)));
        }
        match line::parse(bytes) {
            Err(Damage::NotJson(_)) if !line.whole => {
                self.torn = true;
                Ok(None)
            }
            Err(damage) => Ok(Some(damaged(self.number, line.position, bytes.len(), damage))),
            Ok(parsed) => {
                let position = after(line.position, &bytes[..parsed.range.start]);
                let record = record(self.number, position, parsed.range.len(), parsed.what);
                let line::Parsed { time, direction, connection, exchange, verbatim, .. } = parsed;
                Ok(Some(Record { time, direction, connection, exchange, verbatim, ..record }))
            }
        }
    }

    fn message(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        let Some(line) = self.line()? else { return Ok(None) };
        if line.too_long {
            return Ok(Some(damaged(self.number, line.position, 0, Damage::TooLong)));
        }
        let bytes = self.source.slice(line.range);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        Ok(Some(record(self.number, line.position, bytes.len(), What::Message(Cow::Borrowed(bytes)))))
    }

    fn transcript(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        let (line, direction, what, skip) = loop {
            let Some(line) = self.line()? else { return Ok(None) };
            if line.too_long {
                return Ok(Some(damaged(self.number, line.position, 0, Damage::TooLong)));
            }
            let bytes = self.source.slice(line.range.clone());
            match notation(bytes, &mut self.time) {
                Noted::Nothing => self.number -= 1,
                Noted::Sent(direction, skip) => break (line, Some(direction), None, skip),
                Noted::Bytes(direction, what) => break (line, Some(direction), Some(what), 3),
                Noted::Event(what) => break (line, None, Some(what), 2),
                Noted::Wrong(damage) => {
                    return Ok(Some(damaged(self.number, line.position, line.range.len(), damage)));
                }
            }
        };
        let bytes = self.source.slice(line.range);
        let position = after(line.position, &bytes[..skip.min(bytes.len())]);
        let verbatim = what.is_none();
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let content = &bytes[skip.min(bytes.len())..];
        let what = what.unwrap_or(What::Message(Cow::Borrowed(content)));
        let time = Some(self.time);
        Ok(Some(Record { direction, time, verbatim, ..record(self.number, position, content.len(), what) }))
    }

    fn headers(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        let mut ended = false;
        let (position, what) = loop {
            let unread = self.source.unread();
            let cut = if ended { self.deframer.finish(unread) } else { self.deframer.cut(unread) };
            match cut {
                Cut::Message { body, used } => {
                    let (length, start) = (body.len(), self.source.start() + used - body.len());
                    self.source.pass(used - length);
                    let position = self.source.position;
                    self.source.pass(length);
                    break (position, Ok(start..start + length));
                }
                Cut::Fault { fault, start, used } => {
                    // As with a message: the position is that of its body, whether or not its headers are still held.
                    let headers = match self.deframer.framing() {
                        Some(Framing::Headers) if !start.is_empty() => used - start.len(),
                        _ => 0,
                    };
                    self.source.pass(headers);
                    let position = self.source.position;
                    self.source.pass(used - headers);
                    break (position, Err(Damage::Frame(fault)));
                }
                Cut::More { .. } if ended => return Ok(None),
                Cut::More { used, .. } => {
                    self.source.pass(used);
                    ended = !self.source.fill()?;
                }
            }
        };
        self.number += 1;
        Ok(Some(match what {
            Ok(range) => {
                let body = self.source.slice(range);
                record(self.number, position, body.len(), What::Message(Cow::Borrowed(body)))
            }
            Err(damage) => damaged(self.number, position, 0, damage),
        }))
    }

    /// The next line that is not blank, counted.
    fn line(&mut self) -> Result<Option<Line>, ReadError> {
        loop {
            let Some(line) = self.source.line(LONGEST)? else { return Ok(None) };
            if line.too_long || !self.source.slice(line.range.clone()).trim_ascii().is_empty() {
                self.number += 1;
                return Ok(Some(line));
            }
        }
    }
}

impl<R> fmt::Debug for Reader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("format", &self.format).field("number", &self.number).finish()
    }
}

fn record(number: u64, position: Position, length: usize, what: What<'_>) -> Record<'_> {
    let Position { offset, line, column } = position;
    Record {
        number,
        line,
        column,
        offset,
        length: length as u64,
        verbatim: true,
        time: None,
        direction: None,
        connection: 1,
        exchange: None,
        what,
    }
}

/// What is wrong with bytes, which are the content of the record as far as they are there.
fn damaged(number: u64, position: Position, length: usize, damage: Damage) -> Record<'static> {
    record(number, position, length, What::Damage(damage))
}

/// Whether the first line that is not blank is there, or too long to wait for.
fn has_first_line(start: &[u8]) -> bool {
    let blank = start.len() - start.trim_ascii_start().len();
    memchr::memchr(b'\n', &start[blank..]).is_some() || start.len() >= FIRST_LINE
}

/// What a line of a transcript tells.
enum Noted {
    Nothing,
    /// A message, which begins at this byte.
    Sent(Direction, usize),
    Bytes(Direction, What<'static>),
    Event(What<'static>),
    Wrong(Damage),
}

fn notation(line: &[u8], time: &mut Duration) -> Noted {
    use sabir_proto::Line;
    // Most lines, without asking whether they are text: what they hold may be anything.
    match line {
        [b'>', b' ', ..] => return Noted::Sent(Direction::ToServer, 2),
        [b'<', b' ', ..] => return Noted::Sent(Direction::ToClient, 2),
        _ => {}
    }
    let Ok(text) = std::str::from_utf8(line) else {
        return Noted::Wrong(Damage::NotTheNotation("the line is not UTF-8".to_owned()));
    };
    let bytes = |mut bytes: Vec<u8>| {
        let kept = bytes.trim_ascii_end().len();
        bytes.truncate(kept);
        What::Message(Cow::Owned(bytes))
    };
    match transcript(text).next() {
        None | Some(Ok(Line::Blank | Line::Comment(_))) => Noted::Nothing,
        Some(Ok(Line::ToServer(_))) => Noted::Sent(Direction::ToServer, 2),
        Some(Ok(Line::ToClient(_))) => Noted::Sent(Direction::ToClient, 2),
        Some(Ok(Line::BytesToServer(sent))) => Noted::Bytes(Direction::ToServer, bytes(sent)),
        Some(Ok(Line::BytesToClient(sent))) => Noted::Bytes(Direction::ToClient, bytes(sent)),
        Some(Ok(Line::Event(text))) => Noted::Event(What::Event(event(&text), Cow::Owned(text.into_owned()))),
        Some(Ok(Line::Time(passed))) => {
            *time = time.saturating_add(passed);
            Noted::Nothing
        }
        Some(Err(error)) => {
            let why = error.to_string();
            let why = why.strip_prefix("line 1: ").unwrap_or(&why);
            Noted::Wrong(Damage::NotTheNotation(why.chars().take(200).collect()))
        }
    }
}

/// `! closed: idle timeout` closes; any other event is a mark.
fn event(text: &str) -> Event {
    match text.split(|c: char| !c.is_alphanumeric()).next() {
        Some("opened" | "open") => Event::Open,
        Some("closed" | "close") => Event::Close,
        Some("exited" | "exit") => Event::Exit,
        Some("gap") => Event::Gap,
        Some("HTTP") => Event::Http,
        _ => Event::Mark,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time, and in between nothing for now.
    struct Slow<'t> {
        text: &'t [u8],
        waits: bool,
    }

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.waits = !self.waits;
            if self.waits {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let count = self.text.len().min(7).min(buffer.len());
            let (now, later) = self.text.split_at(count);
            buffer[..count].copy_from_slice(now);
            self.text = later;
            Ok(count)
        }
    }

    #[test]
    fn reading_goes_on_after_waiting() {
        let texts = [
            "{\"jrl\":1}\n{\"d\":\">\",\"msg\":{\"a\":1}}\n{\"d\":\"<\",\"msg\":{\"b\":2}}\n",
            "> {\"a\":1}\n# why\n< {\"b\":2}\n",
            "Content-Length: 7\r\n\r\n{\"a\":1}Content-Length: 7\r\n\r\n{\"b\":2}",
        ];
        for text in texts {
            let mut whole = Reader::new(text.as_bytes()).unwrap();
            let mut want = Vec::new();
            while let Some(record) = whole.next().unwrap() {
                want.push(format!("{record:?}"));
            }
            // The first line is there at once; a reader that is made too early is made again.
            let first = text.find('\n').map_or(text.len(), |end| end + 1);
            let slow = Slow { text: &text.as_bytes()[first..], waits: false };
            let mut reader = Reader::new(text.as_bytes()[..first].chain(slow)).unwrap();
            let (mut got, mut waited) = (Vec::new(), 0);
            loop {
                match reader.next() {
                    Ok(Some(record)) => got.push(format!("{record:?}")),
                    Ok(None) => break,
                    Err(ReadError::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => waited += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            assert_eq!(got, want, "{text}");
            assert!(waited > 3, "{text}");
        }
    }
}
