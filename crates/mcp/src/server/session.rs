//! Who calls, and by which revision: what was agreed on in the legacy era, what each request says for itself
//! in the modern one.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use sabir::{JsonKind, RawJson};
use serde::Deserialize;

use crate::Revision;
use crate::error::{invalid, unsupported_revision};
use crate::types::{ClientCapabilities, Implementation, Level};

pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// What a connection of the legacy era has agreed on. Kept with the connection.
#[derive(Default)]
pub(crate) struct Session {
    agreed: OnceLock<Agreed>,
    /// The least level that is logged, as a number.
    level: AtomicU8,
    subscriptions: Mutex<BTreeSet<String>>,
}

pub(crate) struct Agreed {
    pub(crate) revision: Revision,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) info: Option<Implementation>,
}

/// The params of `initialize`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Initialize {
    protocol_version: String,
    #[serde(default)]
    capabilities: ClientCapabilities,
    client_info: Option<Implementation>,
}

impl Session {
    pub(crate) fn agreed(&self) -> Option<&Agreed> {
        self.agreed.get()
    }

    /// Agrees on the revision that is asked for, or else on the newest. `None` if that was done before.
    pub(crate) fn agree(&self, asked: Initialize) -> Option<Revision> {
        let revision = Revision::parse(&asked.protocol_version)
            .filter(|revision| !revision.is_modern())
            .unwrap_or(Revision::NEWEST_LEGACY);
        let agreed = Agreed { revision, capabilities: asked.capabilities, info: asked.client_info };
        self.agreed.set(agreed).ok().map(|()| revision)
    }

    pub(crate) fn set_level(&self, level: Level) {
        self.level.store(level as u8, Ordering::Relaxed);
    }

    pub(crate) fn logs(&self, level: Level) -> bool {
        level as u8 >= self.level.load(Ordering::Relaxed)
    }

    pub(crate) fn subscribe(&self, uri: String) {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner).insert(uri);
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
    }

    pub(crate) fn is_subscribed(&self, uri: &str) -> bool {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner).contains(uri)
    }
}

/// Who calls.
#[derive(Clone)]
pub(crate) enum Caller {
    Legacy(Arc<Session>, Revision),
    Modern(Modern),
}

/// What a request of the modern era says for itself. The rest is read when it is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Modern {
    pub(crate) revision: Revision,
    pub(crate) level: Option<Level>,
}

impl Modern {
    /// Reads `_meta`, whose version is `version`.
    pub(crate) fn read(meta: &RawJson<'_>, version: &RawJson<'_>) -> sabir::Result<Self> {
        let text: String =
            version.parse().map_err(|_| invalid(format_args!("`{PROTOCOL_VERSION}` must be a string")))?;
        let revision = Revision::parse(&text).filter(|revision| revision.is_modern());
        let revision = revision.ok_or_else(|| unsupported_revision(&text.into()))?;
        match meta.get(CLIENT_CAPABILITIES).map(|capabilities| capabilities.kind()) {
            Some(JsonKind::Object) => {}
            Some(found) => {
                return Err(invalid(format_args!(
                    "`{CLIENT_CAPABILITIES}` must be an object, found {found}"
                )));
            }
            None => return Err(invalid(format_args!("`_meta` must have `{CLIENT_CAPABILITIES}`"))),
        }
        let level = match meta.get(LOG_LEVEL) {
            Some(level) => {
                Some(level.parse().map_err(|error| invalid(format_args!("`{LOG_LEVEL}`: {error}")))?)
            }
            None => None,
        };
        Ok(Modern { revision, level })
    }
}

impl Caller {
    pub(crate) fn revision(&self) -> Revision {
        match self {
            Caller::Legacy(_, revision) => *revision,
            Caller::Modern(modern) => modern.revision,
        }
    }
}
