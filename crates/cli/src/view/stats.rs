//! What each method has cost, and how many messages there were when. Both take the same memory however long it goes on.

use std::collections::HashMap;
use std::time::Duration;

use sabir_model::calls::{Entry, Kind, Name, Names, Status};
use serde::Serialize;

/// Powers of two of a microsecond, up to half an hour.
const POWERS: usize = 32;
/// Steps between two powers: percentiles are right to about 5 %.
const STEPS: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Stats {
    methods: HashMap<Name, Method>,
}

#[derive(Debug)]
struct Method {
    count: u64,
    errors: u64,
    pending: i64,
    bytes: u64,
    times: Box<[u32; POWERS * STEPS]>,
}

impl Default for Method {
    fn default() -> Self {
        Method { count: 0, errors: 0, pending: 0, bytes: 0, times: Box::new([0; POWERS * STEPS]) }
    }
}

/// A row of the table.
#[derive(Debug, Serialize)]
pub(super) struct MethodStats<'a> {
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    count: u64,
    errors: u64,
    pending: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    p50: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p95: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p99: Option<f64>,
    bytes: u64,
    /// How many took less than 1, 2, 4 … microseconds.
    times: Vec<u32>,
}

impl Stats {
    /// A record was added.
    pub(super) fn add(&mut self, entry: &Entry) {
        if entry.name == Name::NONE || !entry.kind.is_message() {
            return;
        }
        let method = self.methods.entry(entry.name).or_default();
        method.bytes += entry.bytes;
        match entry.kind {
            Kind::Request => {
                method.count += 1;
                method.pending += 1;
            }
            Kind::Notification => method.count += 1,
            Kind::Result | Kind::Error if entry.other.is_some() => {
                method.pending -= 1;
                method.errors += u64::from(entry.status == Some(Status::Error));
                if let Some(took) = entry.took {
                    method.times[slot(took)] += 1;
                }
            }
            _ => {}
        }
    }

    pub(super) fn rows<'a>(&self, names: &'a Names) -> Vec<MethodStats<'a>> {
        let row = |(name, method): (&Name, &Method)| MethodStats {
            method: names.method(*name).unwrap_or("(other)"),
            tool: names.tool(*name),
            count: method.count,
            errors: method.errors,
            pending: method.pending.max(0),
            p50: method.percentile(0.50),
            p95: method.percentile(0.95),
            p99: method.percentile(0.99),
            bytes: method.bytes,
            times: method.times.chunks(STEPS).map(|steps| steps.iter().sum()).collect(),
        };
        self.methods.iter().filter(|(_, method)| method.count > 0).map(row).collect()
    }
}

impl Method {
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

/// Messages over time: a fixed number of parts, which get longer as time goes on.
#[derive(Debug)]
pub(super) struct Timeline {
    part: u64,
    parts: Vec<(u32, u32)>,
}

/// Parts at most; half of them are left when they get longer.
const PARTS: usize = 960;

impl Default for Timeline {
    fn default() -> Self {
        Timeline { part: 1_000_000, parts: Vec::new() }
    }
}

/// What the page draws.
#[derive(Debug, Serialize)]
pub(super) struct Buckets {
    from: u64,
    to: u64,
    counts: Vec<u32>,
    errors: Vec<u32>,
}

impl Timeline {
    pub(super) fn add(&mut self, entry: &Entry) {
        let Some(time) = entry.time else { return };
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        while nanos / self.part >= PARTS as u64 {
            self.part = self.part.saturating_mul(2);
            self.parts = self.parts.chunks(2).map(|two| two.iter().fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))).collect();
        }
        let at = (nanos / self.part) as usize;
        if at >= self.parts.len() {
            self.parts.resize(at + 1, (0, 0));
        }
        self.parts[at].0 += u32::from(entry.kind.is_message());
        self.parts[at].1 += u32::from(entry.kind == Kind::Error);
    }

    /// In so many parts, at most.
    pub(super) fn buckets(&self, parts: usize) -> Buckets {
        let together = self.parts.len().div_ceil(parts.clamp(1, PARTS)).max(1);
        let sum = |pick: fn(&(u32, u32)) -> u32| self.parts.chunks(together).map(|part| part.iter().map(pick).sum()).collect();
        Buckets {
            from: 0,
            to: self.part * self.parts.len().next_multiple_of(together) as u64,
            counts: sum(|part| part.0),
            errors: sum(|part| part.1),
        }
    }
}

#[cfg(test)]
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
