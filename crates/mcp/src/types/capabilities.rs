//! What each side can do, and who it is.

use serde::{Deserialize, Serialize};

use super::{Icon, Meta};

/// Who somebody is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Implementation {
    /// For programs, and for people where there is no title.
    pub name: String,
    /// Its own version, not the protocol's.
    pub version: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where to read more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
    /// Images to show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
}

impl Implementation {
    /// A name and a version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Implementation { name: name.into(), version: version.into(), ..Implementation::default() }
    }
}

/// What a client can do. What is there, is offered; mostly it is an empty object.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientCapabilities {
    /// It names the folders that it works in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<Meta>,
    /// It asks its model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Meta>,
    /// It asks its user, by `form` or by `url`; by form if neither is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<Meta>,
    /// Extensions by name, with their settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Meta>,
    /// What is not in the protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experimental: Option<Meta>,
}

/// What a server can do.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ServerCapabilities {
    /// It has tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ListChanged>,
    /// It has resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
    /// It has prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<ListChanged>,
    /// It completes arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<Meta>,
    /// It sends log messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logging: Option<Meta>,
    /// It runs tools as tasks, in 2025-11-25. Later it is an extension.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Meta>,
    /// Extensions by name, with their settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Meta>,
    /// What is not in the protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experimental: Option<Meta>,
}

/// A list that may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ListChanged {
    /// Clients are notified of changes.
    pub list_changed: bool,
}

/// Resources that may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Resources {
    /// Clients can subscribe to changes of one resource.
    pub subscribe: bool,
    /// Clients are notified of changes of the list.
    pub list_changed: bool,
}
