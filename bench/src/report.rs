//! The tables, the goals, and the same as JSON.

use std::fs;
use std::io;

use serde_json::{Map, Value, json};

use crate::chart::{Bars, svg};
use crate::sample::{Metric, Outcome, Sample};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Moves bytes only: its answers are counted and not looked at.
    Floor,
    ByHand,
    /// A library's dispatch in a loop of our own: less than a library's server does.
    Dispatch,
    /// A library that brings its own server: what we compare ourselves with.
    Complete,
    Ours,
}

/// Servers that answer the same kind of call, in the same place.
pub struct Table<'a> {
    pub title: String,
    pub metrics: &'static [Metric],
    pub lines: Vec<Line<'a>>,
}

pub struct Line<'a> {
    pub name: &'static str,
    pub kind: Kind,
    pub(crate) outcome: &'a Outcome,
}

impl Table<'_> {
    pub fn value(&self, line: &Line<'_>, by: usize) -> Option<f64> {
        line.outcome.best(by, self.metrics[by].more_is_better)
    }

    pub fn value_of(&self, name: &str, by: usize) -> Option<f64> {
        self.value(self.lines.iter().find(|line| line.name == name)?, by)
    }

    pub fn floor(&self, by: usize) -> Option<f64> {
        self.value(self.lines.iter().find(|line| line.kind == Kind::Floor)?, by)
    }

    /// The best value of any complete peer, not always the same one's.
    pub fn best_peer(&self, by: usize) -> Option<f64> {
        self.best(&[Kind::Complete], by)
    }

    pub fn best(&self, kinds: &[Kind], by: usize) -> Option<f64> {
        let lines = self.lines.iter().filter(|line| kinds.contains(&line.kind));
        let values = lines.filter_map(|line| self.value(line, by));
        values.reduce(if self.metrics[by].more_is_better { f64::max } else { f64::min })
    }

    pub fn print(&self) {
        println!("\n{}\n", self.title);
        print!("{:<24}", "");
        self.measured().for_each(|by| print!("{:>11}", self.metrics[by].title));
        println!();
        self.print_lines(|by, value| format!("{value:.*}", self.metrics[by].decimals));
        for line in &self.lines {
            match line.outcome {
                Outcome::Measured(_) => (),
                Outcome::NotBuilt => println!("{:<24}   not built", line.name),
                Outcome::Failed(reason) => println!("{:<24}   failed: {reason}", line.name),
            }
        }
        let has = |kind| self.lines.iter().any(|line| line.kind == kind);
        if has(Kind::Floor) {
            println!("times the floor's");
            self.print_lines(|by, value| ratio(value, self.floor(by)));
        }
        if has(Kind::Complete) {
            println!("times the best complete peer's");
            self.print_lines(|by, value| ratio(value, self.best_peer(by)));
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.lines.iter().any(|line| matches!(line.outcome, Outcome::Failed(_)))
    }

    /// The metrics that any of the servers has.
    fn measured(&self) -> impl Iterator<Item = usize> {
        let has = |by: &usize| self.lines.iter().any(|line| self.value(line, *by).is_some());
        (0..self.metrics.len()).filter(has)
    }

    fn print_lines(&self, cell: impl Fn(usize, f64) -> String) {
        for line in self.lines.iter().filter(|line| matches!(line.outcome, Outcome::Measured(_))) {
            print!("{:<24}", line.name);
            for by in self.measured() {
                print!("{:>11}", self.value(line, by).map_or("–".into(), |value| cell(by, value)));
            }
            println!();
        }
    }

    fn json(&self, goals: &[Goal]) -> Value {
        let line = |line: &Line<'_>| (line.name.into(), self.line_json(line));
        let servers: Map<String, Value> = self.lines.iter().map(line).collect();
        let goals: Vec<Value> = goals.iter().map(Goal::json).collect();
        json!({ "title": self.title, "servers": servers, "goals": goals })
    }

    fn line_json(&self, line: &Line<'_>) -> Value {
        let object = |value: &dyn Fn(usize) -> Option<f64>| -> Map<String, Value> {
            let metrics = self.metrics.iter().enumerate();
            metrics.map(|(by, metric)| (metric.key.into(), json!(value(by)))).collect()
        };
        let round = |sample: &Sample| object(&|by| sample.get(by));
        match line.outcome {
            Outcome::NotBuilt => json!({ "not_built": true }),
            Outcome::Failed(reason) => json!({ "failed": reason }),
            Outcome::Measured(samples) => json!({
                "best": object(&|by| self.value(line, by)),
                "rounds": samples.iter().map(round).collect::<Vec<_>>(),
            }),
        }
    }
}

fn ratio(value: f64, to: Option<f64>) -> String {
    to.map_or("–".into(), |to| format!("{:.2}", value / to))
}

pub struct Goal {
    what: &'static str,
    value: Option<f64>,
    at_least: bool,
    limit: f64,
}

impl Goal {
    pub fn at_least(limit: f64, what: &'static str, value: Option<f64>) -> Goal {
        Goal { what, value, at_least: true, limit }
    }

    pub fn at_most(limit: f64, what: &'static str, value: Option<f64>) -> Goal {
        Goal { what, value, at_least: false, limit }
    }

    pub fn print(&self) {
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

/// Writes `results/<name>.json` and `results/<name>.svg`.
pub(crate) fn write_results(
    name: &str,
    tables: &[(Table<'_>, Vec<Goal>)],
    charts: &[Bars<'_>],
) -> io::Result<()> {
    let json: Value = tables.iter().map(|(table, goals)| table.json(goals)).collect();
    fs::create_dir_all("results")?;
    fs::write(format!("results/{name}.json"), serde_json::to_string_pretty(&json)? + "\n")?;
    fs::write(format!("results/{name}.svg"), svg(charts))
}
