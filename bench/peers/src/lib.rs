//! The calls of the servers written by hand: `serde_json` with `RawValue`, whatever they come in by.
//!
//! What a careful programmer writes without a library. It knows `add`, `echo`, and the two messages of
//! MCP that one table needs; it has no state, no limits, no cancellation.

pub mod adder;
pub mod words;

use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Response<'a, R> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    #[serde(flatten)]
    answer: Answer<R>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Answer<R> {
    Result(R),
    Error { code: i32, message: String },
}

#[derive(Deserialize)]
struct ToolCall<'a> {
    #[serde(borrow)]
    name: std::borrow::Cow<'a, str>,
    arguments: Sum,
}

#[derive(Deserialize)]
struct Sum {
    a: i64,
    b: i64,
}

/// Appends the answer to a request. Returns whether there was anything to answer.
pub fn request(text: &[u8], out: &mut Vec<u8>) -> io::Result<bool> {
    let Request { id, method, params } = serde_json::from_slice(text)?;
    let Some(id) = id else { return Ok(false) };
    let params = params.map_or("null", RawValue::get);
    match &*method {
        "add" => match serde_json::from_str::<[i64; 2]>(params) {
            Ok([a, b]) => respond(id, Answer::Result(a + b), out),
            Err(e) => respond(id, Answer::<()>::Error { code: -32602, message: e.to_string() }, out),
        },
        "echo" => raw(id, params, out),
        "initialize" => raw(id, INITIALIZED, out),
        "tools/call" => match serde_json::from_str::<ToolCall<'_>>(params) {
            Ok(ToolCall { name, arguments: Sum { a, b } }) if name == "add" => {
                let sum = a + b;
                let result = format!(r#"{{"content":[{{"type":"text","text":"{sum}"}}],"isError":false}}"#);
                raw(id, &result, out)
            }
            _ => respond(id, Answer::<()>::Error { code: -32602, message: "Invalid params".into() }, out),
        },
        _ => respond(id, Answer::<()>::Error { code: -32601, message: "Method not found".into() }, out),
    }?;
    Ok(true)
}

const INITIALIZED: &str = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"by hand","version":"0"}}"#;

fn respond<R: Serialize>(id: &RawValue, answer: Answer<R>, out: &mut Vec<u8>) -> io::Result<()> {
    Ok(serde_json::to_writer(out, &Response { jsonrpc: "2.0", id, answer })?)
}

fn raw(id: &RawValue, result: &str, out: &mut Vec<u8>) -> io::Result<()> {
    write!(out, r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.get())
}

/// Writes an answer with the id that is in the request, found without reading anything else of it.
pub fn answer_with_id(request: &[u8], out: &mut Vec<u8>) {
    let id = memchr::memmem::find(request, br#""id":"#).map_or(&[][..], |at| {
        let rest = &request[at + 5..];
        &rest[..rest.iter().position(|byte| matches!(byte, b',' | b'}')).unwrap_or(rest.len())]
    });
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(if id.is_empty() { b"null" } else { id });
    out.extend_from_slice(br#","result":123456}"#);
}
