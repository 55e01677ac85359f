//! What the server does.

use sabir_lsp::lsp_types::notification::{DidChangeTextDocument, DidOpenTextDocument};
use sabir_lsp::lsp_types::request::HoverRequest;
use sabir_lsp::lsp_types::{
    Diagnostic, DiagnosticSeverity, Hover, HoverContents, HoverParams, MarkedString, Uri,
};
use sabir_lsp::{LspCtx, LspServer};

/// What is reported.
const WORD: &str = "LATER";

/// Reports every line that has something left to do.
async fn check(ctx: LspCtx, uri: Uri) -> sabir::Result<()> {
    let document = ctx.document(&uri)?;
    let left = |(line, text): (u32, &str)| {
        let start = document.line_start(line) + text.find(WORD)?;
        let range = document.range(start..start + WORD.len());
        let message = "something is left to do".to_owned();
        let severity = Some(DiagnosticSeverity::INFORMATION);
        Some(Diagnostic { range, severity, message, ..Diagnostic::default() })
    };
    let diagnostics = (0..).zip(document.lines()).filter_map(left).collect();
    Ok(ctx.client().publish_diagnostics(uri, diagnostics, Some(document.version())).await?)
}

async fn hover(ctx: LspCtx, params: HoverParams) -> sabir::Result<Option<Hover>> {
    let at = params.text_document_position_params;
    let document = ctx.document(&at.text_document.uri)?;
    let line = document.line(at.position.line).unwrap_or_default();
    let text = format!("{} characters", line.chars().count());
    Ok(Some(Hover { contents: HoverContents::Scalar(MarkedString::String(text)), range: None }))
}

/// The server, for any transport.
pub fn server() -> LspServer {
    LspServer::new("project-name", env!("CARGO_PKG_VERSION"))
        .notification::<DidOpenTextDocument>(|ctx, params| check(ctx, params.text_document.uri))
        .notification::<DidChangeTextDocument>(|ctx, params| check(ctx, params.text_document.uri))
        .request::<HoverRequest>(hover)
}
