//! By hand: `serde_json` with `RawValue`, one thread, one write per burst of reads.
//!
//! What a careful programmer writes without a library. It knows `add`, `echo`, batches, and the two
//! messages of MCP that the other table needs; it has no state, no limits, no cancellation.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;

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

fn main() -> io::Result<()> {
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut input = BufReader::with_capacity(64 * 1024, input);
    let (mut line, mut out) = (Vec::new(), Vec::new());
    while input.read_until(b'\n', &mut line)? > 0 {
        message(&line, &mut out)?;
        line.clear();
        // Nothing whole is left to answer: the next read may wait, so what is ready goes out.
        if memchr::memchr(b'\n', input.buffer()).is_none() || out.len() >= 64 * 1024 {
            output.write_all(&out)?;
            out.clear();
        }
    }
    output.write_all(&out)
}

fn message(text: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    if text.starts_with(b"[") {
        let calls: Vec<&RawValue> = serde_json::from_slice(text)?;
        out.push(b'[');
        for call in calls {
            if request(call.get().as_bytes(), out)? {
                out.push(b',');
            }
        }
        if out.pop() == Some(b',') {
            out.extend_from_slice(b"]\n");
        }
    } else if request(text, out)? {
        out.push(b'\n');
    }
    Ok(())
}

/// Whether there was anything to answer.
fn request(text: &[u8], out: &mut Vec<u8>) -> io::Result<bool> {
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
