//! Tasks: calls that go on after their first answer.

use serde::{Deserialize, Serialize};

/// The name of the extension that tasks are from 2026-07-28 on.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The member of `_meta` of a task of 2025-11-25 that begins: what the model is told at once.
pub(crate) const IMMEDIATE_RESPONSE: &str = "io.modelcontextprotocol/model-immediate-response";

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskStatus {
    /// It runs.
    Working,
    /// It waits for answers of the client.
    InputRequired,
    /// It has a result. From 2026-07-28 on that may be one with `is_error`.
    Completed,
    /// It ended with an error.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl TaskStatus {
    /// Whether it has ended, for good.
    pub fn is_final(self) -> bool {
        matches!(self, TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled)
    }
}

/// A task, as a server describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Task {
    /// What it is known by.
    pub task_id: String,
    /// How far it is.
    pub status: TaskStatus,
    /// The same in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// When it began, as ISO 8601 has it.
    pub created_at: String,
    /// When something of it changed.
    pub last_updated_at: String,
    /// How many milliseconds after its beginning the server forgets it. `None`: never.
    #[serde(rename = "ttlMs", alias = "ttl", default)]
    pub ttl_ms: Option<u64>,
    /// How many milliseconds a client should wait before it asks again.
    #[serde(
        rename = "pollIntervalMs",
        alias = "pollInterval",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub poll_interval_ms: Option<u64>,
}

/// Whether a tool runs as a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum TaskSupport {
    /// Never.
    #[default]
    Forbidden,
    /// Where the client knows tasks. Others wait for the result.
    Optional,
    /// Always. Clients that do not know tasks are refused.
    Required,
}

/// How a tool is run. In 2025-11-25 it is listed with the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolExecution {
    /// Whether it runs as a task.
    pub task_support: TaskSupport,
}
