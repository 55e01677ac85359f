//! Calls as HAR has them: a request with a body, and a response. What was no HTTP has its method in the address.

use std::fmt::Write;
use std::time::SystemTime;

use sabir_model::calls::Kind;
use sabir_model::capture::date_time;
use serde_json::json;

use super::row::Known;
use crate::view::capture::is_answer;

pub(super) const START: &str = concat!(
    r#"{"log":{"version":"1.2","creator":{"name":"sabir","version":""#,
    env!("CARGO_PKG_VERSION"),
    "\"},\"entries\":[\n"
);
pub(super) const END: &str = "\n]}}\n";

/// `None` for what is neither a call nor a notification.
pub(super) fn entry(
    known: &Known,
    request: &[u8],
    answer: Option<&[u8]>,
    start: Option<SystemTime>,
) -> Option<String> {
    let entry = &known.entry;
    if !matches!(entry.kind, Kind::Request | Kind::Notification | Kind::Batch) || is_answer(entry) {
        return None;
    }
    let time = entry.time.unwrap_or_default();
    let at = start.unwrap_or(SystemTime::UNIX_EPOCH).checked_add(time).unwrap_or(SystemTime::UNIX_EPOCH);
    let ms = entry.took.map_or(0.0, |took| took.as_nanos() as f64 / 1e6);
    let mut url = String::from("jsonrpc:///");
    for byte in known.method().unwrap_or("batch").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => url.push(byte.into()),
            _ => {
                let _ = write!(url, "%{byte:02X}");
            }
        }
    }
    let body = String::from_utf8_lossy(request);
    let text = answer.map(String::from_utf8_lossy).unwrap_or_default();
    let (status, said) = if answer.is_some() { (200, "answered") } else { (0, "no answer") };
    let empty: [u8; 0] = [];
    let made = json!({
        "startedDateTime": date_time(at),
        "time": ms,
        "request": {
            "method": "POST", "url": url, "httpVersion": "", "cookies": empty, "headers": empty,
            "queryString": empty, "headersSize": -1, "bodySize": request.len(),
            "postData": { "mimeType": "application/json", "text": body },
        },
        "response": {
            "status": status, "statusText": said, "httpVersion": "", "cookies": empty, "headers": empty,
            "content": { "size": text.len(), "mimeType": "application/json", "text": text },
            "redirectURL": "", "headersSize": -1, "bodySize": text.len(),
        },
        "cache": {},
        "timings": { "send": 0, "wait": ms, "receive": 0 },
        "_direction": entry.direction.map(|way| way.sign().to_string()),
        "_connection": entry.connection,
    });
    Some(made.to_string())
}
