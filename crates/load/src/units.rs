//! Times as people write them.

use std::time::Duration;

/// Nanoseconds of a duration, at most the 584 years that fit.
pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A time with its unit: `250us`, `50ms`, `1.5s`, `2m`.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let number = text.trim_end_matches(|c: char| c.is_alphabetic());
    let scale = match &text[number.len()..] {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "" => return Err("a time needs its unit, such as 500us, 50ms or 30s".to_owned()),
        other => return Err(format!("unknown unit `{other}`: use us, ms, s, m or h")),
    };
    let number: f64 = number.parse().map_err(|_| format!("`{number}` is not a number"))?;
    Duration::try_from_secs_f64(number * scale).map_err(|error| error.to_string())
}
