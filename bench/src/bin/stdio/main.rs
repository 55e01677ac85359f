//! Stdio servers side by side: Sabir, its peers, and a floor that only moves bytes, measured in turn.
//!
//! Run with `bench/run stdio`; `ONLY=floor,sabir bench/run stdio` measures only the servers whose names contain
//! one of these. It prints the tables and the goals, and writes `results/stdio.json` and
//! `results/stdio.svg`. It fails if a server answers wrongly, too little or too much.

mod goals;
mod measure;
mod messages;
mod servers;

use std::io;
use std::process::ExitCode;

use measure::{By, METRICS, measure};
use sabir_bench::{Bars, Goal, PLACEMENTS, Placement, Table, measure_all, report};
use servers::{SERVERS, Server, Speaks};

const ROUNDS: usize = 15;

type Row = sabir_bench::Row<Server>;

fn main() -> io::Result<ExitCode> {
    let rows = measure_all(ROUNDS, SERVERS, |server| &server.program, measure);
    println!("The best of {ROUNDS} rounds: what else runs only ever adds time.");
    println!("Echo in MB/s; CPU, gen (the generator's CPU) per pipelined add.");
    let tables = tables(&rows);
    let title = |table: &Table<'_>| format!("Calls a second, pipelined. {}", table.title);
    let bars = |table| Bars { title: title(table), table, by: By::Add as usize };
    let charts: Vec<Bars<'_>> = tables.iter().map(|(table, _)| bars(table)).collect();
    report("stdio", &tables, &charts)
}

/// A server is compared with those that answer the same kind of call, in the same place.
fn tables(rows: &[Row]) -> Vec<(Table<'_>, Vec<Goal>)> {
    type Goals = fn(&Table<'_>) -> Vec<Goal>;
    let kinds: [(&str, &[Speaks], Goals); 3] = [
        ("Plain methods", &[Speaks::Lines, Speaks::Lsp], goals::methods),
        ("MCP tools/call", &[Speaks::Mcp], goals::tools),
        ("LSP textDocument/hover", &[Speaks::Words], goals::hovers),
    ];
    let table = |(calls, speaks, goals): (&str, &[Speaks], Goals), placement: Placement| {
        let here = |row: &&Row| speaks.contains(&row.server.speaks) && row.placement == placement;
        let table = Table {
            title: format!("{calls}, {}", placement.title()),
            metrics: &METRICS,
            lines: rows.iter().filter(here).map(Row::line).collect(),
        };
        let goals = goals(&table);
        (!table.lines.is_empty()).then_some((table, goals))
    };
    kinds.into_iter().flat_map(|kind| PLACEMENTS.map(|placement| table(kind, placement))).flatten().collect()
}
