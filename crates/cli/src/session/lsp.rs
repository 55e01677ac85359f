//! The life of a language server: `initialize`, `initialized`, files that are opened as they are named, `shutdown`, `exit`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sabir::{CallError, Peer, RawJson};
use serde_json::{Map, Value, json};

use super::answers::Answers;
use crate::exit::Failure;
use crate::values::{Arguments, text_of};

/// How long a server may take to say that it shuts down.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// A language server that is initialized.
#[derive(Debug)]
pub(crate) struct Lsp {
    peer: Peer,
    /// The URIs of the files that are open.
    opened: HashSet<String>,
    is_shut_down: bool,
}

impl Lsp {
    /// The one round trip that it takes.
    pub(super) async fn open(peer: &Peer, answers: &Answers) -> Result<Lsp, CallError> {
        let folder = std::env::current_dir().unwrap_or_default();
        let uri = file_uri(&folder);
        let name = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let hello = json!({
            "processId": std::process::id(),
            "clientInfo": {"name": "sabir", "version": env!("CARGO_PKG_VERSION")},
            "rootUri": uri,
            "workspaceFolders": [{"uri": uri, "name": name}],
            "capabilities": {
                "general": {"positionEncodings": ["utf-16"]},
                "textDocument": {
                    "synchronization": {"didSave": true},
                    "hover": {"contentFormat": ["plaintext", "markdown"]},
                    "definition": {"linkSupport": true},
                    "documentSymbol": {"hierarchicalDocumentSymbolSupport": true},
                    "publishDiagnostics": {"relatedInformation": true},
                    "diagnostic": {},
                },
                "workspace": {
                    "workspaceFolders": true,
                    "configuration": answers.offers("workspace/configuration"),
                },
                "window": {"showMessage": {}},
            },
        });
        let _: RawJson<'static> = peer.call("initialize", hello).await?;
        peer.notify("initialized", json!({})).await.map_err(CallError::NotSent)?;
        Ok(Lsp { peer: peer.clone(), opened: HashSet::new(), is_shut_down: false })
    }

    /// The params of a call. A file that is named first, as `FILE:LINE:COLUMN`, is opened.
    pub(super) async fn params(
        &mut self,
        method: &str,
        args: &Arguments,
    ) -> Result<Option<RawJson<'static>>, Failure> {
        let Some((first, rest)) = args.split_first().filter(|_| method.starts_with("textDocument/")) else {
            return args.params();
        };
        let place = Place::parse(first);
        let text = text_of(&place.path)?;
        let uri = file_uri(&absolute(&place.path));
        if self.opened.insert(uri.clone()) {
            let item = json!({
                "uri": uri, "languageId": language(&place.path), "version": 1, "text": text,
            });
            let _ = self.peer.notify("textDocument/didOpen", json!({"textDocument": item})).await;
        }
        let mut params: Map<String, Value> = match rest.named()? {
            Some(named) => named.parse().map_err(Failure::usage)?,
            None => Map::new(),
        };
        params.insert("textDocument".to_owned(), json!({"uri": uri}));
        if let Some(line) = place.line {
            params.insert("position".to_owned(), position(&text, line, place.column.unwrap_or(1)));
        }
        let mut default = |key: &str, value: Value| {
            params.entry(key).or_insert(value);
        };
        match method {
            "textDocument/references" => default("context", json!({"includeDeclaration": true})),
            "textDocument/formatting" => default("options", json!({"tabSize": 4, "insertSpaces": true})),
            _ => {}
        }
        RawJson::from_value(&params).map(Some).map_err(Failure::usage)
    }

    /// A method was called by the user.
    pub(super) fn called(&mut self, method: &str) {
        self.is_shut_down |= method == "shutdown";
    }

    /// Says goodbye.
    pub(super) async fn close(&mut self) {
        if self.peer.cause().is_some() {
            return;
        }
        if !self.is_shut_down {
            let _ = self.peer.call_raw("shutdown", None).timeout(SHUTDOWN_TIMEOUT).await;
        }
        let _ = self.peer.notify("exit", ()).await;
    }
}

/// Whether a method of the protocol is a notification: no answer would come.
pub(super) fn is_notification(method: &str) -> bool {
    method.starts_with("$/")
        || method.starts_with("workspace/did")
        || method.starts_with("notebookDocument/did")
        || matches!(
            method,
            "initialized"
                | "exit"
                | "textDocument/didOpen"
                | "textDocument/didChange"
                | "textDocument/didClose"
                | "textDocument/didSave"
                | "textDocument/willSave"
                | "window/workDoneProgress/cancel"
        )
}

/// A place in a file, as editors and compilers write it: counted from 1.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    path: String,
    line: Option<usize>,
    column: Option<usize>,
}

impl Place {
    fn parse(text: &str) -> Place {
        let number = |text: &str| text.parse::<usize>().ok().filter(|number| *number > 0);
        let split = |text: &str| {
            text.rsplit_once(':').and_then(|(path, last)| Some((path.to_owned(), number(last)?)))
        };
        match split(text) {
            None => Place { path: text.to_owned(), line: None, column: None },
            Some((rest, last)) => match split(&rest) {
                Some((path, line)) => Place { path, line: Some(line), column: Some(last) },
                None => Place { path: rest, line: Some(last), column: None },
            },
        }
    }
}

/// Counted from 0, and in units of UTF-16, as the protocol has it.
fn position(text: &str, line: usize, column: usize) -> Value {
    let before = text.lines().nth(line - 1).unwrap_or_default().chars().take(column - 1);
    json!({"line": line - 1, "character": before.map(char::len_utf16).sum::<usize>()})
}

fn absolute(path: &str) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path))
}

fn file_uri(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "/");
    let mut uri = String::from(if text.starts_with('/') { "file://" } else { "file:///" });
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b':' => {
                uri.push(byte as char)
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

/// What the protocol calls the language of a file.
fn language(path: &str) -> String {
    let extension = Path::new(path).extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = match extension.as_str() {
        "c" | "h" => "c",
        "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" => "cpp",
        "cs" => "csharp",
        "hs" => "haskell",
        "js" | "mjs" | "cjs" => "javascript",
        "jsx" => "javascriptreact",
        "kt" => "kotlin",
        "md" => "markdown",
        "m" => "objective-c",
        "pl" => "perl",
        "py" | "pyi" => "python",
        "rb" => "ruby",
        "rs" => "rust",
        "sh" | "bash" => "shellscript",
        "tex" => "latex",
        "ts" | "mts" => "typescript",
        "tsx" => "typescriptreact",
        "yml" => "yaml",
        "" => "plaintext",
        other => other,
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_editors_write_them() {
        let place = |path: &str, line, column| Place { path: path.to_owned(), line, column };
        for (text, want) in [
            ("main.c", place("main.c", None, None)),
            ("main.c:4", place("main.c", Some(4), None)),
            ("main.c:4:10", place("main.c", Some(4), Some(10))),
            ("C:\\x\\main.c:4:10", place("C:\\x\\main.c", Some(4), Some(10))),
            ("main.c:0", place("main.c:0", None, None)),
            ("a:b", place("a:b", None, None)),
        ] {
            assert_eq!(Place::parse(text), want, "{text}");
        }
        assert_eq!(position("a\nx😀y\n", 2, 3), json!({"line": 1, "character": 3}));
        assert_eq!(position("a", 7, 1), json!({"line": 6, "character": 0}));
    }

    #[test]
    fn files_have_uris_and_languages() {
        assert_eq!(file_uri(Path::new("/tmp/a b/ü.c")), "file:///tmp/a%20b/%C3%BC.c");
        assert_eq!(file_uri(Path::new("C:\\x.c")), "file:///C:/x.c");
        for (path, want) in [("x.py", "python"), ("x.HPP", "cpp"), ("x.go", "go"), ("Makefile", "plaintext")]
        {
            assert_eq!(language(path), want);
        }
    }
}
