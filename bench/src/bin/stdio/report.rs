//! The tables, the goals, and the same as JSON.

use serde_json::{Map, Value, json};

use crate::cores::{PLACEMENTS, Placement};
use crate::servers::{Kind, Speaks};
use crate::visit::{By, METRICS, Sample};
use crate::{Outcome, Row};

/// A server is compared with those that answer the same kind of call, in the same place.
pub(crate) struct Table<'a> {
    pub(crate) mcp: bool,
    pub(crate) placement: Placement,
    pub(crate) rows: Vec<&'a Row>,
}

pub(crate) fn tables(rows: &[Row]) -> Vec<Table<'_>> {
    let table = |mcp, placement| {
        let ours = |row: &&Row| (row.server.speaks == Speaks::Mcp) == mcp && row.placement == placement;
        Table { mcp, placement, rows: rows.iter().filter(ours).collect() }
    };
    [false, true].iter().flat_map(|mcp| PLACEMENTS.map(|placement| table(*mcp, placement))).collect()
}

impl Table<'_> {
    pub(crate) fn title(&self) -> String {
        let calls = if self.mcp { "MCP tools/call" } else { "Plain methods" };
        format!("{calls}, {}", self.placement.title())
    }

    fn floor(&self, by: usize) -> Option<f64> {
        self.rows.iter().find(|row| row.server.kind == Kind::Floor)?.value(by)
    }

    /// The best value of any complete peer, not always the same one's.
    fn best_peer(&self, by: usize) -> Option<f64> {
        let peers = self.rows.iter().filter(|row| row.server.kind == Kind::Complete);
        let values = peers.filter_map(|row| row.value(by));
        values.reduce(if METRICS[by].more_is_better { f64::max } else { f64::min })
    }

    pub(crate) fn print(&self) {
        println!("\n{}\n", self.title());
        print!("{:<24}", "");
        METRICS.iter().for_each(|metric| print!("{:>11}", metric.title));
        println!();
        self.print_rows(|by, value| format!("{value:.*}", METRICS[by].decimals));
        for row in &self.rows {
            match &row.outcome {
                Outcome::Measured(_) => (),
                Outcome::NotBuilt => println!("{:<24}   not built", row.server.name),
                Outcome::Failed(reason) => println!("{:<24}   failed: {reason}", row.server.name),
            }
        }
        println!("times the floor's");
        self.print_rows(|by, value| ratio(value, self.floor(by)));
        println!("times the best complete peer's");
        self.print_rows(|by, value| ratio(value, self.best_peer(by)));
    }

    fn print_rows(&self, cell: impl Fn(usize, f64) -> String) {
        for row in self.rows.iter().filter(|row| matches!(row.outcome, Outcome::Measured(_))) {
            print!("{:<24}", row.server.name);
            for by in 0..METRICS.len() {
                print!("{:>11}", row.value(by).map_or("–".into(), |value| cell(by, value)));
            }
            println!();
        }
    }
}

fn ratio(value: f64, to: Option<f64>) -> String {
    to.map_or("–".into(), |to| format!("{:.2}", value / to))
}

struct Goal {
    what: &'static str,
    value: Option<f64>,
    at_least: bool,
    limit: f64,
}

fn goals(plain: &Table<'_>) -> Vec<Goal> {
    let of = |name: &str, by: By| plain.rows.iter().find(|row| row.server.name == name)?.value(by as usize);
    let ours = |by| of("sabir demo", by);
    let floor = |by: By| plain.floor(by as usize);
    let times = |value: Option<f64>, to: Option<f64>| Some(value? / to?);
    let to_floor = |by| times(ours(by), floor(by));
    let late = || Some(ours(By::Start)? - floor(By::Start)?);
    let at_least = |what, value, limit| Goal { what, value, at_least: true, limit };
    let at_most = |what, value, limit| Goal { what, value, at_least: false, limit };
    let best_peer = plain.best_peer(By::Add as usize);
    vec![
        at_least("add/s, times the floor", to_floor(By::Add), 0.25),
        at_least("add/s, times the best complete peer", times(ours(By::Add), best_peer), 10.0),
        at_least(
            "add/s, times jsonrpsee's dispatch",
            times(ours(By::Add), of("jsonrpsee dispatch", By::Add)),
            4.0,
        ),
        at_most("CPU, µs a request", ours(By::Cpu), 0.35),
        at_most("ping-pong p50, times the floor", to_floor(By::P50), 1.15),
        at_least("batch of 100, times the floor", to_floor(By::Batch), 0.25),
        at_least("echo of 64 KiB, times the floor", to_floor(By::Echo64K), 0.5),
        at_least("echo of 1 MiB, times the floor", to_floor(By::Echo1M), 0.5),
        at_most("peak RSS, MiB", ours(By::Memory), 8.0),
        at_most("start, ms after the floor", late(), 5.0),
        at_least(
            "sabir blocking: add/s, times the floor",
            times(of("sabir blocking", By::Add), floor(By::Add)),
            0.35,
        ),
    ]
}

pub(crate) fn print_goals(tables: &[Table<'_>]) {
    for table in tables.iter().filter(|table| !table.mcp) {
        println!("\nGoals, {}\n", table.placement.title());
        goals(table).iter().for_each(Goal::print);
    }
}

impl Goal {
    fn print(&self) {
        let Goal { what, value, at_least, limit } = self;
        let (verdict, value) = match value {
            None => ("----", "not measured".into()),
            Some(value) if self.met(*value) => ("pass", format!("{value:.2}")),
            Some(value) => ("FAIL", format!("{value:.2}")),
        };
        println!("{verdict} {what}: {value}, goal {} {limit}", if *at_least { "≥" } else { "≤" });
    }

    fn met(&self, value: f64) -> bool {
        if self.at_least { value >= self.limit } else { value <= self.limit }
    }

    fn json(&self) -> Value {
        let limit = if self.at_least { "at_least" } else { "at_most" };
        json!({ "goal": self.what, "value": self.value, limit: self.limit })
    }
}

pub(crate) fn json(tables: &[Table<'_>]) -> Value {
    let table = |table: &Table<'_>| {
        let servers: Map<String, Value> =
            table.rows.iter().map(|row| (row.server.name.into(), row_json(row))).collect();
        let goals = if table.mcp { Vec::new() } else { goals(table) };
        let goals: Vec<Value> = goals.iter().map(Goal::json).collect();
        json!({ "title": table.title(), "servers": servers, "goals": goals })
    };
    tables.iter().map(table).collect()
}

fn row_json(row: &Row) -> Value {
    let object = |sample: &Sample| -> Map<String, Value> {
        METRICS.iter().enumerate().map(|(by, metric)| (metric.key.into(), json!(sample.get(by)))).collect()
    };
    match &row.outcome {
        Outcome::NotBuilt => json!({ "not_built": true }),
        Outcome::Failed(reason) => json!({ "failed": reason }),
        Outcome::Measured(samples) => json!({
            "median": object(&Sample::median(samples)),
            "rounds": samples.iter().map(object).collect::<Vec<_>>(),
        }),
    }
}
