//! How far a call is.

use serde::{Deserialize, Serialize};
use serde_json::Number;

/// How far a call is. Made from a number, or from two of them as `(done, total)`: integers stay integers.
///
/// ```
/// use sabir_mcp::ProgressUpdate;
///
/// let half = ProgressUpdate::from((5, 10)).message("five files of ten");
/// assert_eq!(half.fraction(), Some(0.5));
/// ```
///
/// A float that is not finite has no JSON: as the progress it becomes 0, as the total it is left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProgressUpdate {
    /// Rises with each message.
    pub progress: Number,
    /// What it will be at the end, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Number>,
    /// For people. Sent from 2025-03-26 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl ProgressUpdate {
    /// Says something to people.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// From 0 to 1, if there is a total.
    pub fn fraction(&self) -> Option<f64> {
        let total = self.total.as_ref()?.as_f64().filter(|total| *total > 0.0)?;
        Some((self.progress.as_f64()? / total).clamp(0.0, 1.0))
    }
}

macro_rules! from_numbers {
    ($number:expr => $($kind:ty)*) => {
        $(
            impl From<$kind> for ProgressUpdate {
                fn from(progress: $kind) -> Self {
                    let progress = $number(progress).unwrap_or_else(|| Number::from(0));
                    ProgressUpdate { progress, total: None, message: None }
                }
            }

            impl From<($kind, $kind)> for ProgressUpdate {
                fn from((progress, total): ($kind, $kind)) -> Self {
                    ProgressUpdate { total: $number(total), ..ProgressUpdate::from(progress) }
                }
            }
        )*
    };
}

from_numbers! { |number| Some(Number::from(number)) => i8 i16 i32 i64 isize u8 u16 u32 u64 usize }
from_numbers! { |number: f32| Number::from_f64(number.into()) => f32 }
from_numbers! { Number::from_f64 => f64 }

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may")]

    use super::*;

    #[test]
    fn numbers_are_exact() {
        let text = |update: ProgressUpdate| serde_json::to_string(&update).unwrap();
        assert_eq!(text(3.into()), r#"{"progress":3}"#);
        assert_eq!(text((1, 3).into()), r#"{"progress":1,"total":3}"#);
        assert_eq!(text(0.5.into()), r#"{"progress":0.5}"#);
        assert_eq!(text(u64::MAX.into()), r#"{"progress":18446744073709551615}"#);
        assert_eq!(text(i64::MIN.into()), r#"{"progress":-9223372036854775808}"#);
        assert_eq!(text((2.0, f64::INFINITY).into()), r#"{"progress":2.0}"#);
        assert_eq!(text((f64::NAN, 2.0).into()), r#"{"progress":0,"total":2.0}"#);
        assert_eq!(text(ProgressUpdate::from(1).message("one")), r#"{"progress":1,"message":"one"}"#);
    }

    #[test]
    fn a_fraction_is_between_zero_and_one() {
        for (update, fraction) in [
            (ProgressUpdate::from((1, 4)), Some(0.25)),
            (ProgressUpdate::from((9, 4)), Some(1.0)),
            (ProgressUpdate::from((-1, 4)), Some(0.0)),
            (ProgressUpdate::from((1, 0)), None),
            (ProgressUpdate::from(1), None),
        ] {
            assert_eq!(update.fraction(), fraction, "{update:?}");
        }
    }
}
