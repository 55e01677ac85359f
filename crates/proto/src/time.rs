//! Moments, as the driver measures them.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// A moment: how long after some fixed start of the driver's choosing. The engine has no clock.
///
/// ```
/// use std::time::{Duration, Instant};
/// use sabir_proto::Time;
///
/// let start = Instant::now();
/// let now = || Time::since(start.elapsed());
/// assert!(now() + Duration::from_secs(1) > now());
/// ```
///
/// Counts nanoseconds and saturates after 584 years.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// The start itself.
    pub const START: Time = Time(0);

    /// The moment `elapsed` after the start.
    pub const fn since(elapsed: Duration) -> Time {
        Time(nanos(elapsed))
    }

    /// How long after the start this is.
    pub const fn elapsed(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}

const fn nanos(duration: Duration) -> u64 {
    duration.as_secs().saturating_mul(1_000_000_000).saturating_add(duration.subsec_nanos() as u64)
}

impl Add<Duration> for Time {
    type Output = Time;

    fn add(self, later: Duration) -> Time {
        Time(self.0.saturating_add(nanos(later)))
    }
}

/// How much later this is; nothing if it is earlier.
impl Sub for Time {
    type Output = Duration;

    fn sub(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.elapsed())
    }
}
