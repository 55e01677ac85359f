//! Protocol detection, for fuzzers.

/// What the first bytes of a connection begin, by name; `None` if more are needed.
pub fn detect(bytes: &[u8]) -> Option<String> {
    crate::server::detect::detect(bytes).map(|protocol| format!("{protocol:?}"))
}
