//! `sabir tap` when something dies or the disk is full: traffic suffers only where the dead thing carried it, and the record
//! is whole up to its last line, which says what happened.

// Signals and pipes.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod folder;
#[allow(dead_code)] // Others use the rest of it.
mod page;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use folder::{Folder, SABIR, until, wait};

impl Folder {
    fn start(&self, words: &[&str]) -> Child {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(&self.0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// A tap that records to `s.jrl`, before a script for `sh`.
    fn tap(&self, script: &str) -> Child {
        self.start(&[SABIR, "tap", "--record", "s.jrl", "--", "sh", "-c", script])
    }

    /// The lines of the record, each of which is a whole object.
    fn record(&self) -> Vec<serde_json::Value> {
        let text = fs::read_to_string(self.0.join("s.jrl")).unwrap_or_default();
        assert!(
            text.is_empty() || text.ends_with('\n'),
            "a torn line: {}",
            &text[text.len().saturating_sub(200)..]
        );
        text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
    }

    /// What kind the last row is of, and what it says.
    fn last(&self) -> (String, String) {
        let record = self.record();
        let last = record.last().unwrap();
        (last["k"].as_str().unwrap().to_owned(), last["raw"].as_str().unwrap_or_default().to_owned())
    }
}

fn kill(pid: &str, signal: &str) {
    assert!(Command::new("kill").args([signal, pid]).status().unwrap().success());
}

fn call(id: usize) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"add\",\"params\":[{id},1]}}\n")
}

#[test]
fn a_command_that_is_killed_has_said_all_that_it_said() {
    for (signal, number, told) in [("-KILL", 9, "killed by SIGKILL"), ("-ABRT", 6, "killed by SIGABRT")] {
        let folder = Folder::new();
        // It is killed from outside, in the middle of a message, while it has a child that holds its streams.
        let script =
            "ulimit -c 0; echo $$; sleep 600 & read line; echo \"$line\"; printf '{\"torn'; sleep 600";
        let mut tap = folder.tap(script);
        let mut stdout = BufReader::new(tap.stdout.take().unwrap());
        let mut pid = String::new();
        stdout.read_line(&mut pid).unwrap();
        tap.stdin.as_mut().unwrap().write_all(call(1).as_bytes()).unwrap();
        let mut came = vec![0; call(1).len() + 6];
        stdout.read_exact(&mut came).unwrap();
        assert_eq!(String::from_utf8(came).unwrap(), format!("{}{{\"torn", call(1)));
        kill(pid.trim(), signal);
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "");
        assert_eq!(wait(&mut tap).signal(), Some(number));
        assert_eq!(folder.last(), ("exit".to_owned(), told.to_owned()));
        let torn = folder.record().iter().any(|line| line["k"] == "noise" && line["raw"] == "{\"torn");
        assert!(torn, "{:?}", folder.record());
    }
}

#[test]
fn a_client_that_is_killed_ends_the_command_in_order() {
    let folder = Folder::new();
    // The client is a process of its own; the tap and the command see the end of its pipes, no signal.
    let line = call(7).trim_end().to_owned();
    let script = format!(
        "mkfifo in out; {SABIR} tap --record s.jrl -- sh -c 'cat; echo the end >&2; exit 4' <in >out 2>err & tap=$!; \
         sh -c 'exec 3>in 4<out; while :; do echo \"$0\" >&3; read x <&4; done' '{line}' & client=$!; \
         echo $client; wait $tap; echo ended $?"
    );
    let mut shell = folder.start(&["sh", "-c", &script]);
    let mut lines = BufReader::new(shell.stdout.take().unwrap()).lines().map(Result::unwrap);
    let client = lines.next().unwrap();
    until("it is recorded", || {
        fs::read_to_string(folder.0.join("s.jrl")).is_ok_and(|text| text.lines().count() > 20)
    });
    kill(&client, "-KILL");
    let ended = lines.find(|line| line.starts_with("ended")).unwrap();
    wait(&mut shell);
    // `cat` may find its output closed before its input; the script then goes on all the same.
    assert_eq!(ended, "ended 4");
    assert_eq!(folder.last(), ("exit".to_owned(), "code 4".to_owned()));
    assert!(folder.record().iter().any(|line| line["k"] == "stderr" && line["raw"] == "the end"));
}

#[test]
fn a_tap_that_is_killed_in_the_middle_leaves_whole_lines() {
    let folder = Folder::new();
    let mut tap = folder.tap("cat");
    let mut stdin = tap.stdin.take().unwrap();
    let mut stdout = tap.stdout.take().unwrap();
    let writer = std::thread::spawn(move || {
        (0..).take_while(|id| stdin.write_all(call(*id).as_bytes()).is_ok()).count()
    });
    let reader = std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
    let path = folder.0.join("s.jrl");
    until("it is recorded", || fs::metadata(&path).is_ok_and(|about| about.len() > 1 << 20));
    kill(&tap.id().to_string(), "-KILL");
    assert_eq!(wait(&mut tap).signal(), Some(9));
    assert!(writer.join().unwrap() > 0 && reader.join().unwrap().is_ok());
    // One line at the most may be torn: that which was being written.
    let text = fs::read_to_string(&path).unwrap();
    let whole = text.lines().filter(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()).count();
    assert!(whole > 1000 && text.lines().count() - whole <= 1, "{whole} of {}", text.lines().count());
}

/// The limit of the size of files is that of a full disk, and can be taken back.
#[cfg(target_os = "linux")]
#[test]
fn when_there_is_room_again_the_record_goes_on_with_a_gap() {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};

    let folder = Folder::new();
    let mut tap = folder.tap("cat");
    let pid = Pid::from_raw(tap.id().cast_signed()).unwrap();
    let limit = |size| {
        let old = prlimit(Some(pid), Resource::Fsize, Rlimit { current: size, maximum: None }).unwrap();
        assert_eq!(old.maximum, None);
    };
    let mut stdin = tap.stdin.take().unwrap();
    let mut stdout = BufReader::new(tap.stdout.take().unwrap());
    let mut stderr = BufReader::new(tap.stderr.take().unwrap());
    let mut said = 0;
    let mut say = || {
        said += 1;
        stdin.write_all(call(said).as_bytes()).unwrap();
        let mut echo = String::new();
        stdout.read_line(&mut echo).unwrap();
        assert_eq!(echo, call(said), "the traffic must go on");
    };
    let size = || fs::metadata(folder.0.join("s.jrl")).map_or(0, |about| about.len());
    say();
    until("it is recorded", || size() > 0);
    limit(Some(2000));
    // Many times as much as there is room for.
    (0..100).for_each(|_| say());
    let mut told = String::new();
    stderr.read_line(&mut told).unwrap();
    assert!(
        told.contains("cannot record to s.jrl: File too large") && told.contains("the traffic goes on"),
        "{told}"
    );
    assert!(size() <= 2000);
    folder.record();
    limit(None);
    until("it goes on", || {
        say();
        size() > 2000
    });
    drop(stdin);
    assert!(wait(&mut tap).success());
    let record = folder.record();
    assert_eq!(record.last().unwrap()["raw"], "code 0");
    let gaps = record.iter().filter(|line| line["k"] == "gap").count();
    let gap = record.iter().position(|line| line["k"] == "gap").unwrap();
    let text = record[gap]["raw"].as_str().unwrap();
    assert!(gaps == 1 && text.ends_with("records could not be written"), "{gaps}: {text}");
    let ids: Vec<u64> = record.iter().filter_map(|line| line["msg"]["id"].as_u64()).collect();
    assert!(ids.is_sorted(), "nothing is written twice or out of order");
}

#[test]
fn a_server_that_is_killed_ends_its_connections_only() {
    let folder = Folder::new();
    let listening = |child: &mut Child, says: &str| {
        let mut line = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        stderr.read_line(&mut line).unwrap();
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        let url =
            line.strip_prefix(says).unwrap_or_else(|| panic!("{line}")).split([',', '\n']).next().unwrap();
        url.trim_end_matches('/').to_owned()
    };
    let any = "tcp://127.0.0.1:0";
    let mut server = folder.start(&[SABIR, "demo", "--listen", any]);
    let target = listening(&mut server, "serving on ");
    let mut tap = folder.start(&[SABIR, "tap", "--record", "s.jrl", "--listen", any, &target]);
    let url = listening(&mut tap, "listening at ");
    let mut stream = TcpStream::connect(url.trim_start_matches("tcp://")).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    stream.write_all(call(1).as_bytes()).unwrap();
    let mut answer = String::new();
    reader.read_line(&mut answer).unwrap();
    assert!(answer.contains("\"result\":2"), "{answer}");
    server.kill().unwrap();
    server.wait().unwrap();
    let mut rest = Vec::new();
    // The end, or a reset: as the server's own would be.
    let _ = reader.read_to_end(&mut rest);
    assert_eq!(rest, b"");
    // The connection ends when both sides have closed their half.
    drop((stream, reader));
    until("its end is recorded", || folder.record().iter().any(|line| line["k"] == "close"));
    // The tap is still there, and says that the server is not.
    let mut next = TcpStream::connect(url.trim_start_matches("tcp://")).unwrap();
    assert_eq!(next.read(&mut [0]).unwrap_or(0), 0);
    kill(&tap.id().to_string(), "-TERM");
    assert!(wait(&mut tap).success());
    let record = folder.record();
    let closes: Vec<&str> = record
        .iter()
        .filter(|line| line["k"] == "close")
        .map(|line| line["raw"].as_str().unwrap_or(""))
        .collect();
    assert_eq!(closes.len(), 2, "{record:?}");
    assert!(closes[1].starts_with("cannot connect to the target"), "{closes:?}");
}

/// Reads lines of standard error up to one that begins like this, and gives what follows there. The rest is read, too.
fn told(child: &mut Child, says: &str) -> String {
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let line = lines.find(|line| line.starts_with(says)).unwrap();
    std::thread::spawn(move || lines.for_each(drop));
    line[says.len()..].split([',', '\n', ' ']).next().unwrap().trim_end_matches('/').to_owned()
}

fn connect(url: &str) -> TcpStream {
    TcpStream::connect(url.split("://").nth(1).unwrap().split('/').next().unwrap()).unwrap()
}

/// Sends a call and reads its answer.
fn say(stream: &mut TcpStream, id: usize) {
    stream.write_all(call(id).as_bytes()).unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    assert!(answer.contains(&format!("\"result\":{}", id + 1)), "{answer}");
}

/// A server, and a tap in front of it that records to `s.jrl`.
fn listening(folder: &Folder, at: &str) -> (Child, Child, String) {
    let mut server = folder.start(&[SABIR, "demo", "--listen", at]);
    let target = told(&mut server, "serving on ");
    let mut tap = folder.start(&[SABIR, "tap", "--record", "s.jrl", "--listen", at, &target]);
    let url = told(&mut tap, "listening at ");
    (server, tap, url)
}

fn end(mut server: Child) {
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn a_tap_that_is_asked_to_end_closes_its_connections_in_the_record() {
    for signal in ["-TERM", "-INT"] {
        let folder = Folder::new();
        let (server, mut tap, url) = listening(&folder, "tcp://127.0.0.1:0");
        let mut open: Vec<TcpStream> = (1..=3).map(|_| connect(&url)).collect();
        open.iter_mut().enumerate().for_each(|(id, stream)| say(stream, id + 1));
        // A call that is never answered.
        open[2].write_all(br#"{"jsonrpc":"2.0","id":9,"method":"sleep","params":[600000]}"#).unwrap();
        open[2].write_all(b"\n").unwrap();
        until("it is recorded", || folder.record().iter().any(|line| line["msg"]["id"] == 9));
        kill(&tap.id().to_string(), signal);
        assert!(wait(&mut tap).success());
        let record = folder.record();
        let ends: Vec<(&str, &str)> = record
            .iter()
            .filter_map(|line| Some((line["k"].as_str()?, line["raw"].as_str().unwrap_or_default())))
            .filter(|(kind, _)| *kind == "close" || *kind == "exit")
            .collect();
        let close = ("close", "the tap has ended");
        assert_eq!(ends, [close, close, close, ("exit", "the tap has ended")], "{record:?}");
        assert_eq!(folder.last().0, "exit");
        end(server);
    }
}

#[test]
fn a_websocket_that_the_end_of_the_tap_closes_has_a_last_row() {
    let folder = Folder::new();
    let (server, mut tap, url) = listening(&folder, "ws://127.0.0.1:0/rpc");
    let mut stream = connect(&url);
    let host = url.split("://").nth(1).unwrap().split('/').next().unwrap();
    let head = format!(
        "GET /rpc HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut status = String::new();
    BufReader::new(&stream).read_line(&mut status).unwrap();
    assert!(status.contains(" 101 "), "{status}");
    // The record begins with the first message: a text frame, whose mask of zeros changes nothing.
    let message = call(1);
    stream.write_all(&[0x81, 0x80 | message.len() as u8, 0, 0, 0, 0]).unwrap();
    stream.write_all(message.as_bytes()).unwrap();
    until("it is recorded", || folder.record().iter().any(|line| line["k"] == "req"));
    kill(&tap.id().to_string(), "-TERM");
    assert!(wait(&mut tap).success());
    let kinds: Vec<String> =
        folder.record().iter().filter_map(|line| Some(line["k"].as_str()?.to_owned())).collect();
    assert_eq!(kinds[kinds.len() - 2..], ["close", "exit"], "{kinds:?}");
    end(server);
}

#[test]
fn a_client_that_is_killed_ends_its_connection_only() {
    let folder = Folder::new();
    let (server, mut tap, url) = listening(&folder, "tcp://127.0.0.1:0");
    let mut other = connect(&url);
    say(&mut other, 1);
    // The client is a process of its own, which waits for an answer. The server ends the connection behind that.
    let mut client = folder.start(&[SABIR, "call", &url, "sleep", "3000", "--timeout", "600s"]);
    until("it has called", || folder.record().iter().any(|line| line["msg"]["method"] == "sleep"));
    client.kill().unwrap();
    client.wait().unwrap();
    until("its end is recorded", || folder.record().iter().any(|line| line["k"] == "close"));
    say(&mut other, 2);
    kill(&tap.id().to_string(), "-TERM");
    assert!(wait(&mut tap).success());
    let closes: Vec<u64> = folder
        .record()
        .iter()
        .filter(|line| line["k"] == "close")
        .map(|line| line["c"].as_u64().unwrap())
        .collect();
    assert_eq!(closes, [2, 1]);
    assert_eq!(folder.last(), ("exit".to_owned(), "the tap has ended".to_owned()));
    end(server);
}

/// The phase that a page reports for its capture, and how that has ended.
fn phase(page: &page::Page) -> (String, String) {
    let mut stream = TcpStream::connect(&page.host).unwrap();
    write!(stream, "GET /api/feed HTTP/1.1\r\n{}\r\n", page.headers()).unwrap();
    let line = BufReader::new(stream).lines().map(Result::unwrap).find(|line| line.starts_with('{')).unwrap();
    let news: serde_json::Value = serde_json::from_str(&line).unwrap();
    let source = &news["sources"][0];
    let text = |name: &str| source[name].as_str().unwrap_or_default().to_owned();
    (text("phase"), text("end"))
}

/// A page of another process than the tap, over the file that this writes.
#[test]
fn a_page_sees_whether_the_tap_of_a_file_still_runs() {
    for (signal, last, how) in [
        ("-KILL", "res", "its tap was killed, or has stopped recording"),
        ("-TERM", "exit", "the tap has ended"),
    ] {
        let folder = Folder::new();
        let (server, mut tap, url) = listening(&folder, "tcp://127.0.0.1:0");
        let mut stream = connect(&url);
        say(&mut stream, 1);
        until("it is recorded", || folder.record().iter().any(|line| line["k"] == "res"));
        let mut view = folder.start(&[SABIR, "view", "s.jrl"]);
        let mut address = String::new();
        BufReader::new(view.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let page = page::Page::told(&address);
        // Nothing has been added since the page was opened.
        until("it is live", || phase(&page).0 == "live");
        kill(&tap.id().to_string(), signal);
        wait(&mut tap);
        until("it has ended", || phase(&page) == ("ended".to_owned(), how.to_owned()));
        assert_eq!(folder.last().0, last);
        end(view);
        end(server);
    }
}
