//! The life of a language server: `initialize`, `initialized`, files that are opened as they are named, `shutdown`, `exit`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sabir::{CallError, Peer, RawJson};
use sabir_lsp::lsp_types::{Uri, WorkspaceFolder};
use sabir_lsp::{Document, LspClient, LspSession};
use serde_json::{Map, Value, json};

use super::answers::Answers;
use crate::exit::Failure;
use crate::values::{Arguments, text_of};

/// How long a server may take to say that it shuts down.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Bytes of settings in one answer: a server may ask for all of them any number of times.
const MOST_SETTINGS: usize = 64 << 20;

/// A language server that is initialized.
#[derive(Debug)]
pub(crate) struct Lsp {
    session: LspSession,
    is_shut_down: bool,
}

impl Lsp {
    /// The one round trip that it takes.
    pub(super) async fn open(peer: &Peer, answers: &Answers) -> Result<Lsp, CallError> {
        let configures = json!(answers.offers("workspace/configuration"));
        let mut client = LspClient::new("sabir", env!("CARGO_PKG_VERSION"))
            .capability("/workspace/configuration", configures)
            // It is for a person to read, or for a pipe.
            .capability("/textDocument/hover/contentFormat", json!(["plaintext", "markdown"]));
        if let Some(WorkspaceFolder { uri, name }) = folder() {
            client = client.folder_uri(uri, name);
        }
        Ok(Lsp { session: client.initialize(peer).await?, is_shut_down: false })
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
        let location = FileLocation::parse(first);
        location.check(method, &rest)?;
        let uri = uri(&location.path)?;
        if self.session.document(&uri).is_none() {
            let text = text_of(Path::new(&location.path))?;
            // If it cannot be sent, neither can the call, which says why.
            let _ = self.session.open(uri.clone(), language(&location.path), text).await;
        }
        let mut params: Map<String, Value> = match rest.named()? {
            Some(named) => named.parse().map_err(Failure::usage)?,
            None => Map::new(),
        };
        if let (Some(line), Some(document)) = (location.line, self.session.document(&uri)) {
            params.insert("position".to_owned(), position(&document, line, &location)?);
        }
        params.insert("textDocument".to_owned(), json!({"uri": uri}));
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

    /// What the server is capable of.
    pub(super) fn capabilities(&self) -> Value {
        json!(self.session.raw_capabilities())
    }

    /// A method was called by the user.
    pub(super) fn called(&mut self, method: &str) {
        self.is_shut_down |= method == "shutdown";
    }

    /// Sends `shutdown` and `exit`.
    pub(super) async fn close(&mut self) {
        let peer = self.session.peer();
        if peer.cause().is_some() {
            return;
        }
        if !self.is_shut_down {
            let _ = peer.call_raw("shutdown", None).timeout(SHUTDOWN_TIMEOUT).await;
        }
        let _ = peer.notify("exit", ()).await;
    }
}

/// The folder that is open: this one.
fn folder() -> Option<WorkspaceFolder> {
    let path = std::env::current_dir().ok()?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Some(WorkspaceFolder { uri: sabir_lsp::file_uri(&path)?, name })
}

/// What a server is answered that nobody has to be asked for.
pub(super) fn own_answer(method: &str) -> Option<RawJson<'static>> {
    match method {
        "workspace/workspaceFolders" => RawJson::from_value(&folder().map(|folder| [folder])).ok(),
        "client/registerCapability" | "client/unregisterCapability" => Some(RawJson::NULL),
        _ => sabir_lsp::ACKNOWLEDGED.contains(&method).then_some(RawJson::NULL),
    }
}

/// The action of this title, as the server has offered it.
pub(super) fn action(params: Option<&RawJson<'static>>, title: &RawJson<'static>) -> Value {
    let title: Value = title.parse().unwrap_or_default();
    let offered = params.and_then(|params| params.get("actions"));
    let action = offered.as_ref().and_then(|actions| {
        let mut actions = actions.elements().filter_map(|action| action.parse::<Value>().ok());
        actions.find(|action| action.get("title") == Some(&title))
    });
    action.unwrap_or_else(|| json!({"title": title}))
}

/// The settings that the server asks for, each by its section, out of one object.
pub(super) fn settings(params: Option<&RawJson<'static>>, all: &RawJson<'static>) -> Value {
    let items = params.and_then(|params| params.get("items"));
    let items: Vec<RawJson<'_>> = items.iter().flat_map(RawJson::elements).collect();
    if items.len().saturating_mul(all.as_str().len()) > MOST_SETTINGS {
        return Value::Null;
    }
    let all: Value = all.parse().unwrap_or_default();
    let setting = |item: &RawJson<'_>| {
        let section: String =
            item.get("section").and_then(|section| section.parse().ok()).unwrap_or_default();
        let mut names = section.split('.').filter(|name| !name.is_empty());
        names.try_fold(&all, |value, name| value.get(name)).cloned().unwrap_or_default()
    };
    items.iter().map(setting).collect()
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

/// A location in a file, as editors and compilers write it: counted from 1.
#[derive(Debug, PartialEq, Eq)]
struct FileLocation {
    path: String,
    line: Option<usize>,
    column: Option<usize>,
}

impl FileLocation {
    fn parse(text: &str) -> FileLocation {
        let number = |text: &str| text.parse::<usize>().ok().filter(|number| *number > 0);
        let split = |text: &str| {
            text.rsplit_once(':').and_then(|(path, last)| Some((path.to_owned(), number(last)?)))
        };
        match split(text) {
            None => FileLocation { path: text.to_owned(), line: None, column: None },
            Some((rest, last)) => match split(&rest) {
                Some((path, line)) => FileLocation { path, line: Some(line), column: Some(last) },
                None => FileLocation { path: rest, line: Some(last), column: None },
            },
        }
    }
}

/// Methods that are about a place in a file.
const AT_A_PLACE: [&str; 13] = [
    "textDocument/completion",
    "textDocument/declaration",
    "textDocument/definition",
    "textDocument/documentHighlight",
    "textDocument/hover",
    "textDocument/implementation",
    "textDocument/linkedEditingRange",
    "textDocument/moniker",
    "textDocument/prepareRename",
    "textDocument/references",
    "textDocument/rename",
    "textDocument/signatureHelp",
    "textDocument/typeDefinition",
];

impl FileLocation {
    /// Refuses what cannot be meant: a place that is counted from 0, or none where one is needed.
    fn check(&self, method: &str, rest: &Arguments) -> Result<(), Failure> {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let file = self.path.trim_end_matches(|c: char| c == ':' || c.is_ascii_digit());
        let counts =
            self.path[file.len()..].strip_prefix(':').is_some_and(|rest| rest.split(':').all(is_number));
        if counts && !Path::new(&self.path).exists() {
            return Err(Failure::usage(format_args!("`{}`: lines and columns count from 1", self.path))
                .hint(format_args!("the first place of the file is {file}:1:1")));
        }
        if self.line.is_some() {
            return Ok(());
        }
        let named = rest.named().ok().flatten();
        if AT_A_PLACE.contains(&method) && named.is_none_or(|named| named.get("position").is_none()) {
            return Err(Failure::usage(format_args!("{method} is about a place in the file"))
                .hint(format_args!("write it as {}:LINE:COLUMN", self.path)));
        }
        Ok(())
    }
}

/// A location as the protocol counts it.
fn position(document: &Document, line: usize, location: &FileLocation) -> Result<Value, Failure> {
    let number = u32::try_from(line - 1).unwrap_or(u32::MAX);
    let Some(text) = document.line(number) else {
        // Behind the last end of a line, nobody sees another line.
        let count = document.line_count();
        let count = if count > 1 && document.line(count - 1) == Some("") { count - 1 } else { count };
        return Err(Failure::usage(format_args!("`{}` has no line {line}: it has {count}", location.path)));
    };
    let before = text.chars().take(location.column.unwrap_or(1) - 1).map(char::len_utf8).sum::<usize>();
    Ok(json!(document.position(document.line_start(number) + before)))
}

fn uri(path: &str) -> Result<Uri, Failure> {
    let whole = std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
    sabir_lsp::file_uri(&whole)
        .ok_or_else(|| Failure::usage(format_args!("`{path}` cannot be written as a file:// URI")))
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
    use sabir_lsp::PositionEncoding;

    use super::*;

    #[test]
    fn places_are_read_as_editors_write_them() {
        let location = |path: &str, line, column| FileLocation { path: path.to_owned(), line, column };
        for (text, want) in [
            ("main.c", location("main.c", None, None)),
            ("main.c:4", location("main.c", Some(4), None)),
            ("main.c:4:10", location("main.c", Some(4), Some(10))),
            ("C:\\x\\main.c:4:10", location("C:\\x\\main.c", Some(4), Some(10))),
            ("main.c:0", location("main.c:0", None, None)),
            ("a:b", location("a:b", None, None)),
        ] {
            assert_eq!(FileLocation::parse(text), want, "{text}");
        }
        let text = "a\nx😀y\n";
        let uri: Uri = "file:///a".parse().expect("a URI");
        let document = |encoding| Document::new(uri.clone(), "text", 1, text, encoding);
        for (encoding, character) in [(PositionEncoding::Utf16, 3), (PositionEncoding::Utf8, 5)] {
            let got = position(&document(encoding), 2, &FileLocation::parse("a:2:3")).expect("a position");
            assert_eq!(got, json!({"line": 1, "character": character}));
        }
        let beyond = position(&document(PositionEncoding::Utf16), 7, &FileLocation::parse("a:7"));
        assert_eq!(beyond.map_err(|failure| failure.what), Err("`a` has no line 7: it has 2".to_owned()));
    }

    #[test]
    fn a_place_is_counted_from_1() {
        let check = |place: &str, method: &str| {
            let rest = Arguments::default();
            FileLocation::parse(place).check(method, &rest).map_err(|failure| (failure.what, failure.hint))
        };
        let hover = "textDocument/hover";
        let refused = |what: &str, hint: &str| Err((what.to_owned(), Some(hint.to_owned())));
        assert_eq!(check("x.c:1:1", hover), Ok(()));
        assert_eq!(check("x.c", "textDocument/documentSymbol"), Ok(()));
        for (place, shown) in
            [("x.c:0:0", "x.c:0:0"), ("x.c:3:0", "x.c:3:0"), ("x.c:0", "x.c:0"), ("x.c:0:1", "x.c:0")]
        {
            let what = format!("`{shown}`: lines and columns count from 1");
            assert_eq!(check(place, hover), refused(&what, "the first place of the file is x.c:1:1"));
        }
        let what = "textDocument/hover is about a place in the file";
        assert_eq!(check("x.c", hover), refused(what, "write it as x.c:LINE:COLUMN"));
    }

    #[test]
    fn files_have_languages() {
        for (path, want) in [("x.py", "python"), ("x.HPP", "cpp"), ("x.go", "go"), ("Makefile", "plaintext")]
        {
            assert_eq!(language(path), want);
        }
    }
}
