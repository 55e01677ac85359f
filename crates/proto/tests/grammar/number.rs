//! The value of a JSON number, spelt out: the digits that count and the power of ten of the last one.

use std::cmp::Ordering;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Value {
    negative: bool,
    digits: String,
    exponent: i128,
}

impl Value {
    /// `text` is a valid JSON number.
    pub(crate) fn of(text: &str) -> Value {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let limit = if exponent.starts_with('-') { i128::MIN / 2 } else { i128::MAX / 2 };
        let exponent = exponent.parse().unwrap_or(limit) - fraction.len() as i128;
        let all = format!("{}{fraction}", whole.trim_start_matches('-'));
        let kept = all.trim_end_matches('0');
        let digits = kept.trim_start_matches('0').to_owned();
        if digits.is_empty() {
            return Value { negative: false, digits, exponent: 0 };
        }
        Value {
            negative: text.starts_with('-'),
            digits,
            exponent: exponent + (all.len() - kept.len()) as i128,
        }
    }

    pub(crate) fn is_fractional(&self) -> bool {
        self.exponent < 0
    }

    fn sign(&self) -> i8 {
        match (self.negative, self.digits.is_empty()) {
            (_, true) => 0,
            (true, _) => -1,
            (false, _) => 1,
        }
    }

    fn cmp_size(&self, other: &Value) -> Ordering {
        let magnitude = |v: &Value| v.digits.len() as i128 + v.exponent;
        magnitude(self).cmp(&magnitude(other)).then_with(|| self.digits.cmp(&other.digits))
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Value) -> Ordering {
        self.sign().cmp(&other.sign()).then_with(|| match self.sign() {
            1 => self.cmp_size(other),
            -1 => other.cmp_size(self),
            _ => Ordering::Equal,
        })
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Value) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
