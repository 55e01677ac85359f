//! Limits that a run must keep, such as `p99>50ms`.

use std::fmt;
use std::str::FromStr;

use crate::times::Times;
use crate::units::{nanos, parse_time};

/// A limit that a run must keep: what would break it.
///
/// `p99>50ms`, `p99.9>1s`, `mean>5ms`, `max>2s`, `errors>0`, `errors>1%`, `rate<1000`.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    text: String,
    metric: Metric,
    above: bool,
    /// Nanoseconds, calls, a share or calls a second.
    value: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Metric {
    Quantile(f64),
    Mean,
    Max,
    Errors,
    ErrorShare,
    Rate,
}

/// What limits are compared with.
#[derive(Debug, Clone, Copy)]
pub struct Measure<'a> {
    /// From when calls were due to their answers, or to when they failed.
    pub latency: &'a Times,
    /// Calls that were answered as wanted.
    pub ok: u64,
    /// Calls that failed, in whichever way.
    pub errors: u64,
    /// How long it took, in seconds.
    pub seconds: f64,
}

impl Limit {
    /// What was measured, in words, if it breaks the limit.
    pub fn broken_by(&self, measure: &Measure<'_>) -> Option<String> {
        let Measure { latency, ok, errors, seconds } = *measure;
        let calls = (ok + errors).max(1) as f64;
        let measured = match self.metric {
            _ if self.is_time() && latency.count() == 0 => return None,
            Metric::Quantile(part) => latency.quantile(part) as f64,
            Metric::Mean => latency.mean(),
            Metric::Max => latency.max() as f64,
            Metric::Errors => errors as f64,
            Metric::ErrorShare => errors as f64 / calls,
            Metric::Rate => ok as f64 / seconds.max(1e-9),
        };
        let is_broken = if self.above { measured > self.value } else { measured < self.value };
        is_broken.then(|| match self.metric {
            Metric::Errors => format!("{measured}"),
            Metric::ErrorShare => format!("{:.2} %", measured * 100.0),
            Metric::Rate => format!("{measured:.0}/s"),
            _ => format!("{:.3} ms", measured / 1e6),
        })
    }

    fn is_time(&self) -> bool {
        matches!(self.metric, Metric::Quantile(_) | Metric::Mean | Metric::Max)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Limit, String> {
        const FORM: &str =
            "write it as p99>50ms, p99.9>1s, mean>5ms, max>2s, errors>0, errors>1% or rate<1000";
        let at = text.find(['>', '<']).ok_or_else(|| format!("`{text}` has no > or <: {FORM}"))?;
        let (name, value) = (text[..at].trim(), text[at + 1..].trim());
        let above = text.as_bytes()[at] == b'>';
        let wrong = |what: &str| format!("`{text}`: {what}: {FORM}");
        let time = |value: &str| parse_time(value).map(|time| nanos(time) as f64).map_err(|e| wrong(&e));
        let number = |value: &str| match value.parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
            _ => Err(wrong("the value is not a number")),
        };
        let (metric, value) = match name {
            "mean" => (Metric::Mean, time(value)?),
            "max" => (Metric::Max, time(value)?),
            "rate" => (Metric::Rate, number(value)?),
            "errors" => match value.strip_suffix('%') {
                Some(share) => (Metric::ErrorShare, number(share.trim())? / 100.0),
                None => (Metric::Errors, number(value)?),
            },
            _ => {
                let part = name.strip_prefix('p').and_then(|part| part.parse::<f64>().ok());
                match part.filter(|part| *part > 0.0 && *part <= 100.0) {
                    Some(part) => (Metric::Quantile(part / 100.0), time(value)?),
                    None => return Err(wrong("unknown figure")),
                }
            }
        };
        Ok(Limit { text: text.to_owned(), metric, above, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_broken_by_what_they_say() {
        let mut latency = Times::new();
        (1..=100).for_each(|ms| latency.record(ms * 1_000_000));
        let measure = Measure { latency: &latency, ok: 98, errors: 2, seconds: 2.0 };
        for (text, want) in [
            ("p99>50ms", true),
            ("p99>100ms", false),
            ("p50<40ms", false),
            ("p50<60ms", true),
            ("p99.9>99500us", true),
            ("mean>50ms", true),
            ("max>1s", false),
            ("errors>0", true),
            ("errors>2", false),
            ("errors > 1%", true),
            ("errors>2%", false),
            ("rate<50", true),
            ("rate<49", false),
        ] {
            let limit: Limit = text.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(limit.broken_by(&measure).is_some(), want, "{text}");
        }
        for text in ["", "p99", "p99>50", "p0>1ms", "p101>1ms", "q>1ms", "errors>-1", "rate<x", "p99>1parsec"]
        {
            assert!(text.parse::<Limit>().is_err(), "{text}");
        }
    }

    #[test]
    fn without_answers_no_time_is_broken() {
        let latency = Times::new();
        let measure = Measure { latency: &latency, ok: 0, errors: 0, seconds: 1.0 };
        for text in ["p99<1s", "mean<1s", "max>0ms"] {
            assert!(text.parse::<Limit>().expect(text).broken_by(&measure).is_none(), "{text}");
        }
    }
}
