//! A run: measures every server in every placement, round after round, and reports the results.

use std::io;
use std::process::ExitCode;

use crate::chart::Bars;
use crate::cores::{PLACEMENTS, Placement};
use crate::report::{Goal, Kind, Line, Table, write_results};
use crate::sample::{Outcome, Sample};

/// What all benchmarks know of a server.
pub struct Program {
    pub name: &'static str,
    /// As seen from `bench/`, with its arguments.
    pub command: &'static [&'static str],
    pub kind: Kind,
}

/// A server in one placement.
pub struct Row<S: 'static> {
    pub server: &'static S,
    pub placement: Placement,
    program: &'static Program,
    outcome: Outcome,
}

impl<S> Row<S> {
    pub fn line(&self) -> Line<'_> {
        Line { name: self.program.name, kind: self.program.kind, outcome: &self.outcome }
    }
}

/// Measures the servers whose names contain one of the words in the variable `ONLY`. They take turns, so noise
/// on the machine affects all of them.
pub fn measure_all<S>(
    rounds: usize,
    servers: &'static [S],
    program: impl Fn(&'static S) -> &'static Program,
    measure: impl Fn(&'static S, Placement) -> io::Result<Sample>,
) -> Vec<Row<S>> {
    let only = std::env::var("ONLY").unwrap_or_default();
    let wanted = |server: &&'static S| only.split(',').any(|part| program(server).name.contains(part));
    let placed = |server: &'static S| {
        PLACEMENTS.map(|placement| {
            let program = program(server);
            Row { server, placement, program, outcome: Outcome::new(program.command[0]) }
        })
    };
    let mut rows: Vec<Row<S>> = servers.iter().filter(wanted).flat_map(placed).collect();
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        for row in &mut rows {
            row.outcome.add(|| measure(row.server, row.placement));
        }
    }
    rows
}

/// Prints tables and goals and writes them to files. A run in which a server failed has failed.
pub fn report(name: &str, tables: &[(Table<'_>, Vec<Goal>)], charts: &[Bars<'_>]) -> io::Result<ExitCode> {
    tables.iter().for_each(|(table, _)| table.print());
    for (table, goals) in tables {
        println!("\nGoals. {}\n", table.title);
        goals.iter().for_each(Goal::print);
    }
    write_results(name, tables, charts)?;
    let failed = tables.iter().any(|(table, _)| table.has_failed());
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
