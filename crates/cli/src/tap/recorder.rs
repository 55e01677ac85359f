//! Takes what went by from the queue: cuts it into messages, pairs them, writes them down, checks and shows them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sabir_model::calls::{Entry, Kind};
use sabir_model::capture::{self, Direction, Encoder, Event, Exchange, Header, Record, Redactor};
use sabir_model::filter::Filter;
use sabir_model::rules::{Checker, Profile};
use sabir_proto::Framing;

use super::calls::Calls;
use super::decode::{Closing, Decoder, Found};
use super::file::{RecordFile, Written};
use super::order::Order;
use super::queue::{Channel, Item, Queue, Stream, What};
use super::rows::Rows;
use crate::row::{self, RowFormat};

/// Items that wait for the first message, which says what goes into the header.
const HELD: usize = 64;

/// Bytes of messages that are not whole yet, on all connections together: at least one of the largest has room.
const UNFINISHED: usize = 128 << 20;

/// WebSockets that have ended and whose connections have not.
const CLOSING: usize = 4096;

/// Heads of HTTP that wait for their message.
const HEADS: usize = 4096;

/// What a gap means for the rules.
const FORGOTTEN: &str = "what was open before this gap is not checked any further";

/// How much less the recorder counts than the traffic where both want the same processor.
const NICER: i32 = 5;

/// How long the last rows may take to be printed.
const LAST_ROWS: Duration = Duration::from_millis(500);

pub(super) struct Recorder {
    pub(super) queue: Arc<Queue>,
    pub(super) header: Header,
    pub(super) redactor: Redactor,
    pub(super) file: Option<RecordFile>,
    pub(super) rows: Rows,
    /// What is printed of each record, and which.
    pub(super) print: Option<(RowFormat, Filter)>,
    pub(super) is_checked: bool,
    pub(super) profile: Option<Profile>,
    pub(super) streams: HashMap<Stream, Decoder>,
    pub(super) state: State,
    /// What is told of calls elsewhere.
    pub(super) calls: Option<Calls>,
}

/// What is made when traffic has begun.
#[derive(Default)]
pub(super) struct State {
    held: Vec<Item>,
    has_begun: bool,
    encoder: Encoder,
    checker: Option<Checker>,
    /// Lines of the file, for findings.
    line: u64,
    /// Memory for messages that come in parts.
    room: Vec<u8>,
    /// Bytes of messages that are not whole yet, on all connections.
    unfinished: usize,
    /// How WebSockets have ended whose connections are about to.
    closing: HashMap<u64, Closing>,
    heads: HashMap<Stream, String>,
}

impl Recorder {
    /// Whether anything is done with what goes by.
    pub(super) fn is_needed(&self) -> bool {
        self.file.is_some() || self.print.is_some() || self.is_checked || self.calls.is_some()
    }

    /// Runs until nothing comes any more.
    pub(super) fn run(mut self) {
        crate::platform::give_way(NICER);
        let queue = self.queue.clone();
        let mut order = Order::default();
        loop {
            // One that is missing is on its way: whoever read it is about to push it.
            let mut taken = queue.take().or_else(|| if order.is_waiting() { None } else { queue.wait() });
            let ended = taken.as_mut().map(|taken| std::mem::take(&mut taken.ended)).unwrap_or_default();
            let ready = match taken {
                Some(taken) => order.sort(taken, queue.now()),
                None if order.is_waiting() => order.overdue(queue.now(), queue.is_closed()),
                None => break,
            };
            for item in ready {
                if let Some(item) = self.begin(item) {
                    self.item(&item);
                    queue.done(item);
                }
            }
            for (stream, lost) in ended {
                self.ended(queue.now(), stream, lost);
            }
            self.flush();
        }
        self.begin_now(None);
        if let Some(calls) = &mut self.calls {
            calls.finish(queue.now());
        }
        let ends: Vec<_> = self.state.checker.iter_mut().flat_map(Checker::finish).collect();
        self.findings(ends);
        self.flush();
        let Recorder { rows, file, .. } = self;
        drop(file);
        rows.finish(LAST_ROWS);
    }

    /// Holds what comes before the first message. Gives back what is to be recorded now.
    fn begin(&mut self, item: Item) -> Option<Item> {
        if self.state.has_begun {
            return Some(item);
        }
        let first = match &item.what {
            What::Bytes(stream, bytes, count) if stream.channel != Channel::Stderr => {
                Some((stream.channel, &bytes[..*count]))
            }
            _ => None,
        };
        match first {
            None if self.state.held.len() < HELD => {
                self.state.held.push(item);
                return None;
            }
            first => self.begin_now(first),
        }
        Some(item)
    }

    /// Writes the header, by what is known now, and what was held.
    fn begin_now(&mut self, first: Option<(Channel, &[u8])>) {
        if std::mem::replace(&mut self.state.has_begun, true) {
            return;
        }
        let framing = first.and_then(|(channel, first)| match channel {
            Channel::Stream => Framing::detect(first),
            _ => Some(Framing::Whole),
        });
        self.header.frame = framing.map(|framing| match framing {
            Framing::Headers => "headers".to_owned(),
            Framing::Whole => "whole".to_owned(),
            _ => "lines".to_owned(),
        });
        let profile = self.profile.or_else(|| recognised(framing?, first?.1));
        if let (Some(calls), Some(Profile::Mcp(_))) = (&mut self.calls, profile) {
            calls.set_mcp();
        }
        self.header.profile = profile.map(|profile| profile.to_string());
        self.state.checker = self.is_checked.then(|| Checker::new(profile.unwrap_or(Profile::JsonRpc)));
        self.write_header();
        for item in std::mem::take(&mut self.state.held) {
            self.item(&item);
            self.queue.done(item);
        }
    }

    fn write_header(&mut self) {
        self.state.encoder.header(&self.header);
        self.state.line += 1;
        if let Some(file) = &mut self.file {
            file.header(self.state.encoder.line());
        }
    }

    fn item(&mut self, item: &Item) {
        let at = item.ticket.at;
        if let Some(checker) = self.state.checker.as_mut().filter(|_| item.is_behind_void) {
            checker.missed();
        }
        for (stream, lost) in &item.lost {
            if let What::Bytes(own, ..) | What::End(own) = &item.what
                && own == stream
            {
                self.cut(*own);
            }
            if *lost > 0 {
                self.gap(at, *stream, *lost);
            }
        }
        match &item.what {
            What::Bytes(stream, bytes, count) => self.bytes(at, *stream, &bytes[..*count]),
            What::End(stream) => self.ended(at, *stream, 0),
            What::GaveUp(stream) => {
                if let Some(calls) = &mut self.calls {
                    calls.gave_up(at, stream.exchange);
                }
            }
            What::Gap => {}
            What::Event(connection, Event::Close, text) => {
                let text = self.closed(*connection, text);
                self.event(at, *connection, Event::Close, &text);
            }
            What::Event(connection, event, text) => self.event(at, *connection, *event, text),
            What::Head(stream, text, true) => {
                if let Some(calls) = self.calls.as_mut().filter(|_| text.starts_with("202 ")) {
                    calls.accepted(stream.exchange);
                }
                self.state.encoder.exchange(stream.exchange, None);
                self.event(at, stream.connection, Event::Http, text);
            }
            What::Head(stream, text, false) => {
                let text = self.redactor.text(text).into_owned();
                if self.state.heads.len() >= HEADS {
                    self.state.heads.clear();
                }
                self.state.heads.insert(*stream, text);
            }
        }
    }

    /// A stream has ended, with so many bytes missing.
    fn ended(&mut self, at: Duration, stream: Stream, lost: u64) {
        if lost > 0 {
            self.cut(stream);
            self.gap(at, stream, lost);
        }
        let decoder = self.streams.remove(&stream);
        // Of a WebSocket, it matters also that nothing was said.
        let decoder =
            decoder.or_else(|| (stream.channel == Channel::Frames).then(|| Decoder::new(Channel::Frames)));
        if let Some(mut decoder) = decoder {
            self.state.unfinished -= decoder.held();
            decoder.finish(|found| self.found(at, stream, found));
            if let Some(closing) = decoder.closing() {
                if self.state.closing.len() >= CLOSING {
                    self.state.closing.clear();
                }
                let known = self.state.closing.entry(stream.connection).or_insert(Closing::Silent);
                *known = closing.max(known.clone());
            }
        }
        // A body is a message once it has ended.
        self.state.heads.remove(&stream);
        if stream.direction == Direction::ToClient
            && matches!(stream.channel, Channel::Body | Channel::Events)
            && let Some(calls) = &mut self.calls
        {
            calls.answered(at, stream);
        }
    }

    /// How a connection has ended. Once one side of a WebSocket has said that it ends, and how, it does not matter which of
    /// them hangs up, and how it does that.
    fn closed(&mut self, connection: u64, error: &str) -> String {
        match self.state.closing.remove(&connection) {
            Some(Closing::Said(how)) => how,
            Some(Closing::Silent) if error.is_empty() => "without a close frame".to_owned(),
            Some(Closing::Silent) => format!("without a close frame: {error}"),
            Some(Closing::Unknown) | None => error.to_owned(),
        }
    }

    /// What comes next of a stream does not go on where the last has ended.
    fn cut(&mut self, stream: Stream) {
        let decoder = self.streams.entry(stream).or_insert_with(|| Decoder::new(stream.channel));
        self.state.unfinished -= decoder.held();
        decoder.gap();
    }

    /// Bytes are missing.
    fn gap(&mut self, at: Duration, stream: Stream, bytes: u64) {
        let sign = stream.direction.sign();
        let text = format!("{bytes} bytes ({sign}) came too fast to be recorded");
        self.event(at, stream.connection, Event::Gap, &text);
    }

    fn bytes(&mut self, at: Duration, stream: Stream, bytes: &[u8]) {
        // Out of the map, so that what is found can be written.
        let mut decoder = self.streams.remove(&stream).unwrap_or_else(|| Decoder::new(stream.channel));
        let mut room = std::mem::take(&mut self.state.room);
        let before = decoder.held();
        decoder.pass(bytes, &mut room, |found| self.found(at, stream, found));
        self.state.room = room;
        self.state.unfinished = self.state.unfinished + decoder.held() - before;
        if self.state.unfinished > UNFINISHED {
            self.state.unfinished -= decoder.held();
            decoder.gap();
            let sign = stream.direction.sign();
            let text =
                format!("({sign}) a message is not recorded: too much is unfinished on all connections");
            self.event(at, stream.connection, Event::Gap, &text);
        }
        self.streams.insert(stream, decoder);
    }

    /// One message, or a line of standard error, or why there is none.
    fn found(&mut self, at: Duration, stream: Stream, found: Found<'_>) {
        let Stream { connection, direction, .. } = stream;
        let text = match found {
            Found::Message(text) => text,
            Found::Note(text) => {
                return self.event(at, connection, Event::Mark, &format!("({}) {text}", direction.sign()));
            }
            Found::Closing(text) => {
                let text = format!("({}) close {text}", direction.sign());
                return self.event(at, connection, Event::Mark, text.trim_end());
            }
            Found::Missing(text) => {
                return self.event(at, connection, Event::Gap, &format!("({}) {text}", direction.sign()));
            }
        };
        let redacted = self.redactor.message(text);
        if let Some(calls) = self.calls.as_mut().filter(|_| stream.channel != Channel::Stderr) {
            calls.message(at, stream, &redacted);
        }
        let exchange = matches!(stream.channel, Channel::Body | Channel::Events).then(|| Exchange {
            number: stream.exchange,
            head: self.state.heads.remove(&stream).map(Cow::Owned),
        });
        let encoder = &mut self.state.encoder;
        if let Some(Exchange { number, head }) = &exchange {
            encoder.exchange(*number, head.as_deref());
        }
        let (entry, apart) = if stream.channel == Channel::Stderr {
            (encoder.stray(at, direction, connection, true, &redacted), None)
        } else {
            if matches!(redacted, Cow::Owned(_)) {
                encoder.redacted();
            }
            encoder.message_apart(at, direction, connection, &redacted)
        };
        self.write(apart);
        let what = match entry.kind {
            Kind::Stderr => capture::What::Stderr(redacted),
            Kind::Noise => capture::What::Noise(redacted),
            _ => capture::What::Message(redacted),
        };
        self.show(&entry, what, Some(direction), exchange);
    }

    fn event(&mut self, at: Duration, connection: u64, event: Event, text: &str) {
        let text = self.redactor.text(text);
        if let Some(calls) = &mut self.calls {
            calls.event(at, connection, event);
        }
        let entry = self.state.encoder.event(at, connection, event, &text);
        self.write(None);
        let told = (event == Event::Gap && self.is_checked).then(|| match self.print {
            Some(_) => format!("{:>19}! note: {FORGOTTEN}", ""),
            None => format!("record {}: {text}: {FORGOTTEN}", entry.number),
        });
        self.show(&entry, capture::What::Event(event, text), None, None);
        if let Some(told) = told {
            self.rows.line(told);
        }
    }

    /// Prints a record and what is wrong with it.
    fn show(
        &mut self,
        entry: &Entry,
        what: capture::What<'_>,
        direction: Option<Direction>,
        exchange: Option<Exchange<'_>>,
    ) {
        if let Some((format, filter)) = &self.print
            // It is on standard error already.
            && entry.kind != Kind::Stderr
        {
            let content = match &what {
                capture::What::Message(text) | capture::What::Noise(text) => &**text,
                capture::What::Event(_, text) => text.as_bytes(),
                _ => b"",
            };
            let names = self.state.encoder.tracker().names();
            if filter.matches(entry, names, content) {
                self.rows.line(format.row(entry, names, content));
            }
        }
        let Some(checker) = &mut self.state.checker else { return };
        let record = Record {
            number: entry.number,
            line: self.state.line,
            column: 1,
            offset: 0,
            length: entry.bytes,
            verbatim: true,
            time: entry.time,
            direction,
            connection: entry.connection,
            exchange,
            what,
        };
        let found: Vec<_> = checker.check(&record).collect();
        self.findings(found);
    }

    fn findings(&mut self, found: Vec<sabir_model::rules::Finding>) {
        let painter =
            self.print.as_ref().map_or(crate::paint::Painter { colour: false }, |(format, _)| format.painter);
        for finding in found {
            if self.calls.is_some() {
                Calls::finding(&finding);
            }
            let line = row::finding(&finding, painter);
            // Without the rows, it has to say where it is.
            self.rows.line(match self.print {
                Some(_) => line,
                None => format!("record {}: {}", finding.number, line.trim_start()),
            });
        }
    }

    /// Writes the line that was just made, with the message that belongs to its end.
    fn write(&mut self, apart: Option<&[u8]>) {
        self.state.line += 1;
        if let Some(file) = &mut self.file {
            let end = if apart.is_some() { Encoder::END } else { &[] };
            let written = file.line([self.state.encoder.line(), apart.unwrap_or_default(), end]);
            self.written(written);
        }
    }

    fn flush(&mut self) {
        if let Some(file) = &mut self.file {
            let written = file.flush();
            self.written(written);
        }
    }

    fn written(&mut self, written: Written) {
        let Some(file) = &mut self.file else { return };
        match written {
            Written::Fine => {}
            Written::Failed(why) => {
                let path = shown(file.path());
                self.rows.line(format!("sabir tap: cannot record to {path}: {why}; the traffic goes on"));
            }
            Written::Recovered(lost) => {
                let at = self.queue.now();
                self.event(at, 1, Event::Gap, &format!("{lost} records could not be written"));
            }
            Written::Full => match file.rotate() {
                Ok(()) => self.write_header(),
                Err(error) => {
                    let path = shown(file.path());
                    self.rows.line(format!("sabir tap: cannot start another file for {path}: {error}"));
                    file.never_rotate();
                }
            },
        }
    }
}

fn shown(path: &Path) -> String {
    sabir_proto::escape_controls(&path.display().to_string()).into_owned()
}

/// The protocol, where the first bytes show it.
fn recognised(framing: Framing, first: &[u8]) -> Option<Profile> {
    let has = |part: &str| memchr::memmem::find(first, part.as_bytes()).is_some();
    match framing {
        Framing::Headers => Some(Profile::Lsp),
        _ if has("\"initialize\"") && has("\"protocolVersion\"") => Some(Profile::Mcp(None)),
        _ if has("\"io.modelcontextprotocol/") => Some(Profile::Mcp(None)),
        _ => None,
    }
}
