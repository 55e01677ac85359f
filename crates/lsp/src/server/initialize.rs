//! The answer to `initialize`: what is agreed on.

use lsp_types::{ClientCapabilities, InitializeResult};
use serde_json::{Value, json};

use super::Config;
use super::capabilities::complete;
use crate::document::PositionEncoding;

/// Completes what the server says of itself. The answer, and what columns count from now on.
pub(super) fn agree(
    config: &Config,
    client: &ClientCapabilities,
    mut said: InitializeResult,
) -> (Value, PositionEncoding) {
    let own = said.capabilities.position_encoding.as_ref().and_then(PositionEncoding::from_kind);
    let encoding = own.unwrap_or_else(|| choose(&config.encodings, client));
    said.capabilities.position_encoding = Some(encoding.kind());
    said.server_info.get_or_insert_with(|| config.info.clone());
    let mut result = json!(said);
    if let Some(capabilities) = result["capabilities"].as_object_mut() {
        complete(capabilities, &config.methods, &config.commands, client);
    }
    (result, encoding)
}

/// The first that the client offers. All clients take UTF-16, whether they say so or not.
fn choose(preferred: &[PositionEncoding], client: &ClientCapabilities) -> PositionEncoding {
    let general = client.general.as_ref();
    let offered = general.and_then(|general| general.position_encodings.as_deref()).unwrap_or_default();
    let offered: Vec<_> = offered.iter().filter_map(PositionEncoding::from_kind).collect();
    preferred.iter().copied().find(|encoding| offered.contains(encoding)).unwrap_or_default()
}
