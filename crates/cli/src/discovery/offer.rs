//! What an MCP server has besides tools: resources, templates of resources, and prompts.

use sabir::openrpc::Content;
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Resource,
    Template,
    Prompt,
}

impl Kind {
    pub(crate) const ALL: [Kind; 3] = [Kind::Resource, Kind::Template, Kind::Prompt];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Resource => "resource",
            Kind::Template => "template",
            Kind::Prompt => "prompt",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Kind::Resource => "Resources",
            Kind::Template => "Templates",
            Kind::Prompt => "Prompts",
        }
    }

    /// The method that lists them, the member of its result, and the capability that declares it.
    pub(super) fn list(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Kind::Resource => ("resources/list", "resources", "resources"),
            Kind::Template => ("resources/templates/list", "resourceTemplates", "resources"),
            Kind::Prompt => ("prompts/list", "prompts", "prompts"),
        }
    }
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    /// Of a resource, or the template of one.
    pub(crate) uri: Option<String>,
    pub(crate) summary: Option<String>,
    pub(crate) mime_type: Option<String>,
    /// Bytes.
    pub(crate) size: Option<u64>,
    /// Of a prompt.
    pub(crate) arguments: Vec<Content>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    #[serde(default)]
    name: String,
    title: Option<String>,
    description: Option<String>,
    #[serde(alias = "uriTemplate")]
    uri: Option<String>,
    mime_type: Option<String>,
    size: Option<u64>,
    #[serde(default)]
    arguments: Vec<Argument>,
}

#[derive(Deserialize)]
struct Argument {
    name: String,
    description: Option<String>,
    #[serde(default)]
    required: bool,
}

impl Offer {
    pub(super) fn new(kind: Kind, listed: Value) -> Result<Offer, serde_json::Error> {
        let Listed { name, title, description, uri, mime_type, size, arguments } =
            serde_json::from_value(listed)?;
        let arguments = arguments.into_iter().map(|argument| Content {
            name: argument.name,
            description: argument.description,
            required: argument.required,
            schema: serde_json::json!({"type": "string"}),
            ..Content::default()
        });
        let arguments = arguments.collect();
        Ok(Offer { kind, name, uri, summary: description.or(title), mime_type, size, arguments })
    }

    /// What it is asked for by.
    pub(crate) fn key(&self) -> &str {
        self.uri.as_deref().unwrap_or(&self.name)
    }
}
