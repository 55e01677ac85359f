//! Processes that are started for a connection: how they end, and what their callers learn of it.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod fixture;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use fixture::{LONG, eventually, fixture, runs};
use rustix::process::{Pid, Signal, kill_process};
use sabir::transport::{Child, Stderr};
use sabir::{CallError, Cause, Peer, Router};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;

const SHORT: Duration = Duration::from_millis(200);

/// A process, and the lines of its standard error.
async fn start(command: Command, timeout: Duration) -> (Peer, UnboundedReceiver<String>) {
    let (sender, lines) = unbounded_channel();
    let stderr = Stderr::Lines(Box::new(move |line| drop(sender.send(line))));
    let child = Child::new(command).stderr(stderr).exit_timeout(timeout).spawn().unwrap();
    (sabir::connect(child, Router::new()).await.unwrap(), lines)
}

fn sh(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(fixture().get_program());
    command
}

/// The next line of standard error as process ids.
async fn pids(lines: &mut UnboundedReceiver<String>) -> Vec<Pid> {
    let line = timeout(LONG, lines.recv()).await.unwrap().unwrap();
    line.split(' ').map(|pid| Pid::from_raw(pid.parse().unwrap()).unwrap()).collect()
}

async fn outcome(call: impl Future<Output = Result<(), CallError>>) -> String {
    match timeout(LONG, call).await.expect("the call hangs") {
        Err(CallError::Closed(Cause::Lost(cause))) => cause.to_string(),
        other => panic!("not the end of the process: {other:?}"),
    }
}

/// The last line of a process need not have its end.
#[tokio::test]
async fn the_last_answer_counts_without_a_newline() {
    let answer = r#"read -r line; printf '{"jsonrpc":"2.0","id":1,"result":7}'; exit 3"#;
    let (peer, _lines) = start(sh(answer), SHORT).await;
    assert_eq!(timeout(LONG, peer.call::<i64>("add", ())).await.unwrap(), Ok(7));
    // Half of one does not.
    let (peer, _lines) =
        start(sh(r#"read -r line; printf '{"jsonrpc":"2.0","id":1,"resu'; exit 3"#), SHORT).await;
    assert_eq!(outcome(peer.call("add", ())).await, "the process ended with exit status: 3");
}

/// Writing to a process that has ended fails as often as it is tried.
#[tokio::test]
async fn writing_to_a_process_that_has_ended_fails_each_time() {
    use tokio::io::AsyncWriteExt;
    let child = Child::new(sh("exit 3")).exit_timeout(SHORT).spawn().unwrap();
    let mut streams = child.into_streams().await.unwrap();
    assert_eq!(streams.exit_reason().await.as_deref(), Some("the process ended with exit status: 3"));
    for _ in 0..3 {
        let error = timeout(LONG, streams.write.write_all(b"x\n")).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    }
}

#[tokio::test]
async fn every_call_learns_how_the_process_ended() {
    for (killed, cause) in [
        (false, "the process ended with exit status: 3"),
        (true, "the process ended with signal: 9 (SIGKILL)"),
    ] {
        let (peer, mut lines) = start(sh("echo $$ >&2; exec \"$0\""), SHORT).await;
        let pid = pids(&mut lines).await[0];
        let calls: Vec<_> = (0..10)
            .map(|_| {
                let peer = peer.clone();
                tokio::spawn(async move { outcome(peer.call("sleep", 60_000)).await })
            })
            .collect();
        assert_eq!(peer.call("add", (1, 2)).await, Ok(3));
        if killed {
            kill_process(pid, Signal::KILL).unwrap();
        } else {
            peer.notify("exit", 3).await.unwrap();
        }
        for call in calls {
            assert_eq!(call.await.unwrap(), cause);
        }
        assert_eq!(outcome(peer.call("sleep", 1)).await, cause);
    }
}

/// It ends while it is written to, or leaves something behind that holds its output open.
#[tokio::test]
async fn the_exit_status_is_the_cause_however_it_shows() {
    let held = "setsid sleep 60 & echo $! >&2; exit 3";
    for script in ["head -c 10 >/dev/null; exit 3", held] {
        let (peer, mut lines) = start(sh(script), SHORT).await;
        let big = "x".repeat(1 << 20);
        assert_eq!(
            outcome(peer.call("echo", big)).await,
            "the process ended with exit status: 3",
            "{script}"
        );
        if script == held {
            kill_process(pids(&mut lines).await[0], Signal::KILL).unwrap();
        }
    }
}

/// `Inherit` is tested with the death of the parent below.
#[tokio::test]
async fn standard_error_never_blocks_the_process() {
    let bytes = 10_000_000;
    let (peer, mut lines) = start(fixture(), SHORT).await;
    assert_eq!(timeout(LONG, peer.call("complain", bytes)).await, Ok(Ok(())));
    drop(peer.shutdown(Duration::ZERO).await);
    let mut seen = 0;
    while let Some(line) = lines.recv().await {
        assert!(line.len() <= 64 * 1024);
        seen += line.len();
    }
    assert_eq!(seen, bytes);

    let child = Child::new(fixture()).stderr(Stderr::Discard).spawn().unwrap();
    let peer = sabir::connect(child, Router::new()).await.unwrap();
    assert_eq!(timeout(LONG, peer.call("complain", bytes)).await, Ok(Ok(())));
}

/// Scripts that say which processes they consist of, and what besides they say before all have ended.
const ENDS: &[(&str, &str)] = &[
    // Closing the input is enough.
    ("trap 'echo TERM >&2' TERM; echo $$ >&2; cat; echo end of input >&2", "end of input"),
    ("trap 'echo TERM >&2; exit' TERM; sleep 60 & echo $$ $! >&2; wait", "TERM"),
    ("trap '' TERM; sleep 60 & echo $$ $! >&2; while :; do sleep 1; done", ""),
    ("sleep 60 & echo $$ $! >&2; cat", ""),
    ("(trap '' TERM; exec sleep 60) & echo $$ $! >&2; sleep 0.1; cat", ""),
];

#[tokio::test]
async fn a_process_is_ended_with_all_that_it_started() {
    for (script, said) in ENDS {
        let (peer, mut lines) = start(sh(script), SHORT).await;
        let pids = pids(&mut lines).await;
        assert!(pids.iter().all(|&pid| runs(pid)), "{script}");
        timeout(LONG, peer.shutdown(Duration::ZERO)).await.unwrap();
        eventually(script, || !pids.iter().any(|&pid| runs(pid)));
        let mut rest = Vec::new();
        while let Some(line) = timeout(LONG, lines.recv()).await.unwrap() {
            rest.push(line);
        }
        assert_eq!(rest.join(", "), *said, "{script}");
    }
}

#[test]
fn the_end_of_the_runtime_is_the_end_of_the_process() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (script, _) = ENDS[2];
    let (_peer, pids) = runtime.block_on(async {
        let (peer, mut lines) = start(sh(script), LONG).await;
        (peer, pids(&mut lines).await)
    });
    drop(runtime);
    eventually("all have ended", || !pids.iter().any(|&pid| runs(pid)));
}

/// `how` is what the fixture calls its kind of parent. The shell does not end at the end of its input.
fn check_death_of_parent(how: &str) {
    let mut parent = fixture();
    parent.args([how, "sh", "-c", "echo $$ >&2; \"$0\"; sleep 60"]).arg(fixture().get_program());
    let mut parent = parent.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(parent.stderr.take().unwrap()).lines();
    let pid = Pid::from_raw(lines.next().unwrap().unwrap().parse().unwrap()).unwrap();
    assert_eq!(lines.next().unwrap().unwrap().len(), 10_000_000);
    assert!(runs(pid));
    parent.kill().unwrap();
    parent.wait().unwrap();
    eventually("the child has ended", || !runs(pid));
}

#[test]
fn the_death_of_the_parent_is_the_end_of_the_process() {
    check_death_of_parent("parent");
    check_death_of_parent("blocking-parent");
}

/// To Linux the parent of a process is the thread that started it.
#[tokio::test]
async fn the_end_of_a_thread_is_not_the_death_of_the_parent() {
    let handle = tokio::runtime::Handle::current();
    let (peer, mut lines) =
        std::thread::spawn(move || handle.block_on(start(sh("echo $$ >&2; exec \"$0\""), SHORT)))
            .join()
            .unwrap();
    let pid = pids(&mut lines).await[0];
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(runs(pid));
    assert_eq!(timeout(LONG, peer.call("add", (1, 2))).await, Ok(Ok(3)));
}
