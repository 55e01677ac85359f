//! What goes over the pipes: requests rendered ahead of time, and answers counted or read.

use sabir_bench::{Counter, add, echoed, sum};
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
        Counter::new(matches!(self, Speaks::Lsp | Speaks::Words))
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
