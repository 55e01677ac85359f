//! The calendar, as far as it takes to write a moment for people and for other programs.

use std::time::Duration;

/// A moment in UTC as RFC 3339 has it, by the time since 1970 and with so many digits of a second, nine at most. Further
/// ones are cut off.
///
/// ```
/// use sabir_proto::utc_timestamp;
/// use std::time::Duration;
///
/// assert_eq!(utc_timestamp(Duration::from_millis(1_785_231_000_250), 3), "2026-07-28T09:30:00.250Z");
/// ```
pub fn utc_timestamp(since_1970: Duration, digits: usize) -> String {
    let seconds = since_1970.as_secs();
    let (year, month, day) = date_of(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let nanos = format!(".{:09}", since_1970.subsec_nanos());
    let fraction = if digits == 0 { "" } else { &nanos[..=digits.min(9)] };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

/// Days in the 400 years after which the calendar repeats itself.
const ERA: u64 = 146_097;

/// The year, the month and the day that is so many days after 1970-01-01. Years begin in March here, so that the day that
/// some have more is their last.
fn date_of(days: u64) -> (u64, u64, u64) {
    // From 0000-03-01.
    let days = days + 719_468;
    let (era, in_era) = (days / ERA, days % ERA);
    let year = (in_era - in_era / 1460 + in_era / 36_524 - in_era / (ERA - 1)) / 365;
    let in_year = in_era - (365 * year + year / 4 - year / 100);
    let month = (5 * in_year + 2) / 153;
    let day = in_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + later, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_calendar() {
        for (nanos, digits, want) in [
            (0, 0, "1970-01-01T00:00:00Z"),
            (951_782_399_999_000_000, 3, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000_000_000, 0, "2000-02-29T00:00:00Z"),
            (951_868_800_000_000_001, 9, "2000-03-01T00:00:00.000000001Z"),
            (1_785_231_000_250_000_000, 3, "2026-07-28T09:30:00.250Z"),
            (1_798_761_599_999_999_999, 1, "2026-12-31T23:59:59.9Z"),
            (4_107_542_399_000_000_000, 0, "2100-02-28T23:59:59Z"),
            (4_107_542_400_000_000_000, 12, "2100-03-01T00:00:00.000000000Z"),
        ] {
            assert_eq!(utc_timestamp(Duration::from_nanos(nanos), digits), want);
        }
    }
}
