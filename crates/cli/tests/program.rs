//! What the program prints and how it exits, as a user sees it in a shell.
//!
//! `data/program/*.console` are sessions: after `## ` why, after `$ ` a command for `sh`, then what it printed,
//! lines of standard error behind `2> `, and `[exit N]` unless that is 0. `UPDATE=1 cargo test` writes down what
//! really came, to be looked at in the diff.

// The sessions are for `sh`.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod shell;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use shell::Shell;

fn check(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/program/{name}.console"));
    let told = fs::read_to_string(&path).unwrap();
    let shell = Shell::new(name);
    let mut came = String::new();
    for line in told.lines() {
        if line.starts_with("## ") {
            writeln!(came, "{line}").unwrap();
        }
        let Some(command) = line.strip_prefix("$ ") else { continue };
        writeln!(came, "{line}").unwrap();
        let run = shell.run(command);
        run.stdout.lines().for_each(|line| writeln!(came, "{line}").unwrap());
        run.stderr.lines().for_each(|line| writeln!(came, "2> {line}").unwrap());
        if run.exit != 0 {
            writeln!(came, "[exit {}]", run.exit).unwrap();
        }
        came.push('\n');
    }
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, came).unwrap();
        return;
    }
    // The first command that printed something else says most.
    for (came, told) in came.split("\n\n$ ").zip(told.split("\n\n$ ")) {
        assert!(
            came == told,
            "{name}, UPDATE=1 writes it down. This came:\n{came}\n\nand this was told:\n{told}\n"
        );
    }
    assert_eq!(came, told, "{name}: the left side came, the right side was told");
}

#[test]
fn arguments() {
    check("arguments");
}

#[test]
fn output() {
    check("output");
}

#[test]
fn failures() {
    check("failures");
}

#[test]
fn peers() {
    check("peers");
}

#[test]
fn sessions() {
    check("sessions");
}

#[test]
fn subscribe() {
    check("subscribe");
}

#[test]
fn web() {
    check("web");
}

#[test]
fn bench() {
    check("bench");
}

#[test]
fn batches() {
    check("batches");
}

#[test]
fn shell() {
    check("shell");
}

#[test]
fn steps() {
    check("steps");
}

#[test]
fn demo() {
    check("demo");
}

#[test]
fn tour() {
    check("tour");
}

#[test]
fn check_files() {
    check("check");
}

#[test]
fn check_peers() {
    check("live");
}

#[test]
fn replay() {
    check("replay");
}

#[test]
fn mock() {
    check("mock");
}

#[test]
fn diff() {
    check("diff");
}

#[test]
fn discovery() {
    check("discovery");
}

#[test]
fn targets() {
    check("targets");
}

#[test]
fn hostile_peers() {
    check("hostile_peers");
}

#[test]
fn help() {
    check("help");
}

#[cfg(feature = "graph")]
#[test]
fn graph() {
    check("graph");
}

#[test]
fn model() {
    check("model");
}

#[test]
fn telemetry() {
    check("telemetry");
}
