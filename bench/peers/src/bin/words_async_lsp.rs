//! The example `lsp_server` on `async-lsp`, with the layers of its `server_builder` example.

use std::collections::HashMap;
use std::ops::ControlFlow;

use async_lsp::client_monitor::ClientProcessMonitorLayer;
use async_lsp::concurrency::ConcurrencyLayer;
use async_lsp::lsp_types::*;
use async_lsp::panic::CatchUnwindLayer;
use async_lsp::router::Router;
use async_lsp::server::LifecycleLayer;
use async_lsp::stdio::{PipeStdin, PipeStdout};
use async_lsp::{ClientSocket, ErrorCode, LanguageClient, ResponseError};
use sabir_bench_peers::words;
use tower::ServiceBuilder;

struct State {
    client: ClientSocket,
    documents: HashMap<Url, String>,
}

impl State {
    fn update(&mut self, uri: Url, version: i32, text: String) -> ControlFlow<async_lsp::Result<()>> {
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
        match self.client.publish_diagnostics(params) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(Err(error)),
        }
    }

    fn text(&self, at: &TextDocumentPositionParams) -> Result<String, ResponseError> {
        let not_open = || ResponseError::new(ErrorCode::INVALID_PARAMS, "not open");
        self.documents.get(&at.text_document.uri).cloned().ok_or_else(not_open)
    }
}

fn range(text: &str, span: std::ops::Range<usize>) -> Range {
    let place = |offset| {
        let (line, column) = words::position(text, offset);
        Position::new(line, column)
    };
    Range::new(place(span.start), place(span.end))
}

fn router(client: ClientSocket) -> Router<State> {
    let mut router = Router::new(State { client, documents: HashMap::new() });
    router
        .request::<request::Initialize, _>(|_, _| async {
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
            })
        })
        .request::<request::Shutdown, _>(|_, ()| async { Ok(()) })
        .request::<request::HoverRequest, _>(|state, params| {
            let at = params.text_document_position_params;
            let text = state.text(&at);
            async move {
                let text = text?;
                Ok(words::hover(&text, at.position.line, at.position.character).map(|(shown, word)| Hover {
                    contents: HoverContents::Scalar(MarkedString::String(shown)),
                    range: Some(range(&text, word)),
                }))
            }
        })
        .request::<request::Completion, _>(|state, params| {
            let at = params.text_document_position;
            let text = state.text(&at);
            async move {
                let labels = words::completions(&text?, at.position.line, at.position.character);
                let item = |label| CompletionItem { label, ..Default::default() };
                Ok(Some(CompletionResponse::Array(labels.into_iter().map(item).collect())))
            }
        })
        .request::<request::References, _>(|state, params| {
            let at = params.text_document_position;
            let text = state.text(&at);
            async move {
                let text = text?;
                let places = words::places(&text, at.position.line, at.position.character);
                let location = |place| Location::new(at.text_document.uri.clone(), range(&text, place));
                Ok(places.map(|places| places.into_iter().map(location).collect()))
            }
        })
        .request::<request::Rename, _>(|state, params| {
            let at = params.text_document_position;
            let text = state.text(&at);
            async move {
                let text = text?;
                let places = words::places(&text, at.position.line, at.position.character);
                let edit = |place| TextEdit::new(range(&text, place), params.new_name.clone());
                Ok(places.map(|places| {
                    let edits = places.into_iter().map(edit).collect();
                    WorkspaceEdit::new(HashMap::from([(at.text_document.uri, edits)]))
                }))
            }
        })
        .notification::<notification::Initialized>(|_, _| ControlFlow::Continue(()))
        .notification::<notification::DidOpenTextDocument>(|state, params| {
            let document = params.text_document;
            state.update(document.uri, document.version, document.text)
        })
        .notification::<notification::DidChangeTextDocument>(|state, params| {
            match params.content_changes.into_iter().last() {
                Some(change) => {
                    state.update(params.text_document.uri, params.text_document.version, change.text)
                }
                None => ControlFlow::Continue(()),
            }
        })
        .notification::<notification::DidCloseTextDocument>(|state, params| {
            state.documents.remove(&params.text_document.uri);
            ControlFlow::Continue(())
        });
    router
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let (server, _) = async_lsp::MainLoop::new_server(|client| {
        ServiceBuilder::new()
            .layer(LifecycleLayer::default())
            .layer(CatchUnwindLayer::default())
            .layer(ConcurrencyLayer::default())
            .layer(ClientProcessMonitorLayer::new(client.clone()))
            .service(router(client))
    });
    match server.run_buffered(PipeStdin::lock_tokio()?, PipeStdout::lock_tokio()?).await {
        // The benchmark closes the pipe without the farewell of LSP.
        Ok(()) | Err(async_lsp::Error::Eof) => Ok(()),
        Err(e) => Err(std::io::Error::other(e)),
    }
}
