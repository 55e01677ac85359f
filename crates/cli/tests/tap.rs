//! `sabir tap` between a client and a command: the two see what they would see without it, whatever dies.

// Commands for `sh`, and signals.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod folder;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use folder::{Folder, SABIR, until, wait};

impl Folder {
    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs a command in it, behind a tap with these options or by itself.
    fn command(&self, tap: Option<&[&str]>, words: &[&str]) -> Command {
        let mut command = match tap {
            None => Command::new(words[0]),
            Some(options) => {
                let mut command = Command::new(SABIR);
                command.arg("tap").args(options).arg("--").arg(words[0]);
                command
            }
        };
        command.args(&words[1..]).current_dir(&self.0).env("X", "y");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Whether `sabir check` finds nothing wrong.
    fn check(&self, name: &str) {
        let run = Command::new(SABIR).args(["check", name]).current_dir(&self.0).output().unwrap();
        assert!(run.status.success(), "{}{}", text(&run.stdout), text(&run.stderr));
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Sends all of the input, and takes what comes.
fn play(mut command: Command, input: &[u8]) -> Output {
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

fn kill(pid: u32, signal: &str) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

fn is_running(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    match stat {
        // What has ended and was not waited for has the state Z.
        Ok(stat) => !stat.contains(") Z "),
        Err(_) => Command::new("kill").args(["-0", pid]).stderr(Stdio::null()).status().unwrap().success(),
    }
}

/// Bytes of all kinds, in lines of all lengths.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    });
    next.take(count).collect()
}

fn calls(count: usize) -> String {
    (0..count)
        .map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"add\",\"params\":[{id},1]}}\n"))
        .collect()
}

#[test]
fn both_sides_see_the_same_bytes() {
    let folder = Folder::new();
    let dump: String = (0..2000)
        .map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"x\"}}"))
        .map(|message| format!("Content-Length: {}\r\n\r\n{message}", message.len()))
        .collect();
    let inputs =
        [noise(3 << 20), calls(5000).into_bytes(), dump.into_bytes(), b"{\"torn".to_vec(), Vec::new()];
    for input in inputs {
        let words = ["sh", "-c", "cat; echo done >&2; printf '\\377\\376' >&2; exit 3"];
        let plain = play(folder.command(None, &words), &input);
        for options in [&["--record", "s.jrl", "--check"][..], &["--record", "s.jrl"], &[]] {
            let tapped = play(folder.command(Some(options), &words), &input);
            assert_eq!(tapped.status, plain.status);
            assert!(
                tapped.stdout == plain.stdout,
                "{} bytes became {}",
                plain.stdout.len(),
                tapped.stdout.len()
            );
            assert!(tapped.stderr.starts_with(&plain.stderr) || options.contains(&"--check"));
        }
    }
}

#[test]
fn a_session_is_recorded_whole_and_in_order() {
    let folder = Folder::new();
    let input = calls(2000);
    let words = [SABIR, "demo"];
    let plain = play(folder.command(None, &words), input.as_bytes());
    let tapped = play(folder.command(Some(&["--record", "s.jrl"]), &words), input.as_bytes());
    assert_eq!(text(&tapped.stdout), text(&plain.stdout));
    assert_eq!(text(&tapped.stderr), "");
    folder.check("s.jrl");
    let capture = folder.read("s.jrl");
    let sent: String = capture
        .lines()
        .filter(|line| line.contains(r#""d":">""#))
        .map(|line| format!("{}\n", &line[line.find(r#""msg":"#).unwrap() + 6..line.len() - 1]))
        .collect();
    assert!(sent == input, "the record differs from what was sent");
    assert_eq!(
        capture.lines().filter(|line| line.contains(r#""k":"res""#) && line.contains(r#""ms":"#)).count(),
        2000
    );
    assert!(capture.lines().last().unwrap().contains(r#""k":"exit","raw":"code 0""#), "{capture}");
}

#[test]
fn the_header_says_what_it_is() {
    let folder = Folder::new();
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#;
    let header = |name: &str, input: &str, words: &[&str]| {
        play(folder.command(Some(&["--record", name]), words), input.as_bytes());
        folder.read(name).lines().next().unwrap().to_owned()
    };
    let mcp = header("mcp.jrl", &format!("{initialize}\n"), &["cat"]);
    assert!(mcp.contains(r#""transport":"stdio","frame":"lines","profile":"mcp","cmd":["cat"]}"#), "{mcp}");
    let lsp = header("lsp.jrl", "Content-Length: 2\r\n\r\n{}", &["cat"]);
    assert!(lsp.contains(r#""frame":"headers","profile":"lsp""#), "{lsp}");
    let nothing = header("nothing.jrl", "", &["sh", "-c", "echo hello >&2"]);
    assert!(nothing.contains(r#""transport":"stdio","cmd""#), "{nothing}");
    assert!(folder.read("nothing.jrl").contains(r#""k":"stderr","raw":"hello""#));
}

#[test]
fn the_end_is_the_command_s() {
    let folder = Folder::new();
    for (script, told) in [
        ("exit 7", "code 7"),
        ("kill -TERM $$", "killed by SIGTERM"),
        ("kill -KILL $$", "killed by SIGKILL"),
        ("ulimit -c 0; kill -SEGV $$", "killed by SIGSEGV"),
    ] {
        let plain = play(folder.command(None, &["sh", "-c", script]), b"");
        let tapped = play(folder.command(Some(&["--record", "s.jrl"]), &["sh", "-c", script]), b"");
        assert_eq!(
            (tapped.status.code(), tapped.status.signal()),
            (plain.status.code(), plain.status.signal())
        );
        let capture = folder.read("s.jrl");
        assert!(capture.lines().last().unwrap().ends_with(&format!("\"raw\":\"{told}\"}}")), "{capture}");
    }
    let missing = play(folder.command(Some(&[]), &["there-is-no-such-command"]), b"");
    assert_eq!(missing.status.code(), Some(3));
    assert!(
        text(&missing.stderr).contains("cannot start there-is-no-such-command"),
        "{}",
        text(&missing.stderr)
    );
}

#[test]
fn folder_environment_and_signals_are_passed_on() {
    let folder = Folder::new();
    let script = "trap 'echo got it; exit 5' TERM; pwd; echo $X; while :; do sleep 0.01; done";
    let mut child = folder.command(Some(&[]), &["sh", "-c", script]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(Path::new(&lines.next().unwrap()), fs::canonicalize(&folder.0).unwrap());
    assert_eq!(lines.next().as_deref(), Some("y"));
    kill(child.id(), "-TERM");
    assert_eq!(lines.next().as_deref(), Some("got it"));
    assert_eq!(wait(&mut child).code(), Some(5));
}

#[test]
fn each_side_learns_that_the_other_has_closed() {
    let folder = Folder::new();
    // The command closes its output and lives on.
    let mut child = folder.command(Some(&[]), &["sh", "-c", "exec >&-; cat >&2"]).spawn().unwrap();
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert_eq!(out, "");
    drop(child.stdin.take());
    assert!(wait(&mut child).success());
    // The command closes its input and lives on: whoever writes learns of it.
    let script = "exec <&-; while :; do sleep 0.01; done";
    let mut child = folder.command(Some(&[]), &["sh", "-c", script]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    until("a write fails", || stdin.write_all(b"x\n").is_err());
    kill(child.id(), "-TERM");
    assert_eq!(wait(&mut child).signal(), Some(15));
    // The client reads no more: the command learns of it.
    let script = "trap 'exit 9' PIPE; while echo x 2>/dev/null; do sleep 0.01; done; exit 9";
    let mut child = folder.command(Some(&["--record", "s.jrl"]), &["sh", "-c", script]).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(wait(&mut child).code(), Some(9));
    assert!(folder.read("s.jrl").contains("the client no longer reads"));
}

#[test]
fn what_the_command_leaves_behind_is_ended() {
    let folder = Folder::new();
    let run = play(folder.command(Some(&[]), &["sh", "-c", "sleep 600 & echo $!"]), b"");
    let pid = text(&run.stdout).trim().to_owned();
    until("the process has ended", || !is_running(&pid));
}

#[test]
fn a_tap_that_is_killed_leaves_whole_lines_and_no_process() {
    let folder = Folder::new();
    let script = "echo $$; cat >/dev/null; sleep 600";
    let mut child = folder.command(Some(&["--record", "s.jrl"]), &["sh", "-c", script]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut pid = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut pid).unwrap();
    let path = folder.path("s.jrl");
    stdin.write_all(calls(500).as_bytes()).unwrap();
    until("it is recorded", || fs::read_to_string(&path).is_ok_and(|text| text.lines().count() >= 500));
    kill(child.id(), "-KILL");
    assert_eq!(wait(&mut child).signal(), Some(9));
    until("the command has ended", || !is_running(pid.trim()));
    assert!(folder.read("s.jrl").ends_with("}\n"));
    // The next one goes on behind it.
    fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"n\":1,\"torn").unwrap();
    play(folder.command(Some(&["--record", "s.jrl"]), &["cat"]), b"{}\n");
    let lines = folder.read("s.jrl");
    assert_eq!(lines.lines().filter(|line| line.starts_with("{\"jrl\":1")).count(), 2);
    assert_eq!(lines.lines().filter(|line| !line.ends_with('}')).count(), 1);
}

#[test]
fn trouble_with_the_record_does_not_touch_the_traffic() {
    let folder = Folder::new();
    let input = calls(20_000);
    let full = play(folder.command(Some(&["--record", "/dev/full"]), &["cat"]), input.as_bytes());
    assert!(full.status.success() && full.stdout == input.as_bytes());
    assert!(
        text(&full.stderr).contains("cannot record to /dev/full: No space left"),
        "{}",
        text(&full.stderr)
    );

    // A file that may not grow: it ends with its last whole line.
    let script = format!("ulimit -f 100; exec {SABIR} tap --record s.jrl -- cat");
    let mut limited = folder.command(None, &["sh", "-c", &script]);
    limited.env("RUST_BACKTRACE", "0");
    let limited = play(limited, input.as_bytes());
    assert!(limited.status.success() && limited.stdout == input.as_bytes(), "{}", text(&limited.stderr));
    assert!(
        text(&limited.stderr).contains("cannot record to s.jrl: File too large"),
        "{}",
        text(&limited.stderr)
    );
    let record = folder.read("s.jrl");
    assert!(record.ends_with("}\n") && record.len() > 40_000, "{} bytes", record.len());

    let nowhere = play(folder.command(Some(&["--record", "no/such/folder.jrl"]), &["cat"]), b"");
    assert_eq!(nowhere.status.code(), Some(3));
}

#[test]
fn a_record_that_hangs_becomes_a_gap() {
    let folder = Folder::new();
    let fifo = folder.path("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    // Nobody reads the fifo until all of the traffic has gone by, which is more than the queue holds.
    let input = noise(48 << 20);
    let mut child = folder.command(Some(&["--record", "fifo"]), &["cat"]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let sent = input.clone();
    let writer = std::thread::spawn(move || {
        stdin.write_all(&sent).unwrap();
        stdin
    });
    let mut came = vec![0; input.len()];
    stdout.read_exact(&mut came).unwrap();
    assert!(came == input);
    let reader = std::thread::spawn(move || fs::read(fifo).unwrap());
    drop(writer.join().unwrap());
    assert!(wait(&mut child).success());
    let record = text(&reader.join().unwrap());
    assert!(record.contains("came too fast to be recorded"), "{} bytes", record.len());
    assert!(record.ends_with("\"k\":\"exit\",\"raw\":\"code 0\"}\n"), "{}", &record[record.len() - 200..]);
}

#[test]
fn rules_forget_at_a_gap_what_they_cannot_know() {
    let folder = Folder::new();
    let fifo = folder.path("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let options = ["--record", "fifo", "--check"];
    let mut child = folder.command(Some(&options), &[SABIR, "demo"]).spawn().unwrap();
    let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut answers = BufReader::new(stdout);
    // All ids come again, and most calls are among what is missing.
    let payload = "x".repeat(256 << 10);
    let writer = std::thread::spawn(move || {
        let mut stdin = stdin;
        for number in 0..100 {
            let id = number % 7;
            let call = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"echo\",\"params\":[\"{payload}\"]}}\n"
            );
            stdin.write_all(call.as_bytes()).unwrap();
            let mut answer = String::new();
            assert_ne!(answers.read_line(&mut answer).unwrap(), 0);
        }
    });
    writer.join().unwrap();
    // Only now somebody reads what is recorded.
    let reader = std::thread::spawn(move || fs::read(fifo).unwrap());
    let mut told = String::new();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert!(wait(&mut child).success());
    assert!(text(&reader.join().unwrap()).contains("came too fast to be recorded"));
    assert!(told.contains("what was open before this gap is not checked any further"), "{told}");
    assert!(!told.contains("RPC"), "{told}");
}

#[test]
fn rows_that_nobody_reads_hold_up_nothing() {
    let folder = Folder::new();
    let input = calls(20_000);
    // Open and not read.
    let mut child = folder.command(Some(&["--print"]), &["cat"]).spawn().unwrap();
    let _stderr = child.stderr.take().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let sent = input.clone();
    let writer = std::thread::spawn(move || stdin.write_all(sent.as_bytes()).unwrap());
    let mut came = String::new();
    stdout.read_to_string(&mut came).unwrap();
    writer.join().unwrap();
    assert!(came == input && wait(&mut child).success());
    // Closed.
    for script in [
        format!("exec {SABIR} tap --print --record s.jrl -- cat 2>&-"),
        format!("{SABIR} tap --print -- cat 2>/dev/full"),
    ] {
        let run = play(folder.command(None, &["sh", "-c", &script]), input.as_bytes());
        assert!(run.status.success() && run.stdout == input.as_bytes());
    }
    assert_eq!(folder.read("s.jrl").lines().filter(|line| line.contains("\"msg\":")).count(), 40_000);
}

#[test]
fn two_taps_do_not_share_a_file() {
    let folder = Folder::new();
    let mut first = folder.command(Some(&["--record", "s.jrl"]), &["cat"]).spawn().unwrap();
    let mut echo = [0; 3];
    first.stdin.as_mut().unwrap().write_all(b"{}\n").unwrap();
    first.stdout.as_mut().unwrap().read_exact(&mut echo).unwrap();
    let second = play(folder.command(Some(&["--record", "s.jrl"]), &["cat"]), b"[]\n");
    assert!(text(&second.stderr).contains("another tap writes to s.jrl: recording to s-2.jrl"));
    drop(first.stdin.take());
    assert!(wait(&mut first).success());
    assert!(!folder.read("s.jrl").contains("\"[]\"") && folder.read("s-2.jrl").contains("[]"));
}

#[test]
fn files_are_rotated_by_size() {
    let folder = Folder::new();
    // In parts, so that they are not written at once.
    let mut child =
        folder.command(Some(&["--record", "s.jrl", "--rotate", "2kB"]), &["cat"]).spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let all = || -> String {
        let files = fs::read_dir(&folder.0).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()));
        files.map(Result::unwrap_or_default).collect()
    };
    for id in 0..200 {
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"x\"}}\n");
        stdin.write_all(line.as_bytes()).unwrap();
        let mut echo = vec![0; line.len()];
        stdout.read_exact(&mut echo).unwrap();
        if id % 20 == 0 {
            let id = format!("\"id\":{id},");
            until("it is recorded", || all().contains(&id));
        }
    }
    drop(stdin);
    assert!(wait(&mut child).success());
    let mut names: Vec<_> = fs::read_dir(&folder.0)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names[..3], ["s.1.jrl", "s.2.jrl", "s.3.jrl"], "{names:?}");
    assert!(names.len() <= 10 && names.last().unwrap() == "s.jrl", "{names:?}");
    for name in &names {
        assert!(folder.read(name).starts_with("{\"jrl\":1"), "{name}");
    }
}

#[test]
fn files_are_rotated_by_age() {
    let folder = Folder::new();
    let options = ["--record", "s.jrl", "--rotate-after", "1ms"];
    let mut child = folder.command(Some(&options), &["cat"]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    until("a second older file", || {
        stdin.write_all(calls(1).as_bytes()).unwrap();
        folder.path("s.2.jrl").exists()
    });
    drop(stdin);
    assert!(wait(&mut child).success());
    assert!(folder.read("s.2.jrl").starts_with("{\"jrl\":1,"));
}

/// Cut between a request and its answer, as a tap may do, a recording is still the same one to those who read it.
#[test]
fn rotated_files_are_read_as_one() {
    let folder = Folder::new();
    assert!(
        play(folder.command(Some(&["--record", "whole.jrl"]), &[SABIR, "demo"]), calls(3).as_bytes())
            .status
            .success()
    );
    let whole = folder.read("whole.jrl");
    let lines: Vec<&str> = whole.lines().collect();
    let answer = |id: u32| {
        let is_it = |line: &&str| line.contains(&format!("\"k\":\"res\",\"id\":{id},"));
        lines.iter().position(is_it).unwrap()
    };
    let (first, last) = (answer(0), answer(2));
    let part = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    fs::create_dir(folder.path("cut")).unwrap();
    for (name, range) in
        [("whole.2.jrl", 1..first), ("whole.1.jrl", first..last), ("whole.jrl", last..lines.len())]
    {
        fs::write(folder.path("cut").join(name), part(&lines[..1]) + &part(&lines[range])).unwrap();
    }
    let run = |args: &[&str], within: PathBuf| {
        let run = Command::new(SABIR).args(args).current_dir(within).output().unwrap();
        (run.status.code(), text(&run.stdout), text(&run.stderr))
    };
    for args in [
        &["check", "whole.jrl"][..],
        &["view", "--print", "whole.jrl"],
        &["view", "--export", "out.jrl", "whole.jrl"],
        &["graph", "whole.jrl"],
        &["replay", "whole.jrl", "demo:"],
    ] {
        let whole = run(args, folder.path(""));
        assert_eq!(whole.0, Some(0), "{args:?}: {whole:?}");
        assert_eq!(run(args, folder.path("cut")), whole, "{args:?}");
    }
    let (code, out, err) = run(&["diff", "whole.jrl", "../whole.jrl"], folder.path("cut"));
    assert_eq!((code, out.as_str()), (Some(0), "3 same\n"), "{err}");
    let mock = |within: PathBuf| {
        let mut command = folder.command(None, &[SABIR, "mock", "whole.jrl"]);
        command.current_dir(within);
        let run = play(command, calls(3).as_bytes());
        (run.status.code(), text(&run.stdout), text(&run.stderr))
    };
    assert_eq!(mock(folder.path("cut")), mock(folder.path("")));
    assert_eq!(folder.read("cut/out.jrl"), folder.read("out.jrl"));
}

#[test]
fn secrets_are_not_written_down() {
    let folder = Folder::new();
    let input = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"apiToken\":\"s3cret\",\"key\":\"s3cret\"}}\n";
    let options = ["--record", "s.jrl", "--print", "--redact", "token", "--redact", "$.params.key"];
    let script = "cat; echo 'Token: s3cret' >&2";
    let words = [
        "sh",
        "-c",
        script,
        "--token",
        "s3cret",
        "--token-file=a\ns3cret\n",
        "--key",
        "-----BEGIN\ns3cret\n",
    ];
    let run = play(folder.command(Some(&options), &words), input.as_bytes());
    assert_eq!(text(&run.stdout), input);
    let capture = folder.read("s.jrl");
    assert!(!capture.contains("s3cret") && capture.contains("\"redacted\":true"), "{capture}");
    let rows: Vec<&str> = std::str::from_utf8(&run.stderr).unwrap().lines().collect();
    assert!(rows.iter().all(|row| !row.contains("s3cret") || *row == "Token: s3cret"), "{rows:?}");
}

#[test]
fn a_capture_is_followed() {
    let folder = Folder::new();
    let mut tap = folder.command(Some(&["--record", "s.jrl"]), &["cat"]).spawn().unwrap();
    tap.stdin.as_mut().unwrap().write_all(calls(1).as_bytes()).unwrap();
    until("there is a file", || {
        fs::read_to_string(folder.path("s.jrl")).is_ok_and(|text| text.contains("req"))
    });
    let mut view = Command::new(SABIR)
        .args(["view", "--print", "--follow", "s.jrl", "--filter", "kind:req dir:c2s"])
        .current_dir(&folder.0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut rows = BufReader::new(view.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(rows.next().unwrap().contains("> req     add  id 0"));
    tap.stdin.as_mut().unwrap().write_all(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"later\"}\n").unwrap();
    assert!(rows.next().unwrap().contains("> req     later  id 7"));
    view.kill().unwrap();
    view.wait().unwrap();
    drop(tap.stdin.take());
    assert!(wait(&mut tap).success());
}

#[test]
fn secrets_of_the_command_are_not_recorded() {
    let folder = Folder::new();
    let words = ["true", "--private-key", "BEGIN\nHUNTER2\nEND", "--token=a\nHUNTER2"];
    play(folder.command(Some(&["--record", "s.jrl", "--redact", "key|token"]), &words), b"");
    let record = folder.read("s.jrl");
    assert!(record.contains("[redacted]") && !record.contains("HUNTER2"), "{record}");
}
