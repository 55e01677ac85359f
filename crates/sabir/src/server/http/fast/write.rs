//! Answers as they are sent.

use std::cell::RefCell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::StatusCode;
use tokio::time::Instant;

use crate::server::http::response::Answer;

/// Appends the answer to a request.
pub(crate) fn answer(out: &mut Vec<u8>, answer: &Answer, closes: bool, now: Instant) {
    let message = answer.message.as_deref().unwrap_or_default();
    out.reserve(192 + message.len());
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(answer.status.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(answer.status.canonical_reason().unwrap_or_default().as_bytes());
    out.extend_from_slice(b"\r\n");
    if answer.message.is_some() {
        out.extend_from_slice(b"content-type: application/json\r\n");
    }
    if closes {
        out.extend_from_slice(b"connection: close\r\n");
    }
    if answer.status != StatusCode::NO_CONTENT {
        out.extend_from_slice(b"content-length: ");
        out.extend_from_slice(itoa::Buffer::new().format(message.len()).as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"date: ");
    date(out, now);
    out.extend_from_slice(b"\r\n\r\n");
    out.extend_from_slice(message);
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
            let left = Duration::from_secs(1) - Duration::from_nanos(into_second.into());
            *date = Some((now + left, httpdate::fmt_http_date(today)));
        }
        if let Some((_, text)) = date {
            out.extend_from_slice(text.as_bytes());
        }
    });
}
