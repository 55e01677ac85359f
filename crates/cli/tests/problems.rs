//! What the program says when a server does not behave as the target promises: a message, a hint and an exit code for
//! each kind of failure, against a small real server.

#![allow(clippy::unwrap_used)]

mod shell;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use shell::{Run, Shell};

/// Every command that talks to a peer.
const COMMANDS: [&str; 6] = [
    "sabir call TARGET add",
    "echo '{\"id\":1,\"method\":\"add\"}' | sabir call TARGET --batch -",
    "sabir list TARGET",
    "sabir describe TARGET",
    "sabir generate --lang rust TARGET",
    "sabir check TARGET",
];

/// Reads the start of what comes, answers, and closes the connection.
fn server(answer: impl Into<Vec<u8>>) -> String {
    let answer = answer.into();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, answer) = (stream.unwrap(), answer.clone());
            thread::spawn(move || answer_once(stream, &answer));
        }
    });
    address
}

fn answer_once(mut stream: TcpStream, answer: &[u8]) {
    let mut request = [0; 4096];
    if stream.read(&mut request).is_ok_and(|count| count > 0) {
        let _ = stream.write_all(answer);
    }
    let _ = stream.shutdown(Shutdown::Write);
    // What is left unread would reset the connection, and take the answer with it.
    let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
    while stream.read(&mut request).is_ok_and(|count| count > 0) {}
}

/// Runs a command in which `TARGET` is the target, and `HOST` in what it prints is the server's address.
fn run(command: &str, target: &str, address: &str) -> Run {
    let target = target.replace("HOST", address);
    let run = Shell::new("problems").run(&command.replace("TARGET", &target));
    let shown = |text: String| text.replace(address, "HOST");
    Run { stdout: shown(run.stdout), stderr: shown(run.stderr), exit: run.exit }
}

/// What each of the commands says of an answer.
fn check(target: &str, answer: impl Into<Vec<u8>>, exit: i32, stderr: &str) {
    check_with(&COMMANDS, target, answer, exit, stderr);
}

fn check_with(commands: &[&str], target: &str, answer: impl Into<Vec<u8>>, exit: i32, stderr: &str) {
    let answer = answer.into();
    let address = server(answer.clone());
    for command in commands {
        let run = run(command, target, &address);
        let shown = String::from_utf8_lossy(&answer[..answer.len().min(60)]).into_owned();
        assert_eq!(
            (run.stderr.trim_end(), run.exit),
            (stderr, exit),
            "{command} {target}: {shown}\n{}",
            run.stdout
        );
        assert_eq!(run.stdout, "", "{command}");
    }
}

fn http(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}

const URL: &str = "http://HOST/rpc";
const HTML: &str = "content-type: text/html\r\n";
const JSON: &str = "content-type: application/json\r\n";

#[test]
fn each_status_has_its_hint() {
    for (status, headers, exit, stderr) in [
        (
            "401 Unauthorized",
            HTML,
            3,
            "error: HTTP 401 Unauthorized from http://HOST/rpc\n\
             hint: authentication is required: pass credentials with -H 'Authorization: Bearer ${TOKEN}'",
        ),
        (
            "403 Forbidden",
            HTML,
            3,
            "error: HTTP 403 Forbidden from http://HOST/rpc\n\
             hint: access is denied; if credentials are needed, pass them with -H 'Authorization: Bearer ${TOKEN}'",
        ),
        (
            "404 Not Found",
            HTML,
            3,
            "error: HTTP 404 Not Found from http://HOST/rpc\nhint: check the path of the URL",
        ),
        (
            "429 Too Many Requests",
            "retry-after: 30\r\n",
            3,
            "error: HTTP 429 Too Many Requests from http://HOST/rpc\nhint: wait 30 s, then try again",
        ),
        (
            "429 Too Many Requests",
            "retry-after: Wed, 21 Oct 2026 07:28:00 GMT\r\n",
            3,
            "error: HTTP 429 Too Many Requests from http://HOST/rpc\n\
             hint: try again after Wed, 21 Oct 2026 07:28:00 GMT",
        ),
        (
            "429 Too Many Requests",
            "",
            3,
            "error: HTTP 429 Too Many Requests from http://HOST/rpc\nhint: wait a while, then try again",
        ),
        (
            "500 Oops",
            HTML,
            3,
            "error: HTTP 500 Internal Server Error from http://HOST/rpc\nhint: the server failed: see its log",
        ),
        (
            "503 Busy",
            "retry-after: 5\r\n",
            3,
            "error: HTTP 503 Service Unavailable from http://HOST/rpc\nhint: wait 5 s, then try again",
        ),
        (
            "301 Moved",
            "location: https://elsewhere/rpc\r\n",
            3,
            "error: HTTP 301 Moved Permanently from http://HOST/rpc: moved to https://elsewhere/rpc\n\
             hint: redirects are not followed: use the new URL",
        ),
        (
            "302 Found",
            "",
            3,
            "error: HTTP 302 Found from http://HOST/rpc\nhint: redirects are not followed, and no new URL is given",
        ),
    ] {
        check(URL, http(status, headers, "<p>"), exit, stderr);
    }
    // A check suggests the profile that explains it.
    let not_allowed = http("405 Method Not Allowed", HTML, "<p>");
    let said = "error: HTTP 405 Method Not Allowed from http://HOST/rpc\nhint: ";
    let (others, checks) = COMMANDS.split_at(5);
    let hint = "the server does not accept POST there: check the path of the URL";
    check_with(others, URL, &*not_allowed, 3, &format!("{said}{hint}"));
    check_with(checks, URL, &*not_allowed, 3, &format!("{said}if it is an MCP server, try --profile mcp"));
}

/// The status counts, whatever becomes of the body.
#[test]
fn a_refusal_needs_no_end() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(b"HTTP/1.1 401 No\r\ntransfer-encoding: chunked\r\n\r\n");
                // Bounded, should nobody close it.
                for _ in 0..20_000 {
                    if stream.write_all(format!("1000\r\n{}\r\n", "x".repeat(4096)).as_bytes()).is_err() {
                        break;
                    }
                }
            });
        }
    });
    for command in COMMANDS {
        let run = run(command, URL, &address);
        let said = "error: HTTP 401 Unauthorized from http://HOST/rpc\nhint: authentication is required";
        assert!(run.stderr.starts_with(said), "{command}: {}", run.stderr);
        assert_eq!(run.exit, 3);
    }
}

/// What was given already is not suggested.
#[test]
fn hints_know_what_was_given() {
    let unauthorized = http("401 Unauthorized", HTML, "<p>");
    check_with(
        &["sabir call TARGET add -H 'Authorization: Bearer x'", "sabir check TARGET -H 'authorization: y'"],
        URL,
        &*unauthorized,
        3,
        "error: HTTP 401 Unauthorized from http://HOST/rpc\n\
         hint: the server does not accept this Authorization header: check the credentials",
    );
    let address = server(http("418 I'm a teapot", "", ""));
    let with_trace = run("sabir call TARGET add --trace 2>&1 | grep hint", URL, &address).stdout;
    assert_eq!(with_trace, "# hint: check that the URL is a JSON-RPC endpoint\n");
    let without = run("sabir call TARGET add", URL, &address).stderr;
    assert!(without.ends_with("endpoint; --trace shows what was received\n"), "{without}");
    // A time that was not enough is not suggested again.
    for (given, suggested) in [("100ms", "1m"), ("90ms", "1m")] {
        let command = format!("sabir call demo: sleep 60000 --timeout {given}");
        let stderr = Shell::new("problems").run(&command).stderr;
        assert!(stderr.ends_with(&format!("hint: wait longer with --timeout {suggested}\n")), "{stderr}");
    }
}

#[test]
fn each_body_has_its_hint() {
    check(
        URL,
        http("200 OK", HTML, "<!doctype html>"),
        5,
        "error: the answer from http://HOST/rpc is `text/html`, not JSON\n\
         hint: this is a web page: check the path of the URL",
    );
    let endpoint = "hint: check that the URL is a JSON-RPC endpoint";
    for status in ["200 OK", "202 Accepted"] {
        let said = format!("error: the answer from http://HOST/rpc is empty\n{endpoint}");
        check(URL, http(status, JSON, ""), 5, &said);
    }
    check(
        URL,
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 600\r\n\r\n{\"jsonrpc\":",
        5,
        "error: the answer from http://HOST/rpc is incomplete: the connection was closed early\n\
         hint: see the log of the server, or try again",
    );
    let (others, checks) = COMMANDS.split_at(5);
    let said = format!("error: the answer from http://HOST/rpc is `image/png`, not JSON\n{endpoint}");
    let traced = format!("{said}; --trace shows what was received");
    let image = http("200 OK", "content-type: image/png\r\n", "PNG");
    check_with(others, URL, &*image, 5, &traced);
    check_with(checks, URL, &*image, 5, &said);
    let (with_trace, _) = others.split_at(1);
    check_with(
        with_trace,
        URL,
        http("200 OK", JSON, "<html>"),
        5,
        &format!(
            "error: the answer from http://HOST/rpc is not JSON: expected a value, at byte 0\n\
             {endpoint}; --trace shows what was received"
        ),
    );
    // And so it does.
    let address = server(http("200 OK", JSON, "<html>"));
    let trace = run("sabir call TARGET add --trace", URL, &address).stderr;
    assert!(trace.contains("# <html>\n"), "{trace}");
}

#[test]
fn another_protocol_is_named() {
    let page = http("400 Bad Request", HTML, "<p>");
    let line = "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error\"}}\n";
    let headers = format!("Content-Length: {}\r\n\r\n{line}", line.len());
    let alert = [0x15, 3, 1, 0, 2, 2, 0x46];
    for (target, answer, exit, stderr) in [
        (
            "tcp://HOST",
            page.as_bytes(),
            3,
            "error: tcp://HOST answers with HTTP\nhint: try http://HOST, with the path of the service",
        ),
        (
            "tcp://HOST",
            b"<!DOCTYPE HTML>\n<html>",
            3,
            "error: tcp://HOST answers with HTTP\nhint: try http://HOST, with the path of the service",
        ),
        ("tcp://HOST", &alert, 3, "error: tcp://HOST expects TLS\nhint: try tls://HOST"),
        (
            "tcp://HOST",
            headers.as_bytes(),
            5,
            "error: tcp://HOST answers with Content-Length headers, not in lines\nhint: try --framing headers",
        ),
        (
            "tcp://HOST --framing headers",
            line.as_bytes(),
            5,
            "error: tcp://HOST answers in lines, not with Content-Length headers\nhint: try --framing lines",
        ),
        (URL, &alert, 3, "error: http://HOST/rpc expects TLS\nhint: try https://HOST/rpc"),
        (
            URL,
            line.as_bytes(),
            3,
            "error: http://HOST/rpc answers with JSON lines, not with HTTP\nhint: try tcp://HOST",
        ),
        (
            URL,
            headers.as_bytes(),
            3,
            "error: http://HOST/rpc answers with Content-Length headers, not with HTTP\n\
             hint: try tcp://HOST --framing headers",
        ),
        (
            URL,
            b"SSH-2.0-OpenSSH_9.2\r\n",
            3,
            "error: http://HOST/rpc does not speak HTTP\nhint: check the port of the URL",
        ),
        (
            "https://HOST/rpc",
            page.as_bytes(),
            3,
            "error: cannot connect to https://HOST/rpc: the server does not speak TLS\nhint: try http://HOST/rpc",
        ),
        (
            "wss://HOST/rpc",
            page.as_bytes(),
            3,
            "error: cannot connect to wss://HOST/rpc: the server does not speak TLS\nhint: try ws://HOST/rpc",
        ),
        ("ws://HOST/rpc", &alert, 3, "error: ws://HOST/rpc expects TLS\nhint: try wss://HOST/rpc"),
        (
            "ws://HOST/rpc",
            line.as_bytes(),
            3,
            "error: ws://HOST/rpc answers with JSON lines, not with HTTP\nhint: try tcp://HOST",
        ),
        (
            "ws://HOST/rpc",
            page.as_bytes(),
            3,
            "error: cannot connect to ws://HOST/rpc: HTTP 400 Bad Request instead of a WebSocket\n\
             hint: if the server does not use WebSocket, try http://HOST/rpc",
        ),
    ] {
        check(target, answer, exit, stderr);
    }
}

#[test]
fn a_server_that_closes_is_named() {
    let log = "see the log of the server";
    check(
        URL,
        "",
        5,
        &format!(
            "error: http://HOST/rpc closed the connection without an answer\n\
             hint: {log}; the port may serve another protocol"
        ),
    );
    let (others, _) = COMMANDS.split_at(5);
    let said = format!("error: tcp://HOST closed the connection without an answer\nhint: {log}");
    let framing = "; if it uses Content-Length headers, try --framing headers";
    check_with(others, "tcp://HOST", "", 5, &format!("{said}{framing}"));
    let framing = "; if it uses lines, try --framing lines";
    check_with(others, "tcp://HOST --framing headers", "", 5, &format!("{said}{framing}"));
}

/// An error without an id is an answer, too: nobody waits for another.
#[test]
fn an_error_without_an_id_is_an_answer() {
    let refusal = "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"No batches\"}}";
    let said = "error: -32600 No batches";
    check_with(&COMMANDS[1..2], URL, http("200 OK", JSON, refusal), 1, said);
    let line = format!("{refusal}\n");
    check_with(&COMMANDS[..2], "tcp://HOST", &*line, 1, said);
    let as_json = format!("{} --json | sed 's/,\"ms\".*//'", COMMANDS[1]);
    let run = run(&as_json, "tcp://HOST", &server(&*line));
    assert_eq!(
        run.stdout, "{\"ok\":false,\"error\":{\"code\":-32600,\"message\":\"No batches\"}\n",
        "{}",
        run.stderr
    );
}

/// A target without a scheme, or with a misspelt one.
#[test]
fn a_target_that_is_none_is_completed() {
    for (target, stderr) in [
        (
            "127.0.0.1:1",
            "error: `127.0.0.1:1` is not a valid target: it has no scheme\n\
             hint: try http://127.0.0.1:1 or tcp://127.0.0.1:1",
        ),
        (
            "localhost:8080",
            "error: `localhost:8080` is not a valid target: it has no scheme\n\
             hint: try http://localhost:8080 or tcp://localhost:8080",
        ),
        (
            "htp://x/rpc",
            "error: `htp://x/rpc` has the unknown scheme `htp`\nhint: did you mean http://x/rpc?",
        ),
        (
            "htp://me:secret@x",
            "error: the URL has the unknown scheme `htp`\n\
             hint: a target is demo:, stdio:COMMAND",
        ),
    ] {
        for command in &COMMANDS[..5] {
            let run = run(command, target, "unused");
            assert!(run.stderr.starts_with(stderr), "{command}: {}", run.stderr);
            assert_eq!(run.exit, 2, "{command}");
        }
    }
    let run = run("sabir check TARGET", "localhost:8080", "unused");
    let said = "error: cannot read localhost:8080: No such file or directory (os error 2)\n\
                hint: try http://localhost:8080 or tcp://localhost:8080\n";
    assert_eq!((run.stderr.as_str(), run.exit), (said, 3));
}

/// The error of a method that the server called here is not taken for that of the call.
#[test]
fn an_unknown_method_is_the_callers_or_the_servers() {
    let shell = Shell::new("problems");
    let run = shell.run("sabir call demo: ask '\"confirm\"' '[]'");
    assert_eq!(
        run.stderr,
        "the server called `confirm`, which was answered with -32601 Method not found; answer it with --answer\n\
         error: -32601 Method not found\n\
         hint: the server asked `confirm`: answer it with --answer confirm=JSON\n"
    );
    let run = shell.run("sabir call demo: nonesuch");
    assert_eq!(
        run.stderr,
        "error: -32601 Method not found\nhint: `sabir list demo:` lists the methods, if the server supports that\n"
    );
    let run = shell.run("sabir call test_simple_text -- sabir demo --mcp");
    assert_eq!((run.stdout.as_str(), run.exit), ("This is a simple text response for testing.\n", 0));
}
