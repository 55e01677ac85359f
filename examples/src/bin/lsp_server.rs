//! The skeleton of a language server: its lifecycle, open documents, one request, and diagnostics.
//!
//! Start `cargo run -q -p sabir-examples --bin lsp_server` from an editor, or try it by hand:
//! `sabir call --framing headers --dialect lsp initialize 'capabilities:={}' -- target/debug/lsp_server`.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sabir::{Ctx, ErrorCode, ErrorObject, Framing, Next, Router, transport};
use serde::Deserialize;
use serde_json::{Value, json};

/// LSP's own code for requests that come before `initialize`.
const SERVER_NOT_INITIALIZED: i64 = -32002;

#[derive(Default, Clone, Copy, PartialEq)]
enum Phase {
    #[default]
    Starting,
    Running,
    ShuttingDown,
    Exited,
}

/// What the server knows. A notification's handler finishes before the next message is handled, so the texts are
/// always those of the newest `didChange`.
#[derive(Default)]
struct State {
    phase: Phase,
    texts: HashMap<String, String>,
}

type Shared = Arc<Mutex<State>>;

fn state(ctx: &Ctx) -> MutexGuard<'_, State> {
    ctx.state::<Shared>().lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DidOpen {
    text_document: Document,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DidChange {
    text_document: DocumentId,
    content_changes: Vec<Change>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AtPosition {
    text_document: DocumentId,
    position: Position,
}

#[derive(Deserialize)]
struct Document {
    uri: String,
    text: String,
}

#[derive(Deserialize)]
struct DocumentId {
    uri: String,
}

#[derive(Deserialize)]
struct Change {
    text: String,
}

#[derive(Deserialize)]
struct Position {
    line: usize,
    character: usize,
}

async fn initialize(ctx: Ctx, _: Value) -> sabir::Result<Value> {
    state(&ctx).phase = Phase::Running;
    // 1: every change sends the whole text.
    Ok(json!({"capabilities": {"textDocumentSync": 1, "hoverProvider": true}}))
}

async fn shutdown(ctx: Ctx, (): ()) -> sabir::Result<()> {
    state(&ctx).phase = Phase::ShuttingDown;
    Ok(())
}

async fn exit(ctx: Ctx, (): ()) -> sabir::Result<()> {
    let phase = &mut state(&ctx).phase;
    // Without a `shutdown` before it, the process exits with 1.
    if *phase == Phase::ShuttingDown {
        *phase = Phase::Exited;
    }
    let peer = ctx.peer().clone();
    tokio::spawn(async move { peer.shutdown(Duration::ZERO).await });
    Ok(())
}

async fn did_open(ctx: Ctx, DidOpen { text_document }: DidOpen) -> sabir::Result<()> {
    update(&ctx, text_document.uri, text_document.text).await
}

async fn did_change(ctx: Ctx, change: DidChange) -> sabir::Result<()> {
    match change.content_changes.into_iter().last() {
        Some(Change { text }) => update(&ctx, change.text_document.uri, text).await,
        None => Ok(()),
    }
}

/// Keeps the text, and tells the editor what is wrong with it.
async fn update(ctx: &Ctx, uri: String, text: String) -> sabir::Result<()> {
    let diagnostics: Vec<Value> = text
        .lines()
        .enumerate()
        .filter(|(_, line)| line.len() > 100)
        .map(|(line, text)| {
            let range = json!({"start": {"line": line, "character": 100}, "end": {"line": line, "character": text.len()}});
            json!({"range": range, "severity": 2, "message": "this line is longer than 100 characters"})
        })
        .collect();
    state(ctx).texts.insert(uri.clone(), text);
    let params = json!({"uri": uri, "diagnostics": diagnostics});
    Ok(ctx.peer().notify("textDocument/publishDiagnostics", params).await?)
}

async fn hover(ctx: Ctx, at: AtPosition) -> sabir::Result<Option<Value>> {
    let state = state(&ctx);
    let line = state.texts.get(&at.text_document.uri).and_then(|text| text.lines().nth(at.position.line));
    let Some(line) = line else { return Ok(None) };
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let before = line.chars().take(at.position.character).collect::<Vec<_>>();
    let start = before.iter().rev().take_while(|c| word(**c)).count();
    let name: String = line.chars().skip(before.len() - start).take_while(|c| word(*c)).collect();
    Ok((!name.is_empty()).then(|| json!({"contents": format!("`{name}`")})))
}

/// Requests out of order are refused, as LSP wants it.
async fn lifecycle(ctx: Ctx, next: Next) -> sabir::Result<sabir::RawJson<'static>> {
    let phase = state(&ctx).phase;
    match (phase, next.method()) {
        (Phase::Starting, "initialize" | "exit") | (Phase::Running, _) | (_, "exit") => next.run().await,
        (Phase::Starting, _) => Err(ErrorObject::new(SERVER_NOT_INITIALIZED, "initialize first")),
        _ => Err(ErrorObject::because(ErrorCode::INVALID_REQUEST, "the server is shutting down")),
    }
}

fn router(state: Shared) -> Router {
    Router::new()
        .state(state)
        .layer(lifecycle)
        .method("initialize", initialize)
        .method("initialized", |_, _: Value| async { Ok(()) })
        .method("shutdown", shutdown)
        .method("exit", exit)
        .method("textDocument/didOpen", did_open)
        .method("textDocument/didChange", did_change)
        .method("textDocument/hover", hover)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, sabir::Error> {
    let state = Shared::default();
    let transport = transport::stdio().framing(Framing::Headers).dialect(sabir::LSP);
    sabir::serve(transport, router(Arc::clone(&state))).await?;
    let is_clean = state.lock().is_ok_and(|state| state.phase == Phase::Exited);
    Ok(if is_clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
