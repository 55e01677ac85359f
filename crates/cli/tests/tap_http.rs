//! HTTP through `sabir tap`: the headers of both sides are recorded without secrets, and shown, copied and exported.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

#[allow(dead_code)] // Others use the rest of it.
mod folder;
mod page;
mod started;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;

use folder::{Folder, SABIR};
use page::Page;
use serde_json::{Value, json};
use started::Started;

/// Answers one request on each connection.
fn server(answers: Vec<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    thread::spawn(move || {
        for answer in answers {
            let (stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(&stream);
            let (mut head, mut length) = (String::new(), 0);
            while !head.ends_with("\r\n\r\n") {
                let start = head.len();
                reader.read_line(&mut head).unwrap();
                let length_of = head[start..].to_lowercase();
                length = length_of
                    .strip_prefix("content-length: ")
                    .map_or(length, |length| length.trim().parse().unwrap());
            }
            reader.read_exact(&mut vec![0; length]).unwrap();
            (&stream).write_all(answer.as_bytes()).unwrap();
        }
    });
    format!("http://{at}/rpc?key=1")
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
}

fn post(url: &str, body: &str, more: &str) {
    let at = url.split('/').nth(2).unwrap();
    let mut stream = TcpStream::connect(at).unwrap();
    let own = "Authorization: Bearer HUNTER2\r\nCookie: a=HUNTER2\r\nDPoP: HUNTER2\r\nX-Own: yes\r\nX-Pin: 1234\r\n";
    let length = body.len();
    write!(stream, "POST /mcp HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n{own}{more}Content-Length: {length}\r\n\r\n{body}").unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
}

fn call(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"add"}}}}"#)
}

const EVENTS: &str = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n\n";

/// A tap between a client and a server that have exchanged a call, a notification, a refusal and a stream.
fn session(folder: &Folder, more: &[&str]) -> (Started, Page, String) {
    let json = "Content-Type: application/json\r\n";
    let target = server(vec![
        answer(
            "200 OK",
            &format!("{json}Set-Cookie: HUNTER2\r\nX-Server: one\r\n"),
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        ),
        answer("202 Accepted", "X-Server: two\r\n", ""),
        answer("401 Unauthorized", "WWW-Authenticate: Bearer\r\n", "no"),
        answer("200 OK", "Content-Type: text/event-stream\r\nX-Server: three\r\n", EVENTS),
    ]);
    let listen = ["--view", "--record", "s.jrl", "--listen", "http://127.0.0.1:0/mcp", &target];
    let mut tap = Started::new(&folder.0, &[&["tap"], more, &listen[..]].concat());
    let page = Page::told(&tap.line("view at"));
    let url = tap.url("listening at");
    post(&url, &call(1), json);
    post(&url, r#"{"jsonrpc":"2.0","method":"seen"}"#, "");
    post(&url, &call(2), "");
    post(&url, &call(3), "");
    page.until("rows?from=0&count=50", |rows| {
        rows.as_array().unwrap().iter().any(|row| row["id"] == "3" && row["status"] == "ok")
    });
    (tap, page, target)
}

fn row(page: &Page, is_it: impl Fn(&Value) -> bool) -> Value {
    let rows = page.get("rows?from=0&count=50");
    let row = rows.as_array().unwrap().iter().find(|row| is_it(row)).unwrap_or_else(|| panic!("{rows}"));
    row["row"].clone()
}

#[test]
fn headers_are_recorded_and_shown() {
    let folder = Folder::new();
    let (_tap, page, _) = session(&folder, &["--redact", "x-pin"]);
    let record = fs::read_to_string(folder.0.join("s.jrl")).unwrap();
    assert!(!record.contains("HUNTER2") && !record.contains("1234"), "{record}");
    let exchanges = |part: &str| -> Vec<String> {
        let lines = record.lines().filter(|line| line.contains(part));
        let number = |line: &str| line.split(r#""x":"#).nth(1).unwrap().split(',').next().unwrap().to_owned();
        lines.map(number).collect()
    };
    // A request and all that is said to it.
    assert_eq!(exchanges(r#""id":1,"#), ["1", "1"]);
    assert_eq!((exchanges(r#""m":"seen""#), exchanges("202 Accepted")), (vec!["2".into()], vec!["2".into()]));
    assert_eq!(exchanges("401 Unauthorized"), ["3"]);
    assert_eq!(exchanges(r#""id":3,"#), ["4", "4"]);
    let detail = |row: &Value| page.get(&format!("row/{row}"));
    let has = |head: &Value, first: &str, parts: &[&str]| {
        let head = head.as_str().unwrap_or_else(|| panic!("no head that begins with {first}"));
        assert!(head.starts_with(&format!("{first}\n")), "{head}");
        parts.iter().for_each(|part| assert!(head.contains(&format!("\n{part}")), "{part}: {head}"));
    };
    let first = detail(&row(&page, |row| row["id"] == "1"));
    let own = [
        "x-own: yes",
        "authorization: [redacted]",
        "cookie: [redacted]",
        "dpop: [redacted]",
        "x-pin[redacted]",
    ];
    has(&first["request"]["head"], "POST /rpc", &own);
    has(&first["answer"]["head"], "200 OK POST /mcp", &["x-server: one", "set-cookie: [redacted]"]);
    assert_eq!(first["http"], json!([]));
    for (what, status) in [
        (row(&page, |row| row["method"] == "seen"), "202 Accepted"),
        (row(&page, |row| row["id"] == "2"), "401 Unauthorized"),
    ] {
        let detail = detail(&what);
        has(&detail["request"]["head"], "POST /rpc", &["x-own: yes"]);
        let http = detail["http"].as_array().unwrap();
        assert_eq!(http.len(), 1, "{detail}");
        has(&http[0]["text"], &format!("{status} POST /mcp"), &[]);
    }
    // The head of a stream is with its first event.
    has(
        &detail(&row(&page, |row| row["id"] == "3"))["answer"]["head"],
        "200 OK POST /mcp",
        &["x-server: three"],
    );
}

#[test]
fn headers_are_copied_and_exported() {
    let folder = Folder::new();
    let (_tap, page, target) = session(&folder, &[]);
    let curl = page.get(&format!("copy/{}?as=curl", row(&page, |row| row["id"] == "1")));
    let curl = curl.as_str().unwrap();
    for part in
        [&format!("curl '{target}' "), " -H 'x-own: yes'", " -H 'authorization: [redacted]'", " --data-raw "]
    {
        assert!(curl.contains(part), "{part}: {curl}");
    }
    assert!(!curl.contains("host:") && !curl.contains("content-length:"), "{curl}");
    let har: Value = serde_json::from_str(&page.post("export", &json!({ "format": "har" }))).unwrap();
    let entries = har["log"]["entries"].as_array().unwrap();
    let told: Vec<Value> = entries
        .iter()
        .map(|entry| {
            let (request, response) = (&entry["request"], &entry["response"]);
            json!([request["method"], request["url"], response["status"], response["statusText"]])
        })
        .collect();
    let pushed = json!(["POST", "jsonrpc:///notifications/message", 0, "no answer"]);
    let sent = |status: u16, name: &str| json!(["POST", target, status, name]);
    assert_eq!(
        told,
        [sent(200, "OK"), sent(202, "Accepted"), sent(401, "Unauthorized"), sent(200, "OK"), pushed]
    );
    let header = |of: &Value, name: &str| {
        let found = of["headers"].as_array().unwrap().iter().find(|header| header["name"] == name);
        found.map(|header| header["value"].clone())
    };
    assert_eq!(header(&entries[0]["request"], "x-own"), Some(json!("yes")));
    assert_eq!(header(&entries[0]["response"], "x-server"), Some(json!("one")));
    assert_eq!(header(&entries[2]["response"], "www-authenticate"), Some(json!("Bearer")));
    assert_eq!(header(&entries[3]["response"], "x-server"), Some(json!("three")));
    let hidden = json!({ "format": "jrl", "redact": ["x-own"] });
    let saved = page.post("export", &hidden);
    assert!(saved.contains(r#""x":4,"#) && saved.contains(r"\nx-own[redacted]\n"), "{saved}");
}

/// From 2026-07-28 headers repeat what is in the message.
#[test]
fn headers_that_do_not_fit_the_message_are_found() {
    let folder = Folder::new();
    let target = server(vec![answer(
        "200 OK",
        "",
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
    )]);
    let listen = ["tap", "--check", "--record", "s.jrl", "--listen", "http://127.0.0.1:0/mcp", &target];
    let mut tap = Started::new(&folder.0, &listen);
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let body =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"add",{meta}}}}}"#);
    let headers = "Mcp-Method: tools/list\r\nMcp-Name: add\r\nMCP-Protocol-Version: 2026-07-28\r\n";
    post(&tap.url("listening at"), &body, headers);
    let want = "the header Mcp-Method is `tools/list`, and the message says `tools/call`";
    let told = tap.line("MCP024");
    assert!(told.contains(want), "{told}");
    let run = Command::new(SABIR).args(["check", "s.jrl"]).current_dir(&folder.0).output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(run.status.code() == Some(1) && said.contains(want), "{said}");
}
