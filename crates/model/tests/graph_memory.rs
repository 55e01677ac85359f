//! Captures that make what is kept while mapping grow: it has a bound, and the graph says what is forgotten for it.

#![allow(clippy::unwrap_used)]

mod counting;
mod graphs;

use std::io::{self, Read};

use graphs::{graph, table};
use sabir_model::capture::Reader;
use sabir_model::graph::{GraphMapper, Picture, Stop, Syntax, Writer, picture};

const MIB: usize = 1 << 20;
/// What may be kept, whatever comes.
const MOST: usize = 24 * MIB;

/// A capture that is made up line by line, so that it takes no memory itself.
struct Lines<F> {
    next: F,
    number: usize,
    count: usize,
    line: Vec<u8>,
    at: usize,
}

impl<F: FnMut(usize) -> String> Read for Lines<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.line.len() && self.number < self.count {
            self.line = (self.next)(self.number).into_bytes();
            self.line.push(b'\n');
            self.number += 1;
            self.at = 0;
        }
        let count = buffer.len().min(self.line.len() - self.at);
        buffer[..count].copy_from_slice(&self.line[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// Maps so many lines, and writes the graph to nowhere.
fn check(what: &str, count: usize, next: impl FnMut(usize) -> String) {
    let peak = counting::peak(|| {
        let lines = Lines { next, number: 0, count, line: Vec::new(), at: 0 };
        let mut reader = Reader::new(lines).unwrap();
        let (mut mapper, mut writer) =
            (GraphMapper::new(), Writer::new(io::sink(), Syntax::NTriples, "urn:example:session#"));
        while let Some(record) = reader.next().unwrap() {
            mapper.handle(&record, |node| writer.write(node)).unwrap();
        }
    });
    assert!(peak < MOST, "{what}: {} KiB", peak >> 10);
}

#[test]
fn what_is_kept_has_a_bound() {
    let id = |n: usize| format!("{n:a>200}");
    check("requests that nobody answers", 60_000, |n| {
        format!(r#"> {{"jsonrpc":"2.0","id":"{}","method":"x"}}"#, id(n))
    });
    check("an id that is always in flight", 120_000, |_| {
        r#"> {"jsonrpc":"2.0","id":1,"method":"x"}"#.to_owned()
    });
    check("traces that never end", 60_000, |n| {
        let meta = format!(r#"{{"traceparent":"00-{:032x}-00f067aa0ba902b7-01"}}"#, n + 1);
        format!(r#"> {{"jsonrpc":"2.0","id":{n},"method":"x","params":{{"_meta":{meta}}}}}"#)
    });
    check("sessions that never end", 30_000, |n| match n {
        0 => r#"{"jrl":1}"#.to_owned(),
        n => format!(r#"{{"n":{n},"t":{n},"c":{n},"d":">","msg":{{"jsonrpc":"2.0","id":1,"method":"x"}}}}"#),
    });
    check("ids and tokens that are long", 800, |n| {
        let long = format!("{n:a>50000}");
        format!(r#"> {{"jsonrpc":"2.0","id":"{long}","method":"x","params":{{"workDoneToken":"{long}"}}}}"#)
    });
    check("tools with long names", 800, |n| {
        let long = format!("{n:a>50000}");
        format!(r#"> {{"jsonrpc":"2.0","id":{n},"method":"tools/call","params":{{"name":"{long}"}}}}"#)
    });
    check("tasks that never end", 60_000, |n| match n % 2 {
        0 => format!(r#"> {{"jsonrpc":"2.0","id":{n},"method":"tools/call","params":{{"name":"t"}}}}"#),
        _ => {
            let task = format!("{n:a>200}");
            format!(
                r#"< {{"jsonrpc":"2.0","id":{},"result":{{"resultType":"task","taskId":"{task}"}}}}"#,
                n - 1
            )
        }
    });
    let questions = || {
        let one = |key: usize| format!(r#""{key:a>200}":{{"method":"elicitation/create","params":{{}}}}"#);
        (0..16).map(one).collect::<Vec<_>>().join(",")
    };
    check("answers that ask for input, with which nobody goes on", 8000, |n| match n % 2 {
        0 => format!(r#"> {{"jsonrpc":"2.0","id":{n},"method":"tools/call","params":{{"name":"t"}}}}"#),
        _ => {
            let asks = format!(r#""resultType":"input_required","inputRequests":{{{}}}"#, questions());
            format!(r#"< {{"jsonrpc":"2.0","id":{},"result":{{{asks}}}}}"#, n - 1)
        }
    });
    check("resources of many sessions", 60, |n| match n {
        0 => r#"{"jrl":1,"profile":"mcp"}"#.to_owned(),
        n if n % 2 == 1 => {
            format!(
                r#"{{"n":{n},"t":1,"c":{n},"d":">","msg":{{"jsonrpc":"2.0","id":1,"method":"resources/list"}}}}"#
            )
        }
        n => {
            let all: Vec<_> = (0..4500).map(|i| format!(r#"{{"uri":"{i:a>80}","name":""}}"#)).collect();
            format!(
                r#"{{"n":{n},"t":1,"c":{},"d":"<","msg":{{"jsonrpc":"2.0","id":1,"result":{{"resources":[{}]}}}}}}"#,
                n - 1,
                all.join(",")
            )
        }
    });
}

/// What is drawn is a few hundred messages, or sums: no picture takes memory for each message.
#[test]
fn a_picture_of_many_messages_takes_little_memory() {
    let mut capture = "{\"jrl\":1,\"at\":\"2026-01-01T00:00:00Z\",\"profile\":\"mcp\"}\n".to_owned();
    for n in 0..8_000_u64 {
        let at = n * 1_000_000;
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":{n},"method":"tools/call","params":{{"name":"t{}"}}}}"#,
            n % 50
        );
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{n},"result":{{"content":[]}}}}"#);
        for (line, way, message) in [(2 * n, ">", call), (2 * n + 1, "<", answer)] {
            capture += &format!("{{\"n\":{line},\"t\":{at},\"c\":1,\"d\":\"{way}\",\"msg\":{message}}}\n");
        }
    }
    let graph = graph(capture.as_bytes());
    for (what, note) in
        [(Picture::Sequence, "only the first 500 of 16000 messages are shown"), (Picture::Calls, "tool t49")]
    {
        let mut drawn = String::new();
        let peak = counting::peak(|| drawn = picture(&graph, what, &Stop::default()).unwrap());
        assert!(drawn.contains(note), "{drawn}");
        assert!(peak < MIB, "{what:?}: {} KiB", peak >> 10);
    }
}

/// A request that was in flight when too many were is not said to be unanswered, and its late answer is not linked.
#[test]
fn what_is_forgotten_is_said() {
    const COUNT: usize = 16_385;
    let mut capture: String =
        (1..=COUNT).map(|n| format!("> {{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":\"x\"}}\n")).collect();
    for n in 1..=COUNT {
        capture += &format!("< {{\"jsonrpc\":\"2.0\",\"id\":{n},\"result\":0}}\n");
    }
    let count =
        |pattern: &str| table(&capture, &format!("SELECT (COUNT(?x) AS ?count) {{ {pattern} }}"))[0].clone();
    assert_eq!(count("?x rpcx:isForgotten true"), "8192");
    assert_eq!(count("?x rpcx:answers ?request"), "8193");
    assert!(table(&capture, "unanswered-requests").is_empty());
    let long = format!("> {{\"jsonrpc\":\"2.0\",\"id\":\"{}\",\"method\":\"x\"}}\n", "a".repeat(300));
    assert_eq!(table(&long, "SELECT ?x { ?x rpcx:isForgotten true }").len(), 1);
}
