//! Chosen rows as a file of their own, made while it is sent: nothing is held in memory but the row at hand.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body as HttpBody, Bytes, Frame};
use sabir_model::calls::Kind;
use sabir_model::capture::{Direction, Encoder, Event, Exchange, Header, Redactor};
use sabir_proto::RawJson;

use super::exchange;
use super::har::{self, Said};
use super::row::Known;
use crate::json::compact;
use crate::view::capture::{AllContents, Captures, answer_of};

/// Bytes that are sent at once, about.
const CHUNK: usize = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Capture,
    Transcript,
    Har,
}

impl Format {
    pub(super) fn named(name: &str) -> Option<Format> {
        Some(match name {
            "jrl" => Format::Capture,
            "transcript" => Format::Transcript,
            "har" => Format::Har,
            _ => return None,
        })
    }

    pub(super) fn media_type(self) -> &'static str {
        match self {
            Format::Capture => "application/x-ndjson",
            Format::Transcript => "text/plain; charset=utf-8",
            Format::Har => "application/json",
        }
    }
}

pub(super) struct Export {
    captures: Arc<Captures>,
    contents: AllContents,
    rows: VecDeque<u32>,
    format: Format,
    redactor: Redactor,
    encoder: Encoder,
    /// When the last row of a transcript was.
    time: Option<Duration>,
    has_begun: bool,
    /// Something was written behind which a comma belongs.
    comma: bool,
    lost: Lost,
    /// The other connections of the page have had their turn since the last part.
    is_rested: bool,
}

/// Rows that could not be read and that nothing was said of yet, and when the first of them was.
#[derive(Default)]
struct Lost {
    rows: u64,
    since: Duration,
}

impl Export {
    /// `rows` are records, in order.
    pub(super) fn new(captures: Arc<Captures>, rows: Vec<u32>, format: Format, redactor: Redactor) -> Self {
        let (contents, rows) = (captures.more_contents(), rows.into());
        let (encoder, has_begun, comma, lost) = (Encoder::default(), false, false, Lost::default());
        let (time, is_rested) = (None, true);
        Export {
            captures,
            contents,
            rows,
            format,
            redactor,
            encoder,
            time,
            has_begun,
            comma,
            lost,
            is_rested,
        }
    }

    /// The next part of the file; `None` behind the last.
    pub(super) fn chunk(&mut self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        if !std::mem::replace(&mut self.has_begun, true) {
            self.begin(&mut out);
        } else if self.rows.is_empty() {
            return None;
        }
        while out.len() < CHUNK {
            let Some(row) = self.rows.pop_front() else { break };
            self.row(row, &mut out);
        }
        if self.rows.is_empty() {
            self.lost.tell(self.format, &mut self.encoder, &mut out);
        }
        if self.rows.is_empty() && self.format == Format::Har {
            out.extend_from_slice(har::END.as_bytes());
        }
        Some(out)
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        match self.format {
            Format::Capture => {
                let state = self.captures.state();
                let first = state.sources.first().map(|source| source.header.clone()).unwrap_or_default();
                // With several captures, time begins with the first of them, and no command is that of all.
                let header = match (&state.sources[..], state.start) {
                    ([_], _) => first,
                    (_, Some(start)) => Header { frame: first.frame, ..Header::starting(start) },
                    _ => Header::default(),
                };
                let target = header.target.as_deref().map(|target| self.redactor.text(target).into_owned());
                let cmd = self.redactor.words(&header.cmd);
                self.encoder.header(&Header { target, cmd, ..header });
                out.extend_from_slice(self.encoder.line());
            }
            Format::Transcript => {}
            Format::Har => out.extend_from_slice(har::START.as_bytes()),
        }
    }

    fn row(&mut self, row: u32, out: &mut Vec<u8>) {
        let state = self.captures.state();
        let Some(known) = Known::record(&state, row) else { return };
        let answer = answer_of(&known.entry).and_then(|answer| Known::record(&state, answer));
        let start = state.start;
        let source = state.sources.get(usize::from(known.place.0)).filter(|_| self.format == Format::Har);
        let header = source.map(|source| source.header.clone());
        drop(state);
        let entry = known.entry;
        // No format has a row for it.
        if entry.kind == Kind::Start {
            return;
        }
        let at = entry.time.unwrap_or_default();
        let exchange = match self.format {
            Format::Transcript => None,
            _ => self.contents.exchange(known.place.0, known.place.1),
        };
        let head = exchange.as_ref().and_then(|exchange| self.head(exchange));
        let Ok(content) = self.contents.at(known.place.0, known.place.1) else {
            return self.lost.add(at);
        };
        self.lost.tell(self.format, &mut self.encoder, out);
        let without_secrets = match redacted(&self.redactor, entry.kind, &content) {
            Cow::Owned(text) => Some(text),
            Cow::Borrowed(_) => None,
        };
        let is_redacted = without_secrets.is_some();
        let content = without_secrets.map_or(content, Cow::Owned);
        match self.format {
            Format::Capture => {
                let direction = entry.direction.unwrap_or(Direction::ToServer);
                let event = |event| (event, String::from_utf8_lossy(&content).into_owned());
                if let Some(exchange) = &exchange {
                    self.encoder.exchange(exchange.number, head.as_deref());
                }
                let event = match entry.kind {
                    Kind::Damage => return,
                    Kind::Open => Some(event(Event::Open)),
                    Kind::Close => Some(event(Event::Close)),
                    Kind::Exit => Some(event(Event::Exit)),
                    Kind::Gap => Some(event(Event::Gap)),
                    Kind::Mark => Some(event(Event::Mark)),
                    Kind::Http => Some(event(Event::Http)),
                    _ => None,
                };
                match (event, entry.kind) {
                    (Some((event, text)), _) => self.encoder.event(at, entry.connection, event, &text),
                    (None, Kind::Noise) => {
                        self.encoder.stray(at, direction, entry.connection, false, &content)
                    }
                    (None, Kind::Stderr) => {
                        self.encoder.stray(at, direction, entry.connection, true, &content)
                    }
                    (None, _) => {
                        if is_redacted {
                            self.encoder.redacted();
                        }
                        self.encoder.message(at, direction, entry.connection, &content)
                    }
                };
                out.extend_from_slice(self.encoder.line());
            }
            Format::Transcript => {
                if let (Some(time), Some(before)) = (entry.time, self.time)
                    && time.saturating_sub(before) >= Duration::from_millis(1)
                {
                    let ms = time.saturating_sub(before).as_millis();
                    out.extend_from_slice(format!("~ {ms}ms\n").as_bytes());
                }
                self.time = entry.time.or(self.time);
                out.extend_from_slice(transcript_line(entry.kind, entry.direction, &content).as_bytes());
            }
            Format::Har => {
                // What the server sends has the head of a response.
                let head = head.filter(|_| entry.direction != Some(Direction::ToClient));
                let request = Said { head, body: Some(content.into_owned()) };
                let response = self.response(&known, exchange.map(|exchange| exchange.number), answer);
                let header = header.unwrap_or_default();
                let Some(line) = har::entry(&known, &header, (&request, &response), start) else { return };
                if std::mem::replace(&mut self.comma, true) {
                    out.extend_from_slice(b",\n");
                }
                out.extend_from_slice(line.as_bytes());
            }
        }
    }
}

impl Export {
    /// A head without its secrets.
    fn head(&self, exchange: &Exchange<'_>) -> Option<String> {
        Some(self.redactor.text(exchange.head.as_deref()?).into_owned())
    }

    /// What was said to a request: the answer, with the head of the response, wherever that was recorded.
    fn response(&mut self, request: &Known, number: Option<u64>, answer: Option<Known>) -> Said {
        let mut said = Said::default();
        if let Some(answer) = answer {
            let exchange = self.contents.exchange(answer.place.0, answer.place.1);
            said.head = exchange.and_then(|exchange| self.head(&exchange));
            let content = self.contents.at(answer.place.0, answer.place.1).ok();
            said.body = content.map(|text| redacted(&self.redactor, answer.entry.kind, &text).into_owned());
        }
        let found = number
            .filter(|_| said.head.is_none())
            .and_then(|number| exchange::response(&self.captures, request, number, &mut self.contents));
        if let Some((_, head)) = found {
            said.head = Some(self.redactor.text(&head).into_owned());
        }
        said
    }
}

impl Lost {
    fn add(&mut self, at: Duration) {
        if self.rows == 0 {
            self.since = at;
        }
        self.rows += 1;
    }

    /// Says that rows are missing. HAR has no place for it.
    fn tell(&mut self, format: Format, encoder: &mut Encoder, out: &mut Vec<u8>) {
        let Lost { rows, since } = std::mem::take(self);
        if rows == 0 {
            return;
        }
        let text = format!("{rows} rows are no longer in the files of the recording");
        match format {
            Format::Capture => {
                encoder.event(since, 1, Event::Gap, &text);
                out.extend_from_slice(encoder.line());
            }
            Format::Transcript => out.extend_from_slice(format!("# gap: {text}\n").as_bytes()),
            Format::Har => {}
        }
    }
}

/// What a record says, without its secrets.
fn redacted<'c>(redactor: &Redactor, kind: Kind, content: &'c [u8]) -> Cow<'c, [u8]> {
    if kind.is_message() || matches!(kind, Kind::Noise | Kind::Stderr) {
        return redactor.message(content);
    }
    match redactor.text(&String::from_utf8_lossy(content)) {
        Cow::Borrowed(_) => Cow::Borrowed(content),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// A record in the notation for transcripts, with its line break.
pub(super) fn transcript_line(kind: Kind, direction: Option<Direction>, content: &[u8]) -> String {
    let text = String::from_utf8_lossy(content);
    match direction.filter(|_| kind.is_message()) {
        Some(direction) if RawJson::from_bytes(content).is_ok() => {
            format!("{} {}\n", direction.sign(), compact(&text))
        }
        _ if kind == Kind::Start => String::new(),
        _ => text.lines().map(|line| format!("# {kind}: {}\n", sabir_proto::escape_controls(line))).collect(),
    }
}

impl HttpBody for Export {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        // A file is always ready to go on, and one thread serves all connections.
        if !std::mem::replace(&mut self.is_rested, false) {
            self.is_rested = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(self.chunk().map(|chunk| Ok(Frame::data(Bytes::from(chunk)))))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use http_body_util::BodyExt;
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;
    use crate::view::capture::captures_of;

    #[tokio::test]
    async fn an_export_lets_others_have_their_turn() {
        let line = r#"{"jsonrpc":"2.0","method":"seen","params":["abcdefghijklmnopqrstuvwxyz"]}"#;
        let captures = captures_of(&format!("{line}\n").repeat(5000)).await;
        for format in [Format::Capture, Format::Transcript, Format::Har] {
            let rows = (0..captures.state().rows.index.len()).collect();
            let export = Export::new(captures.clone(), rows, format, Redactor::default());
            let (tell, mut told) = unbounded_channel();
            let other = tell.clone();
            tokio::spawn(async move {
                let length = export.collect().await.unwrap().to_bytes().len();
                tell.send(length).unwrap();
            });
            tokio::spawn(async move { other.send(0).unwrap() });
            assert_eq!(told.recv().await, Some(0), "{format:?}: the other is first");
            let length = told.recv().await.unwrap();
            assert!(length > 4 * CHUNK, "{format:?}: {length}");
        }
        captures.end();
    }
}
