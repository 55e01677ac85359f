//! Who calls, and by which revision: what was agreed on in the legacy era, what each request says for itself
//! in the modern one.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use sabir::{JsonKind, RawJson};
use serde::Deserialize;

use super::limits::{McpLimits, Usage};
use crate::McpRevision;
use crate::error::{invalid, reason, unread, unsupported_revision};
use crate::types::{ClientCapabilities, Implementation, LogLevel};

pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// Tasks that a session lists. It may begin more.
const MOST_TASKS: usize = 1024;

/// What a connection of the legacy era has agreed on. Kept with the connection.
#[derive(Default)]
pub(crate) struct Session {
    agreed: OnceLock<Agreed>,
    /// The least level that is logged, as a number.
    level: AtomicU8,
    subscriptions: Mutex<BTreeSet<String>>,
    /// The tasks that it has begun.
    tasks: Mutex<BTreeSet<String>>,
    /// It is notified of changes.
    joined: AtomicBool,
}

/// What the client said of itself stays as text: values would take many times the memory.
pub(crate) struct Agreed {
    pub(crate) revision: McpRevision,
    capabilities: Option<RawJson<'static>>,
    info: Option<RawJson<'static>>,
}

impl Agreed {
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        self.capabilities.as_ref().and_then(|raw| raw.parse().ok()).unwrap_or_default()
    }

    pub(crate) fn info(&self) -> Option<Implementation> {
        self.info.as_ref()?.parse().ok()
    }
}

/// The params of `initialize`.
pub(crate) struct Initialize {
    protocol_version: String,
    capabilities: Option<RawJson<'static>>,
    info: Option<RawJson<'static>>,
}

impl Initialize {
    /// Reads them, and refuses what does not fit.
    pub(crate) fn read(params: Option<&RawJson<'_>>, limits: &McpLimits) -> sabir::Result<Self> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            protocol_version: String,
            #[serde(default, rename = "capabilities")]
            _capabilities: ClientCapabilities,
            #[serde(rename = "clientInfo")]
            _client_info: Option<Implementation>,
        }
        let text = params.map_or("{}", RawJson::as_str);
        if text.len() > limits.initialize_bytes {
            let limit = limits.initialize_bytes;
            return Err(invalid(format_args!("the params of `initialize` have more than {limit} bytes")));
        }
        let Members { protocol_version, .. } = serde_json::from_str(text).map_err(|error| unread(&error))?;
        let member = |name: &str| params.and_then(|params| params.get(name)).map(RawJson::into_owned);
        Ok(Initialize { protocol_version, capabilities: member("capabilities"), info: member("clientInfo") })
    }
}

impl Session {
    pub(crate) fn agreed(&self) -> Option<&Agreed> {
        self.agreed.get()
    }

    /// Agrees on the revision that is asked for, or else on the newest. `None` if that was done before.
    pub(crate) fn agree(&self, asked: Initialize) -> Option<McpRevision> {
        let revision = McpRevision::parse(&asked.protocol_version)
            .filter(|revision| !revision.is_modern())
            .unwrap_or(McpRevision::NEWEST_LEGACY);
        let agreed = Agreed { revision, capabilities: asked.capabilities, info: asked.info };
        self.agreed.set(agreed).ok().map(|()| revision)
    }

    pub(crate) fn set_level(&self, level: LogLevel) {
        self.level.store(level as u8, Ordering::Relaxed);
    }

    pub(crate) fn logs(&self, level: LogLevel) -> bool {
        level as u8 >= self.level.load(Ordering::Relaxed)
    }

    /// Whether this is its first registration for changes.
    pub(crate) fn joins(&self) -> bool {
        self.agreed().is_some() && !self.joined.swap(true, Ordering::Relaxed)
    }

    /// Subscribing again to the same takes no more room.
    pub(crate) fn subscribe(&self, uri: String, usage: &Usage, limits: &McpLimits) -> sabir::Result<()> {
        let mut subscriptions = self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner);
        if !subscriptions.contains(&uri) {
            usage.subscribe(&uri, limits)?;
            subscriptions.insert(uri);
        }
        Ok(())
    }

    pub(crate) fn unsubscribe(&self, uri: &str, usage: &Usage) {
        if self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner).remove(uri) {
            usage.unsubscribe(uri);
        }
    }

    pub(crate) fn remember_task(&self, id: String) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if tasks.len() >= MOST_TASKS {
            tasks.pop_first();
        }
        tasks.insert(id);
    }

    /// The tasks that it has begun, behind the id `after`: at most `most`.
    pub(crate) fn tasks(&self, after: Option<&str>, most: usize) -> Vec<String> {
        let behind = (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.range::<str, _>(behind).take(most).cloned().collect()
    }

    pub(crate) fn is_subscribed(&self, uri: &str) -> bool {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner).contains(uri)
    }
}

/// Who calls.
#[derive(Clone)]
pub(crate) enum Caller {
    Legacy(Arc<Session>, McpRevision),
    Modern(Modern),
}

/// What a request of the modern era says for itself. The rest is read when it is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Modern {
    pub(crate) revision: McpRevision,
    pub(crate) level: Option<LogLevel>,
}

impl Modern {
    /// Reads `_meta`, whose version is `version`.
    pub(crate) fn read(meta: &RawJson<'_>, version: &RawJson<'_>) -> sabir::Result<Self> {
        let text: String =
            version.parse().map_err(|_| invalid(format_args!("`{PROTOCOL_VERSION}` must be a string")))?;
        let revision = McpRevision::parse(&text).filter(|revision| revision.is_modern());
        let revision = revision.ok_or_else(|| unsupported_revision(&text))?;
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
            Some(level) => Some(
                level.parse().map_err(|error| invalid(format_args!("`{LOG_LEVEL}`: {}", reason(&error))))?,
            ),
            None => None,
        };
        Ok(Modern { revision, level })
    }
}

impl Caller {
    pub(crate) fn revision(&self) -> McpRevision {
        match self {
            Caller::Legacy(_, revision) => *revision,
            Caller::Modern(modern) => modern.revision,
        }
    }
}
