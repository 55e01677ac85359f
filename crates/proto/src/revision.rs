//! The published revisions of the Model Context Protocol.
//!
//! The one list of them: whoever has to know a revision asks here.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::dialect::{
    Dialect, MCP_2024_11_05, MCP_2025_03_26, MCP_2025_06_18, MCP_2025_11_25, MCP_2026_07_28,
};

/// A published revision of the Model Context Protocol, in the order of their dates.
///
/// ```
/// use sabir_proto::McpRevision;
///
/// let revision = McpRevision::parse("2025-06-18").unwrap();
/// assert!(revision < McpRevision::NEWEST && !revision.dialect().batches);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum McpRevision {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

impl McpRevision {
    /// All of them, oldest first.
    pub const ALL: &[McpRevision] = &[
        McpRevision::V2024_11_05,
        McpRevision::V2025_03_26,
        McpRevision::V2025_06_18,
        McpRevision::V2025_11_25,
        McpRevision::V2026_07_28,
    ];
    /// The newest.
    pub const NEWEST: McpRevision = McpRevision::V2026_07_28;
    /// The newest that is opened by `initialize`.
    pub const NEWEST_LEGACY: McpRevision = McpRevision::V2025_11_25;

    /// The revision that a date such as `2025-06-18` names.
    pub fn parse(date: &str) -> Option<McpRevision> {
        McpRevision::ALL.iter().copied().find(|revision| revision.as_str() == date)
    }

    /// Its date.
    pub const fn as_str(self) -> &'static str {
        match self {
            McpRevision::V2024_11_05 => "2024-11-05",
            McpRevision::V2025_03_26 => "2025-03-26",
            McpRevision::V2025_06_18 => "2025-06-18",
            McpRevision::V2025_11_25 => "2025-11-25",
            McpRevision::V2026_07_28 => "2026-07-28",
        }
    }

    /// Whether it is stateless: no handshake, and only the client sends requests.
    pub fn is_modern(self) -> bool {
        self > McpRevision::NEWEST_LEGACY
    }

    /// Those that are stateless.
    pub fn modern() -> impl Iterator<Item = McpRevision> {
        McpRevision::ALL.iter().copied().filter(|revision| revision.is_modern())
    }

    /// What is legal in it.
    pub const fn dialect(self) -> Dialect {
        match self {
            McpRevision::V2024_11_05 => MCP_2024_11_05,
            McpRevision::V2025_03_26 => MCP_2025_03_26,
            McpRevision::V2025_06_18 => MCP_2025_06_18,
            McpRevision::V2025_11_25 => MCP_2025_11_25,
            McpRevision::V2026_07_28 => MCP_2026_07_28,
        }
    }
}

impl fmt::Display for McpRevision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for McpRevision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for McpRevision {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let date = String::deserialize(deserializer)?;
        McpRevision::parse(&date)
            .ok_or_else(|| serde::de::Error::custom(format_args!("`{date}` is not a revision of MCP")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_dialects_and_order_agree() {
        for &revision in McpRevision::ALL {
            assert_eq!(McpRevision::parse(revision.as_str()), Some(revision));
            assert_eq!(revision.dialect().name, format!("mcp {revision}"));
            assert_eq!(Dialect::mcp(revision.as_str()), Some(revision.dialect()));
        }
        assert!(McpRevision::ALL.is_sorted_by_key(|revision| revision.as_str()));
        assert_eq!(McpRevision::ALL.last(), Some(&McpRevision::NEWEST));
        assert_eq!(Dialect::mcp("2025-06-19"), None);
    }
}
