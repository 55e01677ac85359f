//! Shows what a language server finds wrong with a file, and what it says of the file's first word.
//!
//! Run with `cargo run -p sabir-lsp --example diagnose -- main.c clangd --log=error`.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use sabir::transport;
use sabir_lsp::lsp_types::request::HoverRequest;
use sabir_lsp::lsp_types::{
    HoverContents, HoverParams, MarkedString, TextDocumentIdentifier, TextDocumentPositionParams, Uri,
};
use sabir_lsp::{LspClient, LspSession, file_uri};

type Failure = Box<dyn std::error::Error>;

/// The language by the end of a file's name.
const LANGUAGES: [(&str, &str); 4] = [("c", "c"), ("cpp", "cpp"), ("py", "python"), ("rs", "rust")];

#[expect(clippy::print_stdout, reason = "it is what the program is for")]
async fn show(server: &LspSession, uri: &Uri) -> Result<(), Failure> {
    let info = server.server_info();
    println!(
        "{}, positions in {}",
        info.map_or("?", |info| &info.name),
        server.position_encoding().kind().as_str()
    );
    let diagnostics = tokio::time::timeout(Duration::from_secs(20), server.diagnostics(uri)).await??;
    for diagnostic in diagnostics {
        let at = diagnostic.range.start;
        println!("{}:{}: {}", at.line + 1, at.character + 1, diagnostic.message);
    }
    if server.capabilities().hover_provider.is_some() {
        println!("{}", hover(server, uri).await?);
    }
    Ok(())
}

/// What is said of the second word, which in most languages is a name.
async fn hover(server: &LspSession, uri: &Uri) -> Result<String, Failure> {
    let document = server.document(uri).ok_or("it is not open")?;
    let position = document.position(document.text().find(' ').unwrap_or_default() + 1);
    let at = TextDocumentPositionParams::new(TextDocumentIdentifier::new(uri.clone()), position);
    let params =
        HoverParams { text_document_position_params: at, work_done_progress_params: Default::default() };
    let Some(hover) = server.request::<HoverRequest>(params).await? else { return Ok(String::new()) };
    let text = |marked: MarkedString| match marked {
        MarkedString::String(text) => text,
        MarkedString::LanguageString(code) => code.value,
    };
    Ok(match hover.contents {
        HoverContents::Scalar(marked) => text(marked),
        HoverContents::Array(all) => all.into_iter().map(text).collect(),
        HoverContents::Markup(markup) => markup.value,
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let (Some(file), Some(program)) = (args.next(), args.next()) else {
        return Err("usage: diagnose FILE SERVER [ARGUMENT]…".into());
    };
    let path = std::fs::canonicalize(file)?;
    let extension = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
    let language = LANGUAGES.iter().find(|(end, _)| *end == extension).map_or("plaintext", |(_, name)| name);
    let uri = file_uri(&path).ok_or("the file has no URI")?;
    let mut command = Command::new(program);
    command.args(args);

    let client = LspClient::new("diagnose", "1.0.0").folder(path.parent().unwrap_or(Path::new("/")));
    let server = client.connect(transport::child(command)?).await?;
    server.open(uri.clone(), language, std::fs::read_to_string(&path)?).await?;
    let shown = show(&server, &uri).await;
    server.shutdown().await?;
    shown
}
