//! The demo service through a real pipe, in both framings.
//!
//! `data/demo/*.rpc` are transcripts: what stands behind `>` is sent, what stands behind `<` must come next, to
//! the letter. `$name` stands for what came in its place the first time, such as the id of a subscription. At the end of
//! the input the process must exit with 0 and have said nothing else.

#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, thread};

use sabir_proto::{Cut, Deframer, Framing, Line, transcript};

/// Nothing takes a second; what hangs fails.
const PATIENCE: Duration = Duration::from_secs(30);

fn check(name: &str) {
    for (flag, framing) in [("lines", Framing::Lines), ("headers", Framing::Headers)] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/demo/{name}.rpc"));
        play(&fs::read_to_string(path).unwrap(), flag, framing, &format!("{name}, {flag}"));
    }
}

fn play(script: &str, flag: &str, framing: Framing, name: &str) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_sabir"))
        .args(["demo", "--framing", flag])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = process.stdin.take().unwrap();
    let messages = messages(process.stdout.take().unwrap(), framing);
    let mut known = Known::default();
    for (i, line) in transcript(script).enumerate() {
        match line.unwrap() {
            Line::ToServer(text) => {
                let text = known.fill_in(&text);
                let frame = match framing {
                    Framing::Headers => format!("Content-Length: {}\r\n\r\n{text}", text.len()),
                    _ => format!("{text}\n"),
                };
                input.write_all(frame.as_bytes()).unwrap();
            }
            Line::ToClient(told) => match messages.recv_timeout(PATIENCE) {
                Ok(came) => assert_eq!(came, known.learn(&told, &came), "{name}, line {}", i + 1),
                Err(_) => panic!("{name}, line {}: nothing came, told {told}", i + 1),
            },
            Line::Comment(_) | Line::Blank => {}
            other => panic!("{name}, line {}: no use for `{other}`", i + 1),
        }
    }
    drop(input);
    assert_eq!(messages.recv_timeout(PATIENCE).ok(), None, "{name}: more came");
    ended_well(process, name);
}

/// What stands for the names in a transcript.
#[derive(Default)]
struct Known(Vec<(String, String)>);

impl Known {
    fn fill_in(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    /// The line with all names filled in. A name that is new stands for what came in its place.
    fn learn(&mut self, told: &str, came: &str) -> String {
        let told = self.fill_in(told);
        let Some((before, rest)) = told.split_once('$') else { return told };
        let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        match came.strip_prefix(before).and_then(|came| came.strip_suffix(after)) {
            Some(value) => {
                self.0.push((format!("${name}"), value.to_owned()));
                self.fill_in(&told)
            }
            None => told.clone(),
        }
    }
}

fn ended_well(process: Child, name: &str) {
    let output = process.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{name}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{name}");
}

/// The messages that come, until the stream ends.
fn messages(mut output: ChildStdout, framing: Framing) -> mpsc::Receiver<String> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut deframer = Deframer::new(Some(framing), usize::MAX);
        let mut unread = Vec::new();
        let mut chunk = [0; 4096];
        loop {
            match deframer.cut(&unread) {
                Cut::Message { body, used } => {
                    let _ = send.send(String::from_utf8_lossy(body).into_owned());
                    unread.drain(..used);
                }
                Cut::Fault { fault, used, .. } => {
                    let _ = send.send(format!("a fault: {fault}"));
                    unread.drain(..used);
                }
                Cut::More { used, .. } => {
                    unread.drain(..used);
                    match output.read(&mut chunk) {
                        Ok(count) if count > 0 => unread.extend_from_slice(&chunk[..count]),
                        _ => break,
                    }
                }
            }
        }
        if !unread.is_empty() {
            let _ = send.send(format!("half a message: {}", String::from_utf8_lossy(&unread)));
        }
    });
    receive
}

#[test]
fn arithmetic() {
    check("arithmetic");
}

#[test]
fn echo() {
    check("echo");
}

#[test]
fn time() {
    check("time");
}

#[test]
fn progress() {
    check("progress");
}

#[test]
fn asking_back() {
    check("asking_back");
}

#[test]
fn failing() {
    check("failing");
}

#[test]
fn subscriptions() {
    check("subscriptions");
}

#[test]
fn notes() {
    check("notes");
}
