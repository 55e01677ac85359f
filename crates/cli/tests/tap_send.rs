//! `sabir tap --allow-send`: messages of the page go out between those of the client, and their answers do not reach it.

// Commands for `sh`.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod folder;
mod page;
mod started;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::thread;

use folder::{Folder, SABIR, until, wait};
use page::Page;
use serde_json::{Value, json};
use started::Started;

/// Sends a changed call from the row of the first call, and gives the result.
fn resend(page: &Page, message: &str) -> Value {
    let rows = page.until("rows?from=0&count=50", |rows| {
        rows.as_array().unwrap().iter().any(|row| row["method"] == "add" && row["status"] == "ok")
    });
    let row = rows.as_array().unwrap().iter().find(|row| row["method"] == "add").unwrap()["row"].clone();
    let sent = page.post("send", &json!({ "row": row, "message": message }));
    let answer: Value = serde_json::from_str(&sent).unwrap();
    serde_json::from_str(answer["text"].as_str().unwrap()).unwrap()
}

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[2,3]}"#;
const AGAIN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[20,30]}"#;

/// Pipes have bounds: whoever writes more than fits must still be read from.
#[test]
fn a_flood_of_messages_passes() {
    let folder = Folder::new();
    let mut tap = Started::new(&folder.0, &["tap", "--view", "--allow-send", "--", "cat"]);
    let line = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[\"{}\"]}}\n", "a".repeat(900));
    let count = 20_000;
    let mut stdin = tap.child.stdin.take().unwrap();
    let want = line.len() * count;
    thread::spawn(move || (0..count).for_each(|_| stdin.write_all(line.as_bytes()).unwrap()));
    let mut stdout = tap.child.stdout.take().unwrap();
    let reader = thread::spawn(move || {
        let (mut buffer, mut all) = (vec![0; 1 << 16], 0);
        while let Ok(count @ 1..) = stdout.read(&mut buffer) {
            all += count;
        }
        all
    });
    until("all has passed", || reader.is_finished());
    assert_eq!(reader.join().unwrap(), want);
    wait(&mut tap.child);
}

/// On a machine that is busy, what reads for the page must not take the time of the traffic, nor that of the recorder.
#[cfg(target_os = "linux")]
#[test]
fn the_page_s_work_has_the_lowest_priority() {
    let folder = Folder::new();
    let mut tap = Started::new(&folder.0, &["tap", "--view", "--", "cat"]);
    let tasks = format!("/proc/{}/task", tap.child.id());
    // How nice the threads of this name are; behind their name in brackets, it is the 17th word.
    let nice = |name: &str| -> Option<i32> {
        std::fs::read_dir(&tasks).unwrap().find_map(|task| {
            let stat = std::fs::read_to_string(task.unwrap().path().join("stat")).ok()?;
            let (start, rest) = stat.rsplit_once(") ")?;
            start.ends_with(&format!("({name}")).then(|| rest.split(' ').nth(16).unwrap().parse().unwrap())
        })
    };
    until("all threads have their priorities", || {
        let order = ["view", "recorder", "view-read"].map(nice);
        let reads = ["view-filter", "view-check"].map(nice);
        matches!(order, [Some(first), Some(second), Some(third)] if first < second && second < third)
            && reads.iter().all(|other| *other == order[2])
    });
    drop(tap.child.stdin.take());
    wait(&mut tap.child);
}

#[test]
fn a_message_goes_out_on_the_pipes_of_a_command() {
    let folder = Folder::new();
    let mut tap = Started::new(&folder.0, &["tap", "--view", "--allow-send", "--", SABIR, "demo"]);
    let page = Page::told(&tap.line("view at"));
    let mut stdin = tap.child.stdin.take().unwrap();
    let mut answers = BufReader::new(tap.child.stdout.take().unwrap()).lines();
    writeln!(stdin, "{CALL}").unwrap();
    assert!(answers.next().unwrap().unwrap().contains(r#""result":5"#));
    assert_eq!(resend(&page, AGAIN)["result"], 50);
    // In the middle of a message of the client it waits.
    write!(stdin, "{}", &CALL[..20]).unwrap();
    let (page, message) = (page, AGAIN);
    let sent = thread::spawn(move || resend(&page, message));
    writeln!(stdin, "{}", &CALL[20..]).unwrap();
    assert_eq!(sent.join().unwrap()["result"], 50);
    drop(stdin);
    let rest: Vec<String> = answers.map(Result::unwrap).collect();
    assert!(rest.len() == 1 && rest[0].contains(r#""id":1,"result":5"#), "{rest:?}");
}

#[test]
fn a_message_goes_out_on_a_socket() {
    let folder = Folder::new();
    let mut demo = Started::new(&folder.0, &["demo", "--listen", "tcp://127.0.0.1:0"]);
    let target = demo.url("serving on");
    let listen = ["--listen", "tcp://127.0.0.1:0", &target];
    let mut tap = Started::new(
        &folder.0,
        &[&["tap", "--view", "--allow-send", "--record", "s.jrl"], &listen[..]].concat(),
    );
    let page = Page::told(&tap.line("view at"));
    let mut stream = TcpStream::connect(tap.url("listening at").strip_prefix("tcp://").unwrap()).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap()).lines();
    writeln!(stream, "{CALL}").unwrap();
    assert!(answers.next().unwrap().unwrap().contains(r#""result":5"#));
    assert_eq!(resend(&page, AGAIN)["result"], 50);
    writeln!(stream, "{}", CALL.replace(":1,", ":2,")).unwrap();
    let next = answers.next().unwrap().unwrap();
    assert!(next.contains(r#""id":2,"result":5"#), "{next}");
    drop((stream, answers));
    page.until("rows?from=0&count=50", |rows| {
        rows.as_array().unwrap().iter().any(|row| row["kind"] == "close")
    });
    let rows = page.get("rows?from=0&count=50");
    let ids: Vec<&str> = rows.as_array().unwrap().iter().filter_map(|row| row["id"].as_str()).collect();
    assert_eq!(ids, ["1", "\"sabir-send-1\"", "2"]);
    let row = rows.as_array().unwrap().iter().find(|row| row["id"] == "1").unwrap()["row"].clone();
    let headers = format!("{}Content-Type: application/json\r\n", page.headers());
    let body = json!({ "row": row, "message": AGAIN }).to_string();
    assert_eq!(page.ask("POST", "/api/send", &headers, &body), (400, "the connection is closed".to_owned()));
}

/// The frames of a WebSocket, and requests of HTTP: the program is the client of both.
#[test]
fn a_message_goes_out_on_a_websocket_and_over_http() {
    for scheme in ["ws", "http"] {
        let folder = Folder::new();
        let mut demo = Started::new(&folder.0, &["demo", "--listen", "http://127.0.0.1:0/"]);
        let target = demo.url("serving on").replacen("http", scheme, 1);
        let listen = ["--listen", "http://127.0.0.1:0/", &target];
        let mut tap = Started::new(&folder.0, &[&["tap", "--view", "--allow-send"], &listen[..]].concat());
        let page = Page::told(&tap.line("view at"));
        let at = tap.url("listening at").replacen("http", scheme, 1);
        // The client stays until its input ends.
        let mut client = Started::new(&folder.0, &["shell", &at]);
        let mut stdin = client.child.stdin.take().unwrap();
        writeln!(stdin, "add 2 3").unwrap();
        assert_eq!(resend(&page, AGAIN)["result"], 50, "{scheme}");
        writeln!(stdin, "add 4 5").unwrap();
        drop(stdin);
        wait(&mut client.child);
        let mut said = String::new();
        client.child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(said.contains('5') && said.contains('9') && !said.contains("50"), "{scheme}: {said}");
    }
}
