//! The server, driven by a client in memory.

use sabir_lsp::LspClient;

#[tokio::test]
async fn lines_with_something_left_to_do_are_reported() {
    let (near, far) = sabir::transport::memory();
    tokio::spawn(project_name::server().serve(far));
    let server = LspClient::new("test", "1.0.0").connect(near).await.expect("the server answers");
    let uri: sabir_lsp::lsp_types::Uri = "file:///notes.txt".parse().expect("a URI");
    server.open(uri.clone(), "text", "done\nLATER: the rest\n").await.expect("the document is opened");
    let found = server.diagnostics(&uri).await.expect("diagnostics are published");
    let lines: Vec<u32> = found.iter().map(|diagnostic| diagnostic.range.start.line).collect();
    assert_eq!(lines, [1]);
    server.shutdown().await.expect("the server ends");
}
