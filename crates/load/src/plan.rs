//! What a run does.

use std::time::Duration;

use crate::limit::Limit;
use crate::rate::Rate;

/// The most calls that may be open, whatever a plan says: ids hold the place of a call in so many bits.
pub(crate) const MOST_OPEN: usize = 1 << 20;

/// A call that is made again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The row that it is reported in.
    pub name: String,
    /// The method, as JSON.
    pub method: String,
    /// The params, as JSON on one line.
    pub params: Option<String>,
    /// Whether it wants no answer.
    pub is_notification: bool,
    /// What every result must be, as JSON without spaces.
    pub expected: Option<String>,
}

/// Who decides when the next call is sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Pace {
    /// The clock: a call is due when the rate says so, whatever became of those before it.
    Open(Rate),
    /// The server: so many calls are open all the time, and the next is sent when one is answered.
    Closed(usize),
}

/// What a run does.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Who decides when the next call is sent.
    pub pace: Pace,
    /// The calls that it makes.
    pub calls: Vec<Call>,
    /// Which call is made when, by its place in `calls`; from the start again at the end.
    pub order: Vec<u32>,
    /// Time at the start that does not count.
    pub warmup: Duration,
    /// For how long calls are sent after that, unless the rate has an end of its own.
    pub duration: Option<Duration>,
    /// How many calls are sent after the warm-up, at most.
    pub count: Option<u64>,
    /// Calls in one message: more than one make a batch.
    pub batch: usize,
    /// How long to wait for answers at the end.
    pub grace: Duration,
    /// How long a call may take.
    pub timeout: Duration,
    /// Calls that may be open at most. What is due and has no room waits, and the wait counts.
    pub max_in_flight: usize,
    /// Ends the run when a second of it breaks this.
    pub until: Option<Limit>,
    /// The largest message that is accepted.
    pub max_size: usize,
}

/// An order in which each of some things comes as often as its weight says, spread evenly.
///
/// At most 4,096 places: what weighs less than that share of the whole comes once.
pub fn mixed_order(weights: &[u32]) -> Vec<u32> {
    const MOST: u64 = 4096;
    let sum: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
    let scaled: Vec<i64> = weights
        .iter()
        .map(|weight| match (u64::from(*weight), sum > MOST) {
            (0, _) => 0,
            (weight, true) => (weight * MOST / sum).max(1) as i64,
            (weight, false) => weight as i64,
        })
        .collect();
    let sum: i64 = scaled.iter().sum();
    let mut credit = vec![0; scaled.len()];
    (0..sum)
        .filter_map(|_| {
            credit.iter_mut().zip(&scaled).for_each(|(credit, weight)| *credit += weight);
            // The first of those with the most: `max_by_key` would take the last.
            let (at, _) = credit.iter().enumerate().rev().max_by_key(|(_, credit)| **credit)?;
            credit[at] -= sum;
            Some(at as u32)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixes_are_spread_evenly() {
        assert_eq!(mixed_order(&[1]), [0]);
        assert_eq!(mixed_order(&[2, 1, 1]), [0, 1, 2, 0]);
        assert_eq!(mixed_order(&[3, 0, 1]), [0, 0, 2, 0]);
        assert!(mixed_order(&[]).is_empty());
        let large = mixed_order(&[1_000_000, 1, 500_000]);
        let count = |what| large.iter().filter(|at| **at == what).count();
        assert_eq!((count(0), count(1), count(2)), (2730, 1, 1365));
    }
}
