//! `sabir tap` when something dies or the disk is full: traffic suffers only where the dead thing carried it, and the record
//! is whole up to its last line, which says what happened.

// Signals and pipes.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod folder;

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
