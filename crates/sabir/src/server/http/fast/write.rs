//! Answers as they are sent.

use std::cell::RefCell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::{Response, StatusCode};
use tokio::time::Instant;

use crate::server::http::Answer;

/// Appends the answer to a plain request.
pub(crate) fn answer(out: &mut Vec<u8>, answer: &Answer, closes: bool, now: Instant) {
    let message = answer.message.as_deref().unwrap_or_default();
    out.reserve(192 + message.len());
    status(out, answer.status);
    if answer.message.is_some() {
        out.extend_from_slice(b"content-type: application/json\r\n");
    }
    if closes {
        out.extend_from_slice(b"connection: close\r\n");
    }
    body(out, answer.status, message, now);
}

/// Appends any other answer.
pub(crate) fn response(out: &mut Vec<u8>, response: &Response<Bytes>, now: Instant) {
    status(out, response.status());
    for (name, value) in response.headers() {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            out.extend_from_slice(part);
        }
    }
    body(out, response.status(), response.body(), now);
}

fn status(out: &mut Vec<u8>, status: StatusCode) {
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(status.canonical_reason().unwrap_or_default().as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// The rest of the head, and the body.
fn body(out: &mut Vec<u8>, status: StatusCode, body: &[u8], now: Instant) {
    if status != StatusCode::NO_CONTENT {
        out.extend_from_slice(b"content-length: ");
        out.extend_from_slice(itoa::Buffer::new().format(body.len()).as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"date: ");
    date(out, now);
    out.extend_from_slice(b"\r\n\r\n");
    out.extend_from_slice(body);
}

thread_local! {
    /// The date as text, and until when it is true.
    static DATE: RefCell<Option<(Instant, String)>> = const { RefCell::new(None) };
}

fn date(out: &mut Vec<u8>, now: Instant) {
    DATE.with_borrow_mut(|date| {
        if date.as_ref().is_none_or(|(end, _)| *end <= now) {
            let today = SystemTime::now();
            let into_second = today.duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
            let into_hand_over = Duration::from_secs(1) - Duration::from_nanos(into_second.into());
            *date = Some((now + into_hand_over, httpdate::fmt_http_date(today)));
        }
        if let Some((_, text)) = date {
            out.extend_from_slice(text.as_bytes());
        }
    });
}
