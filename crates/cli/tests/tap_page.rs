//! Pages that do not read what they have asked for, and pages that vanish: the traffic does not notice, and no row is lost.

// A small window, and `cat`.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

#[allow(dead_code)] // Others use the rest of it.
mod folder;
#[allow(dead_code)] // Others use the rest of it.
mod page;
#[allow(dead_code)] // Others use the rest of it.
mod started;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;

use folder::{Folder, wait};
use page::Page;
use serde_json::json;
use socket2::SockRef;
use started::Started;

/// Lines of one flood: less than waits for the recorder at most, so none may be missing.
const LINES: usize = 20_000;

/// A request whose answer nobody reads.
fn ask(page: &Page, method: &str, path: &str, body: &str) -> TcpStream {
    let stream = TcpStream::connect(&page.host).unwrap();
    SockRef::from(&stream).set_recv_buffer_size(4096).unwrap();
    let length = body.len();
    let headers = format!("{}Content-Type: application/json\r\nContent-Length: {length}\r\n", page.headers());
    (&stream).write_all(format!("{method} {path} HTTP/1.1\r\n{headers}\r\n{body}").as_bytes()).unwrap();
    stream
}

#[test]
fn a_page_that_does_not_read_or_dies_holds_up_nothing() {
    let folder = Folder::new();
    let mut tap = Started::new(&folder.0, &["tap", "--view", "--record", "s.jrl", "--", "cat"]);
    let page = Page::told(&tap.line("view at"));
    let mut stdin = tap.child.stdin.take().unwrap();
    let mut stdout = tap.child.stdout.take().unwrap();
    let padding = "a".repeat(200);
    let mut sent = 0;
    // What `cat` has said must be what it was told, whatever the pages do.
    let mut flood = |during: &dyn Fn()| {
        let lines = sent..sent + LINES;
        sent += LINES;
        let line = |n| format!("{{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[{n},\"{padding}\"]}}\n");
        let text: String = lines.map(line).collect();
        thread::scope(|scope| {
            let (stdin, text) = (&mut stdin, &text);
            scope.spawn(move || stdin.write_all(text.as_bytes()).unwrap());
            let mut came = vec![0; text.len() / 2];
            stdout.read_exact(&mut came).unwrap();
            during();
            let mut rest = vec![0; text.len() - came.len()];
            stdout.read_exact(&mut rest).unwrap();
            assert!([came, rest].concat() == text.as_bytes(), "other bytes came");
        });
        let messages = 2 * sent;
        page.until("stats", |stats| stats["all"]["messages"] == messages);
        let last = page.get(&format!("rows?view=records&from={}&count=1", messages + 1));
        assert_eq!(last[0]["kind"], "note", "{last}");
    };
    let all = json!({ "format": "jrl" }).to_string();
    let feeds: Vec<TcpStream> = (0..3).map(|_| ask(&page, "GET", "/api/feed", "")).collect();
    flood(&|| {});
    let exports: Vec<TcpStream> = (0..3).map(|_| ask(&page, "POST", "/api/export", &all)).collect();
    flood(&|| {});
    // In the middle of a flood they are gone.
    flood(&|| {
        for gone in feeds.iter().chain(&exports) {
            gone.shutdown(Shutdown::Both).unwrap();
        }
    });
    drop(stdin);
    assert!(wait(&mut tap.child).success());
    let record = std::fs::read_to_string(folder.0.join("s.jrl")).unwrap();
    assert_eq!(record.matches(r#""k":"note""#).count(), 2 * 3 * LINES);
    assert!(
        !record.contains(r#""k":"gap""#) && record.ends_with("\"raw\":\"code 0\"}\n"),
        "a gap, or no end"
    );
}
