//! Signals do what the process has set, unless the library is asked to heed them.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod fixture;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use fixture::{finish, fixture, pid};
use rustix::process::{Signal, kill_process};

const ADD: &str = r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}"#;
const SUM: &str = r#"{"jsonrpc":"2.0","id":1,"result":3}"#;

/// A fixture with its input and output held open, so that nothing but a signal ends it.
struct Fixture {
    process: Child,
    _input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Fixture {
    fn start(args: &[&str], input: &str) -> Self {
        let mut command = fixture();
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut stdin = process.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        Fixture { process, _input: stdin, output }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Sends a signal. Returns the exit code, or the signal that ended the process.
    fn signal(self, signal: Signal) -> Result<i32, i32> {
        kill_process(pid(&self.process), signal).unwrap();
        let status = finish(self.process).status;
        status.code().ok_or_else(|| status.signal().unwrap())
    }
}

#[test]
fn without_being_asked_a_server_leaves_signals_alone() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = Fixture::start(&["no-signals", "listen", "tcp://127.0.0.1:0"], "");
        let url = server.line();
        // It serves, so it is past everything that could install a handler.
        let mut client = std::net::TcpStream::connect(url.strip_prefix("tcp://").unwrap()).unwrap();
        client.write_all(format!("{ADD}\n").as_bytes()).unwrap();
        let mut answer = String::new();
        BufReader::new(&client).read_line(&mut answer).unwrap();
        assert_eq!(answer.trim_end(), SUM);
        assert_eq!(server.signal(signal), Err(signal.as_raw()), "{signal:?}");

        let mut stdio = Fixture::start(&["no-signals"], &format!("{ADD}\n"));
        assert_eq!(stdio.line(), SUM);
        assert_eq!(stdio.signal(signal), Err(signal.as_raw()), "{signal:?}");
    }
}

#[test]
fn a_server_that_is_asked_ends_in_good_order() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = Fixture::start(&["listen", "tcp://127.0.0.1:0"], "");
        let url = server.line();
        let mut client = std::net::TcpStream::connect(url.strip_prefix("tcp://").unwrap()).unwrap();
        client.write_all(format!("{ADD}\n").as_bytes()).unwrap();
        let mut answers = BufReader::new(client);
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        assert_eq!(answer.trim_end(), SUM);
        assert_eq!(server.signal(signal), Ok(0), "{signal:?}");
    }
}
