//! Tools that run as tasks, on the command line and in the shell: waited for, handed out by `--detach`, asked about, answered
//! and cancelled by their ids. In both designs.

// The sessions are for `sh`.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod shell;
mod started;

use std::path::Path;
use std::time::{Duration, Instant};

use shell::{Run, Shell};
use started::Started;

const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];
const YES: &str = r#"--answer elicitation/create='{"confirm":true}'"#;

/// A server that runs on when a command has ended.
struct Server {
    _demo: Started,
    url: String,
    revision: &'static str,
}

impl Server {
    fn new(revision: &'static str) -> Self {
        let args = ["demo", "--mcp", "--listen", "http://127.0.0.1:0/mcp"];
        let mut demo = Started::new(Path::new(env!("CARGO_TARGET_TMPDIR")), &args);
        let url = demo.url("serving on");
        Server { _demo: demo, url, revision }
    }

    fn is_modern(&self) -> bool {
        self.revision == REVISIONS[1]
    }

    fn call(&self, what: &str) -> Run {
        let Server { url, revision, .. } = self;
        Shell::new("tasks").run(&format!("sabir call {url} {what} --as mcp@{revision}"))
    }

    /// What a call prints, with its exit code.
    fn check(&self, what: &str, exit: i32, want: &str) {
        let Run { stdout, stderr, exit: code } = self.call(what);
        let text = if exit == 0 { &stdout } else { &stderr };
        assert!(text.contains(want), "{what}: {stdout}{stderr}");
        assert_eq!(code, exit, "{what}: {stdout}{stderr}");
    }

    fn detached(&self, what: &str) -> String {
        let Run { stdout, stderr, exit } = self.call(&format!("{what} --detach"));
        assert_eq!(exit, 0, "{what}: {stderr}");
        let id = stdout.trim();
        // A dash before it would begin an option.
        assert!(id.starts_with('t') && !id.contains(char::is_whitespace), "{what}: {stdout}");
        id.to_owned()
    }

    fn status(&self, id: &str) -> String {
        self.call(&format!("tasks/get {id} --pick .status")).stdout.trim().to_owned()
    }

    fn reaches(&self, id: &str, status: &str) {
        let start = Instant::now();
        while self.status(id) != status {
            assert!(start.elapsed() < Duration::from_secs(20), "{id} is {}", self.status(id));
        }
    }
}

#[test]
fn a_task_is_waited_for() {
    for revision in REVISIONS {
        let server = Server::new(revision);
        server.check("slow_compute seconds:=0.3 label=It", 0, "It took 0.3 s");
        server.check("failing_job", 1, "the job failed, as it was meant to");
        server.check("protocol_error_job", 1, "-32603 the job broke, as it was meant to");
        server.check(&format!("confirm_delete filename=a {YES}"), 0, "Deleted a");
        // In the legacy era it is not a task unless it is asked for, so that nothing is heard of it.
        match server.is_modern() {
            true => server.check("slow_compute seconds:=1 --timeout 500ms", 0, "It took 1 s"),
            false => server.check("slow_compute seconds:=60 --timeout 500ms", 4, "within 500 ms"),
        }
    }
}

#[test]
fn a_task_is_handed_out_and_found_by_its_id() {
    for revision in REVISIONS {
        let server = Server::new(revision);
        let id = server.detached("slow_compute seconds:=1 label=It");
        assert_eq!(server.status(&id), "working");
        let waited = server.call(&format!("tasks/result {id} --progress"));
        assert_eq!((waited.stdout.as_str(), waited.exit), ("It took 1 s\n", 0), "{}", waited.stderr);
        assert!(waited.stderr.contains(r#""message":"working""#), "{}", waited.stderr);
        assert_eq!(server.status(&id), "completed");
        // Its result can be had again.
        server.check(&format!("tasks/result {id}"), 0, "It took 1 s");
        // What runs as no task is simply called.
        server.check("greet name=Ann --detach", 0, "Hello, Ann!");
        server.check("tasks/get nope", 1, "there is no task `nope`");
        server.check("tasks/result nope", 1, "there is no task `nope`");
        match server.is_modern() {
            true => server.check("tasks/list", 1, "-32601"),
            // Who calls is not known, so that a session lists its own.
            false => server.check("tasks/list", 0, r#"{"tasks":[]}"#),
        }
    }
}

#[test]
fn a_task_is_answered_and_cancelled() {
    for revision in REVISIONS {
        let server = Server::new(revision);
        let id = server.detached(&format!("confirm_delete filename=a {YES}"));
        server.reaches(&id, "input_required");
        if server.is_modern() {
            // It answers, and does not wait.
            server.check(&format!("tasks/update {id} {YES}"), 0, &id);
            server.reaches(&id, "completed");
        } else {
            server.check(&format!("tasks/update {id}"), 1, "which has no `tasks/update`");
        }
        server.check(&format!("tasks/result {id} {YES}"), 0, "Deleted a");
        let id = server.detached("slow_compute seconds:=60");
        server.check(&format!("tasks/cancel {id}"), 0, "");
        server.reaches(&id, "cancelled");
        server.check(&format!("tasks/result {id}"), 1, "the task was cancelled");
        match server.is_modern() {
            true => server.check(&format!("tasks/cancel {id}"), 0, ""),
            false => server.check(&format!("tasks/cancel {id}"), 1, "the task is over already"),
        }
    }
}

/// A program that is started for the call would take its tasks with it.
#[test]
fn only_a_server_that_runs_on_has_tasks_to_hand_out() {
    for target in ["demo:", "-- sabir demo --mcp"] {
        let command = match target.strip_prefix("-- ") {
            Some(program) => format!("sabir call slow_compute seconds:=1 --detach -- {program}"),
            None => format!("sabir call {target} slow_compute --detach"),
        };
        let Run { stderr, exit, .. } = Shell::new("tasks").run(&command);
        assert_eq!(exit, 2, "{command}: {stderr}");
        assert!(stderr.contains("--detach needs a server that runs on"), "{command}: {stderr}");
    }
}

#[test]
fn the_shell_knows_them_too() {
    for revision in REVISIONS {
        let server = Server::new(revision);
        let id = server.detached("slow_compute seconds:=1 label=It");
        let other = server.detached("slow_compute seconds:=60 label=Other");
        let lines = [
            format!("tasks/get {id}"),
            format!("tasks/result {id}"),
            "slow_compute seconds:=0.1 label=Mine".to_owned(),
            format!("tasks/cancel {other}"),
            format!("tasks/result {other}"),
        ];
        let lines = lines.map(|line| format!("'{line}'")).join(" ");
        let command = format!("printf '%s\\n' {lines} | sabir shell {} --as mcp@{revision}", server.url);
        let Run { stdout, stderr, .. } = Shell::new("tasks").run(&command);
        for want in [id.as_str(), "It took 1 s", "Mine took 0.1 s"] {
            assert!(stdout.contains(want), "{want}: {stdout}{stderr}");
        }
        assert!(stderr.contains("the task was cancelled"), "{stdout}{stderr}");
        assert_eq!(server.status(&other), "cancelled");
    }
}
