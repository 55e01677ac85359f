//! How many calls are due a second, over time.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::units::parse_time;

/// More than any machine sends, and few enough for the arithmetic of times.
const HIGHEST: f64 = 1e9;

/// The most steps: each has its own row and its own histograms.
const MOST_STEPS: usize = 100;

/// How many calls are due a second, over time.
///
/// | text | meaning |
/// |---|---|
/// | `500` | 500 a second |
/// | `100..2000/30s` | from 100 to 2,000 a second, evenly, within 30 seconds |
/// | `100,200,400@10s` | 100 a second for ten seconds, then 200, then 400 |
#[derive(Debug, Clone, PartialEq)]
pub enum Rate {
    /// The same all the time.
    Constant(f64),
    /// Evenly from one to another.
    Ramp {
        /// At the start.
        from: f64,
        /// At the end.
        to: f64,
        /// How long it takes.
        over: Duration,
    },
    /// One after the other.
    Steps {
        /// At each step.
        rates: Vec<f64>,
        /// How long each lasts.
        each: Duration,
    },
}

impl Rate {
    /// How long it lasts by itself. `None` if it goes on for ever.
    pub fn length(&self) -> Option<Duration> {
        match self {
            Rate::Constant(_) => None,
            Rate::Ramp { over, .. } => Some(*over),
            Rate::Steps { rates, each } => Some(each.saturating_mul(rates.len() as u32)),
        }
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Rate, String> {
        let length = |text: &str| match parse_time(text)? {
            Duration::ZERO => Err("it lasts no time".to_owned()),
            length => Ok(length),
        };
        if let Some((from, rest)) = text.split_once("..") {
            let (to, over) =
                rest.split_once('/').ok_or("a ramp needs its length: write it as 100..2000/30s")?;
            let (from, to) = (number(from)?, number(to)?);
            return Ok(Rate::Ramp { from, to, over: length(over)? });
        }
        if let Some((rates, each)) = text.split_once('@') {
            let rates = rates.split(',').map(number).collect::<Result<Vec<f64>, _>>()?;
            if rates.len() > MOST_STEPS {
                return Err(format!("more than {MOST_STEPS} steps"));
            }
            return Ok(Rate::Steps { rates, each: length(each)? });
        }
        if text.contains(',') {
            return Err("steps need their length: write them as 100,200,400@10s".to_owned());
        }
        number(text).map(Rate::Constant)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rate::Constant(rate) => write!(f, "{rate}"),
            Rate::Ramp { from, to, over } => write!(f, "{from}..{to}/{}s", over.as_secs_f64()),
            Rate::Steps { rates, each } => {
                let rates: Vec<String> = rates.iter().map(f64::to_string).collect();
                write!(f, "{}@{}s", rates.join(","), each.as_secs_f64())
            }
        }
    }
}

fn number(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let (digits, scale) = match text.as_bytes().last() {
        Some(b'k') => (&text[..text.len() - 1], 1e3),
        Some(b'M') => (&text[..text.len() - 1], 1e6),
        _ => (text, 1.0),
    };
    let wrong =
        || format!("`{text}` is not a rate: write it as 500, 2.5, 20k, 100..2000/30s or 100,200,400@10s");
    let rate = digits.parse::<f64>().map_err(|_| wrong())? * scale;
    match rate > 0.0 && rate <= HIGHEST {
        true => Ok(rate),
        false => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_what_they_say() {
        let seconds = Duration::from_secs;
        for (text, want) in [
            ("500", Some(Rate::Constant(500.0))),
            ("2.5", Some(Rate::Constant(2.5))),
            ("20k", Some(Rate::Constant(20_000.0))),
            ("1M", Some(Rate::Constant(1e6))),
            ("100..2k/30s", Some(Rate::Ramp { from: 100.0, to: 2000.0, over: seconds(30) })),
            ("1,2@10s", Some(Rate::Steps { rates: vec![1.0, 2.0], each: seconds(10) })),
            ("7@1m", Some(Rate::Steps { rates: vec![7.0], each: seconds(60) })),
            ("0", None),
            ("-1", None),
            ("nan", None),
            ("inf", None),
            ("1e12", None),
            ("1..2", None),
            ("1..2/0s", None),
            ("1,2", None),
            ("1,,2@1s", None),
            ("1@1", None),
            ("", None),
        ] {
            assert_eq!(text.parse::<Rate>().ok(), want, "{text}");
        }
        for text in ["500", "100..2000/30s", "100,200@10s"] {
            assert_eq!(text.parse::<Rate>().expect("a rate").to_string(), text);
        }
    }
}
