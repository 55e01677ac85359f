//! Streams of events: the reader says the same however the stream is cut into pieces, says what a slow reader of the
//! specification says, holds no more than its limit, and reads what our own server writes.

use std::time::Duration;

use sabir::fuzzing::{Streamed, event, events};

const LIMIT: usize = 48;

pub(crate) fn run(data: &[u8]) {
    let (size, stream) = match data.split_first() {
        Some((size, stream)) => (usize::from(*size).max(1), stream),
        None => return,
    };
    let whole = events([stream], LIMIT);
    for size in [size, 1] {
        let cut = events(stream.chunks(size), LIMIT);
        let said = |streamed: &Streamed| (streamed.events.clone(), streamed.id.clone(), streamed.retry);
        assert_eq!(said(&cut), said(&whole), "{} in pieces of {size}", stream.escape_ascii());
        assert!(cut.held <= 2 * LIMIT + 64 + size, "it holds {} of {}", cut.held, stream.escape_ascii());
    }
    let large = events([stream], usize::MAX >> 1);
    let (wanted, id, retry) = oracle(stream);
    assert_eq!(large.events, wanted, "{}", stream.escape_ascii());
    assert_eq!((large.id, large.retry), (id, retry), "{}", stream.escape_ascii());

    // An event of ours holds the message, with its line breaks as they are told apart in a stream.
    let written = event(Some((true, 7, 8)), stream);
    let read = events(written.chunks(size), usize::MAX >> 1);
    let message: Vec<u8> = stream.iter().map(|byte| if *byte == b'\r' { b'\n' } else { *byte }).collect();
    let wanted = if message.is_empty() { vec![] } else { vec![Some(message)] };
    assert_eq!(read.events, wanted, "{}", stream.escape_ascii());
    assert_eq!(read.id.as_deref(), Some("p7-8"));
}

type Said = (Vec<Option<Vec<u8>>>, Option<String>, Option<Duration>);

/// By the specification, line by line.
fn oracle(stream: &[u8]) -> Said {
    let stream = stream.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(stream);
    let mut lines = Vec::new();
    let (mut line, mut bytes) = (Vec::new(), stream.iter().peekable());
    while let Some(byte) = bytes.next() {
        match byte {
            b'\r' | b'\n' => {
                if *byte == b'\r' {
                    bytes.next_if(|next| **next == b'\n');
                }
                lines.push(std::mem::take(&mut line));
            }
            other => line.push(*other),
        }
    }
    let (mut said, mut id, mut retry): Said = (Vec::new(), None, None);
    let (mut data, mut name, mut new_id): (Option<Vec<u8>>, Vec<u8>, Option<String>) =
        (None, Vec::new(), None);
    for line in lines {
        if line.is_empty() {
            id = new_id.take().or(id);
            let is_message = std::mem::take(&mut name);
            let data = data.take().filter(|data| !data.is_empty());
            if let (Some(data), b"" | b"message") = (data, is_message.as_slice()) {
                said.push(Some(data));
            }
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"data" => match &mut data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => data = Some(value.to_vec()),
            },
            b"event" => name = value.to_vec(),
            b"id" if value.len() <= 1024 && !value.contains(&0) => {
                if let Ok(text) = std::str::from_utf8(value) {
                    new_id = Some(text.to_owned());
                }
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let text = std::str::from_utf8(value).unwrap_or_default();
                if let Ok(ms) = text.parse() {
                    // A server decides neither to be asked all the time nor to be forgotten.
                    let (least, most) = (Duration::from_millis(100), Duration::from_secs(3600));
                    retry = Some(Duration::from_millis(ms).clamp(least, most));
                }
            }
            _ => {}
        }
    }
    (said, id, retry)
}
