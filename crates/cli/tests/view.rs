//! What `sabir view` serves, asked for without a browser. `interop/test_view.mjs` looks at the page in one.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const SABIR: &str = env!("CARGO_BIN_EXE_sabir");
const PATIENCE: Duration = Duration::from_secs(60);

const SESSION: &str = r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":"<b>"}}}
~ 5ms
< {"jsonrpc":"2.0","id":1,"result":{"content":[]}}
> {"jsonrpc":"2.0","id":2,"method":"add","params":[1,2]}
< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"not numbers"}}
< {"jsonrpc":"2.0","method":"seen"}
> {"jsonrpc":"2.0","id":3,"method":"add","params":[2,2]}
"#;

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("view-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// A page that is served until this is dropped.
struct View {
    child: Child,
    host: String,
    token: String,
}

impl Drop for View {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl View {
    fn of(text: &str, name: &str) -> Self {
        let path = folder(name).join("session.rpc");
        fs::write(&path, text).unwrap();
        let mut command = Command::new(SABIR);
        let mut child =
            command.arg("view").arg(&path).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (host, token) = line.trim().strip_prefix("http://").unwrap().split_once("/#t=").unwrap();
        let (host, token) = (host.to_owned(), token.to_owned());
        let view = View { child, host, token };
        view.until("rows?from=0&count=10", |rows| rows.as_array().unwrap().len() == 4);
        view
    }

    /// The status and the body of an answer.
    fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let length = body.len();
        let head = format!("{method} {path} HTTP/1.0\r\nContent-Length: {length}\r\n{headers}\r\n");
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    fn headers(&self) -> String {
        format!("Host: {}\r\nAuthorization: Bearer {}\r\n", self.host, self.token)
    }

    fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask("GET", &format!("/api/{path}"), &self.headers(), "");
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap_or(Value::String(body))
    }

    fn post(&self, path: &str, body: &Value) -> String {
        let headers = format!("{}Content-Type: application/json\r\n", self.headers());
        let (status, text) = self.ask("POST", &format!("/api/{path}"), &headers, &body.to_string());
        assert_eq!(status, 200, "{path}: {text}");
        text
    }

    /// Asks until the answer is as wanted.
    fn until(&self, path: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let answer = self.get(path);
            if is_it(&answer) {
                return answer;
            }
            assert!(start.elapsed() < PATIENCE, "{path}: {answer}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_call_is_one_row_with_its_answer() {
    let view = View::of(SESSION, "rows");
    let rows = view.get("rows?from=0&count=10");
    let told: Vec<String> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let text = |name: &str| row[name].as_str().unwrap_or("-").to_owned();
            format!("{} {} {} {} {}", row["row"], text("kind"), text("status"), text("method"), row["code"])
        })
        .collect();
    assert_eq!(
        told,
        [
            "0 req ok tools/call null",
            "2 req error add -32602",
            "4 note - seen null",
            "5 req pending add null"
        ]
    );
    assert_eq!((&rows[0]["tool"], &rows[0]["ms"]), (&json!("echo"), &json!(5.0)));
    assert_eq!(rows[1]["result"], "not numbers");
    assert_eq!(view.get("rows?view=records&from=3&count=1")[0]["kind"], "err");
    // Either half leads to the call.
    for row in [2, 3] {
        let detail = view.get(&format!("row/{row}"));
        assert_eq!(
            (&detail["request"]["row"]["row"], &detail["answer"]["row"]["row"]),
            (&json!(2), &json!(3))
        );
    }
    assert_eq!(view.get("next?from=-1&step=1")["place"], 1);
    assert_eq!(view.get("next?from=1&step=1")["place"], Value::Null);
}

#[test]
fn filters_find_rows_and_are_told_what_is_wrong() {
    let view = View::of(SESSION, "filters");
    for (filter, want) in
        [("method:add", 2), ("status:pending", 1), ("numbers", 1), ("dir:s2c", 1), ("-method:add", 2)]
    {
        let scan: Value = serde_json::from_str(&view.post("filter", &json!({ "filter": filter }))).unwrap();
        let path = format!("rows?from=0&count=10&filter={}", scan["id"]);
        let rows = view.until(&path, |rows| rows.as_array().unwrap().len() == want);
        assert_eq!(rows.as_array().unwrap().len(), want, "{filter}");
    }
    let wrong: Value = serde_json::from_str(&view.post("filter", &json!({ "filter": "methd:add" }))).unwrap();
    assert_eq!(wrong["problem"], "`methd:` is not a filter; did you mean `method:`?");
    assert_eq!((&wrong["from"], &wrong["to"]), (&json!(0), &json!(5)));
}

#[test]
fn rows_are_copied_and_exported() {
    let view = View::of(SESSION, "export");
    let first = view.get("copy/0?as=call");
    assert!(first.as_str().unwrap().starts_with("sabir call TARGET tools/call -d "), "{first}");
    let saved = view.post("export", &json!({ "format": "transcript" }));
    assert_eq!(saved, SESSION);
    let capture = view.post("export", &json!({ "format": "jrl", "rows": [2] }));
    let kinds: Vec<String> = capture
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            line["k"].as_str().unwrap_or("header").to_owned()
        })
        .collect();
    assert_eq!(kinds, ["header", "req", "err"]);
    let har: Value = serde_json::from_str(&view.post("export", &json!({ "format": "har" }))).unwrap();
    assert_eq!(har["log"]["entries"].as_array().unwrap().len(), 4);
}

#[test]
fn nobody_else_is_answered() {
    let view = View::of(SESSION, "guard");
    let (host, key) = (&view.host, view.headers());
    let port = host.rsplit(':').next().unwrap();
    for (method, path, headers, want) in [
        ("GET", "/", format!("Host: {host}\r\n"), 200),
        ("GET", "/", format!("Host: evil.example:{port}\r\n"), 403),
        ("GET", "/api/rows", format!("Host: {host}\r\n"), 401),
        ("GET", "/api/rows", format!("{key}Origin: http://evil.example\r\n"), 403),
        ("POST", "/api/filter", format!("{key}Content-Type: text/plain\r\n"), 415),
        ("POST", "/api/send", format!("{key}Content-Type: application/json\r\n"), 403),
        ("DELETE", "/api/rows", key.clone(), 405),
        ("GET", "/api/nothing", key.clone(), 404),
    ] {
        assert_eq!(view.ask(method, path, &headers, "").0, want, "{method} {path} {headers}");
    }
}

#[test]
fn without_taps_and_files_it_says_what_to_do() {
    let state = folder("taps");
    for (args, code, want) in [
        (&["view"][..], 2, "no tap with a page is running"),
        (&["view", "nothing.jrl"], 3, "cannot read nothing.jrl"),
        (&["view", "-"], 2, "standard input cannot be searched"),
    ] {
        let run = Command::new(SABIR).args(args).env("XDG_STATE_HOME", &state).output().unwrap();
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(code), "{said}");
        assert!(said.contains(want), "{said}");
    }
}
