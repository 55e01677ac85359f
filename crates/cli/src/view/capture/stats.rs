//! What each method has cost. It takes the same memory however long it goes on.

use std::collections::HashMap;
use std::time::Duration;

use sabir_model::calls::{Entry, Kind, Name, Names, Status};
use serde::Serialize;

/// Powers of two of a microsecond, up to an hour.
const POWERS: usize = 32;
/// Steps between two powers: percentiles are right to about 5 %.
const STEPS: usize = 16;
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
    bytes: u64,
    times: Box<[u32; POWERS * STEPS]>,
}

impl Default for Method {
    fn default() -> Self {
        let times = Box::new([0; POWERS * STEPS]);
        Method { requests: 0, notifications: 0, answers: 0, errors: 0, bytes: 0, times }
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
    errors: u64,
    /// Requests without an answer.
    pending: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    p50: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p95: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p99: Option<f64>,
    bytes: u64,
    /// How many took less than 2, 4, 8 … microseconds.
    times: Vec<u32>,
}

/// All rows, and what they add up to.
#[derive(Debug, Serialize)]
pub(in crate::view) struct Table {
    methods: Vec<MethodStats>,
    all: MethodStats,
}

impl Stats {
    /// A record was added.
    pub(super) fn add(&mut self, entry: &Entry) {
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
        match entry.kind {
            Kind::Request => self.requests += 1,
            Kind::Notification => self.notifications += 1,
            Kind::Result | Kind::Error if entry.other.is_some() => {
                self.answers += 1;
                self.errors += u64::from(entry.status == Some(Status::Error));
                if let Some(took) = entry.took {
                    self.times[slot(took)] += 1;
                }
            }
            _ => {}
        }
    }

    fn told(&self, method: &str, tool: Option<String>) -> MethodStats {
        MethodStats {
            method: method.to_owned(),
            tool,
            count: self.requests + self.notifications,
            errors: self.errors,
            pending: self.requests.saturating_sub(self.answers),
            p50: self.percentile(0.50),
            p95: self.percentile(0.95),
            p99: self.percentile(0.99),
            bytes: self.bytes,
            times: self.times.chunks(STEPS).map(|steps| steps.iter().sum()).collect(),
        }
    }

    /// In milliseconds.
    fn percentile(&self, part: f64) -> Option<f64> {
        let all: u64 = self.times.iter().map(|&count| u64::from(count)).sum();
        let wanted = (all as f64 * part).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (slot, &count) in self.times.iter().enumerate() {
            seen += u64::from(count);
            if seen >= wanted {
                return Some(middle(slot) / 1000.0);
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
            method.times[slot(Duration::from_millis(ms))] += 1;
        }
        for (part, want) in [(0.5, 500.0), (0.95, 950.0), (0.99, 990.0)] {
            let found = method.percentile(part).unwrap();
            assert!((found / want - 1.0_f64).abs() < 0.05, "{part}: {found}");
        }
        assert_eq!(Method::default().percentile(0.5), None);
        assert_eq!((slot(Duration::ZERO), slot(Duration::MAX)), (0, POWERS * STEPS - 1));
    }
}
