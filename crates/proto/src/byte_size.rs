//! Sizes for people.

use std::fmt;

/// A number of bytes, shown in the largest unit that it is a whole number of.
///
/// ```
/// use sabir_proto::ByteSize;
///
/// assert_eq!(ByteSize(16 << 20).to_string(), "16 MiB");
/// assert_eq!(ByteSize(500_000).to_string(), "500 kB");
/// assert_eq!(ByteSize(1001).to_string(), "1001 bytes");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteSize(pub usize);

const UNITS: [(usize, &str); 6] = [
    (1 << 30, "GiB"),
    (1_000_000_000, "GB"),
    (1 << 20, "MiB"),
    (1_000_000, "MB"),
    (1 << 10, "KiB"),
    (1000, "kB"),
];

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS.iter().find(|(unit, _)| self.0 != 0 && self.0.is_multiple_of(*unit)) {
            Some((unit, name)) => write!(f, "{} {name}", self.0 / unit),
            None => write!(f, "{} bytes", self.0),
        }
    }
}
