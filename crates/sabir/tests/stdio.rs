//! A server on standard input and output, as a process: what it answers, and how it ends.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod fixture;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use fixture::{LONG, example, finish, fixture, framed, pid, piped, text};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Signal, kill_process};

const ADD: &str = r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}"#;
const SUM: &str = r#"{"jsonrpc":"2.0","id":1,"result":3}"#;
const SLEEP: &str = r#"{"jsonrpc":"2.0","id":"s","method":"sleep","params":[300]}"#;
const SLEPT: &str = r#"{"jsonrpc":"2.0","id":"s","result":300}"#;

/// Messages in, messages out, and what the fixture is to make of the end of its input.
const TRANSCRIPTS: &[(&[&str], &[&str])] = &[
    (&[], &[]),
    (&[ADD], &[SUM]),
    // The end of the input does not cut off what runs.
    (&[SLEEP, ADD], &[SUM, SLEPT]),
    (
        &[r#"{"jsonrpc":"2.0","id":2.0,"method":"echo","params":[1.0,"\u0041"]}"#],
        &[r#"{"jsonrpc":"2.0","id":2.0,"result":[1.0,"\u0041"]}"#],
    ),
    (&[r#"{"jsonrpc":"2.0","method":"add","params":[1,2]}"#, ADD], &[SUM]),
    (
        &["{broken", ADD],
        &[r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error""#, SUM],
    ),
    (
        &[r#"{"jsonrpc":"2.0","id":3,"method":"panic"}"#, ADD],
        &[r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"Internal error"}}"#, SUM],
    ),
    (
        &[r#"[{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]},{"jsonrpc":"2.0","method":"none"}]"#],
        &[r#"[{"jsonrpc":"2.0","id":1,"result":3}]"#],
    ),
];

fn send(child: &mut Child, input: &str) {
    child.stdin.as_mut().unwrap().write_all(input.as_bytes()).unwrap();
}

/// The next line of the output.
fn receive(child: &mut Child) -> String {
    let mut line = Vec::new();
    let mut byte = [0];
    while child.stdout.as_mut().unwrap().read(&mut byte).unwrap() == 1 && byte != *b"\n" {
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}

/// The messages of an output. Each must be whole.
fn messages(output: &str, headers: bool) -> Vec<String> {
    if !headers {
        assert!(output.is_empty() || output.ends_with('\n'), "a torn line: {output}");
        return output.lines().map(str::to_owned).collect();
    }
    let mut reader = BufReader::new(output.as_bytes());
    let mut found = Vec::new();
    loop {
        let mut head = String::new();
        if reader.read_line(&mut head).unwrap() == 0 {
            return found;
        }
        let length = head.trim_end().strip_prefix("Content-Length: ").unwrap().parse().unwrap();
        reader.read_line(&mut String::new()).unwrap();
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        found.push(String::from_utf8(body).unwrap());
    }
}

#[test]
fn transcripts_in_both_framings() {
    for (mode, headers) in [("lines", false), ("headers", true), ("auto", false), ("auto", true)] {
        for (input, expected) in TRANSCRIPTS {
            let mut child = piped(&[mode]);
            let frame = |message: &&str| if headers { framed(message) } else { format!("{message}\n") };
            send(&mut child, &input.iter().map(frame).collect::<String>());
            let output = finish(child);
            let got = messages(text(&output.stdout), headers);
            let fits =
                got.len() == expected.len() && got.iter().zip(*expected).all(|(g, e)| g.starts_with(e));
            assert!(fits, "{mode} {input:?}\nexpected {expected:?}\ngot {got:?}");
            assert_eq!(output.status.code(), Some(0), "{mode} {input:?}");
        }
    }
}

/// The answers fill all buffers before the first is read, and nothing is lost on the way.
#[test]
fn every_request_is_answered_however_late_it_is_read() {
    const CALLS: usize = 60_000;
    for name in ["fixture", "blocking_adder"] {
        let mut child = example(name).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let sending = std::thread::spawn(move || {
            let calls: String = (0..CALLS).map(|id| ADD.replace(":1,", &format!(":{id},")) + "\n").collect();
            stdin.write_all(calls.as_bytes())
        });
        std::thread::sleep(Duration::from_millis(500));
        let output = finish(child);
        let answers = text(&output.stdout).lines();
        let missing = answers.enumerate().find(|(id, line)| *line != SUM.replace(":1,", &format!(":{id},")));
        assert_eq!(missing, None, "{name}");
        assert_eq!((text(&output.stdout).lines().count(), output.status.code()), (CALLS, Some(0)), "{name}");
        sending.join().unwrap().unwrap();
    }
}

/// What came before the torn message is answered, and nothing hangs or fails.
#[test]
fn the_input_ends_in_the_middle_of_a_message() {
    let torn = framed(ADD);
    for (mode, input) in [
        ("lines", format!("{SLEEP}\n{}", &ADD[..20])),
        ("headers", framed(SLEEP) + &torn[..torn.len() - 5]),
        ("headers", framed(SLEEP) + &torn[..10]),
    ] {
        let mut child = piped(&[mode]);
        send(&mut child, &input);
        let output = finish(child);
        let got = messages(text(&output.stdout), mode == "headers");
        assert!(got.contains(&SLEPT.to_owned()), "{mode}: {got:?}");
        assert_eq!(output.status.code(), Some(0), "{mode}");
    }
}

#[test]
fn signals_drain_and_end_with_success() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut child = piped(&[]);
        // The answer to the second tells that the first runs.
        send(&mut child, &format!("{SLEEP}\n{ADD}\n"));
        assert_eq!(receive(&mut child), SUM);
        let stdin = child.stdin.take();
        kill_process(pid(&child), signal).unwrap();
        assert_eq!(receive(&mut child), SLEPT);
        assert_eq!(finish(child).status.code(), Some(0), "{signal:?}");
        drop(stdin);
    }
}

/// A call that takes too long is not waited for.
#[test]
fn a_signal_ends_even_what_sleeps_for_long() {
    let mut child = piped(&[]);
    let long = SLEEP.replace("300", "60000");
    send(&mut child, &format!("{long}\n{ADD}\n"));
    assert_eq!(receive(&mut child), SUM);
    let stdin = child.stdin.take();
    kill_process(pid(&child), Signal::TERM).unwrap();
    assert_eq!(finish(child).status.code(), Some(0));
    drop(stdin);
}

#[test]
fn an_idle_process_ends_at_once() {
    for signal in [None, Some(Signal::TERM)] {
        let mut child = piped(&[]);
        send(&mut child, &format!("{ADD}\n"));
        assert_eq!(receive(&mut child), SUM);
        let start = Instant::now();
        let _open = signal.map(|signal| {
            kill_process(pid(&child), signal).unwrap();
            child.stdin.take()
        });
        assert_eq!(finish(child).status.code(), Some(0));
        assert!(start.elapsed() < Duration::from_secs(1), "{signal:?}: {:?}", start.elapsed());
    }
}

/// Nobody reads the answers any more, though the input is still open.
#[test]
fn the_death_of_the_client_is_a_quiet_end() {
    let mut child = piped(&[]);
    drop(child.stdout.take());
    send(&mut child, &format!("{ADD}\n"));
    let stdin = child.stdin.take();
    let output = finish(child);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    drop(stdin);

    // The same over a socket, whose other end has left something unread.
    let (ours, theirs) = UnixStream::pair().unwrap();
    let theirs: OwnedFd = theirs.into();
    let mut child = fixture();
    child.stdin(theirs.try_clone().unwrap()).stdout(theirs).stderr(Stdio::piped());
    let spawned = child.spawn().unwrap();
    drop(child);
    (&ours).write_all(format!("{ADD}\n{ADD}\n").as_bytes()).unwrap();
    ours.set_read_timeout(Some(LONG)).unwrap();
    (&ours).read_exact(&mut [0]).unwrap();
    drop(ours);
    let output = finish(spawned);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

/// A handler that would go on for ever does not keep the process of a client that is dead.
#[test]
fn the_death_of_the_client_ends_what_runs_for_it() {
    let sleep = r#"{"jsonrpc":"2.0","id":0,"method":"sleep","params":[1000000000]}"#;
    let mut child = piped(&[]);
    send(&mut child, &format!("{sleep}\n{ADD}\n"));
    assert_eq!(receive(&mut child), SUM);
    drop(child.stdout.take());
    assert_eq!(finish(child).status.code(), Some(0));

    let (ours, theirs) = UnixStream::pair().unwrap();
    let theirs: OwnedFd = theirs.into();
    let mut child = fixture();
    let spawned = child.stdin(theirs.try_clone().unwrap()).stdout(theirs).spawn().unwrap();
    drop(child);
    (&ours).write_all(format!("{sleep}\n").as_bytes()).unwrap();
    drop(ours);
    assert_eq!(finish(spawned).status.code(), Some(0));
}

#[test]
fn nothing_but_the_protocol_is_on_standard_output() {
    let print = r#"{"jsonrpc":"2.0","id":0,"method":"print"}"#;
    for (mode, guarded) in [("lines", true), ("unguarded", false)] {
        let mut child = piped(&[mode]);
        send(&mut child, &format!("{print}\n{ADD}\n"));
        let output = finish(child);
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        let clean = stdout == format!("{{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":null}}\n{SUM}\n");
        assert_eq!(clean, guarded, "{mode}: {stdout}");
        for how in ["println", "print", "C", "write", "a child"] {
            assert_eq!(stderr.contains(&format!("stray from {how}")), guarded, "{mode}, {how}: {stderr}");
        }
    }
}

/// A temporary file that is gone with its descriptor.
fn file(name: &str, contents: &str) -> File {
    let path = std::env::temp_dir().join(format!("sabir-stdio-{}-{name}", std::process::id()));
    let mut file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    file.write_all(contents.as_bytes()).unwrap();
    file.rewind().unwrap();
    file
}

#[test]
fn files_and_null_are_input_and_output() {
    let null = || File::options().read(true).write(true).open("/dev/null").unwrap();
    let calls = 3000;
    let input = format!("{ADD}\n").repeat(calls);
    for (stdin, answers) in [(file("in", &input), calls), (null(), 0)] {
        let mut stdout = file("out", "");
        let mut command = fixture();
        let output = finish(
            command.stdin(stdin.try_clone().unwrap()).stdout(stdout.try_clone().unwrap()).spawn().unwrap(),
        );
        assert_eq!(output.status.code(), Some(0));
        stdout.rewind().unwrap();
        let mut written = String::new();
        stdout.read_to_string(&mut written).unwrap();
        assert_eq!(written, format!("{SUM}\n").repeat(answers));
        let output = finish(fixture().stdin(stdin).stdout(null()).spawn().unwrap());
        assert_eq!(output.status.code(), Some(0));
    }
}

/// The flags of descriptors belong to everyone who shares them, and are left as they were.
#[test]
fn shared_descriptors_keep_their_flags() {
    for nonblocking in [false, true] {
        let flags = |fd: &OwnedFd| fcntl_getfl(fd).unwrap().contains(OFlags::NONBLOCK);
        let set = |fd: &OwnedFd| {
            let flags = fcntl_getfl(fd).unwrap();
            fcntl_setfl(fd, if nonblocking { flags | OFlags::NONBLOCK } else { flags }).unwrap();
        };
        let check = |stdin: OwnedFd, stdout: OwnedFd, write: &mut dyn Write, read: &mut dyn Read| {
            set(&stdin);
            set(&stdout);
            let mut command = fixture();
            let child = command
                .stdin(stdin.try_clone().unwrap())
                .stdout(stdout.try_clone().unwrap())
                .spawn()
                .unwrap();
            drop(command);
            // More than any buffer holds, so that both ends have to wait for each other.
            let big = r#"{"jsonrpc":"2.0","id":1,"method":"big","params":[300000]}"#;
            write.write_all(format!("{big}\n{ADD}\n").as_bytes()).unwrap();
            let mut lines = BufReader::new(read).lines();
            assert!(lines.next().unwrap().unwrap().len() > 300_000);
            assert_eq!(lines.next().unwrap().unwrap(), SUM);
            kill_process(pid(&child), Signal::TERM).unwrap();
            assert_eq!(finish(child).status.code(), Some(0));
            assert_eq!((flags(&stdin), flags(&stdout)), (nonblocking, nonblocking));
        };
        let (ours, theirs) = UnixStream::pair().unwrap();
        let theirs = OwnedFd::from(theirs);
        check(theirs.try_clone().unwrap(), theirs, &mut &ours, &mut &ours);
        let ((stdin, mut write), (mut read, stdout)) = (std::io::pipe().unwrap(), std::io::pipe().unwrap());
        check(stdin.as_fd().try_clone_to_owned().unwrap(), stdout.into(), &mut write, &mut read);
    }
}
