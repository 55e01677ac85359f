//! Files that are meant to break a checker: it ends, says what it could not read, and takes bounded memory.

#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::fs;
use std::path::Path;

use sabir_model::capture::Reader;
use sabir_model::rules::{Checker, Finding, Profile};

fn find(profile: Profile, text: &[u8]) -> Vec<Finding> {
    let mut found = Vec::new();
    let Ok(mut reader) = Reader::new(text) else { return found };
    let mut checker = Checker::new(profile);
    while let Some(record) = reader.next().unwrap() {
        found.extend(checker.check(&record));
    }
    found.extend(checker.finish());
    found
}

/// How many there are of each rule, in the order in which they came first.
fn summary(text: &[u8]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for finding in find(Profile::JsonRpc, text) {
        assert!(finding.excerpt.text.len() < 2000, "an excerpt of {} bytes", finding.excerpt.text.len());
        match counts.iter_mut().find(|(id, _)| *id == finding.rule.id) {
            Some((_, count)) => *count += 1,
            None => counts.push((finding.rule.id, 1)),
        }
    }
    counts.iter().fold(String::new(), |mut out, (id, count)| {
        write!(out, "{id}:{count} ").unwrap();
        out
    })
}

#[test]
fn what_cannot_be_read_is_named() {
    let nested = |depth: usize| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":{}{}}}",
            "[".repeat(depth),
            "]".repeat(depth)
        )
    };
    let names: String = (0..100_000).map(|i| format!("\"k{i}\":0,")).collect();
    for (text, want) in [
        (b"\xff\xfd\n{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}\n".to_vec(), "RPC000:2 "),
        (b"\0\0\0\0\n".to_vec(), "RPC000:1 "),
        (nested(127).into_bytes(), ""),
        (nested(200_000).into_bytes(), "RPC030:1 "),
        ("[".repeat(1 << 20).into_bytes(), "RPC030:1 "),
        (format!("[{}1]", "1,".repeat(200_000)).into_bytes(), "RPC000:1000 "),
        (b"{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":[".to_vec(), "RPC000:1 "),
        (
            format!("{{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":{{{names}\"k7\":1}}}}").into_bytes(),
            "RPC027:1 ",
        ),
        (
            format!("{{{}\"jsonrpc\":\"2.0\",\"method\":\"a\"}}", "\"id\":1,".repeat(3)).into_bytes(),
            "RPC027:2 ",
        ),
        (
            format!("{{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"id\":{}}}", "9".repeat(100_000)).into_bytes(),
            "RPC008:1 ",
        ),
        (
            format!("{{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":[1{}]}}", "0".repeat(100_000))
                .into_bytes(),
            "RPC030:1 ",
        ),
    ] {
        let shown = String::from_utf8_lossy(&text[..text.len().min(60)]).into_owned();
        assert_eq!(summary(&text), want, "{shown}");
    }
}

/// Half a million requests that nobody answers: the older ones are forgotten, the others told.
#[test]
fn open_requests_are_bounded() {
    let mut text = String::new();
    for id in 0..500_000 {
        writeln!(text, "> {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"a\"}}").unwrap();
    }
    let found = find(Profile::JsonRpc, text.as_bytes());
    assert!(found.iter().all(|finding| finding.rule.id == "RPC024"));
    assert!((100_000..500_000).contains(&found.len()), "{} are remembered", found.len());
    assert_eq!(found.last().unwrap().line, 500_000);
    // The answer to one that was forgotten is not called an answer to nothing.
    text.push_str("< {\"jsonrpc\":\"2.0\",\"id\":0,\"result\":1}\n");
    assert!(find(Profile::JsonRpc, text.as_bytes()).iter().all(|finding| finding.rule.id == "RPC024"));
}

/// The same violation in every entry of a batch: each has to be found in the text, which would be quadratic.
#[test]
fn findings_in_a_batch_are_bounded() {
    for entry in
        [r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#, r#"{"jsonrpc":"2.0","id":1,"method":"a","x":1}"#]
    {
        let batch = format!("> [{}]\n", vec![entry; 20_000].join(","));
        let found = find(Profile::JsonRpc, batch.as_bytes()).len();
        assert!((100..2_000).contains(&found), "{found} findings");
    }
}

#[test]
fn connections_are_bounded() {
    let mut text = String::from("{\"jrl\":1}\n");
    for connection in 0..20_000 {
        writeln!(
            text,
            "{{\"n\":1,\"d\":\">\",\"c\":{connection},\"msg\":{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}}}}"
        )
        .unwrap();
    }
    let found = find(Profile::Mcp(None), text.as_bytes());
    assert!(found.iter().filter(|finding| finding.rule.id == "RPC024").count() <= 256);
}

/// Every session of the golden files, damaged in many ways, in every profile.
#[test]
fn damage_never_ends_the_checker() {
    let profiles = ["jsonrpc", "mcp", "mcp@2026-07-28", "lsp", "a2a", "eth", "lenient"];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut random: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below.max(1) as u64) as usize
    };
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read(entry.unwrap().path()).unwrap();
        for _ in 0..40 {
            let mut damaged = text.clone();
            for _ in 0..1 + next(3) {
                let at = next(damaged.len());
                match next(4) {
                    0 => damaged.truncate(at),
                    1 if !damaged.is_empty() => damaged[at] = next(256) as u8,
                    2 if !damaged.is_empty() => drop(damaged.remove(at)),
                    _ => damaged.insert(at, b"\"{}[]:,\\\n<>0"[next(12)]),
                }
            }
            let profile = profiles[next(profiles.len())].parse().unwrap();
            find(profile, &damaged);
        }
    }
}
