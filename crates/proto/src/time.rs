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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(Duration);

impl Time {
    /// The start itself.
    pub const START: Time = Time(Duration::ZERO);

    /// The moment `elapsed` after the start.
    pub const fn since(elapsed: Duration) -> Time {
        Time(elapsed)
    }

    /// How long after the start this is.
    pub const fn elapsed(self) -> Duration {
        self.0
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    fn add(self, later: Duration) -> Time {
        Time(self.0.saturating_add(later))
    }
}

/// How much later this is; nothing if it is earlier.
impl Sub for Time {
    type Output = Duration;

    fn sub(self, earlier: Time) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}
