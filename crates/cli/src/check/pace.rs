//! How long a live peer may take to answer.

use std::time::Duration;

/// How long the first answer may take: the peer may have to start.
pub(super) const FIRST_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a later one may take, unless the peer is known to be slow.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How many times as long as the slowest answer so far one may take.
const PATIENCE: u32 = 4;
/// How long an answer to a probe may come after the answer to the barrier behind it.
const LATE: Duration = Duration::from_millis(100);

/// How slow the peer is: a slow answer is not a missing one.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Pace {
    /// The longest time that passed before a message came.
    slowest: Duration,
}

impl Pace {
    pub(super) fn answered_in(&mut self, time: Duration) {
        self.slowest = self.slowest.max(time);
    }

    /// How long an answer may take.
    pub(super) fn timeout(self) -> Duration {
        self.slowest.saturating_mul(PATIENCE).clamp(TIMEOUT, FIRST_TIMEOUT)
    }

    /// How long an answer to a probe may come after the answer to the barrier behind it.
    pub(super) fn late(self) -> Duration {
        (self.slowest / PATIENCE).max(LATE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_peer_has_more_time() {
        let mut pace = Pace::default();
        for (took, timeout, late) in [
            (10, 2000, 100),
            (600, 2400, 150),
            (300, 2400, 150),
            (2500, 10_000, 625),
            (60_000, 10_000, 15_000),
        ] {
            pace.answered_in(Duration::from_millis(took));
            let want = (Duration::from_millis(timeout), Duration::from_millis(late));
            assert_eq!((pace.timeout(), pace.late()), want, "after {took} ms");
        }
    }
}
