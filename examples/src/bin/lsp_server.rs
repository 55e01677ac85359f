//! A small language server for any text: diagnostics, hover, completion, references and rename of words.
//!
//! Start `cargo run -q -p sabir-examples --bin lsp_server` from an editor, or try it by hand:
//! `sabir call --framing headers --dialect lsp initialize 'capabilities:={}' -- target/debug/lsp_server`.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use sabir::{ErrorObject, transport};
use sabir_lsp::lsp_types::notification::{DidChangeTextDocument, DidOpenTextDocument};
use sabir_lsp::lsp_types::request::{Completion, HoverRequest, References, Rename};
use sabir_lsp::lsp_types::{
    CompletionItem, CompletionParams, CompletionResponse, Diagnostic, DiagnosticSeverity, Hover,
    HoverContents, HoverParams, Location, MarkedString, ReferenceParams, RenameParams, TextEdit, Uri,
    WorkspaceEdit,
};
use sabir_lsp::{Document, Exit, LspCtx, LspServer, code};

const LONGEST_LINE: usize = 100;

/// Tells the editor which lines are too long.
async fn check(ctx: LspCtx, uri: Uri) -> sabir::Result<()> {
    let document = ctx.document(&uri)?;
    let too_long = |(line, text): (u32, &str)| {
        let (at, _) = text.char_indices().nth(LONGEST_LINE)?;
        let start = document.line_start(line);
        let range = document.range(start + at..start + text.len());
        let message = format!("this line is longer than {LONGEST_LINE} characters");
        let severity = Some(DiagnosticSeverity::WARNING);
        Some(Diagnostic { range, severity, message, ..Diagnostic::default() })
    };
    let diagnostics = (0..).zip(document.lines()).filter_map(too_long).collect();
    Ok(ctx.client().publish_diagnostics(uri, diagnostics, Some(document.version())).await?)
}

async fn hover(ctx: LspCtx, params: HoverParams) -> sabir::Result<Option<Hover>> {
    let at = params.text_document_position_params;
    let document = ctx.document(&at.text_document.uri)?;
    let Some(word) = word_at(&document, document.offset(at.position)) else { return Ok(None) };
    let count = occurrences(&document, &document.text()[word.clone()]).count();
    let text = format!("`{}`, {count} times", &document.text()[word.clone()]);
    let contents = HoverContents::Scalar(MarkedString::String(text));
    Ok(Some(Hover { contents, range: Some(document.range(word)) }))
}

async fn complete(ctx: LspCtx, params: CompletionParams) -> sabir::Result<Option<CompletionResponse>> {
    let at = params.text_document_position;
    let document = ctx.document(&at.text_document.uri)?;
    let end = document.offset(at.position);
    let prefix = word_at(&document, end).map_or("", |word| &document.text()[word.start..end]);
    let all: BTreeSet<&str> = words(document.text()).map(|word| &document.text()[word]).collect();
    let fitting = all.into_iter().filter(|word| word.starts_with(prefix) && *word != prefix);
    let item = |word: &str| CompletionItem { label: word.to_owned(), ..CompletionItem::default() };
    Ok(Some(CompletionResponse::Array(fitting.map(item).collect())))
}

/// The places are sent as they are found, if the editor asks for that.
async fn references(ctx: LspCtx, params: ReferenceParams) -> sabir::Result<Option<Vec<Location>>> {
    let at = params.text_document_position;
    let document = ctx.document(&at.text_document.uri)?;
    let Some(word) = word_at(&document, document.offset(at.position)) else { return Ok(None) };
    let mut found = ctx.partial_results();
    for place in occurrences(&document, &document.text()[word]) {
        found.push(Location::new(document.uri().clone(), document.range(place))).await?;
    }
    Ok(Some(found.finish().await?))
}

async fn rename(ctx: LspCtx, params: RenameParams) -> sabir::Result<Option<WorkspaceEdit>> {
    let at = params.text_document_position;
    let document = ctx.document(&at.text_document.uri)?;
    let Some(word) = word_at(&document, document.offset(at.position)) else { return Ok(None) };
    if words(&params.new_name).next() != Some(0..params.new_name.len()) {
        return Err(ErrorObject::new(code::REQUEST_FAILED, format!("`{}` is not a word", params.new_name)));
    }
    let edit = |place| TextEdit::new(document.range(place), params.new_name.clone());
    let edits = occurrences(&document, &document.text()[word]).map(edit).collect();
    Ok(Some(WorkspaceEdit::new(HashMap::from([(document.uri().clone(), edits)]))))
}

fn occurrences<'a>(document: &'a Document, word: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
    words(document.text()).filter(move |place| &document.text()[place.clone()] == word)
}

/// The word that an offset is in, or behind.
fn word_at(document: &Document, offset: usize) -> Option<Range<usize>> {
    words(document.text()).take_while(|word| word.start <= offset).find(|word| offset <= word.end)
}

fn words(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + text[from..].find(is_part)?;
        from = text[start..].find(|c| !is_part(c)).map_or(text.len(), |length| start + length);
        Some(start..from)
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<Exit, sabir::Error> {
    LspServer::new("words", "1.0.0")
        .notification::<DidOpenTextDocument>(|ctx, opened| check(ctx, opened.text_document.uri))
        .notification::<DidChangeTextDocument>(|ctx, changed| check(ctx, changed.text_document.uri))
        .request::<HoverRequest>(hover)
        .request::<Completion>(complete)
        .request::<References>(references)
        .request::<Rename>(rename)
        .serve(transport::stdio())
        .await
}
