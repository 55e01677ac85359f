//! What a server may ask its client for: its model, its user, its folders.

use sabir::RawJson;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::content::one_or_many;
use super::{Content, Meta, Role, Tool};

/// A question to the client's model.
///
/// ```
/// use sabir_mcp::Sample;
///
/// let question = Sample { max_tokens: 50, ..Sample::new("What is the capital of France?") };
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sample {
    /// The conversation so far.
    pub messages: Vec<SamplingMessage>,
    /// How much the model may say.
    pub max_tokens: u64,
    /// The system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Which model is wanted: `hints`, `costPriority`, `speedPriority`, `intelligencePriority`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<Meta>,
    /// `none`, `thisServer` or `allServers`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_context: Option<String>,
    /// How much the model may vary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Where the model is to stop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<String>,
    /// For the model's provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Meta>,
    /// Tools that the model may ask for. From 2025-11-25 on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// How it may ask for them: `{"mode": "auto" | "required" | "none"}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<Meta>,
}

impl Sample {
    /// The user says one thing, and the model may say 1,000 tokens.
    pub fn new(text: impl Into<Content>) -> Self {
        Sample { messages: vec![SamplingMessage::user(text)], max_tokens: 1000, ..Sample::default() }
    }
}

/// One message of a conversation with a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SamplingMessage {
    /// Who says it.
    pub role: Role,
    /// What is said. More than one piece from 2025-11-25 on.
    #[serde(with = "one_or_many")]
    pub content: Vec<Content>,
}

impl SamplingMessage {
    /// The user says this.
    pub fn user(content: impl Into<Content>) -> Self {
        SamplingMessage { role: Role::User, content: vec![content.into()] }
    }

    /// The model said this before.
    pub fn assistant(content: impl Into<Content>) -> Self {
        SamplingMessage { role: Role::Assistant, content: vec![content.into()] }
    }
}

/// What the model said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Sampled {
    /// Who says it: the model.
    pub role: Role,
    /// What is said.
    #[serde(with = "one_or_many")]
    pub content: Vec<Content>,
    /// Which model it was.
    pub model: String,
    /// Why it stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
}

impl Sampled {
    /// A model says one thing.
    pub fn new(model: impl Into<String>, text: impl Into<Content>) -> Self {
        Sampled {
            role: Role::Assistant,
            content: vec![text.into()],
            model: model.into(),
            stop_reason: Some("endTurn".to_owned()),
        }
    }

    /// The texts, one after the other.
    pub fn text(&self) -> String {
        self.content.iter().filter_map(Content::as_text).collect()
    }
}

/// A question to the client's user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "ElicitWire", into = "ElicitWire")]
#[non_exhaustive]
pub enum Elicit {
    /// By a form.
    Form {
        /// What is wanted, for people.
        message: String,
        /// A JSON Schema of a flat object.
        schema: RawJson<'static>,
    },
    /// By sending them to a page. From 2025-11-25 on.
    Url {
        /// Why, for people.
        message: String,
        /// Where to.
        url: String,
        /// Names this question, for `notifications/elicitation/complete`. Gone from 2026-07-28.
        id: Option<String>,
    },
}

/// Both kinds of question in one: they are told apart by `mode`, which a form may leave out.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ElicitWire {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    requested_schema: Option<RawJson<'static>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    elicitation_id: Option<String>,
}

impl TryFrom<ElicitWire> for Elicit {
    type Error = &'static str;

    fn try_from(wire: ElicitWire) -> Result<Self, Self::Error> {
        let ElicitWire { mode, message, requested_schema, url, elicitation_id } = wire;
        match (mode.as_deref(), requested_schema, url) {
            (None | Some("form"), Some(schema), _) => Ok(Elicit::Form { message, schema }),
            (None | Some("form"), None, _) => Err("a form needs `requestedSchema`"),
            (Some("url"), _, Some(url)) => Ok(Elicit::Url { message, url, id: elicitation_id }),
            (Some("url"), _, None) => Err("mode `url` needs `url`"),
            _ => Err("`mode` must be `form` or `url`"),
        }
    }
}

impl From<Elicit> for ElicitWire {
    fn from(elicit: Elicit) -> Self {
        let (mode, message, requested_schema, url, elicitation_id) = match elicit {
            Elicit::Form { message, schema } => (None, message, Some(schema), None, None),
            Elicit::Url { message, url, id } => (Some("url".to_owned()), message, None, Some(url), id),
        };
        ElicitWire { mode, message, requested_schema, url, elicitation_id }
    }
}

impl Elicit {
    /// A form by its JSON Schema.
    pub fn form(message: impl Into<String>, schema: RawJson<'static>) -> Self {
        Elicit::Form { message: message.into(), schema }
    }

    /// A page to send the user to.
    pub fn url(message: impl Into<String>, url: impl Into<String>, id: impl Into<String>) -> Self {
        Elicit::Url { message: message.into(), url: url.into(), id: Some(id.into()) }
    }

    /// What is wanted, for people.
    pub fn message(&self) -> &str {
        match self {
            Elicit::Form { message, .. } | Elicit::Url { message, .. } => message,
        }
    }
}

/// What the user did with a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum Action {
    Accept,
    Decline,
    Cancel,
}

/// What the user answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElicitResult {
    /// What the user did.
    pub action: Action,
    /// What was filled in, if it was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<RawJson<'static>>,
}

impl ElicitResult {
    /// The user filled in the form.
    pub fn accept(content: impl Serialize) -> Self {
        ElicitResult { action: Action::Accept, content: RawJson::from_value(&content).ok() }
    }

    /// The user said no.
    pub fn decline() -> Self {
        ElicitResult { action: Action::Decline, content: None }
    }

    /// The user said nothing.
    pub fn cancel() -> Self {
        ElicitResult { action: Action::Cancel, content: None }
    }

    /// What was filled in, or `None` if the user would not.
    pub fn accepted<T: DeserializeOwned>(&self) -> Result<Option<T>, serde_json::Error> {
        match (self.action, &self.content) {
            (Action::Accept, Some(content)) => content.parse().map(Some),
            (Action::Accept, None) => serde_json::from_str("{}").map(Some),
            _ => Ok(None),
        }
    }
}

/// A folder that the client works in.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Root {
    /// Where it is: `file://…`.
    pub uri: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Anything else.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}
