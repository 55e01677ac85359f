//! What goes over a connection: requests rendered ahead of time, and where answers end.

use std::io;
use std::ops::Range;

use memchr::{memchr, memmem};
use serde_json::{Value, json};

use crate::mcp;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaks {
    /// A POST for each request, on connections that are kept.
    Http,
    /// A text frame for each message.
    WebSocket,
    /// A message a line.
    Lines,
    /// `tools/call` over Streamable HTTP, in a session of 2025-11-25 for each connection.
    McpSession,
    /// The same by 2026-07-28, which has no sessions.
    McpStateless,
}

/// An answer at the start of what came.
pub(crate) struct Answer {
    pub(crate) json: Range<usize>,
    /// Where the next one starts.
    pub(crate) end: usize,
}

/// The nonce of RFC 6455's own example, and what it makes the server answer.
const UPGRADE: &str = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
const ACCEPTED: &[u8] = b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

const FINAL: u8 = 0x80;
const TEXT: u8 = 1;
const MASKED: u8 = 0x80;

impl Speaks {
    pub(crate) fn title(self) -> &'static str {
        match self {
            Speaks::Http => "HTTP",
            Speaks::WebSocket => "WebSocket",
            Speaks::Lines => "TCP, a message a line",
            Speaks::McpSession => "MCP tools/call over HTTP, 2025-11-25, with sessions",
            Speaks::McpStateless => "MCP tools/call over HTTP, 2026-07-28",
        }
    }

    /// Whether requests are POSTs. Hardly any client sends one before it has the answer to the last.
    pub(crate) fn posts(self) -> bool {
        matches!(self, Speaks::Http | Speaks::McpSession | Speaks::McpStateless)
    }

    /// A request for an `add`, in this session if there are any.
    pub(crate) fn add(self, id: usize, session: &str) -> Vec<u8> {
        let text = sabir_bench::add(id);
        match self {
            Speaks::Lines => format!("{text}\n").into_bytes(),
            Speaks::Http => post("", &text),
            Speaks::McpSession => mcp::in_session(session, &mcp::call(id, "")),
            Speaks::McpStateless => mcp::stateless(&mcp::call(id, mcp::META)),
            Speaks::WebSocket => {
                // Any mask does, as long as it is not the one that changes nothing.
                let mask = (id as u32).wrapping_mul(0x9e37_79b9).wrapping_add(0x0102_0304).to_be_bytes();
                let length = u8::try_from(text.len()).ok().filter(|length| *length < 126);
                let mut frame = vec![FINAL | TEXT, MASKED | length.expect("an add is short")];
                frame.extend_from_slice(&mask);
                frame.extend(text.bytes().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
                frame
            }
        }
    }

    /// Whether this is the answer to such a request.
    pub(crate) fn is_sum(self, id: usize, answer: &Value) -> bool {
        let sum = sabir_bench::sum(id);
        let right = match self {
            Speaks::McpSession | Speaks::McpStateless => {
                answer["result"]["content"][0]["text"] == json!(sum.to_string())
            }
            _ => answer["result"] == json!(sum),
        };
        right && answer["jsonrpc"] == "2.0" && answer["id"] == json!(id)
    }

    /// What a connection starts with.
    pub(crate) fn upgrade(self) -> Option<&'static [u8]> {
        (self == Speaks::WebSocket).then_some(UPGRADE.as_bytes())
    }

    /// The answer at the start of `bytes`, if all of it is there.
    pub(crate) fn answer(self, bytes: &[u8]) -> io::Result<Option<Answer>> {
        match self {
            Speaks::Lines => Ok(memchr(b'\n', bytes).map(|at| Answer { json: 0..at, end: at + 1 })),
            Speaks::Http => response(bytes),
            Speaks::McpSession | Speaks::McpStateless => mcp::response(bytes),
            Speaks::WebSocket => frame(bytes),
        }
    }
}

/// The end of the answer to an upgrade, if all of it is there.
pub(crate) fn upgraded(bytes: &[u8]) -> io::Result<Option<usize>> {
    let Some(end) = memmem::find(bytes, b"\r\n\r\n").map(|at| at + 4) else { return started_well(bytes) };
    let head = &bytes[..end];
    if !head.starts_with(b"HTTP/1.1 101 ") || memmem::find(head, ACCEPTED).is_none() {
        return Err(unexpected("the answer to an upgrade", head));
    }
    Ok(Some(end))
}

/// A POST with these headers beside its own, each with its line break.
pub(crate) fn post(headers: &str, text: &str) -> Vec<u8> {
    format!(
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
        Accept: application/json{}\r\n{headers}Content-Length: {}\r\n\r\n{text}",
        if headers.is_empty() { "" } else { ", text/event-stream" },
        text.len()
    )
    .into_bytes()
}

/// The end of the head of a response with status 200, if it is there.
pub(crate) fn head(bytes: &[u8]) -> io::Result<Option<usize>> {
    let Some(end) = memmem::find(bytes, b"\r\n\r\n").map(|at| at + 4) else { return started_well(bytes) };
    if !bytes.starts_with(b"HTTP/1.1 200 ") {
        return Err(unexpected("a response with status 200", bytes));
    }
    Ok(Some(end))
}

pub(crate) fn response(bytes: &[u8]) -> io::Result<Option<Answer>> {
    let Some(start) = head(bytes)? else { return Ok(None) };
    let head = &bytes[..start];
    let Some(length) = content_length(head) else {
        return Err(unexpected("a Content-Length", head));
    };
    let end = start + length;
    Ok((end <= bytes.len()).then_some(Answer { json: start..end, end }))
}

/// Tells at once when what comes is not HTTP at all: its head would never end.
fn started_well<T>(bytes: &[u8]) -> io::Result<Option<T>> {
    let start = b"HTTP/1.1 ";
    let n = start.len().min(bytes.len());
    if bytes[..n] == start[..n] {
        return Ok(None);
    }
    Err(unexpected("an answer in HTTP", bytes))
}

pub(crate) fn content_length(head: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"ontent-length: ";
    // Written in either case, so the search is for what both have in common.
    let starts = memmem::find_iter(head, b"ength: ").map(|at| at + b"ength: ".len());
    let digits = starts
        .filter(|at| *at >= NAME.len() && head[at - NAME.len()..*at].eq_ignore_ascii_case(NAME))
        .map(|at| head[at..].iter().take_while(|byte| byte.is_ascii_digit()))
        .next()?;
    Some(digits.fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0')))
}

fn frame(bytes: &[u8]) -> io::Result<Option<Answer>> {
    let [first, second, ..] = *bytes else { return Ok(None) };
    // Nothing but whole texts: no server here has a reason to ping within a second, or to close.
    if first != FINAL | TEXT || second >= 126 {
        return Err(unexpected("a short text frame", bytes));
    }
    let end = 2 + usize::from(second);
    Ok((end <= bytes.len()).then_some(Answer { json: 2..end, end }))
}

pub(crate) fn unexpected(wanted: &str, came: &[u8]) -> io::Error {
    let came = came[..came.len().min(200)].escape_ascii();
    io::Error::other(format!("expected {wanted}, came {came}"))
}
