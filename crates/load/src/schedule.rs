//! When calls are due: a rate, laid out in time. Times are nanoseconds since the start of a run.

use std::time::Duration;

use crate::rate::Rate;
use crate::units::nanos;

/// Rows that a ramp is reported in.
const RAMP_PARTS: u32 = 10;

/// A part of a run in which the rate is constant, or changes evenly.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Segment {
    pub(crate) start: u64,
    /// `u64::MAX` if it has no end.
    pub(crate) end: u64,
    from: f64,
    to: f64,
    /// Whether what is due in it counts.
    pub(crate) measured: bool,
}

impl Segment {
    /// As it is shown: the rate, or both.
    pub(crate) fn label(&self) -> String {
        match self.from == self.to {
            true => format!("{}", rounded(self.from)),
            false => format!("{}..{}", rounded(self.from), rounded(self.to)),
        }
    }

    /// Calls a second, on average.
    pub(crate) fn rate(&self) -> f64 {
        (self.from + self.to) / 2.0
    }

    /// When its call with this number is due. `None` if it ends before.
    fn due(&self, number: u64) -> Option<u64> {
        let number = number as f64;
        let length = (self.end - self.start) as f64 / 1e9;
        let time = if self.from == self.to || self.end == u64::MAX {
            number / self.from
        } else {
            // The number of calls until t is `from·t + slope·t²/2`; solved for t.
            let slope = (self.to - self.from) / length;
            let under = self.from * self.from + 2.0 * slope * number;
            if under < 0.0 {
                return None;
            }
            (under.sqrt() - self.from) / slope
        };
        // Rounding must not make one more call of the last of a hundred thousand.
        (time < length - 1e-9).then(|| self.start.saturating_add((time * 1e9) as u64))
    }
}

fn rounded(rate: f64) -> f64 {
    if rate >= 10.0 { rate.round() } else { (rate * 100.0).round() / 100.0 }
}

/// The calls of an open loop, one after the other.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    pub(crate) segments: Vec<Segment>,
    at: usize,
    /// The number of the next call in its segment.
    number: u64,
}

impl Schedule {
    /// `duration` is for a rate that has no end of its own.
    pub(crate) fn new(rate: &Rate, warmup: Duration, duration: Option<Duration>) -> Schedule {
        let warm = nanos(warmup);
        let mut segments = Vec::new();
        let mut add = |length: Option<Duration>, from: f64, to: f64, measured: bool| {
            let start = segments.last().map_or(0, |last: &Segment| last.end);
            let end = length.map_or(u64::MAX, |length| start.saturating_add(nanos(length)));
            segments.push(Segment { start, end, from, to, measured });
        };
        let first = match rate {
            Rate::Constant(rate) => *rate,
            Rate::Ramp { from, .. } => *from,
            Rate::Steps { rates, .. } => rates[0],
        };
        if warm > 0 {
            add(Some(warmup), first, first, false);
        }
        match rate {
            Rate::Constant(rate) => add(duration, *rate, *rate, true),
            Rate::Ramp { from, to, over } => {
                let at = |part: u32| from + (to - from) * f64::from(part) / f64::from(RAMP_PARTS);
                (0..RAMP_PARTS).for_each(|part| add(Some(*over / RAMP_PARTS), at(part), at(part + 1), true));
            }
            Rate::Steps { rates, each } => {
                rates.iter().for_each(|rate| add(Some(*each), *rate, *rate, true));
            }
        }
        Schedule { segments, at: 0, number: 0 }
    }

    /// When the next call is due, and in which segment. `None` after the last.
    pub(crate) fn peek(&mut self) -> Option<(u64, usize)> {
        while let Some(segment) = self.segments.get(self.at) {
            if let Some(due) = segment.due(self.number) {
                return Some((due, self.at));
            }
            self.at += 1;
            self.number = 0;
        }
        None
    }

    /// Goes on by so many calls of the segment that `peek` has named.
    pub(crate) fn advance(&mut self, calls: u64) {
        self.number += calls;
    }

    /// How many calls are due until then and were not taken.
    pub(crate) fn due_until(&self, time: u64) -> u64 {
        let mut rest = self.clone();
        let mut count = 0;
        while rest.peek().is_some_and(|(due, _)| due <= time) {
            // As many at once as the segment has left: doubling, then halving.
            let mut step = 1;
            while let Some(segment) = rest.segments.get(rest.at)
                && segment.due(rest.number + step * 2).is_some_and(|due| due <= time)
            {
                step *= 2;
            }
            rest.advance(step);
            count += step;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(rate: &str, warmup: u64, duration: Option<u64>) -> Schedule {
        let rate = rate.parse().expect("a rate");
        Schedule::new(&rate, Duration::from_millis(warmup), duration.map(Duration::from_millis))
    }

    fn all(mut schedule: Schedule) -> Vec<u64> {
        std::iter::from_fn(|| {
            let (due, _) = schedule.peek()?;
            schedule.advance(1);
            Some(due / 1_000_000)
        })
        .collect()
    }

    #[test]
    fn calls_are_due_at_equal_distances() {
        assert_eq!(all(schedule("100", 0, Some(50))), [0, 10, 20, 30, 40]);
        assert_eq!(all(schedule("100", 20, Some(30))), [0, 10, 20, 30, 40]);
        assert_eq!(all(schedule("50,100@40ms", 0, None)), [0, 20, 40, 50, 60, 70]);
    }

    #[test]
    fn a_ramp_has_as_many_calls_as_the_area_under_it() {
        for (rate, want) in [("0.001..1000/1s", 500), ("1000..0.001/1s", 500), ("100..300/2s", 400)] {
            let due = all(schedule(rate, 0, None));
            assert!(due.len().abs_diff(want) <= 12, "{rate}: {}", due.len());
            assert!(due.is_sorted(), "{rate}: {due:?}");
        }
    }

    #[test]
    fn what_is_due_is_counted_without_walking() {
        for rate in ["1000", "100..2000/1s", "100,900@500ms"] {
            let (mut left, mut count) = (schedule(rate, 10, Some(1000)), 0);
            let counted = left.due_until(700_000_000);
            while left.peek().is_some_and(|(due, _)| due <= 700_000_000) {
                left.advance(1);
                count += 1;
            }
            assert_eq!(counted, count, "{rate}");
        }
    }
}
