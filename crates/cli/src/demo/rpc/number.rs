//! Numbers that are added exactly, or fail.

use std::borrow::Cow;
use std::fmt;

use sabir::ErrorObject;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::demo::rpc::invalid;

/// A number as JSON has it: whole and exact, or with a fraction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Whole(i128),
    Fraction(f64),
}

impl Number {
    pub(crate) fn plus(self, other: Number) -> sabir::Result<Number> {
        self.combine(other, i128::checked_add, |a, b| a + b).ok_or_else(too_large)
    }

    pub(crate) fn minus(self, other: Number) -> sabir::Result<Number> {
        self.combine(other, i128::checked_sub, |a, b| a - b).ok_or_else(too_large)
    }

    #[inline]
    fn combine(
        self,
        other: Number,
        exact: fn(i128, i128) -> Option<i128>,
        rounded: fn(f64, f64) -> f64,
    ) -> Option<Number> {
        match (self, other) {
            (Number::Whole(a), Number::Whole(b)) => exact(a, b).map(Number::Whole),
            _ => {
                Some(rounded(self.rounded(), other.rounded())).filter(|n| n.is_finite()).map(Number::Fraction)
            }
        }
    }

    fn rounded(self) -> f64 {
        match self {
            Number::Whole(whole) => whole as f64,
            Number::Fraction(fraction) => fraction,
        }
    }

    /// Reads the text of a JSON number.
    #[inline]
    fn read(text: &str) -> Result<Number, String> {
        // Nearly every number is as short as this, and a machine word is read faster.
        if text.len() < 19
            && let Some(whole) = short_whole(text.as_bytes())
        {
            return Ok(Number::Whole(whole.into()));
        }
        Number::read_unusual(text)
    }

    fn read_unusual(text: &str) -> Result<Number, String> {
        match text.as_bytes() {
            [b'-' | b'0'..=b'9', rest @ ..] if rest.iter().all(u8::is_ascii_digit) => text
                .parse()
                .map(Number::Whole)
                .map_err(|_| "integers of more than 128 bits do not add here".into()),
            [b'-' | b'0'..=b'9', ..] => match text.parse::<f64>() {
                Ok(fraction) if fraction.is_finite() => Ok(Number::Fraction(fraction)),
                _ => Err("the number is too large".into()),
            },
            _ => Err(format!("expected a number, found {text:.40}")),
        }
    }
}

/// A whole number of so few digits that it cannot be too large.
#[inline]
fn short_whole(text: &[u8]) -> Option<i64> {
    let (sign, digits) = match text {
        [b'-', digits @ ..] => (-1, digits),
        digits => (1, digits),
    };
    let mut number = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        number = number * 10 + i64::from(digit - b'0');
    }
    Some(sign * number)
}

#[cold]
fn too_large() -> ErrorObject {
    invalid("the result is too large: integers may have 128 bits")
}

/// serde_json gives large integers only to those who expect them and no fractions, so the text is read
/// here. It is borrowed: nothing is allocated.
impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        Number::read(raw.get()).map_err(D::Error::custom)
    }
}

impl Serialize for Number {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Number::Whole(whole) => match i64::try_from(whole) {
                Ok(small) => serializer.serialize_i64(small),
                Err(_) => serializer.serialize_i128(whole),
            },
            Number::Fraction(fraction) => serializer.serialize_f64(fraction),
        }
    }
}

impl JsonSchema for Number {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Number".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "number"})
    }
}

impl JsonSchema for Sum {
    fn schema_name() -> Cow<'static, str> {
        "Numbers".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<Number>::json_schema(generator)
    }
}

/// The sum of a list, which is never kept as a whole.
pub(crate) struct Sum(pub(crate) Number);

impl<'de> Deserialize<'de> for Sum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Adding;
        impl<'de> Visitor<'de> for Adding {
            type Value = Sum;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of numbers")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Sum, A::Error> {
                let mut sum = Number::Whole(0);
                while let Some(number) = numbers.next_element::<Number>()? {
                    sum = sum.combine(number, i128::checked_add, |a, b| a + b).ok_or_else(|| {
                        A::Error::custom("the sum is too large: integers may have 128 bits")
                    })?;
                }
                Ok(Sum(sum))
            }
        }
        deserializer.deserialize_seq(Adding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(a: &str, b: &str, want: &str) {
        let read = |text| Number::read(text).map_err(invalid);
        let sum = read(a).and_then(|a| a.plus(read(b)?));
        let got = match sum {
            Ok(sum) => serde_json::to_string(&sum).expect("numbers can be written"),
            Err(error) => error.data.expect("errors say why").to_string(),
        };
        assert_eq!(got, want, "{a} + {b}");
    }

    #[test]
    fn sums_are_exact_or_refused() {
        check("1", "2", "3");
        check("-5", "2", "-3");
        check("9007199254740993", "0", "9007199254740993");
        check("9223372036854775807", "1", "9223372036854775808");
        check("170141183460469231731687303715884105726", "1", "170141183460469231731687303715884105727");
        check("1.5", "2", "3.5");
        check("1e2", "1", "101.0");
        let large = r#"{"reason":"the result is too large: integers may have 128 bits"}"#;
        check("170141183460469231731687303715884105727", "1", large);
        check("1e308", "1e308", large);
        let huge = r#"{"reason":"integers of more than 128 bits do not add here"}"#;
        check("170141183460469231731687303715884105728", "0", huge);
        check("1e999", "0", r#"{"reason":"the number is too large"}"#);
        check("\"x\"", "0", r#"{"reason":"expected a number, found \"x\""}"#);
    }
}
