//! Captures as graphs: to the letter for the examples, the same in every syntax, and never a crash.
//!
//! `UPDATE=1 cargo test` writes down what came.

#![allow(clippy::unwrap_used)]

mod graphs;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use graphs::{BASE, check_golden, examples, graph, shown, written};
use oxjsonld::JsonLdParser;
use oxrdf::{Quad, Term, Triple};
use oxttl::{NQuadsParser, NTriplesParser, TriGParser, TurtleParser};
use sabir_model::capture::Reader;
use sabir_model::files::QUERIES;
use sabir_model::graph::{Answer, GraphMapper, Picture, Stop, Syntax, Writer, picture};

/// The triples of a text, without their graphs.
fn triples(text: &str, syntax: Syntax) -> Vec<Triple> {
    let text = text.as_bytes();
    let of_quads = |quads: Vec<Quad>| quads.into_iter().map(Triple::from).collect();
    match syntax {
        Syntax::NTriples => NTriplesParser::new().for_slice(text).map(Result::unwrap).collect(),
        Syntax::Turtle => TurtleParser::new().for_slice(text).map(Result::unwrap).collect(),
        Syntax::NQuads => of_quads(NQuadsParser::new().for_slice(text).map(Result::unwrap).collect()),
        Syntax::TriG => of_quads(TriGParser::new().for_slice(text).map(Result::unwrap).collect()),
        Syntax::JsonLd => of_quads(JsonLdParser::new().for_slice(text).map(Result::unwrap).collect()),
        _ => panic!("{syntax:?} has no parser here"),
    }
}

/// Facts without their graphs, whatever the syntax.
fn facts(text: &str, syntax: Syntax) -> BTreeSet<String> {
    triples(text, syntax).iter().map(|t| format!("{} {} {}", t.subject, t.predicate, t.object)).collect()
}

/// The texts of all literals.
fn objects(text: &str, syntax: Syntax) -> Vec<String> {
    let literal = |triple: Triple| match triple.object {
        Term::Literal(literal) => Some(literal.value().to_owned()),
        _ => None,
    };
    triples(text, syntax).into_iter().filter_map(literal).collect()
}

const SYNTAXES: [Syntax; 5] =
    [Syntax::NTriples, Syntax::Turtle, Syntax::NQuads, Syntax::TriG, Syntax::JsonLd];

fn check_syntaxes(capture: &[u8]) {
    let want = facts(&written(capture, Syntax::NTriples), Syntax::NTriples);
    for syntax in SYNTAXES {
        let came = facts(&written(capture, syntax), syntax);
        assert_eq!(came.difference(&want).collect::<Vec<_>>(), Vec::<&String>::new(), "{syntax:?} has more");
        assert_eq!(want.difference(&came).collect::<Vec<_>>(), Vec::<&String>::new(), "{syntax:?} has less");
    }
    assert_eq!(graph(capture).len(), want.len(), "the graph in memory");
}

#[test]
fn the_example_gives_the_triples_beside_it() {
    let capture = fs::read(examples().join("session.jrl")).unwrap();
    check_golden(&examples().join("session.ttl"), &written(&capture, Syntax::Turtle));
    check_golden(&examples().join("session.nt"), &written(&capture, Syntax::NTriples));
    for name in ["mcp-session", "mcp-features"] {
        let capture = fs::read(examples().join(format!("{name}.jrl"))).unwrap();
        check_golden(&examples().join(format!("{name}.ttl")), &written(&capture, Syntax::Turtle));
    }
}

#[test]
fn every_syntax_says_the_same() {
    check_syntaxes(&fs::read(examples().join("session.jrl")).unwrap());
    check_syntaxes(&fs::read(examples().join("mcp-session.jrl")).unwrap());
    check_syntaxes(&fs::read(examples().join("mcp-features.jrl")).unwrap());
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"method":"a\u0000\u001b[31m\u202e\u0085","params":["\u001b\u2028","\\\"",{"é":1.0}]}"#,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\u{9b}31m\u{202e}\",\"params\":[\"\u{9b}\u{7f}\"]}",
        r#"{"jsonrpc":"2.0","id":"a b/../c#%22\n","method":"x"}"#,
        r#"{"jsonrpc":"2.0","id":-0,"method":"x"}"#,
        r#"{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"x"}"#,
        r#"{"jsonrpc":"2.0","id":1.50,"method":"x"}"#,
        r#"{"jsonrpc":"2.0","id":1e3,"method":"x"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"x","params":{"b":[],"a":{},"a":2}}"#,
        // What a JSON-LD processor would obey is not even looked at.
        r#"{"@context":"http://evil.example/","@id":"urn:x","@type":"jrpc:Error","jsonrpc":"2.0","id":1,"result":{"@id":"urn:y"}}"#,
        "[1,[],{}]",
        // What MCP says of a message, under names that nobody has chosen well.
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a b/../#%<\"\n","arguments":{"@id":"urn:x","n":9007199254740993}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1e3,"total":"many"}}"#,
        // Numbers that no double can hold.
        r#"{"jsonrpc":"2.0","id":1e999,"method":"tools/call","params":{"name":"n","arguments":{"b":[-1E400],"a":1}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1e999}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":{"n":1e999}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///é\u0000"}}"#,
    ] {
        check_syntaxes(line.as_bytes());
    }
    check_syntaxes(b"");
}

/// Every reader of JSON can read the documents, and a number that no double can hold stays as it was sent.
#[test]
fn numbers_beyond_doubles_stay_as_they_are() {
    let line = r#"{"jsonrpc":"2.0","id":1,"result":[1e999,-1E400,1e308]}"#;
    let document = written(line.as_bytes(), Syntax::JsonLd);
    serde_json::from_str::<serde_json::Value>(&document).unwrap();
    for syntax in SYNTAXES {
        let literals = objects(&written(line.as_bytes(), syntax), syntax);
        assert!(literals.contains(&"[1e999,-1E400,1e+308]".to_owned()), "{syntax:?}: {literals:?}");
    }
}

#[test]
fn each_query_finds_what_it_is_for() {
    let captures = ["session.jrl", "mcp-session.jrl"];
    let graphs = captures.map(|name| graph(&fs::read(examples().join(name)).unwrap()));
    let empty = graph(b"");
    let mut came = String::new();
    for query in QUERIES {
        writeln!(came, "## {}: {}", query.name, query.about()).unwrap();
        let mut found = 0;
        for (name, graph) in captures.iter().zip(&graphs) {
            let Answer::Table(table) = graph.query(query.text, &Stop::default()).unwrap() else {
                panic!("{} selects", query.name)
            };
            writeln!(came, "# {name}: {}", table.columns.join(" | ")).unwrap();
            for row in &table.rows {
                let cells: Vec<_> = row.iter().map(|cell| shown(cell.as_ref())).collect();
                writeln!(came, "{}", cells.join(" | ")).unwrap();
            }
            found += table.rows.len();
        }
        assert!(found > 0, "{} finds nothing", query.name);
        let Answer::Table(nothing) = empty.query(query.text, &Stop::default()).unwrap() else {
            panic!("{} selects", query.name)
        };
        assert_eq!(nothing.rows.len(), 0, "{} finds something in nothing", query.name);
    }
    check_golden(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/queries.txt"), &came);
}

/// A gateway passes a call on: the two captures are joined by their trace, in the order of their times.
#[test]
fn captures_are_joined_by_their_trace() {
    let capture = |at: &str, method: &str, rest: &str| {
        let meta = r#"{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}"#;
        format!(
            "{{\"jrl\":1,\"at\":\"{at}\"}}\n{{\"n\":1,\"t\":0,\"d\":\">\",\"msg\":{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\",\"params\":{{\"_meta\":{meta}}}}}}}\n{rest}"
        )
    };
    let answer = "{\"n\":2,\"t\":9000000,\"d\":\"<\",\"msg\":{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}}\n";
    let gateway = capture("2026-01-01T00:00:00Z", "outer", answer);
    let server = capture("2026-01-01T00:00:00.002Z", "inner", "");
    let mut readers = [Reader::new(gateway.as_bytes()).unwrap(), Reader::new(server.as_bytes()).unwrap()];
    let mut mapper = GraphMapper::of_captures(["gateway.jrl", "server.jrl"]);
    let mut writer = Writer::new(Vec::new(), Syntax::Turtle, BASE);
    for number in [0, 0, 1, 1, 0] {
        let record = readers[number].next().unwrap().unwrap();
        mapper.handle_of(number, &record, |node| writer.write(node)).unwrap();
    }
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    for want in [
        "c:f2.m2 a jrpc:Request",
        "rpcx:calledDuring c:m2",
        "c:f2.s1 a rpcx:Session",
        "rpcx:capture \"server.jrl\"",
    ] {
        assert!(text.contains(want), "{want} is not in {text}");
    }
    assert!(triples(&text, Syntax::Turtle).len() > 20);
}

/// The names of the elements of a text, which has to be XML 1.0: read by a parser of others, that checks ends, attributes and
/// entities, and without a character that no document may have.
fn elements(xml: &str) -> Vec<String> {
    use quick_xml::events::Event;
    let is_legal =
        |c: char| !matches!(c, '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\u{fffe}' | '\u{ffff}');
    assert!(xml.chars().all(is_legal), "{xml}");
    let mut reader = quick_xml::Reader::from_str(xml);
    let mut names = Vec::new();
    loop {
        match reader.read_event().unwrap() {
            Event::Start(start) | Event::Empty(start) => {
                names.push(String::from_utf8(start.name().as_ref().to_vec()).unwrap());
                for attribute in start.attributes() {
                    attribute.unwrap().unescape_value().unwrap();
                }
            }
            Event::Text(text) => drop(text.unescape().unwrap()),
            Event::End(_) => {}
            Event::Eof => return names,
            event => panic!("{event:?}"),
        }
    }
}

/// What is drawn is XML without anything that a browser would run, whatever a peer called its tools.
#[test]
fn pictures_are_escaped() {
    let hostile = r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"</text><script>alert(1)</script>&\u0000\u0008\ufffe\ud800 \"'"}}"#;
    for capture in [hostile.as_bytes(), &fs::read(examples().join("mcp-session.jrl")).unwrap(), b""] {
        for what in [Picture::Sequence, Picture::Calls] {
            let svg = picture(&graph(capture), what, &Stop::default()).unwrap();
            let names = elements(&svg);
            assert_eq!(names.first().map(String::as_str), Some("svg"), "{svg}");
            let drawn = ["svg", "title", "style", "defs", "marker", "path", "rect", "line", "text"];
            assert!(names.iter().all(|name| drawn.contains(&name.as_str())), "{names:?}");
        }
    }
    let session = graph(&fs::read(examples().join("mcp-session.jrl")).unwrap());
    let svg = picture(&session, Picture::Sequence, &Stop::default()).unwrap();
    assert!(svg.contains("broken result: tools/call"), "{svg}");
    let svg = picture(&session, Picture::Calls, &Stop::default());
    let svg = svg.unwrap();
    for want in ["editor", "tool forecast", "1 failed", "sampling/createMessage", "in its course"] {
        assert!(svg.contains(want), "{want}: {svg}");
    }
}

/// Calls that go on with more input, and tasks, are linked; another protocol's messages are not MCP's.
#[test]
fn what_mcp_means_is_linked() {
    let transcript = concat!(
        "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\"}}\n",
        "< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"input_required\",\"requestState\":\"s\"}}\n",
        "> {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"a\",\"requestState\":\"s\"}}\n",
        "< {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"task\":{\"taskId\":\"t\"}}}\n",
        "> {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tasks/get\",\"params\":{\"taskId\":\"t\"}}\n",
    );
    let text = written(transcript.as_bytes(), Syntax::Turtle);
    for want in [
        "mcpx:outcome mcpx:NeedsInput",
        "mcpx:continues c:m1",
        "mcpx:outcome mcpx:BecameTask",
        "c:m5 a mcpx:GetTaskRequest",
        "c:s1-task-t a mcpx:Task",
    ] {
        assert!(text.contains(want), "{want} is not in {text}");
    }
    let ping = "{\"n\":1,\"t\":0,\"d\":\">\",\"msg\":{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"METHOD\"}}\n";
    for (profile, method, is_mcp) in
        [("mcp", "ping", true), ("lsp", "ping", false), ("lsp", "tools/call", false), ("mcp", "other", false)]
    {
        let capture = format!("{{\"jrl\":1,\"profile\":\"{profile}\"}}\n{}", ping.replace("METHOD", method));
        assert_eq!(
            written(capture.as_bytes(), Syntax::Turtle).contains("a mcp:"),
            is_mcp,
            "{profile} {method}"
        );
    }
    assert!(
        !written(ping.replace("METHOD", "ping").as_bytes(), Syntax::Turtle).contains("a mcp:"),
        "it may be anybody's"
    );
}

/// What links a message with another, as `from property to`.
fn links(transcript: &str) -> Vec<String> {
    let text = written(transcript.as_bytes(), Syntax::NTriples);
    let mut links: Vec<_> = text
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let from = words.next()?.strip_prefix("<urn:example:session#")?.strip_suffix('>')?;
            let property = words.next()?.strip_prefix("<urn:sabir:ontology#")?.strip_suffix('>')?;
            let to = words.next()?.strip_prefix("<urn:example:session#")?.strip_suffix('>')?;
            (!["session", "inBatch", "chain"].contains(&property)).then(|| format!("{from} {property} {to}"))
        })
        .collect();
    links.sort();
    links
}

#[test]
fn what_belongs_together_is_linked() {
    const CALL: &str = "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}\n";
    const REPLY: &str = "< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":0}\n";
    let span = |sign: &str, id: u8, trace: &str| {
        let parent = format!("00-{trace:0>32}-00f067aa0ba902b7-01");
        format!(
            "{sign} {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"x\",\"params\":{{\"_meta\":{{\"traceparent\":\"{parent}\"}}}}}}\n"
        )
    };
    let cases: Vec<(&str, String, &[&str])> = vec![
        ("an answer", [CALL, REPLY].concat(), &["m2 answers m1"]),
        ("a second answer", [CALL, REPLY, REPLY].concat(), &["m2 answers m1", "m3 answers m1"]),
        ("an answer from the asker's side", [CALL, &REPLY.replace('<', ">")].concat(), &[]),
        ("each side has its own ids", [CALL, &CALL.replace('>', "<"), REPLY].concat(), &["m3 answers m1"]),
        ("1 is not \"1\"", [CALL, &REPLY.replace(":1,", ":\"1\",")].concat(), &[]),
        ("1 is 1.0", [CALL, &REPLY.replace(":1,", ":1.0,")].concat(), &["m2 answers m1"]),
        (
            "an id that is reused in flight: the answers go by turns",
            [CALL, CALL, CALL, REPLY, REPLY].concat(),
            &["m2 reusesIdOf m1", "m3 reusesIdOf m1", "m4 answers m1", "m5 answers m2"],
        ),
        ("an id that is used again later", [CALL, REPLY, CALL, REPLY].concat(), &["m2 answers m1", "m4 answers m3"]),
        (
            "a cancel, by either name",
            [
                CALL,
                "> {\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":1}}\n",
                "> {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n",
                "< {\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":1}}\n",
            ]
            .concat(),
            &["m2 cancels m1", "m3 cancels m1"],
        ),
        (
            "progress of a language server",
            [
                "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"workDoneToken\":7,\"partialResultToken\":\"p\"}}\n",
                "< {\"jsonrpc\":\"2.0\",\"method\":\"$/progress\",\"params\":{\"token\":7,\"value\":1}}\n",
                "< {\"jsonrpc\":\"2.0\",\"method\":\"$/progress\",\"params\":{\"token\":\"p\",\"value\":1}}\n",
                "< {\"jsonrpc\":\"2.0\",\"method\":\"$/progress\",\"params\":{\"token\":\"7\",\"value\":1}}\n",
            ]
            .concat(),
            &["m2 progressFor m1", "m3 progressFor m1"],
        ),
        (
            "a trace: asking back, and asking on after the inner answer",
            [
                span(">", 1, "a"),
                span("<", 1, "a"),
                span(">", 2, "a"),
                "< {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":0}\n".to_owned(),
                "> {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":0}\n".to_owned(),
                span("<", 3, "a"),
                span("<", 4, "b"),
            ]
            .concat(),
            &[
                "m2 calledDuring m1",
                "m3 calledDuring m2",
                "m4 answers m3",
                "m5 answers m2",
                "m6 calledDuring m1",
            ],
        ),
    ];
    for (name, transcript, want) in cases {
        assert_eq!(links(&transcript), want, "{name}");
    }
}

/// Without directions, answers still find their requests.
#[test]
fn messages_without_directions_are_linked_by_id() {
    let text =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":0}\n";
    assert_eq!(links(text), ["m2 answers m1"]);
}

/// Escaped or not, a text stays the same: readers of others get back what the peer sent.
#[test]
fn text_survives_every_syntax() {
    let hostile =
        "\0\t\u{1b}\u{7f}\u{85}\u{ad}\u{2028}\u{202e}\u{feff}\u{fff9}\u{e0001}\u{e0041}1\u{1f600}\"\\";
    let name = serde_json::to_string(hostile).unwrap();
    let message = format!("{{\"jsonrpc\":\"2.0\",\"id\":{name},\"method\":{name},\"params\":[{name}]}}");
    for syntax in SYNTAXES {
        let text = written(message.as_bytes(), syntax);
        assert!(!text.replace('\n', "").contains(sabir_proto::is_terminal_control), "{syntax:?}: {text:?}");
        let found = objects(&text, syntax).into_iter().filter(|object| object == hostile).count();
        assert!(found >= 1, "{syntax:?}: {text}");
    }
}

#[test]
fn a_second_header_begins_new_sessions() {
    let part = "{\"jrl\":1,\"at\":\"2026-01-01T00:00:00Z\"}\n{\"n\":1,\"t\":5,\"d\":\">\",\"msg\":{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}}\n";
    let text = written([part, part].concat().as_bytes(), Syntax::Turtle);
    assert!(text.contains("c:s1 a rpcx:Session") && text.contains("c:s1.2 a rpcx:Session"), "{text}");
    assert!(!text.contains("reusesIdOf"), "{text}");
}

#[test]
fn hostile_captures_are_told_as_they_are() {
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{}{}}}",
        "[".repeat(200),
        "]".repeat(200)
    );
    let nested = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}{}}}",
        "{\"a\":".repeat(100),
        "}".repeat(100).replacen('}', "1}", 1)
    );
    let wide = format!("[{}1]", "1,".repeat(100_000));
    let long = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{}\",\"method\":\"x\"}}", "é\\ud800".repeat(20_000));
    let digits = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"x\"}}", "9".repeat(10_000));
    let cases: [(&[u8], &str); 9] = [
        (digits.as_bytes(), "a jrpc:NumberId ;\n  rpcx:idText \"9999"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", "rpcx:fault \"not JSON: "),
        (deep.as_bytes(), "rpcx:fault \"not JSON: nested too deeply"),
        (nested.as_bytes(), "a jrpc:Response"),
        (wide.as_bytes(), "c:m1.100000 a rpcx:InvalidMessage"),
        (long.as_bytes(), "a jrpc:StringId"),
        (b"> {\"jsonrpc\":\"2.0\",\"method\"", "a rpcx:InvalidMessage"),
        (b"{\"jrl\":1}\n{\"n\":1,\"t\":1,\"d\":\">\",\"msg\":{\"jsonrpc\":\"2.0\",\"method\":\"x\"}}\n{\"n\":2,\"t\":2,\"d\"", "jrpc:hasMethod \"x\""),
        (b"{\"jrl\":1,\"at\":\"never\"}\n{\"n\":1,\"t\":9223372036854775807,\"c\":9,\"d\":\">\",\"msg\":1}", "a rpcx:InvalidMessage"),
    ];
    for (capture, want) in cases {
        let came = written(capture, Syntax::Turtle);
        let head: String = came.chars().take(2000).collect();
        assert!(came.contains(want), "{want} is not in {head}");
        let facts = facts(&came, Syntax::Turtle).len();
        assert_eq!(graph(capture).len(), facts, "{head}");
    }
}

/// The same code means something else in each protocol.
#[test]
fn errors_are_of_the_class_that_their_protocol_has() {
    for (profile, code, want) in [
        ("lsp", -32002, "lspx:ServerNotInitialized , jrpc:ServerError"),
        ("lsp", -32800, "lspx:RequestCancelled , jrpc:Error"),
        ("a2a", -32002, "a2ax:TaskNotCancelable , jrpc:ServerError"),
        ("mcp", -32002, "mcpx:ResourceNotFound , jrpc:ServerError"),
        ("jsonrpc", -32002, "jrpc:ServerError"),
        ("lsp", -32601, "jrpc:MethodNotFound"),
    ] {
        let capture = format!(
            "{{\"jrl\":1,\"profile\":\"{profile}\"}}\n{{\"n\":1,\"t\":0,\"d\":\"<\",\"msg\":{{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{{\"code\":{code},\"message\":\"m\"}}}}}}\n"
        );
        let text = written(capture.as_bytes(), Syntax::Turtle);
        let classes: Vec<_> = want.split(" , ").map(|class| format!("a {class}")).collect();
        let error = text.split("c:m2-error ").nth(2).unwrap();
        assert!(error.starts_with(&classes.join(" ;\n  ")), "{profile} {code}: {error}");
        check_syntaxes(capture.as_bytes());
    }
}
