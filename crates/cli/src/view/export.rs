//! Chosen rows as a file of their own, made while it is sent: nothing is held in memory but the row at hand.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::body::{Body as HttpBody, Bytes, Frame};
use sabir_model::calls::{Entry, Kind};
use sabir_model::capture::{Direction, Encoder, Event, Header};
use sabir_model::index::Contents;
use serde_json::json;

use super::capture::{Capture, answer_of};
use crate::json::compact;

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
    capture: Arc<Capture>,
    contents: Contents,
    rows: std::vec::IntoIter<u32>,
    format: Format,
    encoder: Encoder,
    started: bool,
    /// Something was written behind which a comma belongs.
    comma: bool,
    ended: bool,
}

impl Export {
    pub(super) fn new(capture: Arc<Capture>, contents: Contents, rows: Vec<u32>, format: Format) -> Self {
        let rows = rows.into_iter();
        Export { capture, contents, rows, format, encoder: Encoder::default(), started: false, comma: false, ended: false }
    }

    /// The next part of the file; `None` behind the last.
    fn chunk(&mut self) -> Option<Vec<u8>> {
        if self.ended {
            return None;
        }
        let mut out = Vec::new();
        if !std::mem::replace(&mut self.started, true) {
            self.begin(&mut out);
        }
        while out.len() < CHUNK {
            let Some(row) = self.rows.next() else {
                self.ended = true;
                if self.format == Format::Har {
                    out.extend_from_slice(b"]}}\n");
                }
                break;
            };
            self.row(row, &mut out);
        }
        Some(out)
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        match self.format {
            Format::Capture => {
                let state = self.capture.state();
                let header = Header { at: state.at.clone(), cmd: state.command.clone(), ..Header::default() };
                self.encoder.header(&header);
                out.extend_from_slice(self.encoder.line());
            }
            Format::Transcript => {}
            Format::Har => {
                let creator = json!({ "name": "sabir", "version": env!("CARGO_PKG_VERSION") });
                out.extend_from_slice(format!(r#"{{"log":{{"version":"1.2","creator":{creator},"entries":["#).as_bytes());
            }
        }
    }

    fn row(&mut self, row: u32, out: &mut Vec<u8>) {
        let capture = Arc::clone(&self.capture);
        let state = capture.state();
        let Some(entry) = state.index.entry(row) else { return };
        let Ok(content) = self.contents.read(&state.index, row).map(std::borrow::Cow::into_owned) else { return };
        let at = entry.time.unwrap_or_default();
        match self.format {
            Format::Capture => {
                let direction = entry.direction.unwrap_or(Direction::ToServer);
                let text = String::from_utf8_lossy(&content);
                match entry.kind {
                    Kind::Noise | Kind::Stderr => self.encoder.stray(at, direction, entry.connection, entry.kind == Kind::Stderr, &content),
                    Kind::Open => self.encoder.event(at, entry.connection, Event::Open, &text),
                    Kind::Close => self.encoder.event(at, entry.connection, Event::Close, &text),
                    Kind::Exit => self.encoder.event(at, entry.connection, Event::Exit, &text),
                    Kind::Gap => self.encoder.event(at, entry.connection, Event::Gap, &text),
                    Kind::Mark => self.encoder.event(at, entry.connection, Event::Mark, &text),
                    Kind::Start | Kind::Damage => return,
                    _ => self.encoder.message(at, direction, entry.connection, &content),
                };
                out.extend_from_slice(self.encoder.line());
            }
            Format::Transcript => {
                let text = String::from_utf8_lossy(&content);
                match entry.direction.filter(|_| entry.kind.is_message()) {
                    Some(direction) => out.extend_from_slice(format!("{} {}\n", direction.sign(), compact(&text)).as_bytes()),
                    None => text.lines().for_each(|line| out.extend_from_slice(format!("# {}: {line}\n", entry.kind).as_bytes())),
                }
            }
            Format::Har => {
                if !entry.kind.is_message() || (matches!(entry.kind, Kind::Result | Kind::Error) && entry.other.is_some()) {
                    return;
                }
                let answer = answer_of(&entry).and_then(|answer| self.contents.read(&state.index, answer).ok().map(std::borrow::Cow::into_owned));
                let method = state.index.names().method(entry.name).unwrap_or_default().to_owned();
                let line = har(&entry, &method, &content, answer.as_deref(), state.at.as_deref());
                if std::mem::replace(&mut self.comma, true) {
                    out.push(b',');
                }
                out.extend_from_slice(line.as_bytes());
            }
        }
    }
}

/// A call as HAR has it: a request with a body, and a response. What is no HTTP has its method in the address.
fn har(entry: &Entry, method: &str, request: &[u8], answer: Option<&[u8]>, at: Option<&str>) -> String {
    let ms = entry.took.map_or(-1.0, |took| took.as_secs_f64() * 1e3);
    let mut url = String::from("jsonrpc:///");
    for byte in method.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => url.push(byte as char),
            _ => {
                let _ = write!(url, "%{byte:02X}");
            }
        }
    }
    let body = String::from_utf8_lossy(request);
    let answer = answer.map(String::from_utf8_lossy).unwrap_or_default();
    json!({
        "startedDateTime": at.unwrap_or("1970-01-01T00:00:00Z"),
        "time": ms.max(0.0),
        "request": {
            "method": "POST", "url": url, "httpVersion": "", "cookies": [], "headers": [], "queryString": [], "headersSize": -1,
            "bodySize": request.len(), "postData": { "mimeType": "application/json", "text": body },
        },
        "response": {
            "status": if answer.is_empty() { 0 } else { 200 }, "statusText": "", "httpVersion": "", "cookies": [], "headers": [],
            "content": { "size": answer.len(), "mimeType": "application/json", "text": answer }, "redirectURL": "", "headersSize": -1,
            "bodySize": answer.len(),
        },
        "cache": {},
        "timings": { "send": 0, "wait": ms.max(0.0), "receive": 0 },
        "_sabir": { "t": entry.time.unwrap_or_default().as_nanos() as u64, "direction": entry.direction.map(|way| way.sign().to_string()), "connection": entry.connection },
    })
    .to_string()
}

impl HttpBody for Export {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.chunk().map(|chunk| Ok(Frame::data(Bytes::from(chunk)))))
    }
}
