//! What goes over the pipes: requests rendered ahead of time, and answers counted or read.

use sabir_bench::{add, sum};
use serde_json::{Value, json};

use crate::servers::Speaks;

/// Calls in one batch.
pub(crate) const BATCH: usize = 100;

impl Speaks {
    pub(crate) fn add(self, id: usize) -> Vec<u8> {
        self.frame(&self.add_text(id))
    }

    fn add_text(self, id: usize) -> String {
        match self {
            Speaks::Mcp => format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"add","arguments":{{"a":{id},"b":30}}}}}}"#
            ),
            Speaks::Words => {
                let params = json!({ "textDocument": { "uri": URI }, "position": { "line": id % LINES, "character": 2 } });
                format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"textDocument/hover","params":{params}}}"#)
            }
            _ => add(id),
        }
    }

    /// A batch has the ids from `first` on.
    pub(crate) fn batch(self, first: usize) -> Vec<u8> {
        let calls: Vec<String> = (first..first + BATCH).map(|id| self.add_text(id)).collect();
        self.frame(&format!("[{}]", calls.join(",")))
    }

    /// With params of about `size` bytes.
    pub(crate) fn echo(self, id: usize, size: usize) -> Vec<u8> {
        let params = echoed(size);
        self.frame(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"echo","params":{params}}}"#))
    }

    /// A request that must be answered before anything else, and the notification that follows.
    pub(crate) fn handshake(self) -> Option<(Vec<u8>, Vec<u8>)> {
        let (params, notification) = match self {
            Speaks::Lines => return None,
            Speaks::Lsp | Speaks::Words => (json!({ "capabilities": {} }), "initialized"),
            Speaks::Mcp => (
                json!({
                    "protocolVersion": "2025-06-18",
                    "capabilities": {},
                    "clientInfo": { "name": "bench", "version": "0" },
                }),
                "notifications/initialized",
            ),
        };
        let request = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let notification = json!({ "jsonrpc": "2.0", "method": notification, "params": {} });
        let mut notifications = self.frame(&notification.to_string());
        if self == Speaks::Words {
            let document = json!({ "uri": URI, "languageId": "plaintext", "version": 1, "text": text() });
            let open = json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": { "textDocument": document } });
            notifications.extend(self.frame(&open.to_string()));
        }
        Some((self.frame(&request.to_string()), notifications))
    }

    /// Messages that come after the handshake, though nobody has asked: diagnostics.
    pub(crate) fn unasked(self) -> usize {
        usize::from(self == Speaks::Words)
    }

    /// Whether there is an `echo`.
    pub(crate) fn echoes(self) -> bool {
        matches!(self, Speaks::Lines | Speaks::Lsp)
    }

    fn frame(self, text: &str) -> Vec<u8> {
        match self {
            Speaks::Lsp | Speaks::Words => {
                format!("Content-Length: {}\r\n\r\n{text}", text.len()).into_bytes()
            }
            Speaks::Lines | Speaks::Mcp => format!("{text}\n").into_bytes(),
        }
    }

    pub(crate) fn counter(self) -> Counter {
        Counter { headers: matches!(self, Speaks::Lsp | Speaks::Words), line: Vec::new(), length: 0, body: 0 }
    }

    /// What an `add` must be answered with.
    pub(crate) fn added(self, id: usize, response: &Value) -> bool {
        let right = match self {
            Speaks::Mcp => response["result"]["content"][0]["text"] == json!(sum(id).to_string()),
            Speaks::Words => {
                response["result"]["contents"] == json!(format!("`word{}`, 1 times", id % LINES))
            }
            _ => response["result"] == json!(sum(id)),
        };
        right && response["jsonrpc"] == "2.0" && response["id"] == json!(id)
    }
}

const URI: &str = "file:///words.txt";
/// Lines of the document that is open, a word on each.
const LINES: usize = 40;

fn text() -> String {
    (0..LINES).map(|line| format!("word{line}\n")).collect()
}

/// The params of an echo: no escapes, as in most long texts.
pub(crate) fn echoed(size: usize) -> Value {
    json!(["0123456789abcdef".repeat(size / 16)])
}

/// Counts whole messages in a stream that comes in pieces.
pub(crate) struct Counter {
    headers: bool,
    /// The header line that is still open.
    line: Vec<u8>,
    /// As the headers said so far.
    length: usize,
    /// Bytes of the body that are still to come.
    body: usize,
}

impl Counter {
    pub(crate) fn count(&mut self, bytes: &[u8]) -> usize {
        self.walk(bytes, |_| ())
    }

    /// `end` is told the offset after each message's last byte.
    pub(crate) fn walk(&mut self, bytes: &[u8], mut end: impl FnMut(usize)) -> usize {
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
    pub(crate) fn parse(&mut self, bytes: &[u8]) -> serde_json::Result<Vec<Value>> {
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
