//! Reads a file of recorded traffic, as far as it fits into memory.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use sabir_model::capture::{Direction, Event, Format, ReadError, Reader, What};
use sabir_proto::Id;

use super::part::{PartKind, split};
use super::{Recording, Sent};
use crate::exit::{Exit, Failure};
use crate::print::Printer;
use crate::rotated::Rotated;

/// The text of all messages, at most.
const MOST_BYTES: usize = 256 << 20;

/// Messages at most: each takes some memory beside its text.
const MOST_MESSAGES: usize = 1_000_000;

/// Connections of one session have numbers below this, in this program.
const SESSION: u64 = 1 << 40;

/// What [`sabir tap --redact`] puts in the place of secrets.
const REDACTED: &str = "\"[redacted]\"";

impl Recording {
    /// Reads a file, with the older ones that it goes on from; `-` is standard input. Says what of it could not be used.
    pub(crate) fn open(path: &OsStr, printer: &Printer) -> Result<Recording, Failure> {
        let name = path.to_string_lossy();
        match path == "-" {
            true => Recording::read(io::stdin().lock(), "standard input", printer),
            false => {
                let files = Rotated::open(Path::new(path)).map_err(|error| unreadable(&name, &error))?;
                Recording::read(files, &name, printer)
            }
        }
    }

    pub(crate) fn read(input: impl Read, name: &str, printer: &Printer) -> Result<Recording, Failure> {
        let failed = |error: ReadError| unreadable(name, &error);
        let mut reader = Reader::new(input).map_err(failed)?;
        let format = reader.format();
        let mut recording = Recording { header: reader.header().cloned(), messages: Vec::new() };
        let (mut session, mut bytes) = (0, 0);
        let mut notes = Notes::default();
        while let Some(record) = reader.next().map_err(failed)? {
            let text = match record.what {
                What::Start(_) => {
                    session += u64::from(!recording.messages.is_empty());
                    continue;
                }
                What::Damage(_) => {
                    notes.damaged += 1;
                    continue;
                }
                What::Event(Event::Gap, _) => {
                    notes.gaps += 1;
                    continue;
                }
                What::Message(text) => String::from_utf8_lossy(&text).into_owned(),
                // A client means what it sends; what a server prints among its messages is often a log.
                What::Noise(text) if record.direction == Some(Direction::ToServer) => {
                    String::from_utf8_lossy(&text).into_owned()
                }
                _ => continue,
            };
            bytes += text.len();
            if bytes > MOST_BYTES || recording.messages.len() == MOST_MESSAGES {
                return Err(Failure::new(
                    Exit::Connect,
                    format_args!(
                        "{name} is too large: it has more than {} MiB or {MOST_MESSAGES} messages",
                        MOST_BYTES >> 20
                    ),
                )
                .hint("`sabir tap --rotate 100MB` records into several files"));
            }
            let parts = split(&text);
            let direction = record.direction.unwrap_or_else(|| {
                notes.guessed = true;
                // Nobody says who sent it. Most calls are made by clients.
                match parts.iter().any(|part| part.kind.is_answer()) {
                    true => Direction::ToClient,
                    false => Direction::ToServer,
                }
            });
            if format == Format::Messages && parts.iter().all(|part| part.kind == PartKind::Invalid) {
                notes.damaged += 1;
                continue;
            }
            notes.redacted |= text.contains(REDACTED);
            recording.messages.push(Sent {
                time: record.time,
                direction,
                connection: session * SESSION + record.connection % SESSION,
                text,
                parts,
            });
        }
        reorder(&mut recording.messages);
        notes.torn = reader.torn();
        notes.tell(name, printer);
        if recording.messages.is_empty() {
            return Err(Failure::new(Exit::Connect, format_args!("{name} has no messages"))
                .hint("`sabir tap --record FILE` records some"));
        }
        Ok(recording)
    }
}

/// Messages behind an answer that are searched for its request.
const WINDOW: usize = 16;

/// Puts answers behind their requests. The two directions are recorded side by side, so that an answer that comes at once may
/// be written down first.
fn reorder(messages: &mut [Sent]) {
    let mut open: HashSet<(u64, Direction, Id<'static>)> = HashSet::new();
    let mut at = 0;
    while at < messages.len() {
        let sent = &messages[at];
        let (connection, asked_by) = (sent.connection, sent.direction.reversed());
        let answered =
            sent.parts.iter().filter(|part| part.kind.is_answer()).find_map(|part| part.id.clone());
        if let Some(id) = answered
            && !open.remove(&(connection, asked_by, id.clone()))
        {
            let asks = |sent: &Sent| {
                sent.connection == connection
                    && sent.direction == asked_by
                    && sent
                        .parts
                        .iter()
                        .any(|part| part.kind == PartKind::Request && part.id.as_ref() == Some(&id))
            };
            let behind = messages[at + 1..].iter().take(WINDOW).position(asks);
            // What was recorded later has a later time, unless it was at the same moment.
            let is_at_once = |request: &Sent| {
                let later = request
                    .time
                    .zip(messages[at].time)
                    .map(|(request, answer)| request.saturating_sub(answer));
                later.is_none_or(|later| later < AT_ONCE)
            };
            if let Some(behind) = behind.filter(|behind| is_at_once(&messages[at + 1 + behind])) {
                messages[at..=at + 1 + behind].rotate_left(1);
                continue;
            }
        }
        for part in messages[at].parts.iter().filter(|part| part.kind == PartKind::Request) {
            if let Some(id) = part.id.clone() {
                open.insert((connection, asked_by.reversed(), id));
            }
        }
        at += 1;
    }
}

/// What is further apart was not recorded in the wrong order.
const AT_ONCE: Duration = Duration::from_millis(50);

/// What a user should know before the result is trusted.
#[derive(Default)]
struct Notes {
    damaged: u64,
    gaps: u64,
    torn: bool,
    guessed: bool,
    redacted: bool,
}

impl Notes {
    fn tell(&self, name: &str, printer: &Printer) {
        if self.damaged > 0 {
            let times = if self.damaged == 1 { "once".to_owned() } else { format!("{} times", self.damaged) };
            printer.note(&format!("{name}: skipped what is not recorded traffic, {times}"));
        }
        if self.gaps > 0 {
            printer.note(&format!("{name}: the recording has gaps: messages are missing"));
        }
        if self.torn {
            printer.note(&format!("{name}: skipped the last line: it is incomplete"));
        }
        if self.guessed {
            printer.note(&format!("{name} does not say who sent what: calls are taken as the client's"));
        }
        if self.redacted {
            printer.note(&format!("{name}: secrets were redacted; what has them is used without"));
        }
    }
}

pub(crate) fn unreadable(name: &str, error: &dyn fmt::Display) -> Failure {
    Failure::file(format_args!("cannot read {name}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Recording, Failure> {
        Recording::read(text.as_bytes(), "test", &Printer::new(false))
    }

    #[test]
    fn an_answer_is_put_behind_its_request() {
        let recording = read(concat!(
            "{\"jrl\":1}\n",
            "{\"n\":1,\"t\":1,\"d\":\"<\",\"msg\":{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":2}}\n",
            "{\"n\":2,\"t\":1,\"d\":\"<\",\"msg\":{\"jsonrpc\":\"2.0\",\"method\":\"x\"}}\n",
            "{\"n\":3,\"t\":2,\"d\":\">\",\"msg\":{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"y\"}}\n",
            "{\"n\":4,\"t\":9,\"d\":\"<\",\"msg\":{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":2}}\n",
        ))
        .unwrap_or_else(|failure| panic!("{}", failure.what));
        let calls = recording.calls(Direction::ToServer);
        assert!(calls[0].answer.is_some(), "{calls:?}");
        assert_eq!(recording.strays(Direction::ToClient, &calls).len(), 1);
    }

    #[test]
    fn what_is_no_recording_is_refused() {
        for (text, want) in [
            ("", "test has no messages"),
            ("hello\nworld\n", "test has no messages"),
            ("\u{1f}\u{8b}", "test has no messages"),
            ("{\"jrl\":1}\n{\"n\":1,\"t\":1,\"k\":\"open\"}\n", "test has no messages"),
        ] {
            let failure = read(text).map(drop).map_err(|failure| failure.what);
            assert_eq!(failure, Err(want.to_owned()), "{text}");
        }
    }
}
