//! The notation for wire text that tests, documents and tools share.
//!
//! ```text
//! # A notification inside a batch gets no reply.
//! > [{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]},{"jsonrpc":"2.0","method":"log"}]
//! < [{"jsonrpc":"2.0","id":1,"result":3}]
//! ~ 30s
//! ! closed: idle timeout
//! ```
//!
//! One line is one thing: `>` a message from client to server, `<` one from server to client, `~` time that
//! passes, `!` an event, `#` why. A blank line lets things settle. Bytes that are not exactly one message
//! in its framing are written `>>` or `<<`, with the escapes `\r`, `\n`, `\t`, `\\` and `\xNN`.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// One line of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line<'a> {
    /// `>`: a message from client to server.
    ToServer(Cow<'a, str>),
    /// `<`: a message from server to client.
    ToClient(Cow<'a, str>),
    /// `>>`: bytes from client to server, as they are.
    BytesToServer(Vec<u8>),
    /// `<<`: bytes from server to client, as they are.
    BytesToClient(Vec<u8>),
    /// `~`: time passes.
    Time(Duration),
    /// `!`: something happened.
    Event(Cow<'a, str>),
    /// `#`: why.
    Comment(Cow<'a, str>),
    /// Things settle.
    Blank,
}

/// A line that is not of the notation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptError {
    /// The number of the line, from 1.
    pub line: usize,
    reason: String,
}

impl fmt::Display for TranscriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for TranscriptError {}

/// The lines of a transcript.
///
/// ```
/// use sabir_proto::{Line, transcript};
///
/// let lines: Result<Vec<_>, _> = transcript("> {}\n~ 1.5s\n").collect();
/// assert_eq!(lines?[0], Line::ToServer("{}".into()));
/// # Ok::<(), sabir_proto::TranscriptError>(())
/// ```
pub fn transcript(text: &str) -> impl Iterator<Item = Result<Line<'_>, TranscriptError>> {
    text.lines()
        .enumerate()
        .map(|(index, line)| Line::parse(line).map_err(|reason| TranscriptError { line: index + 1, reason }))
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Result<Line<'a>, String> {
        let (sign, rest) = line.split_once(' ').unwrap_or((line, ""));
        Ok(match sign {
            "" if rest.trim().is_empty() => Line::Blank,
            ">" => Line::ToServer(Cow::Borrowed(rest)),
            "<" => Line::ToClient(Cow::Borrowed(rest)),
            ">>" => Line::BytesToServer(unescape(rest)?),
            "<<" => Line::BytesToClient(unescape(rest)?),
            "~" => Line::Time(
                duration(rest).ok_or_else(|| format!("`{rest}` is not a time such as 30s or 5ms"))?,
            ),
            "!" => Line::Event(Cow::Borrowed(rest)),
            _ if sign.starts_with('#') => Line::Comment(Cow::Borrowed(line[1..].trim_start())),
            _ => return Err(format!("expected `>`, `<`, `~`, `!` or `#` and a space, found `{line}`")),
        })
    }
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Line::ToServer(text) => write!(f, "> {text}"),
            Line::ToClient(text) => write!(f, "< {text}"),
            Line::BytesToServer(bytes) => write!(f, ">> {}", escape(bytes)),
            Line::BytesToClient(bytes) => write!(f, "<< {}", escape(bytes)),
            Line::Time(time) => write!(f, "~ {time:?}"),
            Line::Event(text) => write!(f, "! {text}"),
            Line::Comment(text) => write!(f, "# {text}"),
            Line::Blank => Ok(()),
        }
    }
}

/// `30s`, `1.5s`, `5ms`, `2m`, as [`Duration`] is printed.
fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let unit_at = text.find(|c: char| c.is_alphabetic() || c == 'µ')?;
    let (number, unit) = text.split_at(unit_at);
    let scale = match unit {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * scale).ok()
}

fn escape(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\\' => out.push_str("\\\\"),
                c if c.is_control() => {
                    c.encode_utf8(&mut [0; 4]).bytes().for_each(|b| out.push_str(&format!("\\x{b:02x}")));
                }
                c => out.push(c),
            }
        }
        chunk.invalid().iter().for_each(|b| out.push_str(&format!("\\x{b:02x}")));
    }
    out
}

fn unescape(text: &str) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((plain, escaped)) = rest.split_once('\\') {
        out.extend_from_slice(plain.as_bytes());
        let (byte, len) = match escaped.as_bytes() {
            [b'n', ..] => (b'\n', 1),
            [b'r', ..] => (b'\r', 1),
            [b't', ..] => (b'\t', 1),
            [b'\\', ..] => (b'\\', 1),
            [b'x', ..] => {
                let byte = escaped.get(1..3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
                (byte.ok_or_else(|| format!("`\\{escaped}` needs two hexadecimal digits after the x"))?, 3)
            }
            _ => return Err(format!("unknown escape `\\{escaped}`")),
        };
        out.push(byte);
        rest = &escaped[len..];
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_survive_printing_and_reading() {
        let text = "# why\n> {\"a\":\"\\n\"}\n< []\n>> \\xff\\x00{\\r\\n\\\\é\n<< x\n~ 1.5s\n~ 250ms\n! closed: x\n\n";
        let lines: Vec<_> = transcript(text).map(|line| line.map(|l| l.to_string())).collect();
        let printed: Result<Vec<_>, _> = lines.into_iter().collect();
        assert_eq!(printed.map(|lines| lines.join("\n") + "\n"), Ok(text.to_owned()));
    }

    #[test]
    fn what_is_not_of_the_notation_is_named() {
        for (text, want) in [
            ("> {}\nhello", "line 2: expected `>`, `<`, `~`, `!` or `#` and a space, found `hello`"),
            ("~ soon", "line 1: `soon` is not a time such as 30s or 5ms"),
            (">> \\q", "line 1: unknown escape `\\q`"),
            (">> \\x1", "line 1: `\\x1` needs two hexadecimal digits after the x"),
        ] {
            let error = transcript(text).find_map(Result::err).map(|e| e.to_string());
            assert_eq!(error.as_deref(), Some(want));
        }
    }
}
