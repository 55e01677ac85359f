//! `sabir list` against servers that are recognised by what they answer: nodes of chains, a language server, aria2.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;

/// Answers calls with the result of their method, and all others as unknown. Returns its address.
fn server(answers: &[(&'static str, &'static str)], with_headers: bool) -> String {
    let answers = answers.to_vec();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, answers) = (stream.unwrap(), answers.clone());
            thread::spawn(move || talk(stream, &answers, with_headers));
        }
    });
    format!("tcp://{address}")
}

fn talk(mut stream: TcpStream, answers: &[(&str, &str)], with_headers: bool) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(text) = next(&mut reader, with_headers) {
        let message: serde_json::Value = serde_json::from_str(&text).unwrap();
        let Some(id) = message.get("id") else { continue };
        let answer = match answers.iter().find(|(method, _)| message["method"] == *method) {
            Some((_, result)) => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
            None => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"unknown"}}}}"#),
        };
        let frame = match with_headers {
            true => format!("Content-Length: {}\r\n\r\n{answer}", answer.len()),
            false => format!("{answer}\n"),
        };
        if stream.write_all(frame.as_bytes()).is_err() {
            return;
        }
    }
}

fn next(reader: &mut impl BufRead, with_headers: bool) -> Option<String> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
    if !with_headers {
        return Some(line);
    }
    let length = line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok()?;
    while line.trim() != "" {
        line.clear();
        reader.read_line(&mut line).ok()?;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    String::from_utf8(body).ok()
}

fn list(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_sabir")).arg("list").args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_node_of_ethereum_has_the_modules_that_it_names() {
    let node = server(&[("web3_clientVersion", r#""Geth/v1""#), ("rpc_modules", r#"{"web3":"1.0"}"#)], false);
    let listed = list(&[&node]);
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["web3_clientVersion", "web3_sha3"]);
}

#[test]
fn a_node_of_ethereum_without_modules_has_the_usual_methods() {
    let node = server(&[("web3_clientVersion", r#""Other/v1""#)], false);
    let listed = list(&[&node]);
    assert!(listed.contains("eth_getBalance") && !listed.contains("debug_"), "{listed}");
    assert_eq!(list(&["--as", "eth", &node]), listed);
}

#[test]
fn a_node_of_solana_has_streams_over_websocket_only() {
    let node = server(&[("getVersion", r#"{"solana-core":"4.1.0"}"#)], false);
    let listed = list(&[&node]);
    assert!(listed.contains("getBalance") && !listed.contains("Subscribe"), "{listed}");
}

#[test]
fn a_language_server_has_what_it_declares() {
    let hello = r#"{"capabilities":{"hoverProvider":true,"renameProvider":false}}"#;
    let server = server(&[("initialize", hello), ("shutdown", "null")], true);
    for args in [&["--as", "lsp", &*server][..], &["--framing", "headers", &server]] {
        let listed = list(args);
        assert!(listed.contains("textDocument/hover") && !listed.contains("rename"), "{listed}");
    }
}

#[test]
fn names_alone_are_listed_with_the_notifications() {
    let names = r#"["aria2.addUri","system.listNotifications"]"#;
    let answers =
        &[("system.listMethods", names), ("system.listNotifications", r#"["aria2.onDownloadStart"]"#)];
    let listed = list(&[&server(answers, false)]);
    assert!(listed.contains("aria2.addUri\n"), "{listed}");
    assert!(listed.contains("aria2.onDownloadStart") && listed.contains("(notification)"), "{listed}");
}
