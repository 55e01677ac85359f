//! The example `lsp_server` on `lsp-server`, as in its `minimal_lsp` example.

use std::collections::HashMap;
use std::error::Error;

use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, Notification as _, PublishDiagnostics,
};
use lsp_types::request::{Completion, HoverRequest, References, Rename, Request as _};
use lsp_types::*;
use sabir_bench_peers::words;
use serde::Serialize;
use serde::de::DeserializeOwned;

type Outcome = Result<(), Box<dyn Error + Sync + Send>>;

struct Server {
    connection: Connection,
    documents: HashMap<Uri, String>,
}

impl Server {
    fn update(&mut self, uri: Uri, version: i32, text: String) -> Outcome {
        let diagnostics = words::long_lines(&text)
            .into_iter()
            .map(|(line, start, end)| Diagnostic {
                range: Range::new(Position::new(line, start), Position::new(line, end)),
                severity: Some(DiagnosticSeverity::WARNING),
                message: "this line is longer than 100 characters".to_owned(),
                ..Default::default()
            })
            .collect();
        self.documents.insert(uri.clone(), text);
        let params = PublishDiagnosticsParams { uri, diagnostics, version: Some(version) };
        let notification = Notification::new(PublishDiagnostics::METHOD.to_owned(), params);
        Ok(self.connection.sender.send(Message::Notification(notification))?)
    }

    fn text(&self, at: &TextDocumentPositionParams) -> Result<&str, String> {
        self.documents.get(&at.text_document.uri).map(String::as_str).ok_or_else(|| "not open".to_owned())
    }

    fn notified(&mut self, notification: Notification) -> Outcome {
        match notification.method.as_str() {
            DidOpenTextDocument::METHOD => {
                let params: DidOpenTextDocumentParams = serde_json::from_value(notification.params)?;
                let document = params.text_document;
                self.update(document.uri, document.version, document.text)
            }
            DidChangeTextDocument::METHOD => {
                let params: DidChangeTextDocumentParams = serde_json::from_value(notification.params)?;
                match params.content_changes.into_iter().last() {
                    Some(change) => {
                        self.update(params.text_document.uri, params.text_document.version, change.text)
                    }
                    None => Ok(()),
                }
            }
            DidCloseTextDocument::METHOD => {
                let params: DidCloseTextDocumentParams = serde_json::from_value(notification.params)?;
                self.documents.remove(&params.text_document.uri);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn answer(&self, request: Request) -> Response {
        match request.method.as_str() {
            HoverRequest::METHOD => answered(request, |params| self.hover(params)),
            Completion::METHOD => answered(request, |params| self.complete(params)),
            References::METHOD => answered(request, |params| self.references(params)),
            Rename::METHOD => answered(request, |params| self.rename(params)),
            method => {
                Response::new_err(request.id, ErrorCode::MethodNotFound as i32, format!("no method {method}"))
            }
        }
    }

    fn hover(&self, params: HoverParams) -> Result<Option<Hover>, String> {
        let at = params.text_document_position_params;
        let text = self.text(&at)?;
        Ok(words::hover(text, at.position.line, at.position.character).map(|(shown, word)| Hover {
            contents: HoverContents::Scalar(MarkedString::String(shown)),
            range: Some(range(text, word)),
        }))
    }

    fn complete(&self, params: CompletionParams) -> Result<Option<CompletionResponse>, String> {
        let at = params.text_document_position;
        let labels = words::completions(self.text(&at)?, at.position.line, at.position.character);
        let item = |label| CompletionItem { label, ..Default::default() };
        Ok(Some(CompletionResponse::Array(labels.into_iter().map(item).collect())))
    }

    fn references(&self, params: ReferenceParams) -> Result<Option<Vec<Location>>, String> {
        let at = params.text_document_position;
        let text = self.text(&at)?;
        let places = words::places(text, at.position.line, at.position.character);
        let location = |place| Location::new(at.text_document.uri.clone(), range(text, place));
        Ok(places.map(|places| places.into_iter().map(location).collect()))
    }

    fn rename(&self, params: RenameParams) -> Result<Option<WorkspaceEdit>, String> {
        let at = params.text_document_position;
        let text = self.text(&at)?;
        let places = words::places(text, at.position.line, at.position.character);
        let edit = |place| TextEdit::new(range(text, place), params.new_name.clone());
        Ok(places.map(|places| {
            let edits = places.into_iter().map(edit).collect();
            #[allow(clippy::mutable_key_type)]
            let changes = HashMap::from([(at.text_document.uri, edits)]);
            WorkspaceEdit::new(changes)
        }))
    }
}

fn answered<P: DeserializeOwned, T: Serialize>(
    request: Request,
    handler: impl FnOnce(P) -> Result<T, String>,
) -> Response {
    match serde_json::from_value(request.params) {
        Ok(params) => match handler(params) {
            Ok(result) => Response::new_ok(request.id, result),
            Err(error) => Response::new_err(request.id, ErrorCode::InvalidParams as i32, error),
        },
        Err(error) => Response::new_err(request.id, ErrorCode::InvalidParams as i32, error.to_string()),
    }
}

fn range(text: &str, span: std::ops::Range<usize>) -> Range {
    let place = |offset| {
        let (line, column) = words::position(text, offset);
        Position::new(line, column)
    };
    Range::new(place(span.start), place(span.end))
}

fn main() -> Outcome {
    let (connection, io_threads) = Connection::stdio();
    let capabilities = ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::FULL)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        completion_provider: Some(CompletionOptions::default()),
        references_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Left(true)),
        ..Default::default()
    };
    connection.initialize(serde_json::to_value(capabilities)?)?;
    let mut server = Server { connection, documents: HashMap::new() };
    while let Ok(message) = server.connection.receiver.recv() {
        match message {
            Message::Request(request) => {
                if server.connection.handle_shutdown(&request)? {
                    break;
                }
                let response = server.answer(request);
                server.connection.sender.send(Message::Response(response))?;
            }
            Message::Notification(notification) => server.notified(notification)?,
            Message::Response(_) => {}
        }
    }
    drop(server);
    io_threads.join()?;
    Ok(())
}
