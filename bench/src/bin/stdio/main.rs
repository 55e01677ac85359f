//! Stdio servers side by side: Sabir, its peers, and a floor that only moves bytes, visited in turn.
//!
//! Run with `bench/run stdio`; `ONLY=floor,sabir bench/run stdio` visits the servers whose names contain
//! one of these. It prints the tables and the goals, and writes `results/stdio.json` and
//! `results/stdio.svg`. It fails if a server answers wrongly, too little or too much.

mod child;
mod goals;
mod messages;
mod servers;
mod visit;

use std::process::ExitCode;

use sabir_bench::{Bars, Counts, Goal, Line, Outcome, PLACEMENTS, Placement, Table, write_results};
use servers::{SERVERS, Server, Speaks};
use visit::{By, METRICS, visit};

const ROUNDS: usize = 5;

struct Row {
    server: &'static Server,
    placement: Placement,
    outcome: Outcome,
}

fn main() -> std::io::Result<ExitCode> {
    let only = std::env::var("ONLY").unwrap_or_default();
    let wanted = |server: &&Server| only.split(',').any(|part| server.name.contains(part));
    let row = |server: &'static Server, placement| {
        let outcome = Outcome::new(server.command[0]);
        Row { server, placement, outcome }
    };
    let placed = |server| PLACEMENTS.map(|placement| row(server, placement));
    let mut rows: Vec<Row> = SERVERS.iter().filter(wanted).flat_map(placed).collect();
    for round in 1..=ROUNDS {
        eprintln!("round {round} of {ROUNDS}");
        for Row { server, placement, outcome } in &mut rows {
            outcome.add(|| visit(server, *placement));
        }
    }
    println!("Medians of {ROUNDS} rounds. Echo in MB/s; CPU, gen (the generator's CPU) per pipelined add.");
    let tables = tables(&rows);
    tables.iter().for_each(|(table, _)| table.print());
    for (table, goals) in tables.iter().filter(|(_, goals)| !goals.is_empty()) {
        println!("\nGoals. {}\n", table.title);
        goals.iter().for_each(Goal::print);
    }
    let title = |table: &Table<'_>| format!("Calls a second, pipelined. {}", table.title);
    let bars = |table| Bars { title: title(table), table, by: By::Add as usize };
    let charts: Vec<Bars<'_>> = tables.iter().map(|(table, _)| bars(table)).collect();
    write_results("stdio", &tables, &charts)?;
    let failed = rows.iter().any(|row| matches!(row.outcome, Outcome::Failed(_)));
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// A server is compared with those that answer the same kind of call, in the same place.
fn tables<'a>(rows: &'a [Row]) -> Vec<(Table<'a>, Vec<Goal>)> {
    let table = |mcp, placement: Placement| {
        let calls = if mcp { "MCP tools/call" } else { "Plain methods" };
        let here = |row: &&Row| (row.server.speaks == Speaks::Mcp) == mcp && row.placement == placement;
        let line = |row: &'a Row| {
            let Row { server, outcome, .. } = row;
            Line { name: server.name, kind: server.kind, outcome }
        };
        let lines = rows.iter().filter(here).map(line).collect();
        let table = Table {
            title: format!("{calls}, {}", placement.title()),
            metrics: &METRICS,
            counts: Counts::Median,
            lines,
        };
        let goals = if mcp { Vec::new() } else { goals::goals(&table) };
        (table, goals)
    };
    [false, true].iter().flat_map(|mcp| PLACEMENTS.map(|placement| table(*mcp, placement))).collect()
}
