//! Tools, and what comes of them.

use sabir::RawJson;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::content::is_false;
use super::{Content, Icon, Meta, TaskSupport, ToolExecution};
use crate::McpRevision;

/// A tool, as it is listed. A server fills in the schemas from the types of the function behind it.
///
/// ```
/// use sabir_mcp::{Tool, ToolAnnotations};
///
/// let tool = Tool {
///     title: Some("Delete a file".into()),
///     annotations: Some(ToolAnnotations { destructive_hint: Some(true), ..Default::default() }),
///     ..Tool::new("delete", "Deletes a file for good")
/// };
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// What it is called by.
    pub name: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// For the model. A server takes it from the documentation of the arguments' type if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A JSON Schema of the arguments. A server works it out from their type, unless it is set here.
    #[serde(default = "any_object")]
    pub input_schema: RawJson<'static>,
    /// A JSON Schema of the structured result. From 2025-06-18 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<RawJson<'static>>,
    /// Hints about what it does. From 2025-03-26 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// Images to show. From 2025-11-25 on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Whether it runs as a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ToolExecution>,
    /// Arguments are not checked against the schema: see [`Tool::unchecked`].
    #[serde(skip)]
    pub unchecked: bool,
    /// What the model is told when a call has become a task: see [`Tool::immediate_response`].
    #[serde(skip)]
    pub immediate_response: Option<String>,
    /// Anything else.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Stands for "not set" in a [`Tool`] that has not been added to a server.
fn any_object() -> RawJson<'static> {
    RawJson::new("{}").unwrap_or(RawJson::NULL)
}

impl Tool {
    /// A tool with a description.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Tool { description: Some(description.into()), ..Tool::named(name.into()) }
    }

    fn named(name: String) -> Self {
        Tool {
            name,
            title: None,
            description: None,
            input_schema: any_object(),
            output_schema: None,
            annotations: None,
            icons: Vec::new(),
            execution: None,
            unchecked: false,
            immediate_response: None,
            meta: None,
        }
    }

    /// Runs it as a task for clients that know tasks: they get an answer at once, and the result when it is there.
    /// Others wait for the result.
    ///
    /// ```
    /// use sabir_mcp::{McpServer, Tool};
    ///
    /// let server = McpServer::new("films", "1.0.0").tool(Tool::new("render", "Renders the film").task(), |_, ()| async {
    ///     tokio::time::sleep(std::time::Duration::from_secs(600)).await;
    ///     Ok("film.mp4")
    /// });
    /// ```
    #[must_use]
    pub fn task(self) -> Self {
        self.executed(TaskSupport::Optional)
    }

    /// Runs it as a task only: clients that do not know tasks are refused.
    #[must_use]
    pub fn task_only(self) -> Self {
        self.executed(TaskSupport::Required)
    }

    /// Leaves its arguments to its function, whatever the schema says: for a schema of somebody else's, which may be wrong.
    /// Without the feature `validate` that is so for all tools.
    #[must_use]
    pub fn unchecked(mut self) -> Self {
        self.unchecked = true;
        self
    }

    /// Tells the model something at once when a call has become a task, so that it goes on meanwhile. Only 2025-11-25 has a
    /// place for it (`io.modelcontextprotocol/model-immediate-response`).
    #[must_use]
    pub fn immediate_response(mut self, text: impl Into<String>) -> Self {
        self.immediate_response = Some(text.into());
        self
    }

    fn executed(mut self, task_support: TaskSupport) -> Self {
        self.execution = Some(ToolExecution { task_support });
        self
    }

    pub(crate) fn task_support(&self) -> TaskSupport {
        self.execution.map_or(TaskSupport::Forbidden, |execution| execution.task_support)
    }

    pub(crate) fn has_schema(&self) -> bool {
        self.input_schema.as_str() != "{}"
    }

    /// Leaves out what a revision does not know.
    pub(crate) fn fit(mut self, revision: McpRevision) -> Self {
        if revision < McpRevision::V2025_03_26 {
            self.annotations = None;
        }
        if revision < McpRevision::V2025_06_18 {
            (self.title, self.output_schema, self.meta) = (None, None, None);
        }
        if revision < McpRevision::V2025_11_25 {
            self.icons.clear();
        }
        // Later, the answer to a call says whether it has become a task.
        if revision != McpRevision::V2025_11_25 {
            self.execution = None;
        }
        self
    }
}

impl From<&str> for Tool {
    fn from(name: &str) -> Self {
        Tool::named(name.to_owned())
    }
}

/// Hints about what a tool does. Only hints: the server may be wrong or lie.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolAnnotations {
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// It changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// It may destroy something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Calling it twice has the effect of calling it once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// It interacts with external systems.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// What comes of calling a tool.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// For the model.
    #[serde(default)]
    pub content: Vec<Content>,
    /// For programs, by the tool's output schema. From 2025-06-18 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<RawJson<'static>>,
    /// The tool could not do it, and the content says why.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_error: bool,
    /// Anything else.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ToolResult {
    /// The tool could not do it, and says why to the model.
    pub fn error(why: impl Into<Content>) -> Self {
        ToolResult { content: vec![why.into()], is_error: true, ..ToolResult::default() }
    }

    /// The texts, one after the other.
    pub fn text(&self) -> String {
        self.content.iter().filter_map(Content::as_text).collect()
    }

    /// The structured content as a type, or `None` if there is none.
    pub fn structured<T: DeserializeOwned>(&self) -> Result<Option<T>, serde_json::Error> {
        self.structured_content.as_ref().map(RawJson::parse).transpose()
    }

    pub(crate) fn fit(&mut self, revision: McpRevision) {
        if revision < McpRevision::V2025_06_18 {
            self.content.iter_mut().for_each(|content| content.fit(revision));
            self.structured_content = None;
        }
    }
}
