//! What holds on every system: standard streams, processes, sockets and named pipes, and threads without a runtime.
//! What only Unix has is tested in the files of each.

#![allow(clippy::unwrap_used)]

mod fixture;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use fixture::{LONG, example, finish, fixture, framed, listening, piped, text};
use sabir::transport::{Child, Stderr};
use sabir::{CallError, Cause, Framing, Peer, Router, blocking, transport};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;

const ADD: &str = r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}"#;
const SUM: &str = r#"{"jsonrpc":"2.0","id":1,"result":3}"#;

async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(LONG, future).await.expect("it hangs")
}

/// The URL of a Unix socket or a named pipe, of this test only.
fn local_url(name: &str) -> String {
    let name = format!("sabir-portable-{}-{name}", std::process::id());
    match cfg!(windows) {
        true => format!("pipe:{name}"),
        false => format!("unix:{}", std::env::temp_dir().join(name).display()),
    }
}

#[test]
fn standard_streams_in_both_framings() {
    for (mode, request, answer) in [
        ("lines", format!("{ADD}\n"), format!("{SUM}\n")),
        ("headers", framed(ADD), framed(SUM)),
        ("auto", framed(ADD), framed(SUM)),
    ] {
        let mut child = piped(&[mode]);
        child.stdin.as_mut().unwrap().write_all(request.repeat(3).as_bytes()).unwrap();
        let output = finish(child);
        assert_eq!(text(&output.stdout), answer.repeat(3), "{mode}");
        assert_eq!(output.status.code(), Some(0), "{mode}");
    }
}

/// The answers fill all buffers before the first is read, and nothing is lost on the way.
#[test]
fn standard_output_is_written_to_the_end() {
    const CALLS: usize = 20_000;
    for name in ["fixture", "blocking_adder"] {
        let mut child = example(name).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let sending = thread::spawn(move || stdin.write_all(format!("{ADD}\n").repeat(CALLS).as_bytes()));
        thread::sleep(Duration::from_millis(1500));
        let output = finish(child);
        assert!(text(&output.stdout) == format!("{SUM}\n").repeat(CALLS), "{name}");
        assert_eq!(output.status.code(), Some(0), "{name}");
        sending.join().unwrap().unwrap();
    }
}

#[test]
fn nothing_but_the_protocol_is_on_standard_output() {
    let print = r#"{"jsonrpc":"2.0","id":0,"method":"print"}"#;
    for (mode, guarded) in [("lines", true), ("early", true), ("unguarded", false)] {
        let mut child = piped(&[mode]);
        child.stdin.as_mut().unwrap().write_all(format!("{print}\n{ADD}\n").as_bytes()).unwrap();
        let output = finish(child);
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        let clean = stdout == format!("{{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":null}}\n{SUM}\n");
        assert_eq!(clean, guarded, "{mode}: {stdout}");
        for how in ["println", "print", "C", "write", "a child"] {
            assert_eq!(stderr.contains(&format!("stray from {how}")), guarded, "{mode}, {how}: {stderr}");
        }
    }
}

#[test]
fn files_are_standard_streams_too() {
    let path = |name: &str| std::env::temp_dir().join(format!("sabir-{}-{name}", std::process::id()));
    let open = |name| File::options().read(true).write(true).create(true).truncate(true).open(path(name));
    let (mut input, mut output) = (open("in").unwrap(), open("out").unwrap());
    input.write_all(format!("{ADD}\n").repeat(3000).as_bytes()).unwrap();
    input.rewind().unwrap();
    let server = fixture().stdin(input).stdout(output.try_clone().unwrap()).spawn().unwrap();
    assert_eq!(finish(server).status.code(), Some(0));
    output.rewind().unwrap();
    let mut written = String::new();
    output.read_to_string(&mut written).unwrap();
    assert!(written == format!("{SUM}\n").repeat(3000));
    for name in ["in", "out"] {
        std::fs::remove_file(path(name)).unwrap();
    }
}

/// A process whose client has gone does not stay behind.
#[test]
fn the_death_of_the_client_is_a_quiet_end() {
    let mut child = piped(&[]);
    drop(child.stdout.take());
    child.stdin.as_mut().unwrap().write_all(format!("{ADD}\n").as_bytes()).unwrap();
    let stdin = child.stdin.take();
    let output = finish(child);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    drop(stdin);
}

/// A process, and the lines of its standard error.
async fn start(command: Command) -> (Peer, UnboundedReceiver<String>) {
    let (sender, lines) = unbounded_channel();
    let stderr = Stderr::Lines(Box::new(move |line| drop(sender.send(line))));
    let child = Child::new(command).stderr(stderr).exit_timeout(Duration::from_millis(200)).spawn().unwrap();
    (sabir::connect(child, Router::new()).await.unwrap(), lines)
}

/// The fixture, started by a shell: a process that a process has started.
fn in_a_shell() -> Command {
    let program = fixture();
    let mut command;
    if cfg!(windows) {
        command = Command::new("cmd");
        command.arg("/c").arg(program.get_program());
    } else {
        command = Command::new("sh");
        // What follows keeps the shell.
        command.args(["-c", "\"$0\"; exit"]).arg(program.get_program());
    }
    command
}

#[tokio::test]
async fn a_process_is_called_and_its_end_is_the_cause() {
    let (peer, mut lines) = start(fixture()).await;
    assert_eq!(within(peer.call("add", (1, 2))).await, Ok(3));
    let big = "x".repeat(1 << 20);
    assert_eq!(within(peer.call("echo", (&big,))).await, Ok((big.clone(),)));
    // Standard error does not hold it up.
    assert_eq!(within(peer.call("complain", 1_000_000)).await, Ok(()));
    let running = tokio::spawn({
        let peer = peer.clone();
        async move { peer.call::<()>("sleep", 60_000).await }
    });
    peer.notify("exit", 3).await.unwrap();
    match within(running).await.unwrap() {
        Err(CallError::Closed(Cause::Lost(lost))) => {
            let cause = lost.reason();
            assert!(cause.starts_with("the process ended with exit ") && cause.ends_with(": 3"), "{cause}");
        }
        other => panic!("not the end of the process: {other:?}"),
    }
    let mut complained = 0;
    while let Some(line) = within(lines.recv()).await {
        complained += line.len();
    }
    assert_eq!(complained, 1_000_000);
}

/// Standard error ends when the last process that has it does.
#[tokio::test]
async fn a_process_is_ended_with_all_that_it_started() {
    let (peer, mut lines) = start(in_a_shell()).await;
    assert_eq!(within(peer.call("add", (1, 2))).await, Ok(3));
    // It would go on for ever, input or not.
    let call = tokio::spawn({
        let peer = peer.clone();
        async move { peer.call::<()>("sleep", u64::MAX).await }
    });
    assert_eq!(within(peer.call("add", (1, 2))).await, Ok(3));
    within(peer.shutdown(Duration::ZERO)).await;
    assert_eq!(within(lines.recv()).await, None);
    assert!(within(call).await.unwrap().is_err());
}

#[test]
fn the_death_of_the_parent_is_the_end_of_the_process() {
    for how in ["parent", "blocking-parent"] {
        let mut parent = fixture();
        parent.arg(how).arg(in_a_shell().get_program()).args(in_a_shell().get_args());
        let mut parent = parent.stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(parent.stderr.take().unwrap());
        // The child runs, and has the same standard error.
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        assert_eq!(line.trim_end().len(), 10_000_000, "{how}");
        parent.kill().unwrap();
        parent.wait().unwrap();
        let (ended, end) = channel();
        thread::spawn(move || ended.send(stderr.read_to_end(&mut Vec::new()).is_ok()));
        assert_eq!(end.recv_timeout(LONG), Ok(true), "{how}");
    }
}

#[tokio::test]
async fn sockets_and_pipes_are_connected_to() {
    for url in ["tcp://127.0.0.1:0".to_owned(), local_url("connect")] {
        let server = listening(&url);
        for framing in [Framing::Lines, Framing::Headers] {
            let peer = transport::url(&server.url).framing(framing);
            let peer = sabir::connect(peer, Router::new()).await.unwrap();
            let others: Vec<_> = (0..8)
                .map(|n: i64| {
                    let (peer, url) = (peer.clone(), server.url.clone());
                    tokio::spawn(async move {
                        let other = sabir::connect(url, Router::new()).await.unwrap();
                        let big = "x".repeat(300_000);
                        assert_eq!(within(other.call("echo", (&big,))).await, Ok((big.clone(),)));
                        assert_eq!(within(peer.call("add", (n, 1))).await, Ok(n + 1));
                    })
                })
                .collect();
            for other in others {
                other.await.unwrap();
            }
        }
        let peer = sabir::connect(server.url.clone(), Router::new()).await.unwrap();
        let call = tokio::spawn(async move { peer.call::<()>("sleep", 60_000).await });
        tokio::time::sleep(Duration::from_millis(50)).await;
        drop(server);
        assert!(matches!(within(call).await.unwrap(), Err(CallError::Closed(_))), "{url}");
    }
}

#[tokio::test]
async fn a_local_address_has_one_server() {
    let url = local_url("taken");
    let router = || Router::new().method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) });
    let server = sabir::listen(&url, router()).await.unwrap();
    // Wine 8 lets anybody make a pipe whose name is taken.
    if std::env::var_os("SABIR_UNDER_WINE").is_none() {
        let error = sabir::listen(&url, router()).await.unwrap_err();
        assert!(error.to_string().ends_with("another server listens there"), "{error}");
        assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::AddrInUse);
    }
    let stopper = server.stopper();
    let running = tokio::spawn(server.run());
    let peer = sabir::connect(url.clone(), Router::new()).await.unwrap();
    assert_eq!(within(peer.call("add", (1, 2))).await, Ok(3));
    stopper.stop();
    within(running).await.unwrap().unwrap();
    // It can be had again.
    let server = sabir::listen(&url, router()).await.unwrap();
    drop(server);
    let error = sabir::connect(url, Router::new()).await.unwrap_err();
    assert!(matches!(error, sabir::Error::Connect(_)), "{error}");
}

fn check_blocking(streams: blocking::Streams) {
    let peer = blocking::connect(streams, Router::new()).unwrap();
    for n in 0..100i64 {
        assert_eq!(peer.call("add", (n, 1)), Ok(n + 1));
    }
    let big = "x".repeat(1 << 20);
    assert_eq!(peer.call("echo", (&big,)), Ok((big.clone(),)));
    let timed = peer.call_timeout::<()>("sleep", 60_000, Duration::from_millis(20));
    assert_eq!(timed, Err(CallError::TimedOut));
    assert_eq!(peer.shutdown(Duration::ZERO), Some(Cause::Shutdown));
}

#[test]
fn threads_need_no_runtime() {
    check_blocking(blocking::child(fixture()).unwrap());
    let server = listening("tcp://127.0.0.1:0");
    check_blocking(blocking::tcp(&server.url[6..]).unwrap());
    let server = listening(&local_url("blocking"));
    #[cfg(unix)]
    check_blocking(blocking::unix(&server.url[5..]).unwrap());
    #[cfg(windows)]
    check_blocking(blocking::pipe(&server.url[5..]).unwrap());
}

/// The peer is told that the connection has ended, though threads may be blocked in it.
#[test]
fn the_end_of_a_connection_without_a_runtime_is_seen() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let streams = blocking::tcp(listener.local_addr().unwrap()).unwrap();
    let (mut theirs, _) = listener.accept().unwrap();
    theirs.set_read_timeout(Some(LONG)).unwrap();
    let peer = blocking::connect(streams, Router::new()).unwrap();
    assert_eq!(peer.shutdown(Duration::ZERO), Some(Cause::Shutdown));
    assert_eq!(theirs.read(&mut [0]).unwrap(), 0);
}

/// A process that ends at the end of its input is neither asked nor killed: it has time to say so.
#[test]
fn a_process_without_a_runtime_ends_with_its_input() {
    let mut parent = fixture();
    parent.args(["blocking-connect"]).arg(fixture().get_program()).arg("farewell");
    let output = finish(parent.stderr(Stdio::piped()).spawn().unwrap());
    assert_eq!((text(&output.stderr).trim_end(), output.status.code()), ("the input has ended", Some(0)));
}
