//! Parsers of the HTTP server, for fuzzers.

use crate::server::http::fast::head::{ParseOutcome, ParsedHead};
use crate::server::http::sse::{self, EventId};

/// The head of a request that the fast path takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainHead<'a> {
    pub head: &'a [u8],
    pub length: usize,
    pub path: &'a [u8],
    pub host: &'a [u8],
    pub content_type: &'a [u8],
    pub accept: Option<&'a [u8]>,
}

/// What the fast path makes of these bytes: a head, `Ok(None)` if more are needed, `Err` if it leaves them to others.
pub fn plain_head(bytes: &[u8]) -> Result<Option<PlainHead<'_>>, ()> {
    match ParsedHead::find(bytes) {
        ParseOutcome::ParsedHead(ParsedHead { head, length, path, host, content_type, accept }) => {
            Ok(Some(PlainHead { head, length, path, host, content_type, accept }))
        }
        ParseOutcome::Part => Ok(None),
        ParseOutcome::Other => Err(()),
    }
}

/// The id of an event as a client repeats it: whether it answers a POST, its stream and its number.
pub fn event_id(text: &str) -> Option<(bool, u64, u64)> {
    EventId::parse(text).map(|EventId { posted, stream, number }| (posted, stream, number))
}

/// A message as an event.
pub fn event(id: Option<(bool, u64, u64)>, message: &[u8]) -> Vec<u8> {
    let id = id.map(|(posted, stream, number)| EventId { posted, stream, number });
    sse::event(id, message).to_vec()
}
