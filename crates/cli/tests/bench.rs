//! `sabir bench` and servers that come and go.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod started;

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use started::Started;

const SABIR: &str = env!("CARGO_BIN_EXE_sabir");

/// Sessions over HTTP are opened again, as connections of plain JSON-RPC are.
#[test]
fn a_run_goes_on_when_a_server_of_mcp_comes_back() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut first = Started::new(folder, &["demo", "--mcp", "--listen", "http://127.0.0.1:0/mcp"]);
    let url = first.url("serving");
    let bench = Command::new(SABIR)
        .args([
            "bench",
            &url,
            "add",
            "a=2",
            "b=3",
            "--rate",
            "20",
            "--duration",
            "8s",
            "--warmup",
            "0s",
            "--json",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_secs(2));
    drop(first);
    // Calls fail meanwhile.
    thread::sleep(Duration::from_secs(1));
    let mut second = Started::new(folder, &["demo", "--mcp", "--listen", &url]);
    second.line("serving");
    let report: Value = serde_json::from_slice(&bench.wait_with_output().unwrap().stdout).unwrap();
    let round = &report["rounds"][0];
    assert!(round["errors"].as_u64() > Some(0), "{round}");
    let samples = round["samples"].as_array().unwrap();
    let last = samples.iter().rev().find(|sample| sample["sent"].as_u64() > Some(0)).unwrap();
    assert!(last["ok"].as_u64() > Some(0), "{last}");
}

/// A disk may be full when the page is written. What was measured is there all the same.
#[cfg(target_os = "linux")]
#[test]
fn figures_are_printed_whatever_becomes_of_the_page() {
    let run = Command::new(SABIR)
        .args(["bench", "demo:", "add", "2", "3", "--count", "10", "--html", "/dev/full"])
        .output()
        .unwrap();
    let (out, error) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(out.contains("10 answered, 0 errors"), "{out}");
    assert!(error.contains("cannot write `/dev/full`"), "{error}");
    assert_eq!(run.status.code(), Some(3));
}
