//! OpenRPC documents: what a service offers, as data.
//!
//! These are the parts that Sabir writes and reads, by the names of the
//! [specification](https://spec.open-rpc.org). Schemas are plain JSON. What OpenRPC has no word for is in
//! members that begin with `x-`.
//!
//! [`Router::openrpc`](crate::Router::openrpc) makes a document, [`Document::from_json`] reads one.

mod read;

pub use read::DocumentError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version of the specification that documents are written in. It is the newest that the official
/// meta-schema package knows.
pub const VERSION: &str = "1.3.2";

/// A whole service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// The version of the specification.
    pub openrpc: String,
    /// What the service is called.
    #[serde(default)]
    pub info: Info,
    /// What can be called, in the order of the names.
    pub methods: Vec<Method>,
    /// What the schemas of the methods refer to.
    #[serde(default, skip_serializing_if = "Components::is_empty")]
    pub components: Components,
}

/// What a service is called.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Info {
    /// Its name, for people.
    #[serde(default)]
    pub title: String,
    /// Its own version.
    #[serde(default)]
    pub version: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

impl Info {
    /// A name and a version.
    pub fn new(title: impl Into<String>, version: impl Into<String>) -> Self {
        Info { title: title.into(), version: version.into(), description: None }
    }

    /// The same, with what it is for.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }
}

/// What the schemas of a document have in common.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Components {
    /// By name; a schema refers to one as `#/components/schemas/NAME`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub schemas: Map<String, Value>,
}

impl Components {
    fn is_empty(&self) -> bool {
        self.schemas.is_empty()
    }
}

/// One method.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Method {
    /// Its name.
    pub name: String,
    /// One line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// All the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it will go away.
    #[serde(default, skip_serializing_if = "is_false")]
    pub deprecated: bool,
    /// How params may be given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub param_structure: Option<ParamStructure>,
    /// The params, in the order of their positions.
    #[serde(default)]
    pub params: Vec<Content>,
    /// The result. A method without one is a notification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Content>,
    /// The errors of its own that it answers with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Error>,
    /// The schemas of the `data` of these errors, by code.
    #[serde(default, rename = "x-error-data", skip_serializing_if = "Map::is_empty")]
    pub error_data: Map<String, Value>,
    /// The schema of the progress that it sends while it runs.
    #[serde(default, rename = "x-progress", skip_serializing_if = "Option::is_none")]
    pub progress: Option<Value>,
    /// What comes after the result, if it subscribes.
    #[serde(default, rename = "x-subscription", skip_serializing_if = "Option::is_none")]
    pub subscription: Option<Subscription>,
}

/// What comes of a method that subscribes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Subscription {
    /// The method of the notifications that carry items.
    #[serde(default)]
    pub notification: String,
    /// The method that unsubscribes. Its param is the result of this one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unsubscribe: String,
    /// The schema of the items.
    #[serde(default = "any")]
    pub item: Value,
}

/// How params may be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ParamStructure {
    /// As an object.
    ByName,
    /// As an array.
    ByPosition,
    /// As either.
    Either,
}

/// A param or a result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Content {
    /// The name of the param.
    pub name: String,
    /// One line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// All the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it must be given.
    #[serde(default, skip_serializing_if = "is_false")]
    pub required: bool,
    /// Whether it will go away.
    #[serde(default, skip_serializing_if = "is_false")]
    pub deprecated: bool,
    /// What it may be.
    #[serde(default = "any")]
    pub schema: Value,
    /// Whether the schema is that of all params together, for methods that take a list or a map of any length.
    #[serde(default, rename = "x-whole", skip_serializing_if = "is_false")]
    pub whole: bool,
}

/// An error that a method answers with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Error {
    /// Its code.
    pub code: i64,
    /// Its message.
    #[serde(default)]
    pub message: String,
}

/// The schema that everything fits.
pub(crate) fn any() -> Value {
    Value::Object(Map::new())
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_false(flag: &bool) -> bool {
    !flag
}
