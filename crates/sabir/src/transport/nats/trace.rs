//! W3C trace context: from the params of a message to its headers, and from headers to handlers.

use std::sync::LazyLock;

use async_nats::{HeaderMap, HeaderValue, Message};
use memchr::memmem::Finder;
use sabir_proto::{RawJson, TraceContext};

use super::wire::{LONGEST_TRACE, header};
use crate::client::http::Trace;

static TRACED: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"traceparent\""));

const NAMES: [&str; 3] = ["traceparent", "tracestate", "baggage"];

/// Adds the trace context of a message's params to its headers, for those who look there. Nearly all messages have none,
/// which a plain search shows fastest.
pub(crate) fn to_headers(message: &[u8], headers: &mut Option<HeaderMap>) {
    if TRACED.find(message).is_none() {
        return;
    }
    let Ok(message) = RawJson::from_bytes(message) else { return };
    let meta = message.get("params").and_then(|params| Some(params.get("_meta")?.into_owned()));
    let Some(trace) = meta.as_ref().and_then(TraceContext::from_meta) else { return };
    let values = [Some(&trace.traceparent), trace.tracestate.as_ref(), trace.baggage.as_ref()];
    for (name, value) in NAMES.into_iter().zip(values) {
        let value = value.filter(|value| !value.is_empty() && value.len() <= LONGEST_TRACE);
        // A line break would begin another header.
        if let Some(value) = value.and_then(|value| value.parse::<HeaderValue>().ok()) {
            headers.get_or_insert_with(HeaderMap::new).insert(name, value);
        }
    }
}

/// Adds the headers of a trace.
pub(crate) fn add(trace: Trace, headers: &mut Option<HeaderMap>) {
    for (name, value) in trace {
        let value = value.to_str().ok().filter(|value| value.len() <= LONGEST_TRACE);
        if let Some(value) = value.and_then(|value| value.parse::<HeaderValue>().ok()) {
            headers.get_or_insert_with(HeaderMap::new).insert(name.as_str(), value);
        }
    }
}

/// The trace context in the headers of a message.
pub(crate) fn from_headers(message: &Message) -> Option<TraceContext<'static>> {
    let value = |name| {
        let value = header(message, name).filter(|value| value.len() <= LONGEST_TRACE)?;
        Some(value.to_owned().into())
    };
    Some(TraceContext {
        traceparent: value(NAMES[0])?,
        tracestate: value(NAMES[1]),
        baggage: value(NAMES[2]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_goes_into_the_headers() {
        let check = |text: &str, want: Option<[Option<&str>; 3]>| {
            let mut headers = None;
            to_headers(text.as_bytes(), &mut headers);
            let got = headers.map(|headers: HeaderMap| {
                NAMES.map(|name| headers.get(name).map(|value| value.as_str().to_owned()))
            });
            let want = want.map(|want| want.map(|value| value.map(str::to_owned)));
            assert_eq!(got, want, "{text}");
        };
        check(r#"{"params":{"a":1}}"#, None);
        check(r#"{"params":["\"traceparent\""]}"#, None);
        check(r#"{"params":{"traceparent":"x"}}"#, None);
        check(r#"{"params":{"_meta":{"traceparent":"00-1"}}}"#, Some([Some("00-1"), None, None]));
        check(
            r#"{"params":{"_meta":{"traceparent":"00-1","tracestate":"a=b","baggage":"c=d"}}}"#,
            Some([Some("00-1"), Some("a=b"), Some("c=d")]),
        );
        check(r#"{"params":{"_meta":{"traceparent":"a\r\nJr-Status: gone"}}}"#, None);
    }
}
