//! Tasks of an MCP server that other commands go on with, in both designs.

// The sessions are for `sh`.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod shell;
mod started;

use shell::{Run, Shell};
use started::Started;

/// A command at a server of the demo.
fn run(url: &str, revision: &str, command: &str) -> Run {
    Shell::new("tasks").run(&format!("sabir call {url} {command} --as mcp@{revision} < /dev/null"))
}

#[test]
fn a_task_that_is_left_to_the_server_asks_later() {
    let mut demo =
        Started::new(&std::env::temp_dir(), &["demo", "--mcp", "--listen", "http://127.0.0.1:0/mcp"]);
    let url = demo.url("serving on");
    for revision in ["2025-11-25", "2026-07-28"] {
        let detached = run(&url, revision, "confirm_delete filename=x --detach");
        assert_eq!(detached.exit, 0, "{revision}: {}", detached.stderr);
        let id = detached.stdout.trim();
        // Nobody can answer, and that does the task no harm.
        let unanswered = run(&url, revision, &format!("tasks/result {id}"));
        assert_eq!(
            (unanswered.exit, unanswered.stdout.as_str()),
            (1, ""),
            "{revision}: {}",
            unanswered.stderr
        );
        assert!(
            unanswered.stderr.contains("--answer elicitation/create="),
            "{revision}: {}",
            unanswered.stderr
        );
        let status = run(&url, revision, &format!("tasks/get {id}"));
        assert!(status.stdout.contains("input_required"), "{revision}: {}", status.stdout);
        if revision == "2025-11-25" {
            let update = run(&url, revision, &format!("tasks/update {id}"));
            assert!(update.stderr.contains("hint: `tasks/result ID` waits"), "{}", update.stderr);
        }
        let answer = r#"'elicitation/create={"action":"accept","content":{"confirm":true}}'"#;
        let answered = run(&url, revision, &format!("tasks/result {id} --answer {answer}"));
        assert_eq!(answered.stdout, "Deleted x\n", "{revision}: {}", answered.stderr);
    }
}
