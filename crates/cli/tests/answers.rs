//! What the program makes of how a peer describes itself, also in a faulty or hostile way.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod shell;

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};
use shell::{Run, Shell};

/// What a peer does about a request.
#[derive(Clone)]
enum Reply {
    Result(Value),
    /// A line, in which `ID` is the id.
    Bytes(&'static [u8]),
    Close,
    Unknown,
}

/// Answers each line as `reply` says for the method and the params.
fn server(reply: impl Fn(&str, &Value) -> Reply + Clone + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("tcp://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let reply = reply.clone();
            thread::spawn(move || answer(stream.unwrap(), reply));
        }
    });
    target
}

fn answer(mut stream: TcpStream, reply: impl Fn(&str, &Value) -> Reply) -> Option<()> {
    for line in BufReader::new(stream.try_clone().ok()?).lines() {
        let message: Value = serde_json::from_str(&line.ok()?).ok()?;
        let Some(id) = message.get("id") else { continue };
        let text: Vec<u8> = match reply(message["method"].as_str()?, &message["params"]) {
            Reply::Result(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string().into(),
            Reply::Bytes(bytes) => {
                let at = bytes.windows(2).position(|two| two == b"ID")?;
                [&bytes[..at], id.to_string().as_bytes(), &bytes[at + 2..]].concat()
            }
            Reply::Close => return None,
            Reply::Unknown => {
                let error = json!({"code": -32601, "message": "Method not found"});
                json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string().into()
            }
        };
        stream.write_all(&[text, b"\n".to_vec()].concat()).ok()?;
    }
    Some(())
}

fn run(command: &str, target: &str) -> Run {
    let run = Shell::new("answers").run(&format!("sabir {}", command.replace("TARGET", target)));
    let shown = |text: String| text.replace(target, "TARGET");
    Run { stdout: shown(run.stdout), stderr: shown(run.stderr), exit: run.exit }
}

const COMMANDS: [&str; 3] = ["list TARGET", "describe TARGET", "generate --lang rust TARGET"];

/// A server whose answer to `rpc.discover` is this, and which knows nothing else.
fn discovers(reply: Reply) -> String {
    server(move |method, _| if method == "rpc.discover" { reply.clone() } else { Reply::Unknown })
}

#[test]
fn a_faulty_description_is_named() {
    for (reply, why) in [
        (Reply::Result(json!({"openrpc": "1.3.2", "methods": {}})), "lists its methods in an unknown form"),
        (Reply::Result(json!(7)), "lists its methods in an unknown form"),
        (
            Reply::Bytes(b"{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"openrpc\":\"\xff\"}}"),
            "the answer is not JSON: not UTF-8",
        ),
        (
            Reply::Bytes(
                b"{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"openrpc\":\"\\ud800\",\"methods\":[]}}",
            ),
            "lists its methods in an unknown form",
        ),
        (Reply::Bytes(b"{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{]}"), "the answer is not JSON: expected"),
        (Reply::Close, "closed the connection without an answer"),
    ] {
        let target = discovers(reply);
        for command in COMMANDS {
            let run = run(command, &target);
            assert!(run.stderr.contains(why), "{command}: {}", run.stderr);
            assert_eq!((run.stdout.as_str(), run.exit), ("", 5), "{command}: {}", run.stderr);
        }
    }
    let run = run("list TARGET", &discovers(Reply::Unknown));
    assert_eq!(run.exit, 1, "{}", run.stderr);
}

/// An MCP server with as many pages of one tool as `cursor` gives.
fn pages(cursor: impl Fn(u64) -> Option<String> + Clone + Send + 'static) -> String {
    server(move |method, params| match method {
        "initialize" => Reply::Result(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "x", "version": "1"},
        })),
        "tools/list" => {
            let page: u64 = params["cursor"].as_str().map_or(0, |cursor| cursor.parse().unwrap());
            let tool = json!({"name": format!("tool{page}"), "inputSchema": {"type": "object"}});
            Reply::Result(json!({"tools": [tool], "nextCursor": cursor(page)}))
        }
        _ => Reply::Unknown,
    })
}

#[test]
fn a_list_is_whole_or_an_error() {
    let many = run("list TARGET", &pages(|page| (page < 249).then(|| (page + 1).to_string())));
    assert_eq!((many.stdout.lines().count(), many.exit), (250, 0), "{}", many.stderr);
    for cursor in [|_: u64| Some("1".to_owned()), |page: u64| Some(((page + 1) % 7).to_string())] {
        let circle = run("list TARGET", &pages(cursor));
        assert!(circle.stderr.contains("the same cursor twice"), "{}", circle.stderr);
        assert_eq!((circle.stdout.as_str(), circle.exit), ("", 5));
    }
    let endless = run("list TARGET --timeout 2m", &pages(|page| Some((page + 1).to_string())));
    assert!(endless.stderr.contains("more than 10000 pages"), "{}", endless.stderr);
    assert_eq!((endless.stdout.as_str(), endless.exit), ("", 5));
}

/// Names of all kinds stay on their line, so that none looks like an entry of its own.
#[test]
fn a_name_stays_on_its_line() {
    let forged = "x\n\nforged() -> string\n  Safe.";
    let schema = json!({"type": "object", "properties": {forged: {"type": forged}}, "enum": null});
    let content = json!({"name": forged, "schema": schema});
    let target = discovers(Reply::Result(json!({
        "openrpc": "1.3.2",
        "info": {"title": forged, "version": forged, "description": forged},
        "methods": [{
            "name": forged,
            "summary": forged,
            "description": forged,
            "params": [content],
            "result": content,
            "errors": [{"code": 1, "message": forged}],
        }],
        "components": {"schemas": {forged: {"type": "object", "properties": {"a": {"type": forged}}}}},
    })));
    let quoted = format!("'{forged}'");
    for command in ["list TARGET", "describe TARGET", &format!("describe TARGET {quoted}")] {
        let run = run(command, &target);
        assert_eq!(run.exit, 0, "{}", run.stderr);
        let entries = run.stdout.lines().filter(|line| line.starts_with("forged"));
        assert_eq!(entries.count(), 0, "{command}: {}", run.stdout);
    }
}

/// The same for what an MCP server has besides tools.
#[test]
fn a_resource_stays_on_its_line() {
    let forged = "x:y\n\nforged() -> string\n  Safe.";
    let target = server(move |method, _| match method {
        "initialize" => Reply::Result(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"resources": {}, "prompts": {}},
            "serverInfo": {"name": forged, "version": forged},
        })),
        "resources/list" => Reply::Result(json!({"resources": [
            {"uri": forged, "name": forged, "description": forged, "mimeType": forged},
        ]})),
        "prompts/list" => Reply::Result(json!({"prompts": [
            {"name": "p\n\nforged", "arguments": [{"name": forged, "description": forged}]},
        ]})),
        _ => Reply::Unknown,
    });
    let resource = format!("describe TARGET '{forged}'");
    for command in ["list TARGET", "describe TARGET", &resource, "describe TARGET 'p\n\nforged'"] {
        let run = run(command, &target);
        assert_eq!(run.exit, 0, "{command}: {}", run.stderr);
        let entries = run.stdout.lines().filter(|line| line.starts_with("forged"));
        assert_eq!(entries.count(), 0, "{command}: {}", run.stdout);
    }
}

#[test]
fn a_deep_answer_is_json() {
    let deep: &'static str =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{}1{}}}", "[".repeat(5000), "]".repeat(5000))
            .leak();
    let target = server(move |_, _| Reply::Bytes(deep.as_bytes()));
    let run = run("call TARGET add --timeout 500ms", &target);
    assert!(run.stderr.contains("nested too deeply"), "{}", run.stderr);
    assert!(!run.stderr.contains("not JSON"), "{}", run.stderr);
}

/// What a command asks a server that answers `rpc.discover` as this says: methods and params, in order.
fn asked(command: &str, discover: &Reply) -> Vec<String> {
    let log = Arc::<Mutex<Vec<String>>>::default();
    let (kept, discover) = (Arc::clone(&log), discover.clone());
    let target = server(move |method, params| {
        let what = if params.is_null() { method.to_owned() } else { format!("{method} {params}") };
        kept.lock().unwrap().push(what);
        match method {
            "rpc.discover" => discover.clone(),
            "refuse" => Reply::Bytes(br#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"no"}}"#),
            _ => Reply::Result(json!(true)),
        }
    });
    run(command, &target);
    log.lock().unwrap().clone()
}

/// A description costs a round trip: it is asked for once, and only if it decides.
#[test]
fn a_server_is_asked_for_its_description_once_and_only_if_that_decides() {
    let params = json!([
        {"name": "n", "schema": {"$ref": "#/components/schemas/Count"}},
        {"name": "s", "schema": {"type": "string"}},
    ]);
    let described = Reply::Result(json!({
        "openrpc": "1.3.2",
        "methods": [{"name": "add", "params": params}, {"name": "refuse", "params": params}],
        "components": {"schemas": {"Count": {"type": "integer"}}},
    }));
    let discover = "rpc.discover";
    for (command, want) in [
        ("call TARGET add n=1 s=2", vec![discover, r#"add {"n":1,"s":"2"}"#]),
        ("call TARGET add n=1 --json", vec![discover, r#"add {"n":1}"#]),
        ("call TARGET add n=true", vec![discover]),
        ("call TARGET other n=1", vec![discover, r#"other {"n":"1"}"#]),
        ("call TARGET refuse n=1", vec![discover, r#"refuse {"n":1}"#]),
        ("call TARGET refuse n=x", vec![r#"refuse {"n":"x"}"#, discover]),
        ("call TARGET add n:=1 s=x", vec![r#"add {"n":1,"s":"x"}"#]),
        ("call TARGET add 1 x", vec![r#"add [1,"x"]"#]),
        ("call TARGET add -d '{\"n\":\"1\"}'", vec![r#"add {"n":"1"}"#]),
        (
            "shell TARGET --as plain < lines",
            vec![discover, r#"add {"n":1}"#, r#"add {"n":2}"#, r#"refuse {"n":3}"#],
        ),
    ] {
        let command = command.replace("< lines", "<<'EOF'\nadd n=1\nadd n=2\nrefuse n=3\nEOF");
        assert_eq!(asked(&command, &described), want, "{command}");
    }
}

/// Without a description, what is typed is text; so it is if the server refuses the question in any way.
#[test]
fn without_a_description_values_are_text() {
    for refusal in [
        Reply::Unknown,
        Reply::Result(json!({"openrpc": 7})),
        Reply::Bytes(br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no ID"}}"#),
    ] {
        assert_eq!(asked("call TARGET add n=1", &refusal), ["rpc.discover", r#"add {"n":"1"}"#]);
    }
}
