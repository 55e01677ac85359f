//! What is kept of a task, and how each revision writes it.

use std::collections::BTreeMap;
use std::time::Duration;

use sabir::{ErrorObject, RawJson};
use sabir_proto::utc_timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::McpRevision;
use crate::types::TaskStatus;

/// What a [`TaskStore`](crate::TaskStore) keeps of a task. Times are milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskRecord {
    /// What it is known by. Nobody can guess it.
    pub id: String,
    /// A digest of who it belongs to. `None`: whoever knows the id.
    pub owner: Option<String>,
    /// A digest of who it is counted for: the owner, or else the address that the call came from. `None`: nobody is known.
    #[serde(default)]
    pub share: Option<String>,
    /// The tool that runs.
    pub tool: String,
    /// How far it is.
    pub status: TaskStatus,
    /// The same in words.
    pub status_message: Option<String>,
    /// When it began.
    pub created: u64,
    /// When something of it changed.
    pub updated: u64,
    /// How long after its beginning it is kept.
    pub ttl: u64,
    /// How long clients wait before they ask again.
    pub poll_interval: u64,
    /// What it waits for: requests to the client, by key.
    pub input_requests: BTreeMap<String, RawJson<'static>>,
    /// What came of it.
    pub outcome: Option<TaskOutcome>,
}

/// What came of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskOutcome {
    /// What the call would have been answered with.
    Result(RawJson<'static>),
    /// The error that the call would have been answered with.
    Error(ErrorObject),
}

pub(crate) type Members = BTreeMap<String, RawJson<'static>>;

impl TaskRecord {
    /// When it is forgotten.
    pub fn expires(&self) -> u64 {
        self.created.saturating_add(self.ttl)
    }

    /// Bytes that its parts of any length have.
    pub fn bytes(&self) -> usize {
        let asked: usize =
            self.input_requests.iter().map(|(key, asked)| key.len() + asked.as_str().len()).sum();
        let outcome = match &self.outcome {
            Some(TaskOutcome::Result(result)) => result.as_str().len(),
            Some(TaskOutcome::Error(error)) => {
                error.message.len() + error.data.as_ref().map_or(0, |data| data.as_str().len())
            }
            None => 0,
        };
        asked + outcome + self.id.len() + self.status_message.as_ref().map_or(0, String::len)
    }

    /// The task alone, without what came of it.
    pub(crate) fn task(&self, revision: McpRevision) -> Result<Members, serde_json::Error> {
        let (ttl, poll) = match revision.is_modern() {
            true => ("ttlMs", "pollIntervalMs"),
            false => ("ttl", "pollInterval"),
        };
        let at = |millis| RawJson::from_value(&utc_timestamp(Duration::from_millis(millis), 3));
        let mut task = Members::from([
            ("taskId".to_owned(), RawJson::from_value(&self.id)?),
            ("status".to_owned(), RawJson::from_value(&self.status)?),
            ("createdAt".to_owned(), at(self.created)?),
            ("lastUpdatedAt".to_owned(), at(self.updated)?),
            (ttl.to_owned(), RawJson::from_value(&self.ttl)?),
            (poll.to_owned(), RawJson::from_value(&self.poll_interval)?),
        ]);
        if let Some(message) = &self.status_message {
            task.insert("statusMessage".to_owned(), RawJson::from_value(message)?);
        }
        Ok(task)
    }

    /// The task with what came of it, or what it waits for: the answer to `tasks/get` in the modern era.
    pub(crate) fn detailed(&self, revision: McpRevision) -> Result<Members, serde_json::Error> {
        let mut task = self.task(revision)?;
        match (&self.outcome, self.status) {
            (Some(TaskOutcome::Result(result)), TaskStatus::Completed) => {
                task.insert("result".to_owned(), result.clone());
            }
            (Some(TaskOutcome::Error(error)), TaskStatus::Failed) => {
                task.insert("error".to_owned(), RawJson::from_value(error)?);
            }
            // What the legacy era calls failed.
            (Some(TaskOutcome::Result(_)), TaskStatus::Failed) => {
                let error = json!({"code": -32603, "message": "Internal error", "data": {"reason": "the tool failed"}});
                task.insert("error".to_owned(), RawJson::from_value(&error)?);
            }
            (_, TaskStatus::InputRequired) => {
                task.insert("inputRequests".to_owned(), RawJson::from_value(&self.input_requests)?);
            }
            _ => {}
        }
        Ok(task)
    }
}
