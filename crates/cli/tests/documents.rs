//! The commands that the documents show print what the documents say they print.
//!
//! In a `console` block a line that begins with `$ ` is a command, and the lines below it are what it prints, on
//! standard output and standard error. A last line `…` stands for the rest. `UPDATE=1 cargo test` writes down what
//! really came. Commands that run in CI or need a peer of one's own are in `sh` blocks, which are not run.

#![allow(clippy::unwrap_used)]
#![cfg(unix)]

mod shell;

use std::fs;
use std::path::{Path, PathBuf};

use shell::Shell;

/// What the pages speak of.
const SESSION: &str = r#"> {"jsonrpc":"2.0","id":1,"method":"add","params":[2,2]}
< {"jsonrpc":"2.0","id":"1","result":4}
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The session of docs/model.md, which `interop/picture_graph.mjs` records.
fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/everything.jrl")
}

/// The pictures on a page are those that the program draws of the same capture.
#[test]
fn the_pictures_are_those_of_the_session() {
    let shell = Shell::new("pictures");
    for what in ["sequence", "calls"] {
        let run = shell.run(&format!("sabir graph '{}' --svg {what}", recorded().display()));
        assert_eq!(run.exit, 0, "{}", run.stderr);
        let path = root().join(format!("docs/images/graph-{what}.svg"));
        if std::env::var_os("UPDATE").is_some() {
            fs::write(path, run.stdout).unwrap();
        } else {
            assert_eq!(run.stdout, fs::read_to_string(&path).unwrap(), "{}", path.display());
        }
    }
}

/// A page with what its commands print now. Counts the commands.
fn play(name: &str, text: &str, played: &mut usize) -> String {
    let shell = Shell::new(&format!("documents-{}", name.replace(['/', '.'], "-")));
    shell.run(&format!("printf '%s' '{SESSION}' > session.rpc"));
    shell.run(&format!("cp '{}' .", recorded().display()));
    let mut parts = text.split("```console\n");
    let mut out = parts.next().unwrap().to_owned();
    for part in parts {
        let (block, after) = part.split_once("```").unwrap();
        out += "```console\n";
        for step in
            block.split_inclusive('\n').collect::<Vec<_>>().chunk_by(|_, next| !next.starts_with("$ "))
        {
            let (command, told) = (step[0], step[1..].concat());
            let typed =
                command.strip_prefix("$ ").unwrap_or_else(|| panic!("{name}: not a command: {command}"));
            let typed = typed.trim_end().replace("cargo run --release --", "sabir");
            let run = shell.run(&format!("{{ {typed}; }} 2>&1"));
            assert!(
                run.exit != 127,
                "{name}: there is no such command: {typed}\n{}{}",
                run.stdout,
                run.stderr
            );
            let came = run.stdout;
            out += command;
            if told.ends_with("…\n") {
                let shown = told.lines().count() - 1;
                out.extend(came.lines().take(shown).flat_map(|line| [line, "\n"]));
                out += "…\n";
            } else {
                out.extend(came.lines().flat_map(|line| [line, "\n"]));
            }
            *played += 1;
        }
        out += "```";
        out += after;
    }
    out
}

#[test]
fn the_documents_are_true() {
    let mut pages: Vec<String> = fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| format!("docs/{}", entry.unwrap().file_name().to_string_lossy()))
        .filter(|name| name.ends_with(".md"))
        .collect();
    pages.sort();
    pages.push("README.md".to_owned());
    let mut played = 0;
    for page in pages {
        let path = root().join(&page);
        let told = fs::read_to_string(&path).unwrap();
        let came = play(&page, &told, &mut played);
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, came).unwrap();
        } else if came != told {
            let differs = came.lines().zip(told.lines()).find(|(came, told)| came != told);
            panic!("{page}, UPDATE=1 writes it down. It came and was told:\n{differs:#?}");
        }
    }
    assert!(played > 10, "only {played} commands found");
}
