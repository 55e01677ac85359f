//! Captures that are small and ask for much memory. A counting allocator says how much the checker took at most.

#![allow(clippy::unwrap_used)]

mod counting;

use std::fmt::Write;

use sabir_model::capture::Reader;
use sabir_model::rules::{Checker, Profile};

const MIB: usize = 1 << 20;
/// What a capture of one or two megabytes may take.
const MOST: usize = 64 * MIB;

/// Checks a capture, and gives back the most bytes that this took beside the capture itself.
fn peak(profile: Profile, text: &str) -> usize {
    counting::peak(|| {
        let mut reader = Reader::new(text.as_bytes()).unwrap();
        let mut checker = Checker::new(profile);
        while let Some(record) = reader.next().unwrap() {
            checker.check(&record).for_each(drop);
        }
        checker.finish().for_each(drop);
    })
}

fn check(profile: Profile, text: &str) {
    assert!(text.len() < 6 * MIB, "{} bytes", text.len());
    let peak = peak(profile, text);
    assert!(peak < MOST, "a capture of {} bytes took {} MiB", text.len(), peak / MIB);
}

/// A session whose tools have these schemas, each of which is called once.
fn tools(schemas: impl Iterator<Item = String>, arguments: &str) -> String {
    let schemas: Vec<_> = schemas.collect();
    let mut text = String::from("> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n");
    let entries: Vec<_> = schemas
        .iter()
        .enumerate()
        .map(|(number, schema)| format!(r#"{{"name":"t{number}","inputSchema":{schema}}}"#))
        .collect();
    writeln!(text, r#"< {{"jsonrpc":"2.0","id":1,"result":{{"tools":[{}]}}}}"#, entries.join(",")).unwrap();
    for number in 0..schemas.len() {
        writeln!(
            text,
            r#"> {{"jsonrpc":"2.0","id":"{number}","method":"tools/call","params":{{"name":"t{number}","arguments":{arguments}}}}}"#
        )
        .unwrap();
    }
    text
}

/// Tools of which each has one pattern.
fn patterns(count: usize, pattern: &str) -> String {
    let schema =
        |number| format!(r#"{{"type":"object","properties":{{"a":{{"pattern":"{pattern}{number}"}}}}}}"#);
    tools((0..count).map(schema), r#"{"a":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}"#)
}

/// Compiling so many patterns takes a minute in a build without optimisation: that plays a tenth of them.
#[test]
fn large_patterns() {
    let many = if cfg!(debug_assertions) { 50 } else { 500 };
    for (count, pattern) in [
        (many, r"(\\w{30}){1,30}"),
        (many, r"(a{1,100}){1,100}"),
        (many, r"(?=\\w{30})(?!a{1000})(?=b{1000})"),
        (2 * many, r"\\p{L}+"),
        (2 * many, "^[a-f]{64}"),
        (1, &r"\\w".repeat(300_000)),
        (1, &"(".repeat(100_000)),
    ] {
        check(Profile::Mcp(None), &patterns(count, pattern));
    }
}

/// One schema with thousands of patterns, in each of the places where patterns are.
#[test]
fn many_patterns() {
    let all: String = (0..20_000).map(|number| format!(r#""[a-f]{{1,90}}{number}":{{}},"#)).collect();
    check(
        Profile::Mcp(None),
        &tools([format!(r#"{{"patternProperties":{{{all}"z":{{}}}}}}"#)].into_iter(), r#"{"a":1}"#),
    );
    let all: String =
        (0..20_000).map(|number| format!(r#"{{"pattern":"[a-f]{{1,90}}{number}"}},"#)).collect();
    check(Profile::Mcp(None), &tools([format!(r#"{{"anyOf":[{all}false]}}"#)].into_iter(), r#"{"a":1}"#));
}

/// Short schemas whose references spread.
#[test]
fn references_that_spread() {
    let schema = |_| {
        let parts: String = (0..12)
            .map(|n| {
                format!(
                    r##""{n}":{{"allOf":[{{"$ref":"#/$defs/{m}"}},{{"$ref":"#/$defs/{m}"}}]}},"##,
                    m = n + 1
                )
            })
            .collect();
        format!(r##"{{"$ref":"#/$defs/0","$defs":{{{parts}"12":{{"type":"object"}}}}}}"##)
    };
    check(Profile::Mcp(None), &tools((0..1000).map(schema), "{}"));
}

/// JSON that is short as text and large as a value.
#[test]
fn schemas_and_values_that_grow_when_they_are_read() {
    let deep = |depth: usize| format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
    let wide = format!("[{}0]", format!("{},", deep(60)).repeat(5000));
    check(Profile::Mcp(None), &tools([format!(r#"{{"default":{wide}}}"#)].into_iter(), "{}"));
    let zeros = format!(r#"{{"a":[{}0]}}"#, "0,".repeat(1_500_000));
    check(Profile::Mcp(None), &tools([r#"{"type":"object"}"#.to_owned()].into_iter(), &zeros));
    let document = format!(r#"{{"openrpc":"1.3.2","methods":[],"x":{wide}}}"#);
    let text = format!(
        "> {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"rpc.discover\"}}\n< {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{document}}}\n"
    );
    check(Profile::JsonRpc, &text);
}

/// A document with thousands of methods, each of which is called, and refers to the same part.
#[test]
fn documents_with_many_methods() {
    let methods: String = (0..4000)
        .map(|n| format!(r##"{{"name":"m{n}","params":[{{"name":"a","schema":{{"$ref":"#/x"}}}}]}},"##))
        .collect();
    let mut text = format!(
        "> {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"rpc.discover\"}}\n< {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"openrpc\":\"1.3.2\",\"methods\":[{methods}{{\"name\":\"z\"}}],\"x\":{{\"pattern\":\"[a-f]{{90}}\"}}}}}}\n"
    );
    for n in 0..4000 {
        writeln!(text, r#"> {{"jsonrpc":"2.0","method":"m{n}","params":{{"a":"b"}}}}"#).unwrap();
    }
    check(Profile::JsonRpc, &text);
}

/// The same token with ever new requests; ever new tokens; tokens and names that are long.
#[test]
fn tokens_and_names() {
    for line in [
        |n: usize| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{n},"method":"ping","params":{{"_meta":{{"progressToken":1}}}}}}"#
            )
        },
        |n: usize| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{n},"method":"ping","params":{{"_meta":{{"progressToken":{n}}}}}}}"#
            )
        },
        |n: usize| format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"m{n}"}}"#),
    ] {
        let text: String = (0..50_000).map(|n| format!("> {}\n", line(n))).collect();
        check(Profile::Mcp(None), &text);
    }
    let many: Vec<_> = (0..100_000).map(|n| format!(r#"{{"name":"{n}"}}"#)).collect();
    let text = format!(
        "> {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}}\n< {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"tools\":[{}]}}}}\n",
        many.join(",")
    );
    check(Profile::Mcp(None), &text);
}

/// What is found in one message is bounded as well.
#[test]
fn findings() {
    let twice =
        format!(r#"{{"jsonrpc":"2.0","method":"a","params":{{{}"a":0}}}}"#, r#""a":1e400,"#.repeat(100_000));
    check(Profile::JsonRpc, &twice);
    let batch = format!("[{}1]", r#"{"jsonrpc":"1.0","id":[],"x":0},"#.repeat(30_000));
    check(Profile::JsonRpc, &batch);
    let surrogates =
        format!(r#"{{"jsonrpc":"2.0","method":"a","params":["{}"]}}"#, r"\ud800".repeat(150_000));
    check(Profile::JsonRpc, &surrogates);
    let lines = "{\n".repeat(500_000);
    check(Profile::JsonRpc, &lines);
}
