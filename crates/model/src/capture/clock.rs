//! Times of day, as far as a capture needs them: read as in RFC 3339, moved on, and written so, which `xsd:dateTime` is, too.

use std::time::{Duration, SystemTime};

use sabir_proto::utc_timestamp;

/// A moment, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    /// Since 1970-01-01T00:00:00Z.
    since_1970: Duration,
}

impl Moment {
    /// What a clock shows; before 1970 it is wrong.
    pub(crate) fn at(time: SystemTime) -> Moment {
        Moment { since_1970: time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default() }
    }

    /// `2026-11-15T12:00:00.123Z`, or with an offset such as `+01:00`. `None` for what is not such a time, or before
    /// 1970.
    pub(crate) fn parse(text: &str) -> Option<Moment> {
        let digits = |from: usize, to: usize| {
            let part = text.get(from..to)?;
            part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse::<i64>().ok())?
        };
        let sign = |at: usize, signs: &str| signs.contains(*text.as_bytes().get(at)? as char).then_some(());
        let (year, month, day) = (digits(0, 4)?, digits(5, 7)?, digits(8, 10)?);
        let (hour, minute, second) = (digits(11, 13)?, digits(14, 16)?, digits(17, 19)?);
        sign(4, "-").and(sign(7, "-")).and(sign(10, "Tt ")).and(sign(13, ":")).and(sign(16, ":"))?;
        let in_range =
            (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second <= 60;
        let rest = text.get(19..)?;
        let fraction = rest
            .strip_prefix('.')
            .map_or("", |rest| &rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())]);
        let zone = rest.get(if fraction.is_empty() { 0 } else { fraction.len() + 1 }..)?;
        let offset = match zone.as_bytes() {
            b"Z" | b"z" => 0,
            [plus @ (b'+' | b'-'), _, _, b':', _, _] => {
                let at = text.len() - 5;
                let minutes = digits(at, at + 2)? * 60 + digits(at + 3, at + 5)?;
                if *plus == b'+' { minutes } else { -minutes }
            }
            _ => return None,
        };
        let seconds =
            days_before(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset * 60;
        let nanos = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
        let seconds = u64::try_from(seconds).ok().filter(|_| in_range)?;
        Some(Moment { since_1970: Duration::new(seconds, nanos) })
    }

    /// As a clock shows it.
    pub(crate) fn time(self) -> Option<SystemTime> {
        SystemTime::UNIX_EPOCH.checked_add(self.since_1970)
    }

    #[cfg(any(feature = "graph", test))]
    pub(crate) fn after(self, time: Duration) -> Moment {
        Moment { since_1970: self.since_1970.saturating_add(time) }
    }

    /// How long after another one it is; no time if it is before.
    #[cfg(any(feature = "graph", test))]
    pub(crate) fn since(self, earlier: Moment) -> Duration {
        self.since_1970.saturating_sub(earlier.since_1970)
    }

    /// With milliseconds, or with as many digits as it takes.
    pub(crate) fn date_time(self) -> String {
        let nanos = format!("{:09}", self.since_1970.subsec_nanos());
        utc_timestamp(self.since_1970, nanos.trim_end_matches('0').len().max(3))
    }
}

/// Days from 1970-01-01 to a date. Years begin in March here, so that the leap day is their last.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let in_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    // The calendar repeats itself after 400 years.
    era * 146_097 + year * 365 + year / 4 - year / 100 + in_year - 719_468
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written() {
        for (text, want) in [
            ("1970-01-01T00:00:00Z", Some("1970-01-01T00:00:00.000Z")),
            ("2026-11-15T12:00:00.123Z", Some("2026-11-15T12:00:00.123Z")),
            ("2024-02-29T23:59:59.123456789Z", Some("2024-02-29T23:59:59.123456789Z")),
            ("2026-01-01T00:30:00+01:00", Some("2025-12-31T23:30:00.000Z")),
            ("2026-12-31 23:30:00-01:30", Some("2027-01-01T01:00:00.000Z")),
            ("2000-03-01t00:00:00z", Some("2000-03-01T00:00:00.000Z")),
            ("9999-12-31T23:59:59Z", Some("9999-12-31T23:59:59.000Z")),
            ("1969-12-31T23:59:59Z", None),
            ("2026-13-01T00:00:00Z", None),
            ("2026-11-15T12:00:00", None),
            ("2026-11-15T12:00:00.Z", None),
            ("yesterday", None),
            ("2026-11-1éT12:00:00Z", None),
        ] {
            assert_eq!(Moment::parse(text).map(Moment::date_time).as_deref(), want, "{text}");
        }
        let later = Moment::parse("2026-12-31T23:59:59.5Z").unwrap().after(Duration::from_nanos(500_000_001));
        assert_eq!(later.date_time(), "2027-01-01T00:00:00.000000001Z");
    }
}
