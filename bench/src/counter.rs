//! Finds whole messages in what a server writes.

use serde_json::Value;

/// Counts whole messages in a stream that comes in pieces.
pub struct Counter {
    headers: bool,
    /// The header line that is still open.
    line: Vec<u8>,
    /// As the headers said so far.
    length: usize,
    /// Bytes of the body that are still to come.
    body: usize,
}

impl Counter {
    pub fn new(headers: bool) -> Counter {
        Counter { headers, line: Vec::new(), length: 0, body: 0 }
    }

    pub fn count(&mut self, bytes: &[u8]) -> usize {
        self.walk(bytes, |_| ())
    }

    /// `end` is told the offset after each message's last byte.
    pub fn walk(&mut self, bytes: &[u8], mut end: impl FnMut(usize)) -> usize {
        if !self.headers {
            return memchr::memchr_iter(b'\n', bytes).map(|at| end(at + 1)).count();
        }
        let (mut at, mut count) = (0, 0);
        while at < bytes.len() {
            if self.body > 0 {
                let part = self.body.min(bytes.len() - at);
                self.body -= part;
                at += part;
                if self.body == 0 {
                    count += 1;
                    end(at);
                }
                continue;
            }
            let rest = &bytes[at..];
            let Some(newline) = memchr::memchr(b'\n', rest) else {
                self.line.extend_from_slice(rest);
                break;
            };
            self.line.extend_from_slice(&rest[..newline]);
            at += newline + 1;
            match self.line.trim_ascii() {
                b"" => self.body = std::mem::take(&mut self.length),
                header => self.length = content_length(header).unwrap_or(self.length),
            }
            self.line.clear();
        }
        count
    }

    /// The messages in `bytes`, which ends with one.
    pub fn parse(&mut self, bytes: &[u8]) -> serde_json::Result<Vec<Value>> {
        let (mut start, mut messages) = (0, Vec::new());
        self.walk(bytes, |end| {
            let text = &bytes[start..end];
            let skip = memchr::memmem::find(text, b"\r\n\r\n").map_or(0, |at| at + 4);
            messages.push(serde_json::from_slice(&text[skip..]));
            start = end;
        });
        messages.into_iter().collect()
    }
}

fn content_length(header: &[u8]) -> Option<usize> {
    let (name, value) = std::str::from_utf8(header).ok()?.split_once(':')?;
    name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
}
