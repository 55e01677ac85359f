//! Every rule with a session that breaks it and one that does not: `data/RULE.bad.*` and `data/RULE.good.*`, in any of
//! the formats that can be read. What is found in the bad one is in `data/RULE.found`; `UPDATE=1` rewrites that.
//!
//! A transcript may say its profile in its first line, as `# profile: mcp@2025-06-18`; otherwise the rule's own group
//! decides. Rules for live peers are played by the tests of the program.

#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use sabir_model::capture::{Event, Reader, Record, What};
use sabir_model::rules::{Checker, Finding, Profile, Rule, Scope, rules};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

fn session(rule: &Rule, which: &str) -> Option<Vec<u8>> {
    ["rpc", "jrl", "ndjson", "dump"]
        .iter()
        .find_map(|extension| fs::read(folder().join(format!("{}.{which}.{extension}", rule.id))).ok())
}

fn profile(rule: &Rule, text: &[u8]) -> Profile {
    let first = String::from_utf8_lossy(text.split(|&byte| byte == b'\n').next().unwrap()).into_owned();
    let told = first.strip_prefix("# profile: ").unwrap_or(match &rule.id[..3] {
        "MCP" => "mcp",
        "LSP" => "lsp",
        "A2A" => "a2a",
        "ETH" => "eth",
        _ => "jsonrpc",
    });
    told.parse().unwrap()
}

fn find(mut checker: Checker, text: &[u8]) -> Vec<Finding> {
    let mut reader = Reader::new(text).unwrap();
    let mut found = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        found.extend(checker.check(&record));
    }
    found.extend(checker.finish());
    found
}

fn show(found: &[Finding]) -> String {
    let mut out = String::new();
    for finding in found {
        let excerpt = &finding.excerpt;
        writeln!(out, "{finding}\n  {}", excerpt.text).unwrap();
        writeln!(out, "  {}{}", " ".repeat(excerpt.before), "^".repeat(excerpt.width)).unwrap();
        if let Some((line, what)) = &finding.related {
            writeln!(out, "  line {line}: {what}").unwrap();
        }
    }
    out
}

#[test]
fn every_rule_finds_what_breaks_it_and_nothing_else() {
    let mut failed = Vec::new();
    for rule in rules().filter(|rule| rule.scope != Scope::Live) {
        let (Some(bad), Some(good)) = (session(rule, "bad"), session(rule, "good")) else {
            failed.push(format!("{}: there must be a bad and a good session", rule.id));
            continue;
        };
        let found = find(Checker::new(profile(rule, &bad)), &bad);
        if !found.iter().any(|finding| finding.rule.id == rule.id) {
            failed.push(format!("{}: nothing is found in the bad session\n{}", rule.id, show(&found)));
        }
        let golden = folder().join(format!("{}.found", rule.id));
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&golden, show(&found)).unwrap();
        }
        let want = fs::read_to_string(&golden).unwrap_or_default();
        if show(&found) != want {
            failed.push(format!("{}: found\n{}told\n{want}", rule.id, show(&found)));
        }
        let found = find(Checker::new(profile(rule, &good)), &good);
        if !found.is_empty() {
            failed.push(format!("{}: found in the good session\n{}", rule.id, show(&found)));
        }
    }
    assert!(failed.is_empty(), "run with UPDATE=1 to accept what is found:\n\n{}", failed.join("\n"));
}

/// What is missing may have opened, answered or declared anything: nothing that is left counts as wrong for want of it.
#[test]
fn nothing_is_found_for_want_of_what_is_missing() {
    let mut failed = Vec::new();
    for rule in rules().filter(|rule| rule.scope != Scope::Live) {
        let good = session(rule, "good").unwrap();
        let profile = profile(rule, &good);
        let mut reader = Reader::new(&*good).unwrap();
        let mut records = Vec::new();
        while let Some(record) = reader.next().unwrap() {
            records.push(record.into_owned());
        }
        for (from, to) in
            (0..records.len()).flat_map(|from| (from + 1..=records.len()).map(move |to| (from, to)))
        {
            let what = What::Event(Event::Gap, "missing".into());
            let gap = Record { direction: None, what, ..records[from].clone() };
            let mut checker = Checker::new(profile);
            let mut found = Vec::new();
            for record in records[..from].iter().chain([&gap]).chain(&records[to..]) {
                found.extend(checker.check(record));
            }
            found.extend(checker.finish());
            assert_eq!(checker.gaps(), 1);
            if !found.is_empty() {
                failed.push(format!("{} without {from}..{to}:\n{}", rule.id, show(&found)));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// What comes behind a gap is checked as before.
#[test]
fn what_follows_a_gap_is_checked() {
    let ids = |text: &str| -> Vec<&str> {
        find(Checker::new(Profile::JsonRpc), text.as_bytes()).iter().map(|finding| finding.rule.id).collect()
    };
    let header = "{\"jrl\":1}\n";
    let gap = "{\"n\":1,\"t\":0,\"c\":2,\"k\":\"gap\",\"raw\":\"x\"}\n";
    let line = |d: &str, c: u32, msg: &str| {
        format!("{{\"n\":1,\"t\":0,\"d\":\"{d}\",\"c\":{c},\"msg\":{{\"jsonrpc\":\"2.0\",{msg}}}}}\n")
    };
    let ask = |c| line(">", c, "\"id\":1,\"method\":\"x\"");
    let answer = |c| line("<", c, "\"id\":1,\"result\":1");
    // The gap is on one connection, and the disk may have lost records of all.
    assert_eq!(ids(&[header, &ask(1), gap, &ask(1), &answer(1)].concat()), [""; 0]);
    assert_eq!(ids(&[header, &ask(1), gap, &answer(1), &ask(1)].concat()), ["RPC024"]);
    assert_eq!(ids(&[header, &ask(1), gap, &ask(1), &ask(1), &answer(1)].concat()), ["RPC023"]);
    assert_eq!(ids(&[header, &ask(1), &answer(1), gap, &answer(1)].concat()), [""; 0]);
    // A connection that begins behind it is known from its beginning.
    assert_eq!(ids(&[header, gap, &answer(3)].concat()), ["RPC021"]);
}

#[test]
fn no_file_is_left_over() {
    let known: Vec<&str> = rules().map(|rule| rule.id).collect();
    for entry in fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        // What the queries are to find.
        if name == "queries.txt" {
            continue;
        }
        assert!(known.contains(&name.split('.').next().unwrap()), "{name} belongs to no rule");
    }
}

#[test]
fn rules_are_told_apart_and_explained() {
    let all: Vec<&Rule> = rules().collect();
    assert!(all.len() >= 30);
    for (index, rule) in all.iter().enumerate() {
        assert!(all[..index].iter().all(|other| other.id != rule.id), "{} is there twice", rule.id);
        for text in [rule.title, rule.why, rule.fix, rule.source] {
            assert!(!text.is_empty() && !text.contains('\n'), "{}: {text:?}", rule.id);
        }
        assert!(
            rule.why.ends_with('.') && rule.fix.ends_with('.') && !rule.title.ends_with('.'),
            "{}",
            rule.id
        );
    }
}

#[test]
fn rules_can_be_allowed_and_denied() {
    use sabir_model::rules::{Severity, rule};
    let text = br#"{"jsonrpc":"2.0","method":"rpc.x"}"#;
    let checker = || Checker::new(Profile::JsonRpc);
    let reserved = rule("RPC009").unwrap();
    assert_eq!(find(checker(), text)[0].severity, Severity::Warning);
    assert_eq!(find(checker().deny(reserved), text)[0].severity, Severity::Error);
    assert!(find(checker().allow(reserved), text).is_empty());
}

/// The specification's own examples. Those that it shows as wrong are found, and nothing else is.
#[test]
fn the_examples_of_the_specification() {
    let text = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../proto/tests/data/specification.rpc"))
        .unwrap();
    let found = find(Checker::new(Profile::JsonRpc), &text);
    let ids: Vec<&str> = found.iter().map(|finding| finding.rule.id).collect();
    for id in &ids {
        assert!(
            ["RPC000", "RPC001", "RPC002", "RPC003", "RPC016", "RPC026"].contains(id),
            "{}",
            show(&found)
        );
    }
    for id in ["RPC000", "RPC001", "RPC002", "RPC003", "RPC016", "RPC026"] {
        assert!(ids.contains(&id), "{id} is not in\n{}", show(&found));
    }
}

/// The table at the end of docs/check.md is the table of the rules.
#[test]
fn the_documentation_lists_the_rules() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/check.md");
    let text = fs::read_to_string(&path).unwrap();
    let start = text.find("\n## Rules\n").unwrap();
    let intro =
        text[start..].find("\n\n").and_then(|at| text[start + at + 2..].find("\n\n").map(|end| at + 2 + end));
    let start = start + intro.unwrap() + 2;
    let mut table = String::from("| rule | | what is wrong |\n|---|---|---|\n");
    for rule in rules() {
        let letter = &rule.severity.to_string()[..1].to_uppercase();
        writeln!(table, "| {} | {letter} | {} |", rule.id, rule.title).unwrap();
    }
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, format!("{}{table}", &text[..start])).unwrap();
    } else {
        assert_eq!(&text[start..], table, "run with UPDATE=1");
    }
}
