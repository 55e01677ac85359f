//! The example `lsp_server` on `tower-lsp-server`, as its examples do it.

use std::collections::HashMap;

use sabir_bench_peers::words;
use tokio::sync::RwLock;
use tower_lsp_server::jsonrpc::{Error, Result};
use tower_lsp_server::ls_types::*;
use tower_lsp_server::{Client, LanguageServer, LspService, Server};

struct Backend {
    client: Client,
    documents: RwLock<HashMap<Uri, String>>,
}

impl Backend {
    async fn update(&self, uri: Uri, version: i32, text: String) {
        let diagnostics = words::long_lines(&text)
            .into_iter()
            .map(|(line, start, end)| Diagnostic {
                range: Range::new(Position::new(line, start), Position::new(line, end)),
                severity: Some(DiagnosticSeverity::WARNING),
                message: "this line is longer than 100 characters".to_owned(),
                ..Default::default()
            })
            .collect();
        self.documents.write().await.insert(uri.clone(), text);
        self.client.publish_diagnostics(uri, diagnostics, Some(version)).await;
    }

    async fn text(&self, at: &TextDocumentPositionParams) -> Result<String> {
        let documents = self.documents.read().await;
        documents.get(&at.text_document.uri).cloned().ok_or_else(|| Error::invalid_params("not open"))
    }
}

fn range(text: &str, span: std::ops::Range<usize>) -> Range {
    let place = |offset| {
        let (line, column) = words::position(text, offset);
        Position::new(line, column)
    };
    Range::new(place(span.start), place(span.end))
}

impl LanguageServer for Backend {
    async fn initialize(&self, _: InitializeParams) -> Result<InitializeResult> {
        Ok(InitializeResult {
            capabilities: ServerCapabilities {
                text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::FULL)),
                hover_provider: Some(HoverProviderCapability::Simple(true)),
                completion_provider: Some(CompletionOptions::default()),
                references_provider: Some(OneOf::Left(true)),
                rename_provider: Some(OneOf::Left(true)),
                ..Default::default()
            },
            server_info: Some(ServerInfo { name: "words".to_owned(), version: Some("1.0.0".to_owned()) }),
            ..Default::default()
        })
    }

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        let document = params.text_document;
        self.update(document.uri, document.version, document.text).await;
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        if let Some(change) = params.content_changes.into_iter().last() {
            self.update(params.text_document.uri, params.text_document.version, change.text).await;
        }
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        self.documents.write().await.remove(&params.text_document.uri);
    }

    async fn hover(&self, params: HoverParams) -> Result<Option<Hover>> {
        let at = params.text_document_position_params;
        let text = self.text(&at).await?;
        Ok(words::hover(&text, at.position.line, at.position.character).map(|(shown, word)| Hover {
            contents: HoverContents::Scalar(MarkedString::String(shown)),
            range: Some(range(&text, word)),
        }))
    }

    async fn completion(&self, params: CompletionParams) -> Result<Option<CompletionResponse>> {
        let at = params.text_document_position;
        let text = self.text(&at).await?;
        let labels = words::completions(&text, at.position.line, at.position.character);
        let item = |label| CompletionItem { label, ..Default::default() };
        Ok(Some(CompletionResponse::Array(labels.into_iter().map(item).collect())))
    }

    async fn references(&self, params: ReferenceParams) -> Result<Option<Vec<Location>>> {
        let at = params.text_document_position;
        let text = self.text(&at).await?;
        let places = words::places(&text, at.position.line, at.position.character);
        let uri = &at.text_document.uri;
        let location = |place| Location::new(uri.clone(), range(&text, place));
        Ok(places.map(|places| places.into_iter().map(location).collect()))
    }

    async fn rename(&self, params: RenameParams) -> Result<Option<WorkspaceEdit>> {
        let at = params.text_document_position;
        let text = self.text(&at).await?;
        let places = words::places(&text, at.position.line, at.position.character);
        let edit = |place| TextEdit::new(range(&text, place), params.new_name.clone());
        Ok(places.map(|places| {
            let edits = places.into_iter().map(edit).collect();
            WorkspaceEdit::new(HashMap::from([(at.text_document.uri, edits)]))
        }))
    }
}

#[tokio::main]
async fn main() {
    let (service, socket) = LspService::new(|client| Backend { client, documents: RwLock::default() });
    Server::new(tokio::io::stdin(), tokio::io::stdout(), socket).serve(service).await;
}
