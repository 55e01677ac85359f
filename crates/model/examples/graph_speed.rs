//! How long it takes to load a capture for queries, in how much memory, and what the named queries take.
//!
//! Run with `cargo run --profile dist -p sabir-model --features graph,schemas --example graph_speed -- FILE`; the example
//! `mcp_capture` writes one. `bench/run captures` does both.

#![allow(clippy::print_stdout)]

use std::convert::Infallible;
use std::error::Error;
use std::fs::File;
use std::io;
use std::time::Instant;

use sabir_model::capture::{Reader, Record};
use sabir_model::files::QUERIES;
use sabir_model::graph::{Answer, GraphBuilder, GraphMapper, Picture, Stop, Syntax, Writer, picture};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("which FILE?")?;
    let start = Instant::now();
    let mut writer = Writer::new(io::sink(), Syntax::NTriples, "urn:example:speed#");
    let messages = read(&path, |mapper, record| mapper.handle(record, |node| writer.write(node)))?;
    let (time, memory) = (start.elapsed().as_secs_f64(), peak_memory());
    println!("{messages} records written as N-Triples in {time:.1} s, {memory}");

    let start = Instant::now();
    let mut builder = GraphBuilder::new("urn:example:speed#");
    read(&path, |mapper, record| {
        mapper.handle(record, |node| {
            builder.add(node);
            Ok::<(), Infallible>(())
        })
    })?;
    let graph = builder.build();
    let (time, facts) = (start.elapsed().as_secs_f64(), graph.len());
    let each = facts as f64 / messages as f64;
    println!(
        "loaded for queries in {time:.1} s: {facts} facts, {each:.1} for each record, {}",
        peak_memory()
    );
    for query in QUERIES {
        let start = Instant::now();
        let rows = match graph.query(query.text, &Stop::default()) {
            Ok(Answer::Table(table)) => format!("{} rows", table.rows.len()),
            Ok(_) => "no table".to_owned(),
            Err(error) => error.to_string(),
        };
        println!("{:<20} {:.1} s, {rows}", query.name, start.elapsed().as_secs_f64());
    }
    for (name, what) in [("picture: sequence", Picture::Sequence), ("picture: calls", Picture::Calls)] {
        let start = Instant::now();
        let size = match picture(&graph, what, &Stop::default()) {
            Ok(svg) => format!("{} kB", svg.len() / 1000),
            Err(error) => error.to_string(),
        };
        println!("{name:<20} {:.1} s, {size}", start.elapsed().as_secs_f64());
    }
    println!("{}", peak_memory());
    Ok(())
}

/// Gives every record of a capture to `handle`, and says how many there are.
fn read<E: Error + 'static>(
    path: &str,
    mut handle: impl FnMut(&mut GraphMapper, &Record<'_>) -> Result<(), E>,
) -> Result<u64, Box<dyn Error>> {
    let mut reader = Reader::new(File::open(path)?)?;
    let mut mapper = GraphMapper::new();
    let mut count = 0;
    while let Some(record) = reader.next()? {
        handle(&mut mapper, &record)?;
        count += 1;
    }
    Ok(count)
}

/// As Linux tells it.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "peak memory unknown".to_owned(), |line| format!("peak memory {}", line.trim()))
}
