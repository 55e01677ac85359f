//! How long it takes to load captured traffic for queries, and in how much memory.
//!
//! Run with `cargo run --profile dist -p sabir-model --features graph,schemas --example graph_speed -- [MESSAGES]`. The traffic is
//! a session of MCP that is made up while it is read: calls of tools, and their answers.

#![allow(clippy::print_stdout)]

use std::convert::Infallible;
use std::error::Error;
use std::io::{self, Read};
use std::time::Instant;

use sabir_model::capture::Reader;
use sabir_model::files::QUERIES;
use sabir_model::graph::{Answer, GraphBuilder, GraphMapper, Stop, Syntax, Writer};

fn main() -> Result<(), Box<dyn Error>> {
    let messages: u64 = std::env::args().nth(1).as_deref().unwrap_or("1000000").parse()?;
    let start = Instant::now();
    let mut writer = Writer::new(io::sink(), Syntax::NTriples, "urn:example:speed#");
    read(messages, |mapper, record| mapper.handle(record, |node| writer.write(node)))?;
    println!("{messages} messages written as N-Triples in {:.1} s", start.elapsed().as_secs_f64());

    let start = Instant::now();
    let mut builder = GraphBuilder::new("urn:example:speed#");
    read(messages, |mapper, record| {
        mapper.handle(record, |node| {
            builder.add(node);
            Ok::<(), Infallible>(())
        })
    })?;
    let graph = builder.build();
    let (time, facts) = (start.elapsed().as_secs_f64(), graph.len());
    println!("loaded for queries in {time:.1} s: {facts} facts, {}", peak_memory());
    for query in QUERIES {
        let start = Instant::now();
        let rows = match graph.query(query.text, &Stop::default()) {
            Ok(Answer::Table(table)) => format!("{} rows", table.rows.len()),
            Ok(_) => "no table".to_owned(),
            Err(error) => error.to_string(),
        };
        println!("{:<20} {:.1} s, {rows}", query.name, start.elapsed().as_secs_f64());
    }
    println!("{}", peak_memory());
    Ok(())
}

/// Gives every record of the traffic to `handle`.
fn read<E: Error + 'static>(
    messages: u64,
    mut handle: impl FnMut(&mut GraphMapper, &sabir_model::capture::Record<'_>) -> Result<(), E>,
) -> Result<(), Box<dyn Error>> {
    let mut reader = Reader::new(Traffic { messages, ..Traffic::default() })?;
    let mut mapper = GraphMapper::new();
    while let Some(record) = reader.next()? {
        handle(&mut mapper, &record)?;
    }
    Ok(())
}

/// A capture that is made up as it is read.
#[derive(Default)]
struct Traffic {
    messages: u64,
    made: u64,
    text: String,
    at: usize,
}

impl Traffic {
    fn next(&mut self) {
        let n = self.made;
        self.made += 1;
        let (id, time) = (n / 2, n * 100_000);
        let (direction, message) = match n {
            0 => {
                self.text =
                    "{\"jrl\":1,\"at\":\"2026-11-17T12:00:00.000Z\",\"profile\":\"mcp\"}\n".to_owned();
                (">", r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#.to_owned())
            }
            1 => {
                let tool = |i| {
                    format!(r#"{{"name":"tool{i}","inputSchema":{{"type":"object","required":["line"]}}}}"#)
                };
                let tools: Vec<_> = (0..20).map(tool).collect();
                ("<", format!(r#"{{"jsonrpc":"2.0","id":0,"result":{{"tools":[{}]}}}}"#, tools.join(",")))
            }
            n if n % 2 == 0 => (
                ">",
                format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"tool{}","arguments":{{"line":{}}}}}}}"#,
                    id % 19,
                    id % 5000
                ),
            ),
            _ => (
                "<",
                format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"line {}"}}],"isError":{}}}}}"#,
                    id % 5000,
                    id % 50 == 0
                ),
            ),
        };
        self.text +=
            &format!("{{\"n\":{},\"t\":{time},\"d\":\"{direction}\",\"c\":1,\"msg\":{message}}}\n", n + 1);
    }
}

impl Read for Traffic {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.text.len() && self.made < self.messages {
            self.text.clear();
            self.at = 0;
            self.next();
        }
        let count = buffer.len().min(self.text.len() - self.at);
        buffer[..count].copy_from_slice(&self.text.as_bytes()[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// As Linux tells it.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "peak memory unknown".to_owned(), |line| format!("peak memory {}", line.trim()))
}
