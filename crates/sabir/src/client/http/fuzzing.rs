//! The client's reader of event streams, for fuzzers.

use std::time::Duration;

use crate::client::http::sse::{Event, Parser};

/// What a stream said.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Streamed {
    /// The data of each event; `None` for one that was over the limit.
    pub events: Vec<Option<Vec<u8>>>,
    pub id: Option<String>,
    pub retry: Option<Duration>,
    /// The most bytes that the reader held.
    pub held: usize,
}

/// Reads a stream that comes in pieces.
pub fn events<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, limit: usize) -> Streamed {
    let mut parser = Parser::new(limit);
    let mut streamed = Streamed::default();
    for piece in pieces {
        parser.feed(piece);
        while let Some(event) = parser.next() {
            streamed.events.push(match event {
                Event::Data(data) => Some(data),
                Event::TooLarge => None,
            });
        }
        streamed.held = streamed.held.max(parser.held());
    }
    Streamed { id: parser.id.take(), retry: parser.retry, ..streamed }
}
