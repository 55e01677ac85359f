//! `tools/call` over Streamable HTTP, in both eras: its requests, its sessions, and answers that may be streams of events.

use std::io;

use memchr::memmem;

use crate::protocol::{Answer, content_length, head, post, response as plain_response, unexpected};

/// What each request of 2026-07-28 says of its client.
pub(crate) const META: &str = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"0"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

const ACCEPTED: &[u8] = b"HTTP/1.1 202 ";
const LINE: &[u8] = b"\r\n";

/// A call of the tool `add`, with more params behind its arguments.
pub(crate) fn call(id: usize, more: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"add","arguments":{{"a":{id},"b":30}}{more}}}}}"#
    )
}

pub(crate) fn in_session(session: &str, text: &str) -> Vec<u8> {
    post(&format!("MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: {session}\r\n"), text)
}

pub(crate) fn stateless(text: &str) -> Vec<u8> {
    post("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: add\r\n", text)
}

/// The request that opens a session.
pub(crate) fn initialize() -> Vec<u8> {
    post("MCP-Protocol-Version: 2025-11-25\r\n", INITIALIZE)
}

/// What tells the server that the client knows of its session.
pub(crate) fn initialized(session: &str) -> Vec<u8> {
    in_session(session, INITIALIZED)
}

/// The id of a new session, and the end of the answer that has it, if all of that is there.
pub(crate) fn opened(bytes: &[u8]) -> io::Result<Option<(String, usize)>> {
    let Some(answer) = response(bytes)? else { return Ok(None) };
    let lines = bytes[..answer.end].split(|byte| *byte == b'\n');
    let name = b"mcp-session-id: ";
    let mut ids =
        lines.filter(|line| line.len() > name.len() && line[..name.len()].eq_ignore_ascii_case(name));
    let Some(id) = ids.next() else { return Err(unexpected("the id of a session", bytes)) };
    let id = String::from_utf8_lossy(&id[name.len()..]).trim().to_owned();
    Ok(Some((id, answer.end)))
}

/// The end of the answer to a notification, if it is there. It has no body.
pub(crate) fn accepted(bytes: &[u8]) -> io::Result<Option<usize>> {
    let Some(end) = memmem::find(bytes, b"\r\n\r\n").map(|at| at + 4) else { return Ok(None) };
    if !bytes.starts_with(ACCEPTED) || content_length(&bytes[..end]).is_some_and(|length| length > 0) {
        return Err(unexpected("a response with status 202 and no body", bytes));
    }
    Ok(Some(end))
}

/// The answer is the body, or the last event of a stream that ends with it.
pub(crate) fn response(bytes: &[u8]) -> io::Result<Option<Answer>> {
    let Some(start) = head(bytes)? else { return Ok(None) };
    if content_length(&bytes[..start]).is_some() {
        return plain_response(bytes);
    }
    let Some(end) = end_of_chunks(bytes, start)? else { return Ok(None) };
    let data = memmem::rfind(&bytes[start..end], b"data: {").map(|at| start + at + b"data: ".len());
    let json = data.and_then(|from| Some(from..from + memmem::find(&bytes[from..end], b"\n")?));
    let json = json.ok_or_else(|| unexpected("an event with an answer", bytes))?;
    Ok(Some(Answer { json, end }))
}

/// Where a body in chunks ends that starts at `at`, if all of it is there.
fn end_of_chunks(bytes: &[u8], mut at: usize) -> io::Result<Option<usize>> {
    loop {
        let Some(digits) = memmem::find(&bytes[at..], LINE) else { return Ok(None) };
        let length = std::str::from_utf8(&bytes[at..at + digits]).ok();
        let length = length.and_then(|digits| usize::from_str_radix(digits, 16).ok());
        let length = length.ok_or_else(|| unexpected("a body in chunks", bytes))?;
        at += digits + LINE.len() + length + LINE.len();
        if at > bytes.len() {
            return Ok(None);
        }
        if length == 0 {
            return Ok(Some(at));
        }
    }
}
