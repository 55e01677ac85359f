//! What `sabir view` serves, asked for without a browser. `interop/test_view.mjs` looks at the page in one.

#![allow(clippy::unwrap_used)]

mod page;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpStream};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use page::Page;
use serde_json::{Value, json};

const SABIR: &str = env!("CARGO_BIN_EXE_sabir");

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
    page: Page,
}

impl Deref for View {
    type Target = Page;

    fn deref(&self) -> &Page {
        &self.page
    }
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
        View::of_file(&path, 4)
    }

    /// Once it has so many rows.
    fn of_file(path: &Path, count: usize) -> Self {
        let mut command = Command::new(SABIR);
        let mut child =
            command.arg("view").arg(path).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let view = View { child, page: Page::told(&line) };
        view.until("rows?from=0&count=10", |rows| rows.as_array().unwrap().len() == count);
        view
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
            "1 req ok tools/call null",
            "3 req error add -32602",
            "5 note - seen null",
            "6 req pending add null"
        ]
    );
    assert_eq!((&rows[0]["tool"], &rows[0]["ms"]), (&json!("echo"), &json!(5.0)));
    assert_eq!(rows[1]["result"], "not numbers");
    assert_eq!(view.get("rows?view=records&from=3&count=1")[0]["kind"], "err");
    // Either half leads to the call.
    for row in [3, 4] {
        let detail = view.get(&format!("row/{row}"));
        assert_eq!(
            (&detail["request"]["row"]["row"], &detail["answer"]["row"]["row"]),
            (&json!(3), &json!(4))
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

/// The rows of a group of what is related to a row.
fn related(view: &View, row: u32, why: &str) -> Vec<u64> {
    let detail = view.get(&format!("row/{row}"));
    let groups = detail["related"].as_array().unwrap();
    let rows = groups.iter().find(|group| group["why"] == why).map(|group| group["rows"].as_array().unwrap());
    rows.map_or(Vec::new(), |rows| rows.iter().map(|row| row["row"].as_u64().unwrap()).collect())
}

/// What ties rows together may be in a request, in an answer or in a notification, and leads both ways.
#[test]
fn related_rows_find_each_other() {
    let call = |id: u32, method: &str, params: &str, result: &str| {
        format!(
            "> {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n< {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n"
        )
    };
    let note = |method: &str, params: &str| {
        format!("< {{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{params}}}\n")
    };
    let listened = r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":77}}"#;
    let text = [
        // 1 and 3
        call(1, "tools/call", r#"{"name":"ask"}"#, r#"{"resultType":"input_required","requestState":"s1"}"#),
        call(2, "tools/call", r#"{"name":"ask","requestState":"s1"}"#, "{}"),
        // 5 and 7
        call(3, "tools/call", r#"{"name":"long"}"#, r#"{"task":{"taskId":"t1"}}"#),
        call(4, "tasks/get", r#"{"taskId":"t1"}"#, r#"{"taskId":"t1"}"#),
        // 9, 11, 12, 14 and 16: a result that is the same text alone is of nothing
        call(5, "eth_subscribe", r#"["newHeads"]"#, "\"0x1f\""),
        note("eth_subscription", r#"{"subscription":"0x1f","result":1}"#),
        call(6, "eth_blockNumber", "[]", "\"0x1f0\""),
        call(7, "eth_unsubscribe", r#"["0x1f"]"#, "true"),
        call(8, "echo", r#"["0x1f"]"#, "1"),
        // 18 and 20
        call(77, "subscriptions/listen", "{}", "{}"),
        note("notifications/tools/list_changed", listened),
        // 21 and 22
        note("$/progress", r#"{"token":12,"value":1}"#),
        note("$/progress", r#"{"token":1,"value":2}"#),
        "> {\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"textDocument/references\",\"params\":{\"partialResultToken\":1,\"workDoneToken\":2}}\n".to_owned(),
        // 24 to 26
        note("$/progress", r#"{"token":1,"value":3}"#),
        note("$/progress", r#"{"token":2,"value":4}"#),
        note("$/progress", r#"{"token":21,"value":5}"#),
    ]
    .concat();
    let path = folder("related").join("session.rpc");
    fs::write(&path, text).unwrap();
    let view = View::of_file(&path, 10);
    let shown = view.get("rows?from=0&count=100");
    assert_eq!(shown.as_array().unwrap().len(), 17, "{shown}");
    for (row, why, want) in [
        (1, "same request state", &[3][..]),
        (3, "same request state", &[1]),
        (5, "same task", &[7]),
        (7, "same task", &[5]),
        (9, "same subscription", &[11, 14]),
        (11, "same subscription", &[9, 14]),
        (14, "same subscription", &[9, 11]),
        (12, "same subscription", &[]),
        (16, "same subscription", &[]),
        (18, "same subscription", &[20]),
        (20, "same subscription", &[18]),
        (23, "same token", &[22]),
        (24, "same token", &[22, 23]),
    ] {
        assert_eq!(related(&view, row, why), want, "{why} as {row}");
    }
    let progress = view.get("row/23")["progress"].clone();
    let rows: Vec<u64> =
        progress.as_array().unwrap().iter().map(|row| row["row"].as_u64().unwrap()).collect();
    assert_eq!(rows, [24, 25]);
}

/// Follows, as a page does: the connection, and the number of the page.
fn follow(view: &View) -> (TcpStream, Value) {
    let mut stream = TcpStream::connect(&view.host).unwrap();
    write!(stream, "GET /api/feed HTTP/1.0\r\n{}\r\n", view.headers()).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
    let news = lines.find(|line| line.starts_with('{')).unwrap();
    (stream, serde_json::from_str::<Value>(&news).unwrap()["page"].clone())
}

/// The filters of a page are its own: those of others do not take their places, and they go when it goes.
#[test]
fn filters_last_as_long_as_their_page() {
    let view = View::of(SESSION, "pages");
    let filter = |page: &Value| {
        let asked = json!({ "filter": "method:add", "page": page });
        serde_json::from_str::<Value>(&view.post("filter", &asked)).unwrap()["id"].clone()
    };
    let status =
        |id: &Value| view.ask("GET", &format!("/api/rows?from=0&count=9&filter={id}"), &view.headers(), "").0;
    let (first, page) = follow(&view);
    let (second, other) = follow(&view);
    assert_ne!(page, other);
    let id = filter(&page);
    let ids: Vec<Value> = (0..20).map(|_| filter(&other)).collect();
    (0..20).for_each(|_| drop(filter(&Value::Null)));
    assert_eq!((status(&id), status(ids.last().unwrap())), (200, 200));
    // One page does not keep any number of them.
    assert_eq!(status(&ids[0]), 404);
    second.shutdown(Shutdown::Both).unwrap();
    let start = Instant::now();
    while status(ids.last().unwrap()) != 404 {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "the filters of a page that is gone are still there"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(status(&id), 200);
    drop(first);
}

#[test]
fn rows_are_copied_and_exported() {
    let view = View::of(SESSION, "export");
    let first = view.get("copy/1?as=call");
    assert!(first.as_str().unwrap().starts_with("sabir call TARGET tools/call -d "), "{first}");
    let saved = view.post("export", &json!({ "format": "transcript" }));
    assert_eq!(saved, SESSION);
    let capture = view.post("export", &json!({ "format": "jrl", "rows": [3] }));
    let kinds: Vec<String> = capture
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            line["k"].as_str().unwrap_or("header").to_owned()
        })
        .collect();
    assert_eq!(kinds, ["header", "req", "err"]);
    let hidden =
        view.post("export", &json!({ "format": "transcript", "redact": ["$.params.arguments", "message"] }));
    assert!(
        !hidden.contains("<b>") && !hidden.contains("not numbers") && hidden.contains("[redacted]"),
        "{hidden}"
    );
    let har: Value = serde_json::from_str(&view.post("export", &json!({ "format": "har" }))).unwrap();
    assert_eq!(har["log"]["entries"].as_array().unwrap().len(), 4);
}

#[test]
fn a_recording_that_is_written_anew_goes_on_behind_a_gap() {
    let path = folder("anew").join("session.jrl");
    let session = |day: u32, methods: &[&str]| {
        let mut text = format!("{{\"jrl\":1,\"at\":\"2026-11-{day}T12:00:00Z\"}}\n");
        for (at, method) in methods.iter().enumerate() {
            let message = json!({ "jsonrpc": "2.0", "method": method });
            let n = at + 1;
            text += &format!(
                "{{\"n\":{n},\"t\":{n},\"d\":\">\",\"k\":\"note\",\"m\":\"{method}\",\"msg\":{message}}}\n"
            );
        }
        text
    };
    fs::write(&path, session(15, &["a", "b", "c"])).unwrap();
    let view = View::of_file(&path, 4);
    fs::write(&path, session(16, &["d"])).unwrap();
    let rows = view.until("rows?from=0&count=10", |rows| rows.as_array().unwrap().len() >= 7);
    let told: Vec<&str> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["method"].as_str().unwrap_or_else(|| row["kind"].as_str().unwrap()))
        .collect();
    assert_eq!(told, ["start", "a", "b", "c", "gap", "start", "d"]);
    let saved = view.post("export", &json!({ "format": "transcript" }));
    let [lost, cut, last] = &saved.lines().collect::<Vec<_>>()[..] else { panic!("{saved}") };
    assert_eq!(*lost, "# gap: 3 rows are no longer in the files of the recording");
    assert!(cut.starts_with("# gap: the file was cut off"), "{cut}");
    assert_eq!(*last, "> {\"jsonrpc\":\"2.0\",\"method\":\"d\"}");
}

#[test]
fn only_calls_of_the_client_are_copied_as_commands() {
    let view = View::of(SESSION, "copies");
    for (row, want) in [(1, &["call", "transcript", "json"][..]), (5, &["transcript", "json"])] {
        assert_eq!(view.get(&format!("row/{row}"))["copies"], json!(want), "{row}");
        for form in ["call", "curl", "transcript", "json"] {
            let path = format!("/api/copy/{row}?as={form}");
            let status = view.ask("GET", &path, &view.headers(), "").0;
            assert_eq!(status, if want.contains(&form) { 200 } else { 400 }, "{row} {form}");
        }
    }
}

#[test]
fn a_tool_that_fails_is_an_error() {
    let failed = SESSION.replace(r#""result":{"content":[]}"#, r#""result":{"content":[],"isError":true}"#);
    let view = View::of(&failed, "failed");
    assert_eq!(view.get("rows?from=0&count=1")[0]["status"], "error");
    assert_eq!(view.get("stats")["all"]["errors"], 2);
    assert_eq!(view.get("next?from=-1&step=1")["place"], 0);
    let path = folder("failed").join("session.rpc");
    let run = Command::new(SABIR).args(["view", "--print"]).arg(path).output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(said.lines().take(2).all(|line| line.contains("  error  ")), "{said}");
}

#[test]
fn statistics_are_of_what_the_filter_leaves() {
    let view = View::of(SESSION, "stats");
    let told = |stats: &Value| {
        let all = &stats["all"];
        json!([
            all["count"],
            all["messages"],
            all["errors"],
            all["pending"],
            stats["methods"].as_array().unwrap().len()
        ])
    };
    assert_eq!(told(&view.get("stats")), json!([4, 6, 1, 1, 3]));
    let scan: Value = serde_json::from_str(&view.post("filter", &json!({ "filter": "method:add" }))).unwrap();
    let rows = format!("rows?from=0&count=10&filter={}", scan["id"]);
    view.until(&rows, |rows| rows.as_array().unwrap().len() == 2);
    assert_eq!(told(&view.get(&format!("stats?filter={}", scan["id"]))), json!([2, 3, 1, 1, 1]));
    // Rows that have come since, for a page that is paused.
    let asked = json!({ "filter": "method:add", "until": 4 });
    let scan: Value = serde_json::from_str(&view.post("filter", &asked)).unwrap();
    view.until(&format!("place/6?filter={}", scan["id"]), |place| place["sure"] == true);
    assert_eq!(view.get(&format!("rows?from=0&count=10&filter={}", scan["id"])).as_array().unwrap().len(), 1);
}

/// What breaks a rule is on its row, once the rules were applied to it.
#[test]
fn findings_are_on_their_rows() {
    let text = format!("{SESSION}> {{\"jsonrpc\":\"2.0\",\"method\":\"rpc.x\"}}\n");
    let path = folder("findings").join("session.rpc");
    fs::write(&path, &text).unwrap();
    let view = View::of_file(&path, 5);
    let rows = view.until("rows?from=0&count=10", |rows| rows[4].get("findings").is_some());
    assert_eq!(
        (&rows[4]["findings"][0]["rule"], &rows[4]["findings"][0]["level"]),
        (&json!("RPC009"), &json!("warning"))
    );
    assert!(rows.as_array().unwrap()[..4].iter().all(|row| row.get("findings").is_none()), "{rows}");
    let finding = &view.get("row/7")["request"]["row"]["findings"][0];
    assert!(
        finding["why"].as_str().unwrap().len() > 10 && finding["fix"].as_str().unwrap().len() > 10,
        "{finding}"
    );
}

#[test]
fn connections_without_the_token_keep_nobody_out() {
    let view = View::of(SESSION, "strangers");
    let ask = format!("GET /app.js HTTP/1.1\r\nHost: {}\r\n\r\n", view.host).repeat(200);
    let strangers: Vec<TcpStream> = (0..80)
        .map(|_| {
            let mut stranger = TcpStream::connect(&view.host).unwrap();
            // It asks for more than a socket holds, and reads nothing.
            stranger.write_all(ask.as_bytes()).unwrap();
            stranger
        })
        .collect();
    assert_eq!(view.get("rows?from=0&count=10").as_array().unwrap().len(), 4);
    drop(strangers);
}

#[test]
fn printing_says_why_there_are_no_rows() {
    let folder = folder("print");
    fs::write(folder.join("s.rpc"), SESSION).unwrap();
    fs::write(folder.join("empty.rpc"), "# nothing\n").unwrap();
    for (args, want) in [
        (&["empty.rpc"][..], "empty.rpc has no messages"),
        (&["s.rpc", "--filter", "method:nothing"], "none of 6 rows matches the filter"),
    ] {
        let run =
            Command::new(SABIR).args(["view", "--print"]).args(args).current_dir(&folder).output().unwrap();
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!((run.status.code(), &run.stdout[..]), (Some(0), &b""[..]), "{said}");
        assert!(said.contains(want), "{said}");
    }
}

#[test]
fn a_line_that_cannot_be_read_is_shown_as_it_is() {
    let path = folder("damage").join("session.jrl");
    let good = "{\"n\":2,\"t\":2,\"d\":\">\",\"k\":\"note\",\"msg\":{\"jsonrpc\":\"2.0\",\"method\":\"a\"}}";
    fs::write(&path, format!("{{\"jrl\":1}}\n{{\"n\":1,\"k\":\"req\",\"msg\":{{\"json\n{good}\n")).unwrap();
    let run = Command::new(SABIR).args(["view", "--print"]).arg(&path).output().unwrap();
    let rows = String::from_utf8(run.stdout).unwrap();
    let damage = rows.lines().find(|row| row.contains("damage")).unwrap_or_else(|| panic!("{rows}"));
    assert!(damage.ends_with("{\"n\":1,\"k\":\"req\",\"msg\":{\"json"), "{rows}");
    let view = View::of_file(&path, 3);
    assert_eq!(view.get("rows?from=1&count=1")[0]["preview"], "{\"n\":1,\"k\":\"req\",\"msg\":{\"json");
}

#[test]
fn a_file_that_is_not_there_yet_is_followed() {
    let folder = folder("follow");
    let path = folder.join("late.rpc");
    let _ = fs::remove_file(&path);
    let mut child = Command::new(SABIR)
        .args(["view", "--print", "--follow", "late.rpc"])
        .current_dir(&folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("waiting for late.rpc"), "{line}");
    fs::write(&path, SESSION).unwrap();
    line.clear();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.contains("tools/call echo"), "{line}");
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

#[test]
fn rows_are_exported_without_a_page_and_without_their_secrets() {
    let folder = folder("save");
    fs::write(folder.join("s.rpc"), SESSION).unwrap();
    let run = |args: &[&str]| {
        let run = Command::new(SABIR).arg("view").args(args).current_dir(&folder).output().unwrap();
        (run.status.code(), String::from_utf8_lossy(&run.stderr).into_owned())
    };
    let options = ["--filter", "tool:echo", "--redact", "$.params.arguments", "s.rpc"];
    for name in ["a.jrl", "a.rpc", "a.har"] {
        let _ = fs::remove_file(folder.join(name));
        assert_eq!(run(&[&["--export", name], &options[..]].concat()), (Some(0), String::new()), "{name}");
        let text = fs::read_to_string(folder.join(name)).unwrap();
        assert!(text.contains("[redacted]") && text.contains("echo") && !text.contains("<b>"), "{text}");
        assert!(!text.contains("seen"), "{text}");
    }
    // What is there is not written over.
    let (code, said) = run(&["--export", "a.jrl", "s.rpc"]);
    assert!(code == Some(3) && said.contains("exists"), "{said}");
    let (code, said) = run(&["--export", "a.txt", "s.rpc"]);
    assert!(code == Some(2) && said.contains("name it .jrl"), "{said}");
}

/// A method, a target and headers that end a paste, run a command and write from right to left.
#[test]
fn copies_are_safe_to_paste() {
    let hostile = "x\u{3}\n touch owned\n#\u{1b}[201~\r\u{9b}\u{202e}'!";
    let text = Value::String;
    let target = text(format!("http://127.0.0.1:1/{hostile}"));
    let header = format!(r#"{{"jrl":1,"at":"2026-11-15T12:00:00Z","transport":"http","target":{target}}}"#);
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": hostile, "params": [hostile] });
    let head = text(format!("POST /{0}\nx-own: {0}\n@/etc/passwd: x", hostile.replace('\n', " ")));
    let record =
        format!(r#"{{"n":1,"t":1,"d":">","c":1,"x":1,"h":{head},"k":"req","id":1,"b":9,"msg":{message}}}"#);
    let raw = text(hostile.to_owned());
    let noise = format!(r#"{{"n":2,"t":2,"d":"<","c":1,"k":"noise","raw":{raw}}}"#);
    let path = folder("paste").join("session.jrl");
    fs::write(&path, format!("{header}\n{record}\n{noise}\n")).unwrap();
    let view = View::of_file(&path, 3);
    let rows = view.get("rows?from=0&count=10");
    let mut copied = 0;
    for row in rows.as_array().unwrap() {
        let number = &row["row"];
        for form in view.get(&format!("row/{number}"))["copies"].as_array().unwrap() {
            let path = format!("/api/copy/{number}?as={}", form.as_str().unwrap());
            let (status, text) = view.ask("GET", &path, &view.headers(), "");
            // Lines of a transcript or of noise have an end; commands are one line.
            let is_command = form == "call" || form == "curl";
            let obeyed = |c: char| sabir_proto::is_terminal_control(c) && (is_command || c != '\n');
            assert!(status == 200 && !text.contains(obeyed), "{path}: {text:?}");
            copied += usize::from(is_command);
        }
    }
    assert_eq!(copied, 2, "{rows}");
}

#[test]
fn a_call_without_an_answer_has_an_age() {
    let line = |n: u32, t: u64, kind: &str, message: &str| {
        format!(r#"{{"n":{n},"t":{t},"d":">","c":1,"k":"{kind}","msg":{message}}}"#)
    };
    let text = [
        r#"{"jrl":1,"at":"2026-11-15T12:00:00Z"}"#.to_owned(),
        line(1, 1_000_000_000, "req", r#"{"jsonrpc":"2.0","id":1,"method":"slow"}"#),
        line(2, 5_500_000_000, "req", r#"{"jsonrpc":"2.0","id":2,"method":"new"}"#),
        line(3, 6_000_000_000, "note", r#"{"jsonrpc":"2.0","method":"seen"}"#),
    ];
    let path = folder("age").join("session.jrl");
    fs::write(&path, text.join("\n") + "\n").unwrap();
    let view = View::of_file(&path, 4);
    let rows = view.get("rows?from=0&count=10");
    let ages: Vec<_> = rows.as_array().unwrap().iter().map(|row| row["age"].as_f64()).collect();
    assert_eq!(ages, [None, Some(5000.0), Some(500.0), None], "{rows}");
    for (filter, want) in [("status:pending ms>1000", 1), ("status:pending ms>5s", 0), ("ms>=0.5s", 2)] {
        let asked: Value = serde_json::from_str(&view.post("filter", &json!({ "filter": filter }))).unwrap();
        let found = view.until(&format!("rows?from=0&count=10&filter={}", asked["id"]), |rows| {
            rows.as_array().unwrap().len() == want
        });
        assert!(found.as_array().unwrap().iter().all(|row| row["status"] == "pending"), "{filter}: {found}");
        let run =
            Command::new(SABIR).args(["view", "--print", "--filter", filter]).arg(&path).output().unwrap();
        let printed = String::from_utf8(run.stdout).unwrap();
        assert_eq!(printed.lines().count(), want, "{filter}: {printed}");
        assert!(want == 0 || printed.contains("slow  id 1  pending for 5.00 s"), "{printed}");
    }
}
