//! What `sabir tap` costs: the same server by itself and behind it, measured in turn.
//!
//! Run with `bench/run tap`; `ONLY=record bench/run tap` measures only those whose names contain the word. It prints the
//! tables and the goals, and writes `results/tap.json` and `results/tap.svg`. It fails if an answer is wrong, or missing.

mod measure;
mod page;
mod servers;

use std::io;
use std::process::ExitCode;

use measure::{By, METRICS, measure};
use sabir_bench::{Bars, Goal, PLACEMENTS, Placement, Table, measure_all, report};
use servers::{SERVERS, Server, Way};

const ROUNDS: usize = 15;

type Row = sabir_bench::Row<Server>;

fn main() -> io::Result<ExitCode> {
    let rows = measure_all(ROUNDS, SERVERS, |server| &server.program, measure);
    println!("The best of {ROUNDS} rounds: what else runs only ever adds time.");
    println!(
        "CPU is that of the tap (or, without it, of the server) alone. 64 KiB: echoes, 1 MiB: one way, both in MB/s."
    );
    let tables = tables(&rows);
    let title = |table: &Table<'_>| format!("Calls a second, pipelined. {}", table.title);
    let bars = |table| Bars { title: title(table), table, by: By::Add as usize };
    let charts: Vec<Bars<'_>> = tables.iter().map(|(table, _)| bars(table)).collect();
    report("tap", &tables, &charts)
}

fn tables(rows: &[Row]) -> Vec<(Table<'_>, Vec<Goal>)> {
    let ways = [(Way::Pipes, "Pipes"), (Way::Tcp, "TCP")];
    let table = |(way, name): (Way, &str), placement: Placement| {
        let here = |row: &&Row| row.server.way == way && row.placement == placement;
        let table = Table {
            title: format!("{name}, {}", placement.title()),
            metrics: &METRICS,
            lines: rows.iter().filter(here).map(Row::line).collect(),
        };
        let goals = goals(&table, way, placement);
        (!table.lines.is_empty()).then_some((table, goals))
    };
    ways.into_iter().flat_map(|way| PLACEMENTS.map(|placement| table(way, placement))).flatten().collect()
}

fn goals(table: &Table<'_>, way: Way, placement: Placement) -> Vec<Goal> {
    let of = |name: &str, by: By| table.value_of(name, by as usize);
    match way {
        Way::Pipes => {
            let with = of("tap --record", By::P50);
            let added = with.zip(table.floor(By::P50 as usize)).map(|(with, without)| with - without);
            let added = Goal::at_most(20.0, "tap --record: p50, µs more than without", added);
            let rate = Goal::at_least(5e5, "tap --record: add/s", of("tap --record", By::Add));
            if placement == Placement::Apart { vec![added, rate] } else { vec![rate] }
        }
        Way::Tcp => {
            let rate = of("tap --record, TCP", By::OneWay);
            vec![Goal::at_least(1000.0, "tap --record: messages of 1 MiB, MB/s", rate)]
        }
    }
}
