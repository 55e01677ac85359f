//! Requests that state their length in two ways, so that a proxy and a server may see different ones.
//!
//! hyper goes by `Transfer-Encoding` then, hides the other header, and closes the connection after its answer.
//! To refuse such a request, what comes over the connection must be watched.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

const LENGTH: &[u8] = b"content-length:";
const CODING: &[u8] = b"transfer-encoding:";

/// As much of a line as is needed to tell.
const ENOUGH: usize = CODING.len();

/// Such a request has come.
const SEEN: u8 = 1;
/// No request will come any more.
const OVER: u8 = 2;

/// Whether such a request came over this connection: an extension of all of its requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConflictingLength(Arc<AtomicU8>);

impl ConflictingLength {
    pub(crate) fn is_seen(&self) -> bool {
        self.0.load(Ordering::Relaxed) == SEEN
    }

    /// The connection is HTTP no more: there is nothing left to watch for.
    pub(crate) fn end(&self) {
        self.0.store(OVER, Ordering::Relaxed);
    }
}

/// Watches the bytes that come over a connection of HTTP/1.
///
/// It knows nothing of bodies and need not: no line of a JSON text begins like a header.
#[derive(Debug, Default)]
pub(crate) struct HeadWatch {
    seen: ConflictingLength,
    /// The start of a line that has not all come.
    line: Vec<u8>,
    has_length: bool,
    has_coding: bool,
}

impl HeadWatch {
    /// Watches, and tells the service by this.
    pub(crate) fn new(seen: ConflictingLength) -> Self {
        HeadWatch { seen, ..HeadWatch::default() }
    }

    /// A request has come: what follows is its body, and then another head.
    pub(crate) fn reset(&mut self) {
        self.line.clear();
        (self.has_length, self.has_coding) = (false, false);
    }

    /// These bytes came.
    pub(crate) fn watch(&mut self, bytes: &[u8]) {
        if self.seen.0.load(Ordering::Relaxed) == OVER {
            return;
        }
        let mut lines = bytes.split(|&byte| byte == b'\n');
        let Some(mut line) = lines.next() else { return };
        for next in lines {
            self.end_line(line);
            line = next;
        }
        let room = ENOUGH - self.line.len();
        self.line.extend_from_slice(&line[..line.len().min(room)]);
    }

    fn end_line(&mut self, end: &[u8]) {
        if self.line.is_empty() {
            self.judge(end);
            return;
        }
        let mut line = std::mem::take(&mut self.line);
        let room = ENOUGH - line.len();
        line.extend_from_slice(&end[..end.len().min(room)]);
        self.judge(&line);
        line.clear();
        self.line = line;
    }

    fn judge(&mut self, line: &[u8]) {
        let starts =
            |name: &[u8]| line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        match line.first() {
            None | Some(b'\r') => (self.has_length, self.has_coding) = (false, false),
            Some(b'c' | b'C') if starts(LENGTH) => self.has_length = true,
            Some(b't' | b'T') if starts(CODING) => self.has_coding = true,
            _ => return,
        }
        if self.has_length && self.has_coding {
            self.seen.0.store(SEEN, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_lengths_are_seen_however_they_come() {
        let both = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\ncontent-LENGTH: 3\r\n\r\n";
        let one = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
        let other = "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}";
        for (text, want) in [
            (both.to_owned(), true),
            (both.replace("\r\n", "\n"), true),
            (format!("{other}{both}"), true),
            (format!("{one}{other}{one}{other}"), false),
            (format!("{other}{one}"), false),
            ("X: Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(), false),
        ] {
            for size in 1..=text.len() {
                let mut watch = HeadWatch::default();
                text.as_bytes().chunks(size).for_each(|chunk| watch.watch(chunk));
                assert_eq!(watch.seen.is_seen(), want, "{size}: {text}");
            }
        }
    }
}
