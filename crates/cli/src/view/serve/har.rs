//! Calls as HAR has them: a request with a body, and a response. What was no HTTP has its method in the address.

use std::fmt::Write;
use std::time::SystemTime;

use sabir_model::calls::Kind;
use sabir_model::capture::{Direction, Header, date_time};
use serde_json::{Value, json};

use super::exchange::{fields, status, url};
use super::row::Known;
use crate::view::capture::is_answer;

pub(super) const START: &str = concat!(
    r#"{"log":{"version":"1.2","creator":{"name":"sabir","version":""#,
    env!("CARGO_PKG_VERSION"),
    "\"},\"entries\":[\n"
);
pub(super) const END: &str = "\n]}}\n";

/// What a request or its response says.
#[derive(Default)]
pub(super) struct Said {
    /// Of HTTP, where that was recorded.
    pub(super) head: Option<String>,
    pub(super) body: Option<Vec<u8>>,
}

impl Said {
    fn headers(&self) -> Vec<Value> {
        let pairs = fields(self.head.as_deref().unwrap_or_default());
        pairs.map(|(name, value)| json!({ "name": name, "value": value })).collect()
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(self.body.as_deref().unwrap_or_default()).into_owned()
    }

    /// What the body is, as the headers say.
    fn media_type(&self) -> String {
        let mut pairs = fields(self.head.as_deref().unwrap_or_default());
        let told = pairs.find(|(name, _)| *name == "content-type").map(|(_, value)| value);
        told.unwrap_or("application/json").to_owned()
    }
}

/// `None` for what is neither a call nor a notification.
pub(super) fn entry(
    known: &Known,
    header: &Header,
    (request, response): (&Said, &Said),
    start: Option<SystemTime>,
) -> Option<String> {
    let entry = &known.entry;
    if !matches!(entry.kind, Kind::Request | Kind::Notification | Kind::Batch) || is_answer(entry) {
        return None;
    }
    let time = entry.time.unwrap_or_default();
    let at = start.unwrap_or(SystemTime::UNIX_EPOCH).checked_add(time).unwrap_or(SystemTime::UNIX_EPOCH);
    let ms = entry.took.map_or(0.0, |took| took.as_nanos() as f64 / 1e6);
    // What the server sends has no address.
    let address =
        url(header, request.head.as_deref()).filter(|_| entry.direction != Some(Direction::ToClient));
    let is_http = address.is_some();
    let url = address.unwrap_or_else(|| named(known.method()));
    let answered = if response.body.is_some() { (200, "answered") } else { (0, "no answer") };
    let (status, said) = response.head.as_deref().and_then(status).unwrap_or(answered);
    let method = request.head.as_deref().and_then(|head| head.split(' ').next()).unwrap_or("POST");
    let version = if is_http { "HTTP/1.1" } else { "" };
    let (body, text) = (request.text(), response.text());
    let empty: [u8; 0] = [];
    let made = json!({
        "startedDateTime": date_time(at),
        "time": ms,
        "request": {
            "method": method, "url": url, "httpVersion": version, "cookies": empty, "headers": request.headers(),
            "queryString": empty, "headersSize": -1, "bodySize": body.len(),
            "postData": { "mimeType": request.media_type(), "text": body },
        },
        "response": {
            "status": status, "statusText": said, "httpVersion": version, "cookies": empty,
            "headers": response.headers(),
            "content": { "size": text.len(), "mimeType": response.media_type(), "text": text },
            "redirectURL": "", "headersSize": -1, "bodySize": text.len(),
        },
        "cache": {},
        "timings": { "send": 0, "wait": ms, "receive": 0 },
        "_direction": entry.direction.map(|way| way.sign().to_string()),
        "_connection": entry.connection,
    });
    Some(made.to_string())
}

/// An address for what has none.
fn named(method: Option<&str>) -> String {
    let mut url = String::from("jsonrpc:///");
    for byte in method.unwrap_or("batch").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => url.push(byte.into()),
            _ => {
                let _ = write!(url, "%{byte:02X}");
            }
        }
    }
    url
}
