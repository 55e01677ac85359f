//! What `sabir tap` prints of what goes by, the signals that it passes on, what it does where there can be no page, and
//! `sabir view` in front of a command or a target.

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

/// What a tap with a page says whose state cannot be kept, and how it ends.
fn without_state(options: &[&str], state: &std::path::Path) -> (Option<i32>, String, String) {
    let mut command = Command::new(SABIR);
    command.args(options).env_remove("HOME").env("XDG_STATE_HOME", state);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // One that ends at once does not read it.
    let _ = writeln!(child.stdin.take().unwrap(), "{CALL}");
    let done = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (done.status.code(), text(done.stdout), text(done.stderr))
}

#[test]
fn a_server_starts_where_there_can_be_no_page() {
    let folder = Folder::new();
    let taken = folder.0.join("a-file");
    std::fs::write(&taken, "").unwrap();
    for state in [std::path::Path::new(""), &taken] {
        for options in [&["tap", "--view"][..], &["tap", "--view", "--allow-send"]] {
            let words = [options, &["--", SABIR, "demo"]].concat();
            let (code, out, said) = without_state(&words, state);
            assert_eq!((code, &*out), (Some(0), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":5}\n"), "{said}");
            assert!(said.starts_with("sabir tap: there is no page: ") && said.lines().count() == 1, "{said}");
        }
        // Here the page is what was asked for.
        let (code, out, said) = without_state(&["view", "--", SABIR, "demo"], state);
        assert_eq!((code, &*out), (Some(3), ""), "{said}");
        assert!(said.contains("cannot serve the page"), "{said}");
    }
    // A file that was named and cannot be written is a mistake in the command line.
    let record = taken.join("s.jrl");
    let words = ["tap", "--view", "--record", record.to_str().unwrap(), "--", SABIR, "demo"];
    let (code, out, said) = without_state(&words, &folder.0);
    assert_eq!((code, &*out), (Some(3), ""), "{said}");
}

#[test]
fn a_page_begins_with_the_filter() {
    let folder = Folder::new();
    let words =
        ["tap", "--record", "s.jrl", "--view", "--filter", "method:\"add\" ms>250 é", "--", SABIR, "demo"];
    let mut tap = Started::new(&folder.0, &words);
    let line = tap.line("view at");
    assert!(line.trim_end().ends_with("&filter=method:%22add%22%20ms%3E250%20%C3%A9"), "{line}");
    Page::told(&line).get("about");
    drop(tap.child.stdin.take());
    assert!(wait(&mut tap.child).success());
    for (filter, more, says) in
        [("methd:x", "--view", "did you mean `method:`?"), ("ms>1", "--check", "--filter says what is shown")]
    {
        let words = ["tap", "--record", "t.jrl", more, "--filter", filter, "--", SABIR, "demo"];
        let done =
            Command::new(SABIR).args(words).current_dir(&folder.0).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(said.contains(says), "{said}");
        assert!(!folder.0.join("t.jrl").exists());
    }
}

#[test]
fn a_call_gets_older_while_nothing_comes() {
    let folder = Folder::new();
    let mut tap = Started::new(&folder.0, &["tap", "--view", "--", SABIR, "demo"]);
    let page = Page::told(&tap.line("view at"));
    let mut stdin = tap.child.stdin.take().unwrap();
    writeln!(stdin, r#"{{"jsonrpc":"2.0","id":1,"method":"sleep","params":[600000]}}"#).unwrap();
    let asked = page.post("filter", &serde_json::json!({ "filter": "status:pending ms>900" }));
    let id = &serde_json::from_str::<serde_json::Value>(&asked).unwrap()["id"];
    let rows = page.until(&format!("rows?from=0&count=9&filter={id}"), |rows| rows != &serde_json::json!([]));
    assert!(rows[0]["age"].as_f64().unwrap() > 900.0, "{rows}");
    drop(tap);
}
