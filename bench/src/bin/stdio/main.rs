//! Stdio servers side by side: Sabir, its peers, and a floor that only moves bytes, visited in turn.
//!
//! Run with `bench/run stdio`; `ONLY=floor,sabir bench/run stdio` visits the servers whose names contain
//! one of these. It prints the tables and the goals, and writes `results/stdio.json` and
//! `results/stdio.svg`. It fails if a server answers wrongly, too little or too much.

mod chart;
mod child;
mod cores;
mod messages;
mod report;
mod servers;
mod visit;

use std::path::Path;
use std::process::ExitCode;

use cores::{PLACEMENTS, Placement};
use servers::{SERVERS, Server};
use visit::Sample;

const ROUNDS: usize = 5;

struct Row {
    server: &'static Server,
    placement: Placement,
    outcome: Outcome,
}

enum Outcome {
    NotBuilt,
    Failed(String),
    /// A sample from each round.
    Measured(Vec<Sample>),
}

impl Row {
    fn new(server: &'static Server, placement: Placement) -> Row {
        let built = Path::new(server.command[0]).exists();
        let outcome = if built { Outcome::Measured(Vec::new()) } else { Outcome::NotBuilt };
        Row { server, placement, outcome }
    }

    /// A server that failed once is not visited again.
    fn visit(&mut self) {
        if let Outcome::Measured(samples) = &mut self.outcome {
            match visit::visit(self.server, self.placement) {
                Ok(sample) => samples.push(sample),
                Err(e) => self.outcome = Outcome::Failed(e.to_string()),
            }
        }
    }

    /// The median over the rounds.
    fn value(&self, by: usize) -> Option<f64> {
        match &self.outcome {
            Outcome::Measured(samples) => Sample::median(samples).get(by),
            _ => None,
        }
    }
}

fn main() -> std::io::Result<ExitCode> {
    let only = std::env::var("ONLY").unwrap_or_default();
    let wanted = |server: &&Server| only.split(',').any(|part| server.name.contains(part));
    let placed = |server| PLACEMENTS.map(|placement| Row::new(server, placement));
    let mut rows: Vec<Row> = SERVERS.iter().filter(wanted).flat_map(placed).collect();
    for round in 1..=ROUNDS {
        eprintln!("round {round} of {ROUNDS}");
        rows.iter_mut().for_each(Row::visit);
    }
    println!("Medians of {ROUNDS} rounds. Echo in MB/s; CPU, gen (the generator's CPU) per pipelined add.");
    let tables = report::tables(&rows);
    tables.iter().for_each(report::Table::print);
    report::print_goals(&tables);
    std::fs::create_dir_all("results")?;
    std::fs::write("results/stdio.json", serde_json::to_string_pretty(&report::json(&tables))? + "\n")?;
    std::fs::write("results/stdio.svg", chart::svg(&tables))?;
    let failed = rows.iter().any(|row| matches!(row.outcome, Outcome::Failed(_)));
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
