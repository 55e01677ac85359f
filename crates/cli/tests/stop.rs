//! The program ends when its time is up or when it is interrupted, whatever a peer sends and whoever reads its output.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// What hangs is ended, and fails its test.
const PATIENCE: Duration = Duration::from_secs(30);

const NOTIFICATION: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"log\",\"params\":[\"some text\"]}\n";

/// Sends the same again and again, to everyone who asks for something.
fn flood(text: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("tcp://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || pour(stream.unwrap(), text));
        }
    });
    target
}

fn pour(mut stream: TcpStream, text: &str) {
    let text = text.repeat(1000);
    if stream.read(&mut [0; 4096]).is_ok() {
        while stream.write_all(text.as_bytes()).is_ok() {}
    }
}

/// Starts the program. Its output is a pipe that nobody reads.
fn start(command: &str, target: &str) -> Child {
    let words = command.split(' ').map(|word| if word == "TARGET" { target } else { word });
    let mut child = Command::new(env!("CARGO_BIN_EXE_sabir"))
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"{\"id\":1,\"method\":\"add\"}").unwrap();
    child
}

fn exit(child: &mut Child, what: &str) -> Option<i32> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    panic!("this hangs: {what}");
}

/// Commands that print what comes while they wait.
const PRINTING: [(&str, &str); 8] = [
    ("bench TARGET add", NOTIFICATION),
    ("call TARGET add", NOTIFICATION),
    ("call TARGET add", "noise\n"),
    ("call TARGET add --trace", NOTIFICATION),
    ("call TARGET add --json", NOTIFICATION),
    ("call TARGET --batch -", NOTIFICATION),
    ("list TARGET --trace", NOTIFICATION),
    ("generate --lang rust TARGET --trace", NOTIFICATION),
];

fn each(check: impl Fn(&str, &str) + Sync) {
    thread::scope(|scope| {
        for (command, text) in PRINTING {
            let (check, target) = (&check, flood(text));
            scope.spawn(move || check(command, &target));
        }
    });
}

#[test]
fn the_time_is_up_although_nobody_reads() {
    each(|command, target| {
        let command = format!("{command} --timeout 1s");
        assert_eq!(exit(&mut start(&command, target), &command), Some(4), "{command}");
    });
}

#[test]
fn an_interrupt_is_obeyed_although_nobody_reads() {
    each(|command, target| {
        let command = format!("{command} --timeout 10m");
        let mut child = start(&command, target);
        // Until its output is full, or before.
        thread::sleep(Duration::from_secs(1));
        let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(kill.success());
        assert_eq!(exit(&mut child, &command), Some(130), "{command}");
    });
}

/// A run that is interrupted reports what it has measured.
#[test]
fn an_interrupted_load_says_what_it_has_measured() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("tcp://{}", listener.local_addr().unwrap());
    let (told, asked) = std::sync::mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, told) = (stream.unwrap(), told.clone());
            thread::spawn(move || {
                let read = std::io::BufReader::new(stream.try_clone().unwrap());
                for line in std::io::BufRead::lines(read).map_while(Result::ok) {
                    let id =
                        line.split("\"id\":").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("0");
                    let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":5}}\n");
                    if stream.write_all(answer.as_bytes()).is_err() || told.send(()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    let mut child = start("bench --rate 200 --warmup 0s --duration 10m --json TARGET add 2 3", &target);
    for _ in 0..40 {
        asked.recv_timeout(PATIENCE).unwrap();
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    assert_eq!(exit(&mut child, "bench"), Some(130));
    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    let report: serde_json::Value =
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}\n{err}"));
    let round = &report["rounds"][0];
    assert!(round["ok"].as_u64().unwrap() >= 30, "{round}");
    assert_eq!(round["errors"], 0, "{round}");
    assert!(err.contains("interrupted"), "{err}");
}

/// A server that talks, but not about what was asked, is late all the same.
#[test]
fn a_replay_ends_although_the_server_talks() {
    let call = "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"add\"}\n< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}\n";
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("talking.rpc");
    std::fs::write(&file, call).unwrap();
    let command = format!("replay {} TARGET --timeout 1s", file.display());
    thread::scope(|scope| {
        let answer = "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":1}\n";
        for text in [NOTIFICATION, "noise\n", answer] {
            let (command, target) = (&command, flood(text));
            scope.spawn(move || {
                let mut child = start(command, &target);
                // The report is long, and somebody reads it.
                let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
                thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
                thread::spawn(move || std::io::copy(&mut err, &mut std::io::sink()));
                assert_eq!(exit(&mut child, text), Some(4), "{text}");
            });
        }
    });
}

/// Whoever reads a result may take any time for it.
#[test]
fn a_result_is_not_cut_off() {
    let long = format!("[\"{}\"]", "x".repeat(1 << 20));
    for options in [&[][..], &["--json"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sabir"));
        command.args(["call", "demo:", "echo", "-d", "-", "--timeout", "1s"]).args(options);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(long.as_bytes()).unwrap();
        // Longer than the time limit, and than what hangs is given.
        thread::sleep(Duration::from_secs(3));
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert!(text.contains(&long), "{} bytes", text.len());
        assert_eq!(exit(&mut child, "call"), Some(0));
    }
}

/// What a peer floods is counted, not printed.
#[test]
fn repeated_notes_are_counted() {
    let target = flood(NOTIFICATION);
    let output = Command::new(env!("CARGO_BIN_EXE_sabir"))
        .args(["call", &target, "add", "--timeout", "1s"])
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let last: Vec<&str> = stderr.lines().rev().take(3).collect();
    assert_eq!(stderr.lines().count(), 1003, "{last:?}");
    assert!(last[2].starts_with("… and ") && last[2].ends_with(" more"), "{last:?}");
    assert!(last[1].starts_with("error: no answer from "), "{last:?}");
    assert_eq!(output.status.code(), Some(4));
}
