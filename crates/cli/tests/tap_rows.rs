//! What `sabir tap` prints of what goes by, the signals that it passes on, and `sabir view` in front of a command or a target.

// Signals, and `cat`.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

#[allow(dead_code)] // Others use the rest of it.
mod folder;
#[allow(dead_code)] // Others use the rest of it.
mod page;
mod started;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use folder::{Folder, SABIR, wait};
use page::Page;
use started::Started;

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[2,3]}"#;

/// What a tap with these options says of these messages, which `cat` sends back.
fn said(options: &[&str], messages: &[&str]) -> String {
    let folder = Folder::new();
    let mut child = Command::new(SABIR)
        .arg("tap")
        .args(options)
        .args(["--", "cat"])
        .current_dir(&folder.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    messages.iter().for_each(|message| writeln!(stdin, "{message}").unwrap());
    drop(stdin);
    String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap()
}

#[test]
fn findings_are_printed_with_and_without_rows() {
    let reserved = r#"{"jsonrpc":"2.0","method":"rpc.x"}"#;
    let alone = said(&["--check"], &[CALL, reserved]);
    // Without the rows, a finding says where it is.
    let lines: Vec<&str> = alone.lines().filter(|line| line.contains("RPC009")).collect();
    assert_eq!(lines.len(), 2, "{alone}");
    assert!(lines.iter().all(|line| line.starts_with("record ")), "{alone}");
    let below = said(&["--check", "--print"], &[reserved]);
    let rows: Vec<&str> = below.lines().collect();
    let at = rows.iter().position(|row| row.contains("RPC009")).unwrap_or_else(|| panic!("{below}"));
    assert!(rows[at - 1].contains("> note    rpc.x"), "{below}");
}

#[test]
fn rows_are_printed_that_the_filter_leaves() {
    let other = CALL.replace("add", "divide");
    let all = said(&["--print"], &[CALL, &other]);
    for part in ["> req     add", "< req     add", "> req     divide", "exit"] {
        assert!(all.contains(part), "{part}: {all}");
    }
    let some = said(&["--print", "--filter", "method:add dir:c2s"], &[CALL, &other]);
    assert!(some.lines().count() == 1 && some.contains("> req     add"), "{some}");
}

#[test]
fn signals_are_passed_on() {
    const SIGNALS: [&str; 7] = ["HUP", "INT", "QUIT", "USR1", "USR2", "CONT", "WINCH"];
    let traps: String = SIGNALS.iter().map(|name| format!("trap 'echo {name}' {name}; ")).collect();
    let script = format!("{traps} echo ready; while :; do sleep 0.01; done");
    let folder = Folder::new();
    let mut tap = Started::new(&folder.0, &["tap", "--", "sh", "-c", &script]);
    let mut lines = BufReader::new(tap.child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().as_deref(), Some("ready"));
    for name in SIGNALS {
        let kill = Command::new("kill").args(["-s", name, &tap.child.id().to_string()]).status().unwrap();
        assert!(kill.success());
        assert_eq!(lines.next().as_deref(), Some(name));
    }
}

/// The page knows of the call that has gone by, and of its answer.
fn shows_the_call(page: &Page) {
    page.until("rows?from=0&count=50", |rows| {
        rows.as_array().unwrap().iter().any(|row| row["method"] == "add" && row["status"] == "ok")
    });
}

#[test]
fn a_command_is_viewed() {
    let folder = Folder::new();
    let mut view = Started::new(&folder.0, &["view", "--", SABIR, "demo"]);
    let page = Page::told(&view.line("view at"));
    let mut stdin = view.child.stdin.take().unwrap();
    let mut answers = BufReader::new(view.child.stdout.take().unwrap()).lines().map(Result::unwrap);
    writeln!(stdin, "{CALL}").unwrap();
    assert_eq!(answers.next().as_deref(), Some(r#"{"jsonrpc":"2.0","id":1,"result":5}"#));
    shows_the_call(&page);
    drop(stdin);
    assert!(wait(&mut view.child).success());
}

#[test]
fn a_target_is_viewed() {
    for (listen, scheme) in [("tcp://127.0.0.1:0", "tcp"), ("http://127.0.0.1:0/rpc", "http")] {
        let folder = Folder::new();
        let mut demo = Started::new(&folder.0, &["demo", "--listen", listen]);
        let mut view = Started::new(&folder.0, &["view", &demo.url("serving on")]);
        let page = Page::told(&view.line("view at"));
        let url = view.url("listening at");
        assert!(url.starts_with(scheme), "{url}");
        let run = Command::new(SABIR).args(["call", &url, "add", "2", "3"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&run.stdout), "5\n");
        shows_the_call(&page);
    }
}
