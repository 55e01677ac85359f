//! What each method has cost. It takes the same memory however long it goes on.

use std::collections::HashMap;
use std::time::Duration;

use sabir_model::calls::{Entry, Kind, Name, Names, Status};
use serde::Serialize;

/// Powers of two of a microsecond, up to an hour.
const POWERS: usize = 32;
/// Steps between two powers: percentiles are right to about 3 %.
const STEPS: usize = 16;
/// Times of a method that are kept as they are. Percentiles of more are those of their slots.
const KEPT: usize = 500;
/// Methods that are counted by themselves. Peers choose their names, so there is a limit.
const METHODS: usize = 1000;

#[derive(Debug, Default)]
pub(in crate::view) struct Stats {
    methods: HashMap<Name, Method>,
    /// Of all methods, among them those that have no row of their own.
    all: Method,
}

#[derive(Debug)]
struct Method {
    requests: u64,
    notifications: u64,
    answers: u64,
    errors: u64,
    /// All that has its name, answers among them.
    messages: u64,
    bytes: u64,
    times: Box<[u32; POWERS * STEPS]>,
    /// The first times.
    exact: Vec<Duration>,
}

impl Default for Method {
    fn default() -> Self {
        let times = Box::new([0; POWERS * STEPS]);
        let exact = Vec::new();
        Method { requests: 0, notifications: 0, answers: 0, errors: 0, messages: 0, bytes: 0, times, exact }
    }
}

/// A row of the table.
#[derive(Debug, Serialize)]
pub(in crate::view) struct MethodStats {
    method: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// Requests and notifications.
    count: u64,
    /// These and their answers.
    messages: u64,
    errors: u64,
    /// Requests without an answer.
    pending: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    p50: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p95: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p99: Option<f64>,
    /// The percentiles are right to 3 %, since there were too many calls to keep each time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    rounded: bool,
    bytes: u64,
    /// How many took less than 2, 4, 8 … microseconds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    times: Vec<u32>,
}

/// All rows, and what they add up to.
#[derive(Debug, Serialize)]
pub(in crate::view) struct Table {
    methods: Vec<MethodStats>,
    all: MethodStats,
}

impl Table {
    /// What a chart is drawn from is nothing to read.
    pub(in crate::view) fn without_charts(mut self) -> Self {
        self.methods.iter_mut().chain([&mut self.all]).for_each(|method| method.times.clear());
        self
    }
}

impl Stats {
    /// A record was added.
    pub(in crate::view) fn add(&mut self, entry: &Entry) {
        if !entry.kind.is_message() {
            return;
        }
        self.all.add(entry);
        if entry.name == Name::NONE {
            return;
        }
        if self.methods.len() < METHODS || self.methods.contains_key(&entry.name) {
            self.methods.entry(entry.name).or_default().add(entry);
        }
    }

    pub(in crate::view) fn table(&self, names: &Names) -> Table {
        let mut methods: Vec<MethodStats> = self
            .methods
            .iter()
            .map(|(name, method)| {
                method.told(names.method(*name).unwrap_or("(other)"), names.tool(*name).map(str::to_owned))
            })
            .collect();
        methods.sort_by(|a, b| {
            b.count.cmp(&a.count).then_with(|| (&a.method, &a.tool).cmp(&(&b.method, &b.tool)))
        });
        Table { methods, all: self.all.told("all", None) }
    }
}

impl Method {
    fn add(&mut self, entry: &Entry) {
        self.bytes += entry.bytes;
        self.messages += 1;
        match entry.kind {
            Kind::Request => self.requests += 1,
            Kind::Notification => self.notifications += 1,
            Kind::Result | Kind::Error if entry.other.is_some() => {
                self.answers += 1;
                self.errors += u64::from(entry.status == Some(Status::Error));
                if let Some(took) = entry.took {
                    self.took(took);
                }
            }
            _ => {}
        }
    }

    fn took(&mut self, took: Duration) {
        self.times[slot(took)] += 1;
        if self.exact.len() <= KEPT {
            self.exact.push(took);
        }
    }

    fn told(&self, method: &str, tool: Option<String>) -> MethodStats {
        MethodStats {
            method: method.to_owned(),
            tool,
            count: self.requests + self.notifications,
            messages: self.messages,
            errors: self.errors,
            pending: self.requests.saturating_sub(self.answers),
            p50: self.percentile(0.50),
            p95: self.percentile(0.95),
            p99: self.percentile(0.99),
            rounded: self.exact.len() > KEPT,
            bytes: self.bytes,
            times: self.times.chunks(STEPS).map(|steps| steps.iter().sum()).collect(),
        }
    }

    /// In milliseconds.
    fn percentile(&self, part: f64) -> Option<f64> {
        if self.exact.len() <= KEPT {
            let mut times = self.exact.clone();
            times.sort_unstable();
            let nth = (times.len() as f64 * part).ceil().max(1.0) as usize;
            return times.get(nth - 1).map(|took| took.as_micros() as f64 / 1e3);
        }
        let all: u64 = self.times.iter().map(|&count| u64::from(count)).sum();
        let wanted = (all as f64 * part).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (slot, &count) in self.times.iter().enumerate() {
            seen += u64::from(count);
            if seen >= wanted {
                return Some(middle(slot).round() / 1e3);
            }
        }
        None
    }
}

fn slot(took: Duration) -> usize {
    let us = took.as_secs_f64() * 1e6;
    ((us.max(1.0).log2() * STEPS as f64) as usize).min(POWERS * STEPS - 1)
}

/// Microseconds in the middle of a slot.
fn middle(slot: usize) -> f64 {
    ((slot as f64 + 0.5) / STEPS as f64).exp2()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_near() {
        let mut method = Method::default();
        for ms in 1..=1000 {
            method.took(Duration::from_millis(ms));
        }
        for (part, want) in [(0.5, 500.0), (0.95, 950.0), (0.99, 990.0)] {
            let found = method.percentile(part).unwrap();
            assert!((found / want - 1.0_f64).abs() < 0.05, "{part}: {found}");
        }
        let mut few = Method::default();
        [7, 410, 3].into_iter().for_each(|ms| few.took(Duration::from_millis(ms)));
        assert_eq!([0.5, 0.95].map(|part| few.percentile(part)), [Some(7.0), Some(410.0)]);
        assert_eq!(Method::default().percentile(0.5), None);
        assert_eq!((slot(Duration::ZERO), slot(Duration::MAX)), (0, POWERS * STEPS - 1));
    }
}
