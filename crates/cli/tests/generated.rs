//! Generated clients: what is written for the demo service, and for a document with every kind of schema. The one
//! in Rust is compiled here and calls the demo; those in other languages are run by `interop`.
//!
//! `UPDATE=1 cargo test` writes down what came, to be looked at in the diff.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;

use sabir::{CallError, Router, transport};

#[allow(dead_code, unreachable_pub, clippy::all)]
mod demo {
    include!("data/generated/demo.rs");
}

#[allow(dead_code, deprecated, unreachable_pub, non_camel_case_types, clippy::all)]
mod everything {
    include!("data/generated/everything.rs");
}

#[allow(dead_code, deprecated, unreachable_pub, non_camel_case_types, clippy::all)]
mod hostile {
    include!("data/generated/hostile.rs");
}

#[allow(dead_code, unreachable_pub, clippy::all)]
mod tools {
    include!("data/generated/tools.rs");
}

fn check(source: &str, lang: &str, name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/generated");
    let output = Command::new(env!("CARGO_BIN_EXE_sabir"))
        .args(["generate", "--lang", lang, source])
        .current_dir(&folder)
        .output()
        .unwrap();
    let came = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let path = folder.join(name);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, came).unwrap();
    } else {
        assert_eq!(came, fs::read_to_string(&path).unwrap_or_default(), "{name}: the left side came");
    }
}

#[test]
fn clients_are_what_they_were() {
    for (lang, ending) in [("rust", "rs"), ("typescript", "ts"), ("python", "py")] {
        check("demo:", lang, &format!("demo.{ending}"));
        check("everything.json", lang, &format!("everything.{ending}"));
        check("hostile.json", lang, &format!("hostile.{ending}"));
        check(&format!("stdio:{} demo --mcp", env!("CARGO_BIN_EXE_sabir")), lang, &format!("tools.{ending}"));
    }
}

#[test]
fn the_document_of_the_demo_is_what_it_was() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_sabir")).args(["describe", "demo:", "--openrpc"]).output().unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let came = format!("{document:#}\n");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/generated/demo.openrpc.json");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, came).unwrap();
    } else {
        assert_eq!(came, fs::read_to_string(&path).unwrap_or_default(), "the left side came");
    }
}

#[tokio::test]
async fn the_client_calls_the_demo() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_sabir"));
    server.arg("demo");
    let peer = sabir::connect(transport::child(server).unwrap(), Router::new()).await.unwrap();
    let demo = demo::SabirDemo::new(peer);
    assert_eq!(demo.add(2.0, 3.0).await.unwrap(), 5.0);
    assert_eq!(demo.sum(vec![1.0, 2.0, 4.0]).await.unwrap(), 7.0);
    assert_eq!(demo.get_data().await.unwrap(), ("hello".to_owned(), 5));
    assert_eq!(demo.tick(2).await.unwrap(), 2);
    demo.update(("noted",)).await.unwrap();
    assert_eq!(demo.notes().await.unwrap(), [serde_json::json!(["noted"])]);
    match demo.fail(Some(7), Some("seven".to_owned()), None).await {
        Err(CallError::Error(error)) => assert_eq!((error.code.0, &*error.message), (7, "seven")),
        other => panic!("expected an error, got {other:?}"),
    }
}

#[tokio::test]
async fn the_client_of_tools_calls_the_demo() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_sabir"));
    server.args(["demo", "--mcp"]);
    let client = sabir_mcp::McpClient::new("test", "1.0");
    let session = client.connect(transport::child(server).unwrap()).await.unwrap();
    let tools = tools::SabirEverything::new(session);
    assert_eq!(tools.add(2, 3).await.unwrap().text(), "5");
    assert!(!tools.test_simple_text().await.unwrap().text().is_empty());
    assert_eq!(tools.divide(7.0, 2.0).await.unwrap().quotient, 3.5);
    match tools.divide(1.0, 0.0).await {
        Err(tools::NoResult::Failed(result)) => assert!(result.text().contains("zero")),
        other => panic!("expected a failure, got {other:?}"),
    }
}
