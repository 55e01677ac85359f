//! Sends messages through one hot path, as often as it is told: `sabir-bench-hot PATH COUNT`. `bench/instructions`
//! counts the instructions of two runs, and so what one message costs.

use std::future::Future;
use std::hint::black_box;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;

use sabir::{MCP, Router, blocking, transport};
use sabir_mcp::McpServer;
use sabir_proto::{
    CallOptions, Config, Event, Framing, Limits, Output, PLAIN, RawJson, Session, Time, decode,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const REQUEST: &[u8] = br#"{"jsonrpc":"2.0","id":7,"method":"add","params":[1,2]}"#;

/// The same without its id.
const ADD: &str = r#""method":"add","params":[1,2]"#;

/// Messages that come in one read.
const ROW: usize = 16;

/// The same where they wait for something else, all at once.
const LONG_ROW: usize = 100;

fn main() {
    let mut args = std::env::args().skip(1);
    let (path, count) = (args.next().unwrap_or_default(), args.next().and_then(|count| count.parse().ok()));
    let Some(count) = count else { usage() };
    match path.as_str() {
        "decode" => decode_requests(count),
        "session-lines" => answer_requests(Framing::Lines, count),
        "session-headers" => answer_requests(Framing::Headers, count),
        "session-calls" => call_and_be_answered(count),
        "engine" => call_through_engines(count),
        "lone" => call_one_at_a_time(count),
        "tools-call" => call_tools(count),
        "spawned" => call_spawned(count),
        "proxy" => call_through_proxy(count),
        "http" => post_over_one_connection(count),
        _ => usage(),
    }
}

fn usage() -> ! {
    eprintln!(
        "sabir-bench-hot decode|session-lines|session-headers|session-calls|engine|lone|tools-call|spawned|proxy|http COUNT"
    );
    std::process::exit(2)
}

/// A request becomes a message.
fn decode_requests(count: usize) {
    let limits = Limits::default();
    for _ in 0..count {
        black_box(decode(black_box(REQUEST), &PLAIN, &limits).is_ok());
    }
}

/// Bytes of requests become bytes of answers.
fn answer_requests(framing: Framing, count: usize) {
    let mut session = Session::new(Config { framing: Some(framing), ..Config::default() });
    let mut row = Vec::new();
    for _ in 0..ROW {
        if framing == Framing::Headers {
            row.extend_from_slice(format!("Content-Length: {}\r\n\r\n", REQUEST.len()).as_bytes());
        }
        row.extend_from_slice(REQUEST);
        if framing == Framing::Lines {
            row.push(b'\n');
        }
    }
    let result = RawJson::from_bytes(b"3").expect("a number is JSON");
    // The id is in use until it is answered, so that each request is answered before the next is taken in.
    for _ in 0..count / ROW {
        session.handle_bytes(Time::START, black_box(&row));
        loop {
            match session.poll_output(Time::START) {
                Output::Event(Event::Request { key, .. }) => {
                    session.reply_raw(Time::START, key, &result);
                }
                Output::Event(_) => {}
                Output::Wait(wait) if wait.write.is_empty() => break,
                Output::Wait(wait) => {
                    let count = black_box(wait.write).len();
                    session.handle_written(Time::START, count);
                }
                Output::Done(_) => return,
            }
        }
    }
}

/// Calls are sent, and answered by another session.
fn call_and_be_answered(count: usize) {
    let config = Config { framing: Some(Framing::Lines), ..Config::default() };
    let (mut near, mut far) = (Session::new(config), Session::new(config));
    let params = RawJson::from_bytes(b"[1,2]").expect("an array is JSON");
    let result = RawJson::from_bytes(b"3").expect("a number is JSON");
    let options = CallOptions::default();
    for _ in 0..count {
        near.call_raw(Time::START, "add", Some(&params), &options).expect("there is room");
        pass(&mut near, &mut far, &result);
        pass(&mut far, &mut near, &result);
        pass(&mut near, &mut far, &result);
    }
}

/// Answers what has come, and carries what is to be sent to the other side.
fn pass(from: &mut Session, to: &mut Session, result: &RawJson<'_>) {
    loop {
        match from.poll_output(Time::START) {
            Output::Event(Event::Request { key, .. }) => {
                from.reply_raw(Time::START, key, result);
            }
            Output::Event(event) => drop(black_box(event)),
            Output::Wait(wait) if wait.write.is_empty() => return,
            Output::Wait(wait) => {
                let count = wait.write.len();
                to.handle_bytes(Time::START, wait.write);
                from.handle_written(Time::START, count);
            }
            Output::Done(_) => return,
        }
    }
}

/// A typed call, from one peer through both engines to a handler and back.
fn call_through_engines(count: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        let router = Router::new().method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) });
        let (near, far) = transport::memory();
        tokio::spawn(sabir::serve(far, router));
        let peer = sabir::connect(near, Router::new()).await.expect("it is in memory");
        for number in 0..count as i64 {
            let sum: i64 = peer.call("add", (number, 1)).await.expect("it is answered");
            assert_eq!(sum, number + 1);
        }
    });
}

/// One call at a time to a server without a runtime, over pipes.
fn call_one_at_a_time(count: usize) {
    let (input, mut requests) = std::io::pipe().expect("a pipe");
    let (mut answers, output) = std::io::pipe().expect("a pipe");
    let router = Router::new().method_sync("add", |_, (a, b): (i64, i64)| Ok(a + b));
    let streams = blocking::Streams::new(OwnedFd::from(input), OwnedFd::from(output));
    let serving = std::thread::spawn(move || blocking::serve(streams, router).is_ok());
    let request = [REQUEST, b"\n"].concat();
    let mut answer = [0; 1024];
    for _ in 0..count {
        requests.write_all(&request).expect("it is read");
        let read = answers.read(&mut answer).expect("it is answered");
        assert!(answer[..read].ends_with(b"\"result\":3}\n"), "a whole answer in one read");
    }
    drop(requests);
    assert!(serving.join().expect("it does not panic"));
}

/// Calls of a tool of MCP, many in a read.
fn call_tools(count: usize) {
    const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"0"}}}"#;
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Add {
        a: i64,
        b: i64,
    }
    run_local(async {
        let router = McpServer::new("bench", "0")
            .tool("add", |_, Add { a, b }| async move { Ok(a + b) })
            .into_router();
        let (mut near, far) = tokio::io::duplex(64 << 10);
        let (read, write) = tokio::io::split(far);
        tokio::spawn(sabir::serve(transport::streams(read, write).dialect(MCP), router));
        near.write_all(format!("{INITIALIZE}\n").as_bytes()).await.expect("it is read");
        let read = near.read(&mut [0; 4096]).await.expect("it is answered");
        assert!(read > 0, "it is not closed");
        let call = r#""method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":30}}"#;
        ask(near, call, count).await;
    });
}

/// Requests to a handler that runs as a task beside its connection, many in a read.
fn call_spawned(count: usize) {
    run_local(async {
        let (near, far) = tokio::io::duplex(64 << 10);
        let (read, write) = tokio::io::split(far);
        tokio::spawn(sabir::serve(transport::streams(read, write), adder().spawned()));
        ask(near, ADD, count).await;
    });
}

/// Requests through a proxy to a server, many in a read.
fn call_through_proxy(count: usize) {
    run_local(async {
        let (near, far) = tokio::io::duplex(64 << 10);
        let (read, write) = tokio::io::split(far);
        let (upstream, server) = transport::memory();
        tokio::spawn(sabir::serve(server, adder()));
        tokio::spawn(sabir::proxy(transport::streams(read, write), upstream));
        ask(near, ADD, count).await;
    });
}

fn adder() -> Router {
    Router::new().method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) })
}

fn run_local(run: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime").block_on(run);
}

/// Sends rows of requests, and reads as many answers before the next row.
async fn ask(mut stream: tokio::io::DuplexStream, call: &str, count: usize) {
    let row: Vec<String> =
        (0..LONG_ROW).map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{call}}}\n")).collect();
    let row = row.concat();
    let mut answers = vec![0; 64 << 10];
    for _ in 0..count / LONG_ROW {
        stream.write_all(row.as_bytes()).await.expect("it is read");
        let mut missing = LONG_ROW;
        while missing > 0 {
            let read = stream.read(&mut answers).await.expect("it is answered");
            assert!(read > 0, "it is not closed");
            missing -= answers[..read].iter().filter(|&&byte| byte == b'\n').count();
        }
    }
}

/// A request of HTTP/1.1 on a connection that is kept, and its response.
fn post_over_one_connection(count: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let router = Router::new().method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) });
        let server = sabir::listen("http://127.0.0.1:0", router).await.expect("a free port");
        let address = server.url().trim_start_matches("http://").trim_end_matches('/').to_owned();
        tokio::spawn(server.run());
        let mut socket = tokio::net::TcpStream::connect(&address).await.expect("it listens");
        let head = format!(
            "POST / HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            REQUEST.len()
        );
        let request = [head.as_bytes(), REQUEST].concat();
        let mut response = [0; 1024];
        for _ in 0..count {
            socket.write_all(&request).await.expect("it is read");
            let read = socket.read(&mut response).await.expect("it is answered");
            assert!(response[..read].ends_with(br#""result":3}"#), "a whole response in one read");
        }
    });
}
