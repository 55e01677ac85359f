//! Servers on the network side by side: Sabir on one port, its peers, and a floor that only
//! moves bytes, measured in turn. All of it stays on this machine.
//!
//! Run with `bench/run net`; `ONLY=lines,sabir bench/run net` measures only the servers whose names contain one
//! of these. It prints the tables and the goals, and writes `results/net.json` and `results/net.svg`. It
//! fails if a server answers wrongly, too little or too much.

mod connection;
mod goals;
mod load;
mod mcp;
mod measure;
mod protocol;
mod servers;
mod service;

use std::io;
use std::process::ExitCode;

use measure::{By, METRICS, measure};
use protocol::Speaks;
use sabir_bench::{Bars, Goal, Line, PLACEMENTS, Placement, Table, measure_all, report};
use servers::{SERVERS, Server};

const ROUNDS: usize = 15;

type Row = sabir_bench::Row<Server>;

fn main() -> io::Result<ExitCode> {
    let rows = measure_all(ROUNDS, SERVERS, |server| &server.program, measure);
    println!("The best of {ROUNDS} rounds. The CPU µs after a rate are the server's for one of these calls.");
    let tables = tables(&rows);
    report("net", &tables, &charts(&tables))
}

/// A server is compared with those that speak the same, in the same place.
fn tables<'a>(rows: &'a [Row]) -> Vec<(Table<'a>, Vec<Goal>)> {
    let table = |speaks: Speaks, placement: Placement| {
        let here = |row: &&Row| row.server.speaks == speaks && row.placement == placement;
        let lines: Vec<Line<'_>> = rows.iter().filter(here).map(Row::line).collect();
        let title = format!("{}, {}", speaks.title(), placement.title());
        let table = Table { title, metrics: &METRICS, lines };
        let goals = goals::goals(speaks, &table);
        (!table.lines.is_empty()).then_some((table, goals))
    };
    let all = [Speaks::Http, Speaks::WebSocket, Speaks::Lines, Speaks::McpSession, Speaks::McpStateless];
    all.iter().flat_map(|speaks| PLACEMENTS.map(|placement| table(*speaks, placement))).flatten().collect()
}

fn charts<'a>(tables: &'a [(Table<'a>, Vec<Goal>)]) -> Vec<Bars<'a>> {
    let calls = |table: &'a Table<'a>| {
        let piped = table.lines.iter().any(|line| table.value(line, By::Piped as usize).is_some());
        let (what, by) = if piped {
            ("one connection, pipelined", By::Piped)
        } else {
            ("32 connections, one call at a time on each", By::Many)
        };
        Bars { title: format!("Calls a second, {what}. {}", table.title), table, by: by as usize }
    };
    let idle = |table: &'a Table<'a>| Bars {
        title: format!("Bytes for an idle connection. {}", table.title),
        table,
        by: By::Idle as usize,
    };
    // Where the server runs makes no difference to what it keeps.
    let rates = tables.iter().map(|(table, _)| calls(table));
    rates.chain(tables.iter().step_by(PLACEMENTS.len()).map(|(table, _)| idle(table))).collect()
}
