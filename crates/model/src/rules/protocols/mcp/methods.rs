//! The methods of MCP as data: who sends them, in which revisions, what they need, and what they must hold.

use sabir_proto::{JsonKind, McpRevision as Revision};

use crate::rules::engine::calls::Side;

/// Who may send it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    Client,
    Server,
    Either,
}

/// A member that must be there, and its kind.
pub(crate) type Needs = (&'static str, JsonKind);

#[derive(Debug)]
pub(crate) struct Method {
    pub(crate) name: &'static str,
    pub(crate) from: From,
    /// First and last revision that has it.
    pub(crate) since: Revision,
    pub(crate) until: Revision,
    /// Whose capability it needs, as a path.
    pub(crate) capability: Option<(Side, &'static [&'static str])>,
    pub(crate) params: &'static [Needs],
    pub(crate) result: &'static [Needs],
}

const FIRST: Revision = Revision::V2024_11_05;
const LEGACY: Revision = Revision::V2025_11_25;
const MODERN: Revision = Revision::V2026_07_28;

const fn method(name: &'static str, from: From) -> Method {
    Method { name, from, since: FIRST, until: MODERN, capability: None, params: &[], result: &[] }
}

const fn legacy(name: &'static str, from: From) -> Method {
    Method { until: LEGACY, ..method(name, from) }
}

const fn modern(name: &'static str, from: From) -> Method {
    Method { since: MODERN, ..method(name, from) }
}

const NAME: Needs = ("name", JsonKind::String);
const URI: Needs = ("uri", JsonKind::String);
const VERSION: Needs = ("protocolVersion", JsonKind::String);
const CAPABILITIES: Needs = ("capabilities", JsonKind::Object);

macro_rules! server {
    ($($path:literal),+) => { Some((Side::Server, &[$($path),+])) };
}
macro_rules! client {
    ($($path:literal),+) => { Some((Side::Client, &[$($path),+])) };
}

pub(crate) static METHODS: &[Method] = &[
    Method {
        params: &[VERSION, CAPABILITIES, ("clientInfo", JsonKind::Object)],
        result: &[VERSION, CAPABILITIES, ("serverInfo", JsonKind::Object)],
        ..legacy("initialize", From::Client)
    },
    legacy("notifications/initialized", From::Client),
    legacy("ping", From::Either),
    Method {
        result: &[("supportedVersions", JsonKind::Array), CAPABILITIES],
        ..modern("server/discover", From::Client)
    },
    Method {
        capability: server!("tools"),
        result: &[("tools", JsonKind::Array)],
        ..method("tools/list", From::Client)
    },
    Method { capability: server!("tools"), params: &[NAME], ..method("tools/call", From::Client) },
    Method {
        capability: server!("resources"),
        result: &[("resources", JsonKind::Array)],
        ..method("resources/list", From::Client)
    },
    Method {
        capability: server!("resources"),
        result: &[("resourceTemplates", JsonKind::Array)],
        ..method("resources/templates/list", From::Client)
    },
    Method { capability: server!("resources"), params: &[URI], ..method("resources/read", From::Client) },
    Method {
        capability: server!("resources", "subscribe"),
        params: &[URI],
        ..legacy("resources/subscribe", From::Client)
    },
    Method {
        capability: server!("resources", "subscribe"),
        params: &[URI],
        ..legacy("resources/unsubscribe", From::Client)
    },
    Method {
        capability: server!("prompts"),
        result: &[("prompts", JsonKind::Array)],
        ..method("prompts/list", From::Client)
    },
    Method { capability: server!("prompts"), params: &[NAME], ..method("prompts/get", From::Client) },
    Method {
        params: &[("ref", JsonKind::Object), ("argument", JsonKind::Object)],
        ..method("completion/complete", From::Client)
    },
    Method {
        capability: server!("logging"),
        params: &[("level", JsonKind::String)],
        ..legacy("logging/setLevel", From::Client)
    },
    Method { params: &[("notifications", JsonKind::Object)], ..modern("subscriptions/listen", From::Client) },
    Method {
        capability: client!("roots"),
        result: &[("roots", JsonKind::Array)],
        ..legacy("roots/list", From::Server)
    },
    Method {
        capability: client!("sampling"),
        params: &[("messages", JsonKind::Array), ("maxTokens", JsonKind::Number)],
        result: &[("role", JsonKind::String), ("model", JsonKind::String)],
        ..legacy("sampling/createMessage", From::Server)
    },
    Method {
        since: Revision::V2025_06_18,
        capability: client!("elicitation"),
        params: &[("message", JsonKind::String)],
        result: &[("action", JsonKind::String)],
        ..legacy("elicitation/create", From::Server)
    },
    Method { params: &[("requestId", JsonKind::Null)], ..method("notifications/cancelled", From::Either) },
    Method {
        params: &[("progressToken", JsonKind::Null), ("progress", JsonKind::Number)],
        ..method("notifications/progress", From::Either)
    },
    Method {
        capability: server!("logging"),
        params: &[("level", JsonKind::String), ("data", JsonKind::Null)],
        ..method("notifications/message", From::Server)
    },
    Method { capability: server!("tools"), ..method("notifications/tools/list_changed", From::Server) },
    Method { capability: server!("prompts"), ..method("notifications/prompts/list_changed", From::Server) },
    Method {
        capability: server!("resources"),
        ..method("notifications/resources/list_changed", From::Server)
    },
    Method {
        capability: server!("resources"),
        params: &[URI],
        ..method("notifications/resources/updated", From::Server)
    },
    Method { capability: client!("roots"), ..legacy("notifications/roots/list_changed", From::Client) },
    method("notifications/elicitation/complete", From::Server),
    modern("notifications/subscriptions/acknowledged", From::Server),
];

/// What the table says of a method.
pub(crate) fn known(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name)
}
