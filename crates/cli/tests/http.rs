//! The program against HTTP servers: sessions, traces, and what they are sent.

// The sessions are for `sh`.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod shell;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
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

/// The next request, if one comes.
fn request(stream: &TcpStream) -> Option<Request> {
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
    Some(Request { head, body })
}

/// One request, if one comes, and its answer; `ID` in that is the request's own.
fn exchange(stream: &TcpStream, answer: &str, kept: &Mutex<Vec<Request>>) -> Option<()> {
    let request = request(stream)?;
    let body = &request.body;
    let id = body.split("\"id\":").nth(1).map_or("null", |rest| rest.split([',', '}']).next().unwrap());
    let answer = answer.replace("ID", id);
    let (headers, text) = answer.split_once("\r\n\r\n").unwrap();
    let length = text.len();
    kept.lock().unwrap().push(request.clone());
    let mut stream = stream;
    let _ = write!(stream, "{headers}\r\ncontent-length: {length}\r\n\r\n{text}");
    Some(())
}

/// What a command prints on standard error.
fn check(command: &str, answer: &str, exit: i32, stderr: &str) {
    let run = Server::new(answer).run("http", command);
    assert_eq!((run.stderr.trim_end(), run.exit), (stderr, exit), "{command}: {answer}");
}

#[test]
fn a_large_answer_is_refused_with_the_option_that_accepts_it() {
    for command in
        ["sabir list URL", "sabir call URL add", "sabir describe URL", "sabir generate --lang rust URL"]
    {
        let large = "x".repeat(2000);
        check(
            &format!("{command} --max-size 1kB"),
            &format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{{\"id\":ID,\"result\":\"{large}\"}}"
            ),
            5,
            "error: the answer from URL is larger than 1 kB\nhint: accept larger answers with --max-size 1MiB",
        );
    }
}

/// What a server says beside its status reaches the user, whichever command it is: in one line, without escapes.
#[test]
fn the_body_of_a_failure_says_why() {
    let commands = ["call URL add", "list URL", "describe URL", "generate --lang rust URL", "check URL"];
    for command in commands {
        for (body, why) in [
            (r#"{"detail":"no such chain"}"#, "no such chain"),
            (r#"{"error":{"code":-32600,"message":"no \u001b[31mkey"}}"#, "-32600: no \\u001b[31mkey"),
            ("not today\nnor tomorrow", "not today"),
        ] {
            let answer = format!("HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\n\r\n{body}");
            let run = Server::new(answer).run("why", &format!("sabir {command}"));
            let said = format!("error: HTTP 403 Forbidden from URL: {why}\n");
            assert!(run.stderr.starts_with(&said), "{command}: {}", run.stderr);
            assert_eq!(run.exit, 3, "{command}: {body}");
        }
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
         # error: HTTP 418 I'm a teapot from URL: sho\\u001brt\n\
         # hint: check that the URL is a JSON-RPC endpoint",
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
    let said = "error: HTTP 400 Bad Request from URL: -32000: not initialized\nhint: if it is an MCP server, try --profile mcp";
    assert_eq!((run.stderr.trim_end(), run.exit), (said, 3), "{}", run.stdout);
    // It is asked whether it speaks MCP, by both ways of HTTP, and then called as any other.
    let methods: Vec<String> =
        server.requests().iter().map(|request| request.head.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(methods, ["post", "get", "post"]);
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

/// Gives each request its own answer, as it is written here, and closes the connection. The last one is held open.
fn scripted(answers: &'static [&'static str]) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/rpc", listener.local_addr().unwrap());
    let requests = Arc::<Mutex<Vec<Request>>>::default();
    let kept = Arc::clone(&requests);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, kept) = (stream.unwrap(), Arc::clone(&kept));
            thread::spawn(move || {
                let Some(request) = request(&stream) else { return };
                let number = {
                    let mut kept = kept.lock().unwrap();
                    kept.push(request);
                    kept.len() - 1
                };
                let _ = stream
                    .write_all(answers.get(number).unwrap_or(&"HTTP/1.1 202 Accepted\r\n\r\n").as_bytes());
                if answers.get(number).is_some_and(|answer| answer.is_empty()) {
                    thread::sleep(std::time::Duration::from_secs(5));
                }
            });
        }
    });
    Server { url, requests }
}

/// The answers to a batch may come one by one, over several connections.
#[test]
fn a_stream_that_ends_early_is_resumed() {
    let batch = "echo '[{\"id\":\"a\",\"method\":\"x\"},{\"id\":2,\"method\":\"y\"}]' | sabir call URL --batch - --timeout 5s";
    let server = scripted(&[
        concat!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
            "retry: 10\nid: e1\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"two\"}\n\n"
        ),
        concat!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
            "id: e2\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":\"one\"}\n\n"
        ),
    ]);
    let run = server.run("resume", batch);
    assert_eq!((run.stdout.as_str(), run.exit), ("\"one\"\n\"two\"\n", 0), "{}", run.stderr);
    let requests = server.requests();
    assert!(requests[1].head.starts_with("get "), "{}", requests[1].head);
    assert!(requests[1].head.contains("last-event-id: e1"), "{}", requests[1].head);
    assert_eq!(requests.len(), 2);
    // Without an id there is nothing to resume: what came is printed.
    let server = scripted(&[concat!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
        "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"two\"}\n\n"
    )]);
    let run = server.run("resume", batch);
    let said = "error: the answer from URL ended before the answer was complete\n\
                hint: see the log of the server, or try again";
    assert_eq!((run.stdout.as_str(), run.stderr.trim_end(), run.exit), ("\"two\"\n", said, 5));
}

/// In a session, a batch whose time is up is cancelled by messages; without one, by closing the connection.
#[test]
fn a_batch_is_cancelled() {
    let batch =
        "echo '[{\"id\":\"a\",\"method\":\"x\"}]' | sabir call URL --batch - --timeout 300ms --dialect mcp";
    for (session, want) in [("", 1), (" -H 'Mcp-Session-Id: mine'", 2)] {
        let server = scripted(&[""]);
        let run = server.run("cancel", &format!("{batch}{session}"));
        assert_eq!(run.exit, 4, "{}", run.stderr);
        let requests = server.requests();
        assert_eq!(requests.len(), want, "{requests:?}");
        let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}"#;
        assert!(want == 1 || requests[1].body == cancel, "{requests:?}");
    }
}

/// What is posted may hold secrets: an old server cannot send it to another host.
#[test]
fn a_stream_of_events_names_no_other_host() {
    let answer = |event: &str| format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{event}");
    let hint = "hint: see the log of the server; the port may serve another protocol";
    for (event, why) in [
        (
            "event: endpoint\ndata: http://elsewhere.example/post\n\n",
            "it wants messages posted elsewhere: http://elsewhere.example/post",
        ),
        (": nothing\n\n", "its stream of events ended before it said where to post"),
    ] {
        check(
            "sabir call URL add --as mcp@2024-11-05",
            &answer(event),
            5,
            &format!("error: cannot connect to URL: {why}\n{hint}"),
        );
    }
}

/// The check reads the same streams: what comes before the endpoint, however its lines end.
#[test]
fn a_check_posts_where_the_stream_says() {
    let answer = |events: &str| format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{events}");
    let early = r#"data: {"jsonrpc":"2.0","method":"notifications/message"}"#;
    for events in [
        "event: endpoint\ndata: /post?id=1\n\n".to_owned(),
        ": hello\n\nevent: endpoint\ndata: post?id=1\n\n".to_owned(),
        format!(": hello\r\r{early}\r\revent: endpoint\rdata: /post?id=1\r\r"),
    ] {
        let server = Server::new(answer(&events));
        let run = server.run("check", "sabir check URL --profile mcp@2024-11-05");
        let posts = server.requests().iter().filter(|one| one.head.starts_with("post /post?id=1 ")).count();
        assert!(posts > 0, "{events:?}: {}{}", run.stdout, run.stderr);
    }
    for (events, why) in [
        (
            "event: endpoint\ndata: //elsewhere.example/\n\n",
            "URL wants messages posted elsewhere: //elsewhere.example/",
        ),
        (": nothing\n\n", "the stream of events of URL does not say where to post"),
    ] {
        let run = Server::new(answer(events)).run("check", "sabir check URL --profile mcp@2024-11-05");
        assert!(run.stderr.contains(why), "{}", run.stderr);
    }
}

/// A command of somebody who has logged in at the server.
#[cfg(target_os = "linux")]
fn logged_in(server: &Server, command: &str) -> Run {
    let tokens = r#"{"tokens": {"URL": {"issuer": "https://as.example", "access_token": "the-token"}}}"#;
    let login =
        format!("umask 077; mkdir -p .config/sabir; echo '{tokens}' > .config/sabir/credentials.json");
    server.run("login", &format!("{login}; sabir {command}"))
}

#[cfg(target_os = "linux")]
#[test]
fn a_check_uses_a_login() {
    let server = Server::new(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":1}",
    );
    logged_in(&server, "check URL --timeout 5s");
    let requests = server.requests();
    assert!(!requests.is_empty());
    assert!(requests.iter().all(|request| request.head.contains("authorization: bearer the-token\r\n")));
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_that_refuses_a_token_says_why() {
    let server = Server::new(
        "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer error=\"invalid_token\", \
         error_description=\"the token is not for this server\"\r\n\r\n",
    );
    let told = logged_in(&server, "call URL add").stderr;
    assert!(told.contains("the server says `the token is not for this server`"), "{told}");
}

/// The close code is all that says it.
#[test]
fn a_websocket_tells_that_a_message_was_too_large() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sabir"));
    command.args(["demo", "--listen", "ws://127.0.0.1:0"]).stderr(Stdio::piped());
    let mut demo = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(demo.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().rsplit(' ').next().unwrap();
    let large =
        r#"{ printf '["'; head -c 17825792 /dev/zero | tr '\0' a; printf '"]'; } | sabir call URL echo -d -"#;
    let Run { stderr, exit, .. } = Shell::new("too-large").run(&large.replace("URL", url));
    demo.kill().unwrap();
    demo.wait().unwrap();
    assert!(stderr.contains("(1009): a WebSocket message was too large"), "{stderr}");
    assert!(stderr.contains("the message is too large for the server: send less"), "{stderr}");
    assert_eq!(exit, 5);
}
