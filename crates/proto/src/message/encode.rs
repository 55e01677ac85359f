//! Messages to text, straight into the output buffer.

use serde::Serialize;

use crate::json::find::has_line_break;
use crate::json::raw::RawJson;
use crate::message::error::ErrorObject;

pub(crate) fn request(out: &mut Vec<u8>, id: &str, method: &str, params: Option<&RawJson<'_>>) {
    head(out, Some(id));
    method_member(out, method);
    params_and_end(out, params);
}

pub(crate) fn notification(out: &mut Vec<u8>, method: &str, params: Option<&RawJson<'_>>) {
    head(out, None);
    method_member(out, method);
    params_and_end(out, params);
}

/// A call up to its params, with the object left open.
pub(crate) fn call_head(out: &mut Vec<u8>, id: Option<u64>, method: &str) {
    match id {
        Some(id) => head(out, Some(itoa::Buffer::new().format(id))),
        None => head(out, None),
    }
    method_member(out, method);
}

pub(crate) fn result(out: &mut Vec<u8>, id: &str, result: &RawJson<'_>) {
    head(out, Some(id));
    out.extend_from_slice(b",\"result\":");
    out.extend_from_slice(result.as_str().as_bytes());
    out.push(b'}');
}

pub(crate) fn error(out: &mut Vec<u8>, id: &str, error: &ErrorObject<'_>) {
    head(out, Some(id));
    if let Some(text) = error.text() {
        out.extend_from_slice(b",\"error\":");
        out.extend_from_slice(text.as_bytes());
        return out.push(b'}');
    }
    out.extend_from_slice(b",\"error\":{\"code\":");
    out.extend_from_slice(itoa::Buffer::new().format(error.code.0).as_bytes());
    out.extend_from_slice(b",\"message\":");
    string(out, &error.message);
    if let Some(data) = &error.data {
        out.extend_from_slice(b",\"data\":");
        out.extend_from_slice(data.as_str().as_bytes());
    }
    out.extend_from_slice(b"}}");
}

/// A result that serde writes. On failure `out` is as it was.
pub(crate) fn result_value<T: Serialize + ?Sized>(
    out: &mut Vec<u8>,
    id: &str,
    result: &T,
) -> Result<(), serde_json::Error> {
    let start = out.len();
    head(out, Some(id));
    out.extend_from_slice(b",\"result\":");
    if let Err(error) = serde_json::to_writer(&mut *out, result) {
        out.truncate(start);
        return Err(error);
    }
    out.push(b'}');
    Ok(())
}

/// `{"jsonrpc":"2.0","id":…` with the object left open.
fn head(out: &mut Vec<u8>, id: Option<&str>) {
    match id {
        Some(id) => {
            out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
            out.extend_from_slice(id.as_bytes());
        }
        None => out.extend_from_slice(b"{\"jsonrpc\":\"2.0\""),
    }
}

fn method_member(out: &mut Vec<u8>, method: &str) {
    out.extend_from_slice(b",\"method\":");
    string(out, method);
}

fn params_and_end(out: &mut Vec<u8>, params: Option<&RawJson<'_>>) {
    if let Some(params) = params {
        out.extend_from_slice(b",\"params\":");
        out.extend_from_slice(params.as_str().as_bytes());
    }
    out.push(b'}');
}

/// A JSON string literal.
pub(crate) fn string(out: &mut Vec<u8>, text: &str) {
    if text.bytes().all(|c| c >= 0x20 && c != b'"' && c != b'\\') {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        // Writing a string into memory cannot fail.
        let _ = serde_json::to_writer(out, text);
    }
}

/// Removes line breaks from the JSON text at `out[from..]`. They can only be white space between tokens,
/// since JSON strings hold none, and no two tokens need white space between them.
#[inline]
pub(crate) fn remove_line_breaks(out: &mut Vec<u8>, from: usize) {
    if has_line_break(&out[from..]) {
        really_remove_line_breaks(out, from);
    }
}

#[cold]
fn really_remove_line_breaks(out: &mut Vec<u8>, from: usize) {
    let mut kept = from;
    for i in from..out.len() {
        if !matches!(out[i], b'\n' | b'\r') {
            out[kept] = out[i];
            kept += 1;
        }
    }
    out.truncate(kept);
}
