//! What `--otlp` tells a collector: how calls and sessions end, also those without an answer.

#![allow(clippy::unwrap_used)]
#![cfg(unix)]

mod collector;
mod folder;
mod started;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use collector::{Collector, Span};
use folder::{Folder, SABIR};
use started::Started;

const PATIENCE: Duration = Duration::from_secs(60);

fn sabir(args: &[&str]) -> Output {
    Command::new(SABIR).args(args).stdin(Stdio::null()).output().unwrap()
}

fn one(spans: &[Span]) -> &Span {
    let [span] = spans else { panic!("not one span: {spans:?}") };
    span
}

/// The value of each point of a metric by one of its attributes.
fn by(collector: &Collector, metric: &str, attribute: &str) -> Vec<(String, i64)> {
    let points = collector.metric(metric).into_iter();
    points.map(|(labels, value)| (labels.get(attribute).cloned().unwrap_or_default(), value)).collect()
}

#[test]
fn a_command_says_how_it_has_ended() {
    for (args, code, call, error_type, whole) in [
        (&["add", "2", "3"][..], 0, "add", "", ""),
        (&["fail", "code:=7"][..], 1, "fail", "7", "_OTHER"),
        (&["sleep", "ms:=600000", "--timeout", "300ms"][..], 4, "sleep", "timeout", "timeout"),
    ] {
        let collector = Collector::start();
        let done = sabir(&[&["call", "demo:"][..], args, &["--otlp", &*collector.url]].concat());
        assert_eq!(done.status.code(), Some(code), "{args:?}: {done:?}");
        for (name, error_type) in [(call, error_type), ("sabir call", whole)] {
            let spans = collector.spans(name);
            let span = one(&spans);
            assert_eq!(
                (span.get("error.type"), span.is_error),
                (error_type, !error_type.is_empty()),
                "{span:?}"
            );
        }
        assert_eq!(one(&collector.spans("sabir call")).get("process.exit.code"), code.to_string());
        assert_eq!(by(&collector, "rpc.client.call.duration", "error.type"), [(error_type.to_owned(), 1)]);
        assert_eq!(by(&collector, "jsonrpc.inflight_requests", "direction"), [("sent".to_owned(), 0)]);
    }
}

#[test]
fn requests_of_mcp_are_counted_once() {
    let collector = Collector::start();
    let url = collector.url.as_str();
    let done =
        sabir(&["call", "--as", "mcp", "--otlp", url, "add", "a=2", "b=3", "--", SABIR, "demo", "--mcp"]);
    assert!(done.status.success(), "{done:?}");
    let rpc = collector.metric("rpc.client.call.duration");
    assert!(rpc.is_empty(), "{rpc:?}");
    let operations = by(&collector, "mcp.client.operation.duration", "mcp.method.name");
    let count = |names: &[&str]| -> i64 {
        let counts = operations.iter().filter(|(method, _)| names.contains(&method.as_str()));
        counts.map(|(_, count)| count).sum()
    };
    let (opened, called) = (count(&["initialize", "server/discover"]), count(&["tools/call"]));
    assert!(opened >= 1 && called == 1, "{operations:?}");
    let sessions = collector.metric("mcp.client.session.duration");
    let [(labels, 1)] = &sessions[..] else { panic!("{sessions:?}") };
    assert!(labels["mcp.protocol.version"].starts_with("20"), "{labels:?}");
    let opening: Vec<_> =
        ["initialize", "server/discover"].iter().flat_map(|name| collector.spans(name)).collect();
    assert!(opening.iter().all(|span| span.get("mcp.method.name") == span.name), "{opening:?}");
    assert!(!opening.is_empty());
}

#[test]
fn subscriptions_have_metrics() {
    let (folder, collector) = (Folder::new(), Collector::start());
    let mut demo =
        Started::new(&folder.0, &["demo", "--listen", "tcp://127.0.0.1:0", "--otlp", &collector.url]);
    let host = demo.url("serving on").trim_start_matches("tcp://").to_owned();
    // One that ends, and one that the client leaves by closing the connection.
    for n in [2, 1_000_000] {
        let mut stream = TcpStream::connect(&host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let params = format!(r#"{{"n":{n},"ms":1}}"#);
        let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"subscribe_ticks","params":{params}}}"#);
        stream.write_all(format!("{call}\n").as_bytes()).unwrap();
        let lines = BufReader::new(&stream).lines().map(Result::unwrap);
        assert_eq!(lines.filter(|line| line.contains("\"ticks\"")).take(2).count(), 2);
    }
    stop(&mut demo);
    assert_eq!(by(&collector, "jsonrpc.subscriptions", ""), [(String::new(), 0)]);
    let ended = by(&collector, "jsonrpc.subscriptions_ended", "reason");
    assert_eq!(ended, [("disconnected".to_owned(), 1), ("finished".to_owned(), 1)]);
    let items = by(&collector, "jsonrpc.subscription_items", "outcome");
    assert!(items.len() == 1 && items[0].0 == "sent" && items[0].1 >= 4, "{items:?}");
}

/// Tells a program to end, and waits until it has.
fn stop(program: &mut Started) {
    let id = program.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    folder::wait(&mut program.child);
}

/// A server of MCP that answers the first message, and none behind it.
const SILENT: &str = r#"read first; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}'; cat >/dev/null"#;

#[test]
fn a_tap_reports_calls_without_an_answer_on_pipes() {
    let collector = Collector::start();
    let mut tap = Command::new(SABIR)
        .args(["tap", "--otlp", &collector.url, "--", "sh", "-c", SILENT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"file:///a"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"hang"}}"#,
    ];
    let mut input = tap.stdin.take().unwrap();
    writeln!(input, "{}", lines[0]).unwrap();
    // What was agreed on holds for what comes behind it.
    let mut answer = String::new();
    BufReader::new(tap.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    assert!(answer.contains("protocolVersion"), "{answer}");
    writeln!(input, "{}", lines[1..].join("\n")).unwrap();
    drop(input);
    assert!(tap.wait().unwrap().success());
    // Methods that were never answered may be made up, and have no span of their name.
    let unanswered = collector.spans("_OTHER");
    let shown: Vec<_> = unanswered
        .iter()
        .map(|span| [span.get("rpc.method_original"), span.get("error.type"), span.get("mcp.resource.uri")])
        .collect();
    assert_eq!(shown, [["resources/read", "cancelled", "file:///a"], ["tools/call", "_OTHER", ""]]);
    let opened = collector.spans("initialize");
    for span in unanswered.iter().chain([one(&opened)]) {
        let way =
            [span.get("mcp.protocol.version"), span.get("network.transport"), span.get("server.address")];
        assert_eq!(way, ["2025-06-18", "pipe", ""], "{span:?}");
    }
    assert_eq!(by(&collector, "jsonrpc.inflight_requests", "direction"), [("received".to_owned(), 0)]);
    assert_eq!(by(&collector, "mcp.server.operation.duration", "error.type").len(), 3);
    let sessions = by(&collector, "mcp.server.session.duration", "mcp.protocol.version");
    assert_eq!(sessions, [("2025-06-18".to_owned(), 1)]);
}

/// A server of HTTP that takes requests, and does something to each. What it was sent comes out of the channel.
fn server(serve: impl Fn(TcpStream) + Send + 'static) -> (String, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (tell, told) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut came = Vec::new();
            let mut buffer = [0; 4096];
            while !came.ends_with(b"}") {
                let count = stream.read(&mut buffer).unwrap();
                if count == 0 {
                    break;
                }
                came.extend_from_slice(&buffer[..count]);
            }
            let _ = tell.send(());
            serve(stream);
        }
    });
    (url, told)
}

/// Posts a call.
fn post(url: &str) -> TcpStream {
    let host = url.trim_start_matches("http://").trim_end_matches('/');
    let body = r#"{"jsonrpc":"2.0","id":"a","method":"work"}"#;
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!("POST / HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n");
    stream.write_all(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
    stream
}

#[test]
fn a_tap_reports_posts_without_an_answer() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
    // It closes the connection instead of an answer; answers something else; sends one that never ends; and says nothing.
    let closes = |stream: TcpStream| drop(stream.shutdown(Shutdown::Both));
    let other = |mut stream: TcpStream| {
        stream.write_all(format!("{HEAD}Content-Length: 2\r\n\r\n{{}}").as_bytes()).unwrap();
        drop(stream.read(&mut [0; 64]));
    };
    let endless = |mut stream: TcpStream| {
        stream.write_all(format!("{HEAD}Content-Length: 1000000000\r\n\r\n[").as_bytes()).unwrap();
        // The tap gives up when its client has.
        while stream.write_all(&[b' '; 4096]).is_ok() {
            thread::sleep(Duration::from_millis(1));
        }
    };
    let check = |name: &str, (target, came): (String, Receiver<()>), error_type: &str| {
        let (folder, collector) = (Folder::new(), Collector::start());
        let listen =
            ["tap", "--otlp", &collector.url, "--metrics", "0", "--listen", "http://127.0.0.1:0/", &target];
        let mut tap = Started::new(&folder.0, &listen);
        let metrics = tap.url("metrics at");
        let url = tap.url("listening at");
        let mut client = post(&url);
        came.recv_timeout(PATIENCE).unwrap();
        if name != "silent" {
            // It goes away when the answer has begun, and the tap goes on.
            assert_ne!(client.read(&mut [0; 64]).unwrap(), 0, "{name}");
            drop(client);
            let none = "jsonrpc_inflight_requests{direction=\"received\"} 0\n";
            folder::until("the call has ended", || scraped(&metrics).contains(none));
        }
        stop(&mut tap);
        let spans = collector.spans("jsonrpc");
        let span = one(&spans);
        assert_eq!((span.get("error.type"), span.is_error), (error_type, true), "{name}: {span:?}");
        let way =
            [span.get("network.transport"), span.get("network.protocol.name"), span.get("server.address")];
        assert_eq!(way, ["tcp", "http", "127.0.0.1"], "{name}");
        assert_eq!(
            by(&collector, "rpc.server.call.duration", "error.type"),
            [(error_type.to_owned(), 1)],
            "{name}"
        );
        assert_eq!(
            by(&collector, "jsonrpc.inflight_requests", "direction"),
            [("received".to_owned(), 0)],
            "{name}"
        );
    };
    check("closes", server(closes), "_OTHER");
    check("other", server(other), "_OTHER");
    check("endless", server(endless), "cancelled");
    check("silent", server(|_stream| thread::sleep(PATIENCE)), "_OTHER");
}

/// A server that only takes a call answers it elsewhere, as servers of HTTP+SSE do.
#[test]
fn a_tap_waits_for_calls_that_are_answered_elsewhere() {
    let (folder, collector) = (Folder::new(), Collector::start());
    // The first is taken, and the next one is lost.
    let answers = [
        "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
    ];
    let next = std::cell::Cell::new(0);
    let (target, _came) = server(move |mut stream| {
        stream.write_all(answers[next.replace(1)].as_bytes()).unwrap();
        drop(stream.shutdown(Shutdown::Both));
    });
    let listen =
        ["tap", "--otlp", &collector.url, "--metrics", "0", "--listen", "http://127.0.0.1:0/", &target];
    let mut tap = Started::new(&folder.0, &listen);
    let metrics = tap.url("metrics at");
    let url = tap.url("listening at");
    for _ in answers {
        assert_ne!(post(&url).read(&mut [0; 64]).unwrap(), 0);
    }
    let ended = "rpc_server_call_duration_seconds_count{";
    folder::until("the second call has ended", || scraped(&metrics).contains(ended));
    let text = scraped(&metrics);
    assert!(text.contains("jsonrpc_inflight_requests{direction=\"received\"} 1\n"), "{text}");
    stop(&mut tap);
    assert_eq!(by(&collector, "rpc.server.call.duration", "error.type"), [("_OTHER".to_owned(), 2)]);
}

fn scraped(url: &str) -> String {
    let host = url.trim_start_matches("http://").trim_end_matches("/metrics");
    let mut stream = TcpStream::connect(host).unwrap();
    stream.write_all(format!("GET /metrics HTTP/1.0\r\nHost: {host}\r\n\r\n").as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}
