//! What a client can do: whatever its user can do with the types of the protocol.

use serde_json::Value;

/// As JSON: it has members that `lsp_types` does not know.
pub(super) fn all() -> Value {
    serde_json::from_str(include_str!("capabilities.json")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn they_fit_the_types() {
        let read: lsp_types::ClientCapabilities = serde_json::from_value(super::all()).unwrap_or_default();
        assert!(read.text_document.is_some_and(|capabilities| capabilities.semantic_tokens.is_some()));
    }
}
