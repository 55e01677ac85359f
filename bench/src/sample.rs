//! The figures of one round, and the best over several rounds.

use std::io;
use std::path::Path;
use std::time::Duration;

pub struct Metric {
    /// In the JSON report.
    pub key: &'static str,
    /// In the table.
    pub title: &'static str,
    pub decimals: usize,
    pub more_is_better: bool,
}

pub const fn metric(key: &'static str, title: &'static str, decimals: usize, more_is_better: bool) -> Metric {
    Metric { key, title, decimals, more_is_better }
}

/// A value for each metric, by its place in the list of them. None where the server has no such thing.
#[derive(Clone, Default)]
pub struct Sample(Vec<Option<f64>>);

impl Sample {
    pub fn get(&self, by: usize) -> Option<f64> {
        self.0.get(by).copied().flatten()
    }

    pub fn set(&mut self, by: usize, value: f64) {
        if self.0.len() <= by {
            self.0.resize(by + 1, None);
        }
        self.0[by] = Some(value);
    }
}

pub fn percentile(sorted: &[Duration], p: usize) -> f64 {
    sorted[(sorted.len() - 1) * p / 100].as_secs_f64() * 1e6
}

pub(crate) enum Outcome {
    NotBuilt,
    Failed(String),
    /// A sample from each round.
    Measured(Vec<Sample>),
}

impl Outcome {
    pub(crate) fn new(program: &str) -> Outcome {
        if Path::new(program).exists() { Outcome::Measured(Vec::new()) } else { Outcome::NotBuilt }
    }

    /// A server that failed once is not measured again.
    pub(crate) fn add(&mut self, measure: impl FnOnce() -> io::Result<Sample>) {
        if let Outcome::Measured(samples) = self {
            match measure() {
                Ok(sample) => samples.push(sample),
                Err(e) => *self = Outcome::Failed(e.to_string()),
            }
        }
    }

    /// The best of all rounds: the figure when nothing else runs, since other work on the machine only makes it worse.
    pub(crate) fn best(&self, by: usize, more_is_better: bool) -> Option<f64> {
        let Outcome::Measured(samples) = self else { return None };
        let values = samples.iter().filter_map(|sample| sample.get(by));
        values.reduce(if more_is_better { f64::max } else { f64::min })
    }
}
