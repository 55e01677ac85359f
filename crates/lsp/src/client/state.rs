//! What a client keeps of a connection.

use std::sync::{LazyLock, Mutex, OnceLock};

use lsp_types::{PositionEncodingKind, Registration, ServerCapabilities, ServerInfo, UnregistrationParams};
use sabir::internal::lock;
use sabir::{CallError, ErrorCode, ErrorObject, JsonKind, RawJson};
use serde_json::{Map, Value, json};

use super::diagnostics::Published;
use crate::document::{DocumentLimits, Documents, PositionEncoding};

/// Bytes of registrations that a server may have. An empty one counts, too.
const MOST_REGISTERED: usize = 1 << 20;
const EACH_REGISTRATION: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct State {
    agreed: OnceLock<Agreed>,
    pub(super) documents: Documents,
    pub(super) published: Published,
    /// As they came: options may take many times their text in memory.
    registrations: Mutex<Vec<RawJson<'static>>>,
}

/// What a server said of itself.
#[derive(Debug, Default)]
pub(super) struct Agreed {
    pub(super) capabilities: ServerCapabilities,
    /// As it wrote them.
    pub(super) said: Option<Map<String, Value>>,
    pub(super) info: Option<ServerInfo>,
}

impl State {
    /// Before the answer to `initialize`, a server can do nothing.
    pub(super) fn agreed(&self) -> &Agreed {
        static NOTHING: LazyLock<Agreed> = LazyLock::new(Agreed::default);
        self.agreed.get().unwrap_or(&NOTHING)
    }

    pub(super) fn agree(&self, result: &RawJson<'_>) -> Result<(), CallError> {
        if result.kind() != JsonKind::Object {
            return Err(CallError::Decode("the result of `initialize` must be an object".into()));
        }
        let member = |name: &str| result.get(name);
        let said: Option<Map<String, Value>> =
            member("capabilities").and_then(|capabilities| capabilities.parse().ok());
        let capabilities = said.as_ref().map(readable).unwrap_or_default();
        let kind = capabilities.position_encoding.as_ref();
        let encoding = kind.map_or(Some(PositionEncoding::Utf16), PositionEncoding::from_kind);
        let Some(encoding) = encoding else {
            let kind = kind.map_or("", PositionEncodingKind::as_str);
            return Err(CallError::Decode(format!("the position encoding `{kind}` was not offered").into()));
        };
        // Whatever our own side has open.
        self.documents.set_up(encoding, DocumentLimits { count: usize::MAX, bytes: usize::MAX });
        let info = member("serverInfo").and_then(|info| info.parse().ok());
        let _ = self.agreed.set(Agreed { capabilities, said, info });
        Ok(())
    }

    pub(super) fn registrations(&self) -> Vec<Registration> {
        lock(&self.registrations).iter().filter_map(|registration| registration.parse().ok()).collect()
    }

    pub(super) fn register(&self, params: &RawJson<'_>) -> sabir::Result<()> {
        let added = params.get("registrations").filter(|added| added.kind() == JsonKind::Array);
        let added: Vec<_> = added.iter().flat_map(|added| added.elements()).collect();
        let mut registrations = lock(&self.registrations);
        if size(&registrations) + size(&added) > MOST_REGISTERED {
            return Err(ErrorObject::because(ErrorCode::OVERLOADED, "too much is registered"));
        }
        registrations.extend(added.into_iter().map(RawJson::into_owned));
        Ok(())
    }

    pub(super) fn unregister(&self, params: &UnregistrationParams) {
        let id = |registration: &RawJson<'_>| registration.get("id")?.parse::<String>().ok();
        let is_gone = |gone: &Option<String>| {
            params.unregisterations.iter().any(|unregistered| Some(&unregistered.id) == gone.as_ref())
        };
        lock(&self.registrations).retain(|registration| !is_gone(&id(registration)));
    }
}

fn size(registrations: &[RawJson<'_>]) -> usize {
    registrations.iter().map(|registration| registration.as_str().len() + EACH_REGISTRATION).sum()
}

/// The capabilities that can be read. One that does not fit its type is left out, and the session goes on.
fn readable(said: &Map<String, Value>) -> ServerCapabilities {
    if let Ok(all) = serde_json::from_value(json!(said)) {
        return all;
    }
    let fits = |(name, value): &(&String, &Value)| {
        serde_json::from_value::<ServerCapabilities>(json!({ name.as_str(): value })).is_ok()
    };
    let fitting: Map<String, Value> =
        said.iter().filter(fits).map(|(name, value)| (name.clone(), value.clone())).collect();
    serde_json::from_value(json!(fitting)).unwrap_or_default()
}
