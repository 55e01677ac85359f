//! The vocabulary: what travels in params and results. Plain data with public fields; what a revision does
//! not know is left out when it is sent.

mod ask;
mod capabilities;
mod content;
mod progress;
mod prompt;
mod resource;
mod task;
mod tool;

pub use ask::{Action, Elicit, ElicitResult, Root, Sample, Sampled, SamplingMessage};
pub use capabilities::{ClientCapabilities, Implementation, ListChanged, Resources, ServerCapabilities};
pub use content::{Annotations, Content, Icon, Role};
pub use progress::ProgressUpdate;
pub use prompt::{Prompt, PromptArgument, PromptMessage, PromptResult};
pub use resource::{Contents, Resource, Template};
use serde::{Deserialize, Serialize};
pub(crate) use task::IMMEDIATE_RESPONSE;
pub use task::{TASKS_EXTENSION, Task, TaskStatus, TaskSupport, ToolExecution};
pub use tool::{Tool, ToolAnnotations, ToolResult};

/// What may be said beside anything, in `_meta`.
pub type Meta = serde_json::Map<String, serde_json::Value>;

/// How serious a log message is, from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// A log message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LogMessage {
    /// How serious it is.
    pub level: LogLevel,
    /// Who says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logger: Option<String>,
    /// What: a text or anything else.
    pub data: serde_json::Value,
}
