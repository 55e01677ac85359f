//! Times in a histogram.

use hdrhistogram::Histogram;

/// Longer times are counted as this one: an hour.
const LONGEST: u64 = 3_600_000_000_000;

/// Times in a histogram: three digits of each, 100 ns at the least, whatever their number.
#[derive(Debug, Clone)]
pub struct Times {
    histogram: Option<Box<Histogram<u32>>>,
}

impl Default for Times {
    fn default() -> Self {
        Times::new()
    }
}

impl Times {
    /// None yet, and no memory either.
    pub fn new() -> Times {
        Times { histogram: None }
    }

    fn histogram(&mut self) -> Option<&mut Histogram<u32>> {
        if self.histogram.is_none() {
            self.histogram = Histogram::new_with_bounds(100, LONGEST, 3).ok().map(Box::new);
        }
        self.histogram.as_deref_mut()
    }

    /// Adds one, in nanoseconds.
    #[inline]
    pub fn record(&mut self, nanos: u64) {
        self.record_many(nanos, 1);
    }

    /// Adds the same time several times.
    #[inline]
    pub fn record_many(&mut self, nanos: u64, count: u32) {
        if let Some(histogram) = self.histogram() {
            histogram.saturating_record_n(nanos, count);
        }
    }

    /// Adds those of another.
    pub fn add(&mut self, other: &Times) {
        if let Some(theirs) = other.histogram.as_deref()
            && let Some(ours) = self.histogram()
        {
            // Both have the same bounds.
            let _ = ours.add(theirs);
        }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.histogram.as_ref().map_or(0, |histogram| histogram.len())
    }

    /// The time below which this part of them lies, such as 0.99, in nanoseconds; 0 if there are none.
    pub fn quantile(&self, part: f64) -> u64 {
        // Of those below 100 ns it would be 100 ns.
        self.histogram.as_ref().map_or(0, |histogram| histogram.value_at_quantile(part).min(histogram.max()))
    }

    /// How many lie above the bound before and up to each of these, in nanoseconds, and how many beyond the last.
    pub fn counts(&self, bounds: &[u64]) -> Vec<u64> {
        let mut counts = vec![0; bounds.len() + 1];
        for value in self.histogram.iter().flat_map(|histogram| histogram.iter_recorded()) {
            counts[bounds.partition_point(|bound| *bound < value.value_iterated_to())] +=
                u64::from(value.count_at_value());
        }
        counts
    }

    /// The mean in nanoseconds; 0 if there are none.
    pub fn mean(&self) -> f64 {
        self.histogram.as_ref().map_or(0.0, |histogram| histogram.mean())
    }

    /// The longest in nanoseconds; 0 if there are none.
    pub fn max(&self) -> u64 {
        self.histogram.as_ref().map_or(0, |histogram| histogram.max())
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        if let Some(histogram) = &mut self.histogram {
            histogram.reset();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_quantile_is_above_the_longest() {
        for nanos in [0, 1, 99, 100, 12_345_678] {
            let mut times = Times::new();
            times.record_many(nanos, 10);
            assert!(times.quantile(0.5) <= times.max() && times.quantile(1.0) <= times.max(), "{nanos}");
        }
    }
}
