//! The exact value of a JSON number, for comparing ids: no rounding, no allocation, no size limit.

use std::cmp::Ordering;

/// A number as sign, significant digits and the power of ten of the first of them.
///
/// The digits stay in the number's text; leading and trailing zeros do not count.
pub(crate) struct Decimal<'a> {
    negative: bool,
    /// Digits with at most one `.` among them; empty for zero.
    digits: &'a str,
    /// How many digits stand before the decimal point, were it written out in full.
    magnitude: i64,
}

impl<'a> Decimal<'a> {
    /// `text` is a valid JSON number.
    pub(crate) fn new(text: &'a str) -> Self {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let whole = mantissa.find('.').unwrap_or(mantissa.len()) as i64;
        let trimmed = mantissa.trim_start_matches(['0', '.']);
        let skipped = (mantissa.len() - trimmed.len()) as i64;
        let digits = if mantissa.contains('.') { trimmed.trim_end_matches(['0', '.']) } else { trimmed };
        let digits = digits.trim_end_matches('0');
        if digits.is_empty() {
            return Decimal { negative: false, digits: "", magnitude: 0 };
        }
        // Skipped past the point: each zero there is one power less, and the point itself is not a digit.
        let leading = if skipped > whole { whole - skipped + 1 } else { whole - skipped };
        Decimal { negative, digits, magnitude: leading.saturating_add(clamped(exponent)) }
    }

    fn significant(&self) -> impl Iterator<Item = u8> + '_ {
        self.digits.bytes().filter(|&c| c != b'.')
    }

    pub(crate) fn is_integer(&self) -> bool {
        self.magnitude >= self.significant().count() as i64
    }

    pub(crate) fn to_u64(&self) -> Option<u64> {
        if self.negative || !self.is_integer() || self.magnitude > 20 {
            return None;
        }
        let padded = self.significant().map(|c| u64::from(c - b'0')).chain(std::iter::repeat(0));
        padded.take(self.magnitude as usize).try_fold(0u64, |n, digit| n.checked_mul(10)?.checked_add(digit))
    }

    /// One spelling for each value: the plain integer where that is of a sane length.
    pub(crate) fn plain(&self) -> String {
        let sign = if self.negative { "-" } else { "" };
        let digits: String = self.significant().map(char::from).collect();
        match self.magnitude {
            _ if digits.is_empty() => "0".to_owned(),
            n if self.is_integer() && n <= 4096 => format!("{sign}{digits:0<width$}", width = n as usize),
            n => format!("{sign}{digits}e{n}"),
        }
    }

    fn cmp_size(&self, other: &Self) -> Ordering {
        match (self.digits.is_empty(), other.digits.is_empty()) {
            (false, false) => {
                self.magnitude.cmp(&other.magnitude).then_with(|| self.significant().cmp(other.significant()))
            }
            (a, b) => b.cmp(&a),
        }
    }

    pub(crate) fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.cmp_size(other),
            (true, true) => other.cmp_size(self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

/// An exponent of any length; beyond what fits, the sign is all that matters.
fn clamped(exponent: &str) -> i64 {
    exponent.parse().unwrap_or(if exponent.starts_with('-') { i64::MIN / 2 } else { i64::MAX / 2 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_one_plain_spelling() {
        for same in [
            &["1", "1.0", "1e0", "0.1e1", "10e-1", "1.000", "100E-2"][..],
            &["0", "-0", "0.0", "0e9", "-0.00e-5"],
            &["1500", "1.5e3", "15e2", "1500.0", "0.0015e+6"],
            &["-0.05", "-5e-2", "-0.050", "-0.5e-1"],
            &["9007199254740993", "9007199254740993.0", "9.007199254740993e15"],
            &["1e99999999999999999999", "1e88888888888888888888"],
        ] {
            for a in same {
                for b in same {
                    let (a, b) = (Decimal::new(a), Decimal::new(b));
                    assert_eq!(a.cmp(&b), Ordering::Equal, "{} {}", a.plain(), b.plain());
                    assert_eq!(a.plain(), b.plain());
                }
            }
        }
    }

    #[test]
    fn order_is_by_value() {
        let rising =
            ["-1e9", "-2", "-1.5", "-1", "-0.1", "0", "1e-9", "0.1", "1", "1.01", "2", "10", "99", "1e2"];
        for (i, a) in rising.iter().enumerate() {
            for (j, b) in rising.iter().enumerate() {
                assert_eq!(Decimal::new(a).cmp(&Decimal::new(b)), i.cmp(&j), "{a} {b}");
            }
        }
    }

    #[test]
    fn integers_that_fit() {
        for (text, want) in [
            ("1.0", Some(1)),
            ("12e1", Some(120)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("1.5", None),
            ("-1", None),
            ("0.0", Some(0)),
            ("1e400", None),
        ] {
            assert_eq!(Decimal::new(text).to_u64(), want, "{text}");
        }
    }
}
