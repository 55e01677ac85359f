//! Pieces of what tools return and prompts consist of.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Contents, Meta, Resource};
use crate::McpRevision;

/// Who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum Role {
    User,
    Assistant,
}

/// Whom content is for, and how much it matters.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Annotations {
    /// Whom it is for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub audience: Vec<Role>,
    /// From 0, optional, to 1, required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
    /// When it last changed, as ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

/// An image that a client may show.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Icon {
    /// Its address, or a `data:` URI.
    pub src: String,
    /// Of which type it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Such as `48x48`, or `any`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<String>,
    /// `light` or `dark`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theme: Option<String>,
}

impl Icon {
    /// An icon by its address, or by a `data:` URI.
    pub fn new(src: impl Into<String>) -> Self {
        Icon { src: src.into(), mime_type: None, sizes: Vec::new(), theme: None }
    }
}

/// A piece of content. The constructors make the usual ones; binary data is base64 inside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Content {
    Text {
        text: Cow<'static, str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        annotations: Option<Box<Annotations>>,
        #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
        meta: Option<Box<Meta>>,
    },
    Image {
        data: String,
        mime_type: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        annotations: Option<Box<Annotations>>,
        #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
        meta: Option<Box<Meta>>,
    },
    /// From 2025-03-26 on.
    Audio {
        data: String,
        mime_type: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        annotations: Option<Box<Annotations>>,
        #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
        meta: Option<Box<Meta>>,
    },
    /// A resource that comes along.
    Resource {
        resource: Contents,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        annotations: Option<Box<Annotations>>,
        #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
        meta: Option<Box<Meta>>,
    },
    /// A resource to be read by the client. From 2025-06-18 on.
    ResourceLink(Box<Resource>),
    /// In sampling from 2025-11-25 on: the model wants a tool.
    ToolUse { id: String, name: String, input: Value },
    /// In sampling from 2025-11-25 on: what the tool said.
    ToolResult {
        tool_use_id: String,
        content: Vec<Content>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        structured_content: Option<Value>,
        #[serde(default, skip_serializing_if = "is_false")]
        is_error: bool,
    },
}

pub(super) fn is_false(value: &bool) -> bool {
    !value
}

impl Content {
    /// A text.
    pub fn text(text: impl Into<Cow<'static, str>>) -> Self {
        Content::Text { text: text.into(), annotations: None, meta: None }
    }

    /// An image from its bytes.
    pub fn image(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        let (data, mime_type) = (STANDARD.encode(bytes), mime_type.into());
        Content::Image { data, mime_type, annotations: None, meta: None }
    }

    /// A sound from its bytes.
    pub fn audio(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        let (data, mime_type) = (STANDARD.encode(bytes), mime_type.into());
        Content::Audio { data, mime_type, annotations: None, meta: None }
    }

    /// A resource that comes along.
    pub fn resource(resource: Contents) -> Self {
        Content::Resource { resource, annotations: None, meta: None }
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Content::Text { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Says in words what the revision has no kind of content for.
    pub(crate) fn fit(&mut self, revision: McpRevision) {
        let words = match self {
            Content::Audio { mime_type, .. } if revision < McpRevision::V2025_03_26 => {
                format!("(audio of type {mime_type})")
            }
            Content::ResourceLink(link) if revision < McpRevision::V2025_06_18 => {
                format!("{}: {}", link.name, link.uri)
            }
            _ => return,
        };
        *self = Content::text(words);
    }
}

impl From<&'static str> for Content {
    fn from(text: &'static str) -> Self {
        Content::text(text)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Content::text(text)
    }
}

/// Content that is written as one object, or as an array if it is not exactly one.
pub(super) mod one_or_many {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Content;

    pub(in super::super) fn serialize<S: Serializer>(content: &[Content], s: S) -> Result<S::Ok, S::Error> {
        match content {
            [one] => one.serialize(s),
            many => many.serialize(s),
        }
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Content>, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum OneOrMany {
            Many(Vec<Content>),
            One(Box<Content>),
        }
        Ok(match OneOrMany::deserialize(d)? {
            OneOrMany::Many(many) => many,
            OneOrMany::One(one) => vec![*one],
        })
    }
}
