//! The example programs do what their first lines say.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sabir::{Framing, Router, transport};
use serde_json::{Value, json};

/// What a program that ends by itself prints to standard error.
fn printed(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{program}: {}\n{text}", output.status);
    text
}

/// A server that says on standard error where it listens.
struct Listening {
    process: Child,
    url: String,
}

impl Listening {
    fn start(program: &str, args: &[&str]) -> Self {
        let mut process = Command::new(program).args(args).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening at ").unwrap_or_else(|| panic!("{line}")).to_owned();
        Listening { process, url }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn hello_server_answers_by_position_and_by_name() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_hello_server"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = server.stdin.take().unwrap();
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"greet","params":{"name":"world"}}"#,
    ] {
        writeln!(stdin, "{line}").unwrap();
    }
    drop(stdin);
    let output = server.wait_with_output().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":3}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"hello, world\"}\n"
    );
}

#[test]
fn hello_client_calls_the_server_that_it_starts() {
    let server = env!("CARGO_BIN_EXE_hello_server");
    assert_eq!(printed(env!("CARGO_BIN_EXE_hello_client"), &[server]), "1 + 2 = 3\n");
}

#[test]
fn subscription_ticks_and_stops() {
    let text = printed(env!("CARGO_BIN_EXE_subscription"), &[]);
    assert_eq!(text, "tick 1\ntick 2\ntick 3\nstopped: true\n");
}

#[test]
fn custom_transport_carries_more_than_its_channels_hold() {
    let text = printed(env!("CARGO_BIN_EXE_custom_transport"), &[]);
    assert_eq!(text, "1048576 bytes went over and back\n");
}

#[test]
fn axum_auth_knows_who_calls() {
    let text = printed(env!("CARGO_BIN_EXE_axum_auth"), &[]);
    let (known, refused) = text.split_once('\n').unwrap();
    assert_eq!(known, "ada has 12, bob has 1");
    assert!(refused.contains("401"), "{refused}");
}

#[test]
fn mcp_http_serves_a_client() {
    let text = printed(env!("CARGO_BIN_EXE_mcp_http"), &[]);
    assert_eq!(text, "6 words\nthe tool failed: there is no word in this text\n");
}

#[tokio::test]
async fn mcp_blocking_serves_a_client() {
    let child = transport::child(Command::new(env!("CARGO_BIN_EXE_mcp_blocking"))).unwrap();
    let client = sabir_mcp::McpClient::new("test", "1.0.0").connect(child).await.unwrap();
    // More than it takes until the server blocks in `read`.
    for n in 0..40 {
        let sum = client.call("add", json!({ "a": n, "b": 30 })).await.unwrap();
        assert_eq!(sum.text(), (n + 30).to_string());
    }
    assert!(client.call("add", json!({ "a": "one" })).await.unwrap().is_error);
}

#[tokio::test]
async fn proxy_passes_calls_errors_and_notifications() {
    let server = env!("CARGO_BIN_EXE_hello_server");
    let proxy = Listening::start(env!("CARGO_BIN_EXE_proxy"), &["tcp://127.0.0.1:0", server]);
    let peer = sabir::connect(proxy.url.as_str(), Router::new()).await.unwrap();
    let sum: i64 = peer.call("add", (1, 2)).await.unwrap();
    assert_eq!(sum, 3);
    peer.notify("greet", ["no answer"]).await.unwrap();
    let refused: Result<i64, _> = peer.call("missing", ()).await;
    assert!(refused.unwrap_err().to_string().contains("-32601"));
}

/// A whole life of a language server, as an editor leads it.
#[tokio::test]
async fn lsp_server_lives_by_the_rules() {
    let (found, mut diagnostics) = tokio::sync::mpsc::unbounded_channel();
    let editor = Router::new().method("textDocument/publishDiagnostics", move |_, params: Value| {
        let found = found.clone();
        async move { Ok(found.send(params).is_ok()) }
    });
    let child = transport::child(Command::new(env!("CARGO_BIN_EXE_lsp_server"))).unwrap();
    let server = sabir::connect(child.framing(Framing::Headers).dialect(sabir::LSP), editor).await.unwrap();
    let hover = json!({"textDocument": {"uri": "file:///a"}, "position": {"line": 0, "character": 5}});

    let early: Result<Value, _> = server.call("textDocument/hover", hover.clone()).await;
    assert!(early.unwrap_err().to_string().contains("-32002"));
    let answer: Value =
        server.call("initialize", json!({"processId": null, "capabilities": {}})).await.unwrap();
    assert_eq!(answer["capabilities"]["hoverProvider"], true);
    server.notify("initialized", json!({})).await.unwrap();

    let long = format!("let answer = 42;\n{}", "x".repeat(101));
    let open =
        json!({"textDocument": {"uri": "file:///a", "languageId": "a", "version": 1, "text": "first"}});
    server.notify("textDocument/didOpen", open).await.unwrap();
    let change =
        json!({"textDocument": {"uri": "file:///a", "version": 2}, "contentChanges": [{"text": long}]});
    server.notify("textDocument/didChange", change).await.unwrap();
    let shown: Value = server.call("textDocument/hover", hover).await.unwrap();
    assert_eq!(shown["contents"], "`answer`, 1 times");
    assert_eq!(diagnostics.recv().await.unwrap()["diagnostics"], json!([]));
    assert_eq!(diagnostics.recv().await.unwrap()["diagnostics"][0]["range"]["start"]["line"], 1);

    let nothing: Value = server.call("shutdown", ()).await.unwrap();
    assert_eq!(nothing, Value::Null);
    let late: Result<Value, _> = server.call("textDocument/hover", ()).await;
    assert!(late.unwrap_err().to_string().contains("-32600"));
    server.notify("exit", ()).await.unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(30), server.closed()).await.unwrap();
    assert!(ended.to_string().contains("exit status: 0"), "{ended}");

    let child = transport::child(Command::new(env!("CARGO_BIN_EXE_lsp_server"))).unwrap();
    let transport = child.framing(Framing::Headers).dialect(sabir::LSP);
    let server = sabir::connect(transport, Router::new()).await.unwrap();
    server.notify("exit", ()).await.unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(30), server.closed()).await.unwrap();
    assert!(ended.to_string().contains("exit status: 1"), "{ended}");
}
