//! Times and sizes, with their units.

use std::time::Duration;

/// The longest timeout, short enough for every clock.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match &text[number.len()..] {
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "" => return Err("a time needs its unit, such as 500ms, 30s or 2m".to_owned()),
        other => return Err(format!("unknown unit `{other}`: use ms, s, m or h")),
    };
    let number: f64 = number.parse().map_err(|_| format!("`{number}` is not a number"))?;
    match number * scale {
        seconds if seconds >= LONGEST.as_secs_f64() => Ok(LONGEST),
        seconds => Duration::try_from_secs_f64(seconds).map_err(|_| "a time is 0 or longer".to_owned()),
    }
}

/// A time in which something can happen.
pub(super) fn some_duration(text: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    if time.is_zero() { Err("it must be longer than 0".to_owned()) } else { Ok(time) }
}

/// The largest `--max-size`: a message is held in memory a few times.
pub(crate) const LARGEST_SIZE: usize = 1 << 30;

pub(super) fn size(text: &str) -> Result<usize, String> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[number.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1000,
        "m" | "mb" => 1000 * 1000,
        "g" | "gb" => 1000 * 1000 * 1000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        other => return Err(format!("unknown unit `{other}`: use kB, MB, GB, KiB, MiB or GiB")),
    };
    let number: f64 = number.parse().map_err(|_| format!("`{number}` is not a number"))?;
    let bytes = number * f64::from(unit);
    match bytes >= 1.0 && bytes <= LARGEST_SIZE as f64 {
        true => Ok(bytes as usize),
        false => Err("a size is between 1 byte and 1 GiB".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, want) in [
            ("1", Ok(1)),
            ("500kB", Ok(500_000)),
            ("64MiB", Ok(64 << 20)),
            ("1.5gib", Err("a size is between 1 byte and 1 GiB")),
            ("0", Err("a size is between 1 byte and 1 GiB")),
            ("5 apples", Err("unknown unit `apples`: use kB, MB, GB, KiB, MiB or GiB")),
            ("MiB", Err("`` is not a number")),
        ] {
            assert_eq!(size(text), want.map_err(str::to_owned), "{text}");
        }
    }

    #[test]
    fn times_have_units() {
        for (text, want) in [
            ("500ms", Ok(Duration::from_millis(500))),
            ("1.5s", Ok(Duration::from_millis(1500))),
            ("2m", Ok(Duration::from_secs(120))),
            ("1h", Ok(Duration::from_secs(3600))),
            ("99999999999999999h", Ok(LONGEST)),
            ("-1s", Err("a time is 0 or longer")),
            ("NaNs", Err("unknown unit `NaNs`: use ms, s, m or h")),
            ("30", Err("a time needs its unit, such as 500ms, 30s or 2m")),
            ("3 weeks", Err("unknown unit `weeks`: use ms, s, m or h")),
            ("s", Err("`` is not a number")),
        ] {
            assert_eq!(duration(text), want.map_err(str::to_owned), "{text}");
        }
    }
}
