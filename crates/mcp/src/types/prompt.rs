//! Prompts: texts that a server has ready for its user.

use serde::{Deserialize, Serialize};

use super::{Content, Icon, Meta, Role};
use crate::McpRevision;

/// A prompt, as it is listed. A server fills in the arguments from the type that its function takes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prompt {
    /// What it is asked for by.
    pub name: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What can be filled in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<PromptArgument>,
    /// Images to show. From 2025-11-25 on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Anything else.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Something to fill in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PromptArgument {
    /// What it is given by.
    pub name: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it must be there.
    #[serde(default)]
    pub required: bool,
}

impl Prompt {
    /// A prompt with a description.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Prompt { name: name.into(), description: Some(description.into()), ..Prompt::default() }
    }

    pub(crate) fn fit(mut self, revision: McpRevision) -> Self {
        if revision < McpRevision::V2025_06_18 {
            (self.title, self.meta) = (None, None);
            self.arguments.iter_mut().for_each(|argument| argument.title = None);
        }
        if revision < McpRevision::V2025_11_25 {
            self.icons.clear();
        }
        self
    }
}

impl From<&str> for Prompt {
    fn from(name: &str) -> Self {
        Prompt { name: name.to_owned(), ..Prompt::default() }
    }
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptMessage {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: Content,
}

impl PromptMessage {
    /// The user says something.
    pub fn user(content: impl Into<Content>) -> Self {
        PromptMessage { role: Role::User, content: content.into() }
    }

    /// The model says something.
    pub fn assistant(content: impl Into<Content>) -> Self {
        PromptMessage { role: Role::Assistant, content: content.into() }
    }
}

/// A prompt, filled in.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PromptResult {
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The conversation.
    pub messages: Vec<PromptMessage>,
    /// Anything else.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl PromptResult {
    pub(crate) fn fit(&mut self, revision: McpRevision) {
        if revision < McpRevision::V2025_06_18 {
            self.messages.iter_mut().for_each(|message| message.content.fit(revision));
        }
    }
}
