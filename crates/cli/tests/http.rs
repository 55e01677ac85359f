//! The program against servers of HTTP that answer as real ones do, and not as one would wish. What they are sent is
//! looked at too.

// The sessions are for `sh`.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod shell;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use shell::{Run, Shell};

/// A request: its first line and its headers in lower case, and its body.
#[derive(Debug, Clone)]
struct Request {
    head: String,
    body: String,
}

/// Gives every request the same answer.
struct Server {
    url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    fn new(answer: impl Into<String>) -> Server {
        let answer = answer.into();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/rpc", listener.local_addr().unwrap());
        let requests = Arc::<Mutex<Vec<Request>>>::default();
        let kept = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, answer, kept) = (stream.unwrap(), answer.clone(), Arc::clone(&kept));
                thread::spawn(move || while exchange(&stream, &answer, &kept).is_some() {});
            }
        });
        Server { url, requests }
    }

    /// Runs a command in which `URL` is that of the server.
    fn run(&self, name: &str, command: &str) -> Run {
        let Run { stdout, stderr, exit } = Shell::new(name).run(&command.replace("URL", &self.url));
        let shown = |text: String| text.replace(&self.url, "URL");
        Run { stdout: shown(stdout), stderr: shown(stderr), exit }
    }

    fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

/// One request, if one comes, and its answer; `ID` in that is the request's own.
fn exchange(stream: &TcpStream, answer: &str, kept: &Mutex<Vec<Request>>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let head = head.to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8(body).unwrap();
    let id = body.split("\"id\":").nth(1).map_or("null", |rest| rest.split([',', '}']).next().unwrap());
    let answer = answer.replace("ID", id);
    let (headers, text) = answer.split_once("\r\n\r\n").unwrap();
    let length = text.len();
    kept.lock().unwrap().push(Request { head, body: body.clone() });
    let mut stream = stream;
    let _ = write!(stream, "{headers}\r\ncontent-length: {length}\r\n\r\n{text}");
    Some(())
}

/// What is said, by what a server answers.
fn check(command: &str, answer: &str, exit: i32, stderr: &str) {
    let run = Server::new(answer).run("http", command);
    assert_eq!((run.stderr.trim_end(), run.exit), (stderr, exit), "{command}: {answer}");
}

const HTML: &str = "content-type: text/html\r\n\r\n<!doctype html>\n<p>hello\n";

#[test]
fn what_http_answers_is_said() {
    for command in
        ["sabir list URL", "sabir call URL add", "sabir describe URL", "sabir generate --lang rust URL"]
    {
        check(
            command,
            &format!("HTTP/1.1 401 Unauthorized\r\n{HTML}"),
            3,
            "error: HTTP 401 Unauthorized from URL\nhint: give what it wants, as in -H 'Authorization: Bearer ${TOKEN}'",
        );
        check(
            command,
            &format!("HTTP/1.1 404 Not Found\r\n{HTML}"),
            3,
            "error: HTTP 404 Not Found from URL\nhint: check the path of the URL",
        );
        check(
            command,
            &format!("HTTP/1.1 500 Oops\r\n{HTML}"),
            3,
            "error: HTTP 500 Internal Server Error from URL\nhint: the server has trouble: try again later",
        );
        check(
            command,
            &format!("HTTP/1.1 200 OK\r\n{HTML}"),
            5,
            "error: the answer from URL is `text/html`, not JSON\n\
             hint: check the URL: what answers there may not be a JSON-RPC server; --trace shows what came",
        );
        let large = "x".repeat(2000);
        check(
            &format!("{command} --max-size 1kB"),
            &format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{{\"id\":ID,\"result\":\"{large}\"}}"
            ),
            5,
            "error: the answer from URL is larger than 1000 bytes\nhint: take larger answers with --max-size 1MiB",
        );
    }
}

#[test]
fn a_trace_shows_failures_of_http() {
    check(
        "sabir call URL add --trace",
        "HTTP/1.1 418 I'm a teapot\r\nx-why: tea\r\n\r\nsho\x1brt\nand stout",
        3,
        "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"add\"}\n\
         ! HTTP 418 I'm a teapot\n\
         # x-why: tea\n\
         # content-length: 16\n\
         # sho\\u001brt\n\
         # and stout\n\
         # error: HTTP 418 I'm a teapot from URL\n\
         # hint: check the URL",
    );
}

/// A session that somebody else opened goes on when the program ends.
#[test]
fn a_session_that_was_brought_is_not_ended() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nmcp-session-id: mine\r\n\r\n\
                  {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":1}";
    let methods = |server: &Server| {
        server
            .requests()
            .iter()
            .map(|request| request.head.split(' ').next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let server = Server::new(answer);
    let run = server.run("session", "sabir call URL add -H 'Mcp-Session-Id: mine'");
    assert_eq!((run.stdout.as_str(), run.exit), ("1\n", 0), "{}", run.stderr);
    assert_eq!(methods(&server), ["post"]);
    // One that was opened here is.
    let server = Server::new(answer);
    server.run("session", "sabir call URL add");
    assert_eq!(methods(&server), ["post", "delete"]);
}

/// A server that wants a session before anything else is not taken for one that is silent, nor is an id adopted that
/// came with a refusal.
#[test]
fn a_check_takes_no_refusal_for_silence() {
    let server = Server::new(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nmcp-session-id: no\r\n\r\n\
         {\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,\"message\":\"not initialized\"}}",
    );
    let run = server.run("silence", "sabir check URL --timeout 5s --allow RPC021");
    let said = "error: URL answers with HTTP 400\nhint: if it is an MCP server, try --profile mcp";
    assert_eq!((run.stderr.trim_end(), run.exit), (said, 3), "{}", run.stdout);
    assert_eq!(server.requests().len(), 1);
    let run = server.run("silence", "sabir check URL --timeout 5s --profile mcp --allow RPC021,RPC022");
    assert_eq!(run.exit, 3, "{}", run.stderr);
    assert!(!server.requests().iter().any(|request| request.head.contains("mcp-session-id")));
}

/// What is wrong on purpose may be refused by a status alone.
#[test]
fn a_check_knows_what_a_status_says() {
    let server = Server::new(
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":ID,\"error\":{\"code\":-32601,\"message\":\"no\"}}",
    );
    let run = server.run("status", "sabir check URL --timeout 20s | grep -c LIVE001");
    assert_eq!(run.stdout, "0\n", "{}", run.stderr);
    assert!(server.requests().iter().all(|request| !request.body.is_empty()));
}
