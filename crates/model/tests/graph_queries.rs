//! What queries and pictures show of captures that are hard to tell apart, long, or refused.

#![allow(clippy::unwrap_used)]

mod graphs;

use std::fmt::Write;

use graphs::{graph, table};
use sabir_model::graph::{Answer, Picture, Stop, picture};

/// One header after another: offsets and the picture go by the dates of all of them.
#[test]
fn sessions_of_one_file_are_in_their_order() {
    let part = |at: &str, method: &str| {
        format!(
            "{{\"jrl\":1,\"at\":\"{at}\"}}\n{{\"n\":1,\"t\":5000000,\"d\":\">\",\"msg\":{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\"}}}}\n\
             {{\"n\":2,\"t\":9000000,\"d\":\"<\",\"msg\":{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}}}}\n"
        )
    };
    let capture = part("2026-01-01T00:00:00Z", "first") + &part("2026-01-01T00:00:01Z", "second");
    let at = table(&capture, "SELECT ?method ?at { ?r jrpc:hasMethod ?method ; rpcx:atMs ?at } ORDER BY ?at");
    assert_eq!(at, ["first 5.0", "second 1005.0"]);
    let svg = picture(&graph(capture.as_bytes()), Picture::Sequence, &Stop::default()).unwrap();
    assert!(svg.find(">result: first<").unwrap() < svg.find(">second<").unwrap(), "{svg}");
    let hello =
        "initialize\",\"params\":{\"protocolVersion\":\"1\",\"clientInfo\":{\"name\":\"x\"}},\"y\":\"";
    let named = capture.replace("first", hello).replace("second", hello);
    let calls = picture(&graph(named.as_bytes()), Picture::Calls, &Stop::default());
    assert!(calls.unwrap().contains(">2× 4.0 ms<"), "one line for both");
}

/// More sessions than there are lines in the picture: they are summed up first, and servers with the same methods are apart.
#[test]
fn calls_are_summed_up_over_all_sessions() {
    let session = |server: &str| {
        r#"{"jrl":1,"at":"2026-01-01T00:00:00Z"}
{"n":1,"t":0,"d":">","msg":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"editor","version":"1"}}}}
{"n":2,"t":4000000,"d":"<","msg":{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"SERVER","version":"1"}}}}
{"n":3,"t":5000000,"d":">","msg":{"jsonrpc":"2.0","id":2,"method":"ping"}}
{"n":4,"t":9000000,"d":"<","msg":{"jsonrpc":"2.0","id":2,"result":{}}}
"#
        .replace("SERVER", server)
    };
    let capture: String = (0..140).map(|number| session(["one", "two"][number % 2])).collect();
    let svg = picture(&graph(capture.as_bytes()), Picture::Calls, &Stop::default()).unwrap();
    for (what, times) in
        [(">ping<", 2), (">initialize<", 2), (">one<", 2), (">two<", 2), (">70× 4.0 ms<", 4), (">editor<", 1)]
    {
        assert_eq!(svg.matches(what).count(), times, "{what}: {svg}");
    }
}

/// Plain JSON lines: MCP's methods say who sends them, and answers go back.
#[test]
fn directions_that_are_not_told_follow_from_mcp() {
    let lines = concat!(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\",\"_meta\":{\"progressToken\":7}}}\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":7,\"progress\":1}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"roots\":[]}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[],\"isError\":true}}\n",
    );
    let ways = table(lines, "SELECT ?line ?to { ?m rpcx:line ?line ; rpcx:direction ?to } ORDER BY ?line");
    let ways: Vec<_> = ways.iter().map(|row| row.rsplit('#').next().unwrap()).collect();
    assert_eq!(ways, ["ToServer", "ToClient", "ToClient", "ToServer", "ToClient"]);
    assert_eq!(
        table(lines, "who-asked-what"),
        ["client server tools/call a 1 1 0", "server client roots/list  1 0 0"]
    );
    assert_eq!(table(lines, "error-rate")[0], "tools/call 1 0 1 100");
}

/// A stream of answers is one call.
#[test]
fn a_request_counts_once_however_often_it_is_answered() {
    let call = "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n";
    let reply = "< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":0}\n";
    let capture = [call, &reply.repeat(5)].concat();
    assert_eq!(table(&capture, "who-asked-what"), ["client server m  1 0 0"]);
    assert_eq!(table(&capture, "error-rate"), ["m 1 0 0 0"]);
}

/// The numbers that somebody sent, and not the nearest doubles.
#[test]
fn failed_arguments_are_shown_as_they_were_sent() {
    let capture = concat!(
        "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"pay\",\"arguments\":{\"account\":9007199254740993,\"amount\":1.10}}}\n",
        "< {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"no\",\"data\":\"no such account\"}}\n",
    );
    assert_eq!(
        table(capture, "failed-arguments"),
        ["- 1 pay {\"account\":9007199254740993,\"amount\":1.10} refused no: \"no such account\""]
    );
}

/// Tools of the same name belong to their servers.
#[test]
fn a_tool_that_another_server_has_is_another_tool() {
    let session = |connection: u8, server: &str, call: bool| {
        let line = |d: &str, msg: &str| {
            format!("{{\"n\":1,\"t\":0,\"c\":{connection},\"d\":\"{d}\",\"msg\":{msg}}}\n")
        };
        let mut text = line(
            ">",
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#,
        ) + &line(
            "<",
            &format!(
                r#"{{"jsonrpc":"2.0","id":1,"result":{{"serverInfo":{{"name":"{server}","version":"1"}}}}}}"#
            ),
        ) + &line(">", r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#)
            + &line(
                "<",
                r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"search","inputSchema":{}}]}}"#,
            );
        if call {
            text +=
                &line(">", r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"search"}}"#);
        }
        text
    };
    let header = "{\"jrl\":1,\"profile\":\"mcp\"}\n";
    let both = [header, &session(1, "SA", true), &session(2, "SB", false)].concat();
    assert_eq!(table(&both, "tools-never-called"), ["SB search -"]);
    let same = [header, &session(1, "SA", true), &session(2, "SA", false)].concat();
    assert!(table(&same, "tools-never-called").is_empty());
}

/// A server that has not said its name: no tool of another one is its own.
#[test]
fn a_tool_of_a_server_without_a_name_is_its_own() {
    let header = "{\"jrl\":1,\"profile\":\"mcp\"}\n";
    let line = |connection: u8, d: &str, msg: &str| {
        format!("{{\"n\":1,\"t\":0,\"c\":{connection},\"d\":\"{d}\",\"msg\":{msg}}}\n")
    };
    let tools = r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"search","inputSchema":{}}]}}"#;
    let list = |connection| {
        line(connection, ">", r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#)
            + &line(connection, "<", tools)
    };
    let hello =
        line(1, ">", r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"x"}}"#)
            + &line(
                1,
                "<",
                r#"{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"name":"SA","version":"1"}}}"#,
            );
    let call = |connection| {
        line(connection, ">", r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"search"}}"#)
    };
    let one_called = [header, &hello, &list(1), &call(1), &list(2)].concat();
    assert_eq!(table(&one_called, "tools-never-called"), ["- search -"]);
    let both_called = one_called + &call(2);
    assert!(table(&both_called, "tools-never-called").is_empty());
}

/// A picture has room for eight sessions, and says so.
#[test]
fn a_picture_says_what_it_leaves_out() {
    let session = |connection: usize| {
        format!(
            "{{\"n\":1,\"t\":0,\"c\":{connection},\"d\":\">\",\"msg\":{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}}}}\n"
        )
    };
    let capture =
        |count| -> String { "{\"jrl\":1}\n".to_owned() + &(1..=count).map(session).collect::<String>() };
    let drawn = |count: usize| {
        picture(&graph(capture(count).as_bytes()), Picture::Sequence, &Stop::default()).unwrap()
    };
    let note = "only the first 8 sessions are shown: 2 messages are in others";
    assert!(drawn(10).contains(note), "{}", drawn(10));
    assert!(!drawn(8).contains("only the first"));
}

/// A long chain of calls, and queries that are nested as deep as somebody likes.
#[test]
fn neither_chains_nor_queries_are_too_deep() {
    let mut chain = "{\"jrl\":1}\n".to_owned();
    for i in 0..3000 {
        let _ = writeln!(
            chain,
            "{{\"n\":{i},\"t\":{i},\"c\":{},\"d\":\">\",\"msg\":{{\"jsonrpc\":\"2.0\",\"id\":{i},\"method\":\"x\",\"params\":{{\"_meta\":{{\"traceparent\":\"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\"}}}}}}}}",
            i % 2
        );
    }
    let rows = table(&chain, "call-tree");
    assert_eq!(rows.len(), 3000);
    assert!(rows[2999].contains(" 2999 "), "{}", rows[2999]);
    let graph = graph(b"");
    let nested = |open: &str, close: &str, n: usize| {
        format!("SELECT * {{ ?a ?b ?c FILTER({}1{}) }}", open.repeat(n), close.repeat(n))
    };
    for query in [nested("(", ")", 20_000), format!("SELECT * {}{}", "{".repeat(300), "}".repeat(300))] {
        assert!(graph.query(&query, &Stop::default()).unwrap_err().to_string().contains("refused: it is"));
    }
    assert!(graph.query(&nested("(", ")", 90), &Stop::default()).is_ok());
    assert!(graph.query(&nested("1||", "", 10_000), &Stop::default()).is_ok());
}

#[test]
fn queries_that_cannot_be_answered_say_why() {
    let graph = graph(b"");
    let long = r#"{"jsonrpc":"2.0","id":1,"method":"LONG"}"#.replace("LONG", &"m".repeat(1 << 20));
    let multiplied = "SELECT ?m { ?r jrpc:hasMethod ?m . ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }";
    let Answer::Table(table) = graphs::graph(long.as_bytes()).query(multiplied, &Stop::default()).unwrap()
    else {
        panic!("it selects")
    };
    assert_eq!((table.rows.len(), table.is_cut), (256, true));
    for (query, why) in [
        (
            "SELECT * { SERVICE SILENT <http://127.0.0.1:9/> { ?a ?b ?c } }",
            "the query is refused: SERVICE asks another server",
        ),
        ("SELECT * FROM <file:///etc/passwd> { ?a ?b ?c }", "the query is refused: FROM asks other graphs"),
        ("SELECT * { ?x foaf:name ?l }", "the prefix `foaf` is not declared"),
    ] {
        let error = graph.query(query, &Stop::default()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let one = graphs::graph(br#"{"jsonrpc":"2.0","id":1,"method":"x"}"#);
    assert_eq!(
        one.query("ASK { c:m1 jrpc:hasMethod \"x\" }", &Stop::default()).unwrap(),
        Answer::Truth(true)
    );
    assert!(graph.query("SELECT * { ?x rdfs:label ?l ; a owl:Class }", &Stop::default()).is_ok());
}
