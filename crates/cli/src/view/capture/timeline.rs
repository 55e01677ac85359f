//! Messages over time: a fixed number of parts, which get longer as time goes on.

use sabir_model::calls::Entry;
use serde::Serialize;

/// Parts at most; half of them are left when they get longer.
const PARTS: usize = 1024;

#[derive(Debug)]
pub(in crate::view) struct Timeline {
    /// Nanoseconds.
    part: u64,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Part {
    messages: u32,
    problems: u32,
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline { part: 1_000_000, parts: Vec::new() }
    }
}

/// What the page draws.
#[derive(Debug, Serialize)]
pub(in crate::view) struct Buckets {
    /// Nanoseconds from the first to behind the last.
    to: u64,
    counts: Vec<u32>,
    errors: Vec<u32>,
}

impl Timeline {
    pub(super) fn add(&mut self, entry: &Entry, is_problem: bool) {
        let Some(time) = entry.time else { return };
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        while nanos / self.part >= PARTS as u64 {
            self.part = self.part.saturating_mul(2);
            self.parts = self
                .parts
                .chunks(2)
                .map(|two| Part {
                    messages: two.iter().map(|part| part.messages).sum(),
                    problems: two.iter().map(|part| part.problems).sum(),
                })
                .collect();
        }
        let at = (nanos / self.part) as usize;
        if at >= self.parts.len() {
            self.parts.resize(at + 1, Part::default());
        }
        self.parts[at].messages += u32::from(entry.kind.is_message());
        self.parts[at].problems += u32::from(is_problem);
    }

    /// In so many parts, at most.
    pub(in crate::view) fn buckets(&self, parts: usize) -> Buckets {
        let together = self.parts.len().div_ceil(parts.clamp(1, PARTS)).max(1);
        let sum = |pick: fn(&Part) -> u32| {
            self.parts.chunks(together).map(|part| part.iter().map(pick).sum()).collect()
        };
        Buckets {
            to: self.part * self.parts.len().next_multiple_of(together) as u64,
            counts: sum(|part| part.messages),
            errors: sum(|part| part.problems),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sabir_model::calls::{Kind, Tracker};

    use super::*;

    #[test]
    fn parts_get_longer_and_lose_nothing() {
        let mut timeline = Timeline::default();
        let mut tracker = Tracker::default();
        for second in 0..5000 {
            let entry = tracker.other(Some(Duration::from_secs(second)), None, 1, Kind::Invalid, 0);
            timeline.add(&entry, second % 10 == 0);
        }
        assert!(timeline.parts.len() <= PARTS);
        let buckets = timeline.buckets(100);
        assert!(buckets.counts.len() <= 100, "{}", buckets.counts.len());
        assert_eq!(buckets.counts.iter().sum::<u32>(), 5000);
        assert_eq!(buckets.errors.iter().sum::<u32>(), 500);
        assert!(buckets.to >= 4_999_000_000_000);
    }
}
