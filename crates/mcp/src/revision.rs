//! The published revisions of the protocol, and the two eras that they fall into.

use std::fmt;

use sabir::Dialect;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A published revision of the protocol, in the order of their dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Revision {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

impl Revision {
    /// All of them, oldest first.
    pub const ALL: [Revision; 5] = [
        Revision::V2024_11_05,
        Revision::V2025_03_26,
        Revision::V2025_06_18,
        Revision::V2025_11_25,
        Revision::V2026_07_28,
    ];
    /// The newest.
    pub const NEWEST: Revision = Revision::V2026_07_28;
    /// The newest that is opened by `initialize`.
    pub const NEWEST_LEGACY: Revision = Revision::V2025_11_25;

    /// The revision that a date such as `2025-06-18` names.
    pub fn parse(date: &str) -> Option<Revision> {
        Revision::ALL.into_iter().find(|revision| revision.as_str() == date)
    }

    /// Its date.
    pub fn as_str(self) -> &'static str {
        match self {
            Revision::V2024_11_05 => "2024-11-05",
            Revision::V2025_03_26 => "2025-03-26",
            Revision::V2025_06_18 => "2025-06-18",
            Revision::V2025_11_25 => "2025-11-25",
            Revision::V2026_07_28 => "2026-07-28",
        }
    }

    /// Whether it is of the stateless era: no handshake, and only the client sends requests.
    pub fn is_modern(self) -> bool {
        self >= Revision::V2026_07_28
    }

    /// Its habits on the wire.
    pub fn dialect(self) -> Dialect {
        Dialect::mcp(self.as_str()).unwrap_or(sabir::MCP)
    }

    /// Those of the stateless era, which its errors name.
    pub(crate) fn modern() -> Vec<Revision> {
        Revision::ALL.into_iter().filter(|revision| revision.is_modern()).collect()
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Revision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Revision {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let date = String::deserialize(deserializer)?;
        Revision::parse(&date)
            .ok_or_else(|| serde::de::Error::custom(format_args!("`{date}` is no revision of MCP")))
    }
}
