//! One line of a capture.
//!
//! As we write it, the members that say what it is come first and the message last. Such a line is read without
//! looking at the message more than once; any other spelling is read too, only slower.

use std::borrow::Cow;
use std::ops::Range;
use std::time::Duration;

use sabir_proto::{JsonKind, RawJson};

use super::{Damage, Direction, Event, Exchange, Header, What};

/// What a line says, apart from where it is.
pub(super) struct Parsed<'a> {
    pub(super) time: Option<Duration>,
    pub(super) direction: Option<Direction>,
    pub(super) connection: u64,
    pub(super) exchange: Option<Exchange<'a>>,
    pub(super) what: What<'a>,
    /// Where in the line the content is.
    pub(super) range: Range<usize>,
    pub(super) verbatim: bool,
}

/// The exchange of HTTP that a record is of, by what its line has before the content: `{"n":1,…,"msg":`, or with the quote
/// of a string.
pub(crate) fn exchange(before: &[u8]) -> Option<Exchange<'static>> {
    let end: &[u8] = if before.ends_with(b"\"") { b"\"}" } else { b"null}" };
    let line = [before, end].concat();
    any(&line).ok()?.exchange(&line).map(Exchange::into_owned)
}

/// Reads the members of a record.
pub(super) fn parse(line: &[u8]) -> Result<Parsed<'_>, Damage> {
    let members = match usual(line) {
        Some(members) => members,
        None => any(line)?,
    };
    members.record(line)
}

/// The members that matter: ranges of the line.
#[derive(Default)]
struct Members {
    header: bool,
    time: Option<u64>,
    direction: Option<Direction>,
    connection: Option<u64>,
    exchange: Option<u64>,
    head: Option<Range<usize>>,
    /// Of the message.
    bytes: Option<u64>,
    kind: Option<Range<usize>>,
    message: Option<Range<usize>>,
    raw: Option<Range<usize>>,
}

/// A line as we write it: scalars, then the message or its text up to the last brace.
fn usual(line: &[u8]) -> Option<Members> {
    let mut members = Members::default();
    let mut at = 1;
    if line.first() != Some(&b'{') || line.last() != Some(&b'}') {
        return None;
    }
    loop {
        let rest = line.get(at..)?.strip_prefix(b"\"")?;
        let name_len = memchr::memchr(b'"', rest.get(..8.min(rest.len()))?)?;
        let (name, start) = (&rest[..name_len], at + name_len + 3);
        if line.get(start - 1) != Some(&b':') {
            return None;
        }
        if name == b"msg" {
            let message = start..line.len() - 1;
            // A message of the length that was written down is the rest of the line; what it is, others look at.
            if members.bytes != Some(message.len() as u64) {
                RawJson::from_bytes(&line[message.clone()]).ok()?;
            }
            members.message = Some(message);
            return Some(members);
        }
        let end = start + scalar(&line[start..])?;
        members.take(line, name, start..end)?;
        at = match line.get(end)? {
            b',' => end + 1,
            b'}' if end + 1 == line.len() => return (!members.header).then_some(members),
            _ => return None,
        };
    }
}

/// The length of a string, of a number or of a word.
fn scalar(bytes: &[u8]) -> Option<usize> {
    match bytes.first()? {
        b'"' => {
            let mut at = 1;
            loop {
                at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
                if bytes[at] == b'"' {
                    return Some(at + 1);
                }
                at += 2;
            }
        }
        b'-' | b'0'..=b'9' | b'n' => bytes.iter().position(|byte| matches!(byte, b',' | b'}')),
        _ => None,
    }
}

/// Any JSON object.
fn any(line: &[u8]) -> Result<Members, Damage> {
    let text = RawJson::from_bytes(line).map_err(Damage::NotJson)?;
    if text.kind() != JsonKind::Object {
        return Err(Damage::NotARecord("the line is not an object"));
    }
    let mut members = Members::default();
    for (name, value) in text.members() {
        let start = value.as_str().as_ptr().addr() - line.as_ptr().addr();
        let range = start..start + value.as_str().len();
        members
            .take(line, name.as_bytes(), range)
            .ok_or(Damage::NotARecord("`t`, `d`, `c` or `k` has a value that it cannot have"))?;
    }
    Ok(members)
}

impl Members {
    /// Keeps what matters; `None` if its value makes no sense.
    fn take(&mut self, line: &[u8], name: &[u8], range: Range<usize>) -> Option<()> {
        let value = &line[range.clone()];
        match name {
            b"jrl" => self.header = true,
            b"t" => self.time = Some(number(value)?),
            b"c" => self.connection = Some(number(value)?),
            b"d" => {
                self.direction = Some(match value {
                    b"\">\"" => Direction::ToServer,
                    b"\"<\"" => Direction::ToClient,
                    _ => return None,
                });
            }
            b"b" => self.bytes = number(value),
            b"x" => self.exchange = number(value),
            b"h" => self.head = Some(range),
            b"k" if value.first() == Some(&b'"') => self.kind = Some(range),
            b"k" => return None,
            b"msg" => self.message = Some(range),
            b"raw" => self.raw = Some(range),
            _ => {}
        }
        Some(())
    }

    fn record(self, line: &[u8]) -> Result<Parsed<'_>, Damage> {
        let (what, range, verbatim) = if self.header {
            let header: Header = serde_json::from_slice(line)
                .map_err(|_| Damage::NotARecord("a member of the header has a value that it cannot have"))?;
            if header.version != 1 {
                return Err(Damage::NotARecord("only version 1 of the format is known"));
            }
            (What::Start(header), 0..line.len(), true)
        } else {
            self.what(line)?
        };
        Ok(Parsed {
            time: self.time.map(Duration::from_nanos),
            direction: self.direction,
            connection: self.connection.unwrap_or(1),
            exchange: self.exchange(line),
            what,
            range,
            verbatim,
        })
    }

    fn exchange<'a>(&self, line: &'a [u8]) -> Option<Exchange<'a>> {
        let number = self.exchange?;
        let text = |range: &Range<usize>| serde_json::from_slice::<String>(&line[range.clone()]).ok();
        Some(Exchange { number, head: self.head.as_ref().and_then(text).map(Cow::Owned) })
    }

    fn what<'a>(&self, line: &'a [u8]) -> Result<(What<'a>, Range<usize>, bool), Damage> {
        let kind = self.kind.clone().map_or(&b""[..], |range| &line[range]);
        if let Some(range) = self.message.clone() {
            return Ok((What::Message(Cow::Borrowed(&line[range.clone()])), range, true));
        }
        let text = match &self.raw {
            Some(range) => serde_json::from_slice::<Cow<'_, str>>(&line[range.clone()])
                .map_err(|_| Damage::NotARecord("`raw` is not a string"))?
                .into_owned(),
            None => String::new(),
        };
        // Without the quotes.
        let inner =
            self.raw.as_ref().map_or(0..0, |range| range.start + 1..range.end.max(range.start + 2) - 1);
        let event = |event, text| What::Event(event, Cow::Owned(text));
        let what = match kind {
            b"\"open\"" => event(Event::Open, text),
            b"\"close\"" => event(Event::Close, text),
            b"\"exit\"" => event(Event::Exit, text),
            b"\"gap\"" => event(Event::Gap, text),
            b"\"mark\"" => event(Event::Mark, text),
            b"\"http\"" => event(Event::Http, text),
            _ if self.raw.is_none() => return Err(Damage::NotARecord("there is neither `msg` nor `raw`")),
            b"\"noise\"" => What::Noise(Cow::Owned(text.into_bytes())),
            b"\"stderr\"" => What::Stderr(Cow::Owned(text.into_bytes())),
            _ => What::Message(Cow::Owned(text.into_bytes())),
        };
        Ok((what, inner, false))
    }
}

/// A non-negative integer.
fn number(value: &[u8]) -> Option<u64> {
    if value.is_empty() || value.len() > 19 {
        return None;
    }
    value
        .iter()
        .try_fold(0, |sum: u64, byte| byte.is_ascii_digit().then(|| sum * 10 + u64::from(byte - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &[u8]) -> String {
        text.escape_ascii().to_string().replace("\\\"", "\"")
    }

    /// Direction, time, connection, and what it is.
    fn told(line: &str) -> String {
        match parse(line.as_bytes()) {
            Err(damage) => damage.to_string(),
            Ok(parsed) => {
                let what = match parsed.what {
                    What::Start(header) => format!("start {:?}", header.tool),
                    What::Message(text) => format!("message {}", shown(&text)),
                    What::Noise(text) => format!("noise {}", shown(&text)),
                    What::Stderr(text) => format!("stderr {}", shown(&text)),
                    What::Event(event, text) => format!("{event:?} {text}"),
                    What::Damage(damage) => format!("damage {damage}"),
                };
                let sign = parsed.direction.map_or('?', Direction::sign);
                let exchange = parsed.exchange.map_or(String::new(), |exchange| {
                    format!(" x{} {:?}", exchange.number, exchange.head.unwrap_or_default())
                });
                let (time, connection, start) = (parsed.time, parsed.connection, parsed.range.start);
                format!("{sign} {time:?} c{connection}{exchange} +{start} {what}")
            }
        }
    }

    #[test]
    fn the_exchange_is_found_before_the_content() {
        for (before, want) in [
            (r#"{"n":1,"x":7,"h":"200 OK\na: b","msg":"#, Some((7, Some("200 OK\na: b")))),
            (r#"{"n":1,"x":7,"k":"http","raw":""#, Some((7, None))),
            (r#"{"n":1,"msg":"#, None),
            (r#"1,"x":7,"msg":"#, None),
        ] {
            let found = exchange(before.as_bytes());
            let found = found.as_ref().map(|exchange| (exchange.number, exchange.head.as_deref()));
            assert_eq!(found, want, "{before}");
        }
    }

    #[test]
    fn lines_are_read_in_any_spelling() {
        for (line, want) in [
            (
                r#"{"n":1,"t":5,"d":">","c":2,"k":"req","msg":{"a":1}}"#,
                "> Some(5ns) c2 +43 message {\"a\":1}",
            ),
            (r#"{"d":"<","msg":{"a":1},"x":{"b":2}}"#, "< None c1 +15 message {\"a\":1}"),
            (r#" { "msg" : [1] , "d" : "<" } "#, "< None c1 +11 message [1]"),
            (r#"{"d":"<","k":"noise","raw":"a\nb"}"#, "< None c1 +28 noise a\\nb"),
            (r#"{"k":"stderr","raw":"x"}"#, "? None c1 +21 stderr x"),
            (r#"{"t":1,"k":"exit","raw":"code 1"}"#, "? Some(1ns) c1 +25 Exit code 1"),
            (r#"{"t":1,"k":"close"}"#, "? Some(1ns) c1 +0 Close "),
            (r#"{"d":">","k":"req","raw":"{\n}"}"#, "> None c1 +26 message {\\n}"),
            (
                r#"{"d":">","c":2,"x":7,"k":"req","h":"POST /\nh: \"1\\","msg":[1]}"#,
                "> None c2 x7 \"POST /\\nh: \\\"1\\\\\" +60 message [1]",
            ),
            (r#"{"x":7,"k":"http","raw":"202 Accepted"}"#, "? None c1 x7 \"\" +25 Http 202 Accepted"),
            (r#"{"x":7,"h":5,"msg":[1]}"#, "? None c1 x7 \"\" +19 message [1]"),
            (r#"{"jrl":1,"tool":"x"}"#, "? None c1 +0 start Some(\"x\")"),
            (r#"{"jrl":2}"#, "only version 1 of the format is known"),
            (r#"{"jrl":1,"at":5}"#, "a member of the header has a value that it cannot have"),
            (r#"{"d":"^","msg":{}}"#, "`t`, `d`, `c` or `k` has a value that it cannot have"),
            (r#"{"n":1,"t":-1,"msg":{}}"#, "`t`, `d`, `c` or `k` has a value that it cannot have"),
            (r#"{"n":1}"#, "there is neither `msg` nor `raw`"),
            (r#"{"raw":5}"#, "`raw` is not a string"),
            (r#"[1]"#, "the line is not an object"),
            (r#"{"n":1,"msg":{"a":"#, "the line is not JSON: the text ends too early, at byte 18"),
        ] {
            assert_eq!(told(line), want, "{line}");
        }
    }
}
