//! Tasks from the client's side: waiting for them, answering what they ask, handles to come back with.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::time::Duration;

use sabir::{CallError, DeliveryFailure, ErrorCode, ErrorObject, RawJson};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::call::{McpCall, Params, undecodable, written};
use super::{McpClient, McpSession};
use crate::McpRevision;
use crate::bounded::BoundedMap;
use crate::types::{IMMEDIATE_RESPONSE, Meta, ProgressUpdate, TASKS_EXTENSION, Task, TaskStatus, ToolResult};

/// Questions that a task may ask in all: each may end up before the user.
const MOST_QUESTIONS: usize = 1024;
/// How often a server is asked at most, and at least, whatever it says.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(20);
const LONGEST_INTERVAL: Duration = Duration::from_secs(60);
/// How often in a row a server may not be reached: one that is started again is away for a moment.
const MOST_FAILED_POLLS: u32 = 30;
/// How often it is asked if it says nothing.
const INTERVAL: Duration = Duration::from_secs(1);

impl McpClient {
    /// Knows tasks: servers may answer a call with a task. [`McpSession::call`] then waits for its result;
    /// [`McpCall::start`] hands it out.
    ///
    /// ```no_run
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// use sabir_mcp::{McpClient, Started};
    ///
    /// let server = McpClient::new("me", "1.0.0").tasks().connect("http://127.0.0.1:8080/mcp").await?;
    /// let film = server.call("render", ()).await?;
    /// // Or with something to hold on to:
    /// let film = match server.call("render", ()).start().await? {
    ///     Started::Done(result) => result,
    ///     Started::Task(mut task) => task.wait_with(|task| eprintln!("{:?}", task.status_message)).await?,
    /// };
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn tasks(mut self) -> Self {
        self.callbacks.tasks = true;
        self.extension(TASKS_EXTENSION, Meta::new())
    }
}

/// What a call that may become a task has begun.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
pub enum Started<R = ToolResult> {
    /// Nothing: here is the result.
    Done(R),
    /// A task.
    Task(McpTask),
}

/// A task of a server. Dropping it changes nothing: the task goes on.
#[derive(Clone)]
pub struct McpTask {
    session: McpSession,
    task: Task,
    immediate_response: Option<String>,
}

/// What has come of a task.
type Outcome = Result<RawJson<'static>, CallError>;

/// The answers to what a task has asked so far.
#[derive(Default)]
struct Answers {
    /// The keys of what was answered. Nobody is asked twice.
    given: HashSet<String>,
    /// Answers that the server may not have got.
    unsent: BTreeMap<String, RawJson<'static>>,
}

#[derive(Deserialize)]
struct Question {
    method: String,
    params: Option<RawJson<'static>>,
}

impl<R: DeserializeOwned> McpCall<R> {
    /// Calls the tool, and hands out the task that it has become, if it has. A server of 2025-11-25 is asked for one.
    pub async fn start(mut self) -> Result<Started<R>, CallError> {
        let session = self.session().clone();
        let legacy = session.revision() == McpRevision::V2025_11_25 && offers_tasks(&session);
        if legacy {
            self.ask_for_task()?;
        }
        let (kind, result) = match self.settle().await {
            // The tool is not one that may run as a task.
            Err(CallError::Error(error)) if legacy && error.code == ErrorCode::METHOD_NOT_FOUND => {
                self.ask_for_no_task();
                self.settle().await?
            }
            settled => settled?,
        };
        let task = match kind.as_deref() {
            Some("task") if session.callbacks().tasks => Some(result.clone()),
            None if legacy => result.get("task").map(RawJson::into_owned),
            _ => None,
        };
        match task {
            Some(task) => {
                let told = result.get("_meta").and_then(|meta| meta.get(IMMEDIATE_RESPONSE)?.parse().ok());
                Ok(Started::Task(McpTask { immediate_response: told, ..McpTask::read(session, &task)? }))
            }
            None => Ok(Started::Done(self.resolve(kind, result).await?.parse().map_err(undecodable)?)),
        }
    }
}

/// Whether the server makes tasks of calls that ask for it.
pub(super) fn offers_tasks(session: &McpSession) -> bool {
    let requests = session.capabilities().tasks.as_ref().and_then(|tasks| tasks.get("requests"));
    requests.is_some_and(|requests| requests["tools"]["call"].is_object())
}

impl McpTask {
    pub(super) fn read(session: McpSession, task: &RawJson<'_>) -> Result<Self, CallError> {
        Ok(McpTask { session, task: task.parse().map_err(undecodable)?, immediate_response: None })
    }

    /// Its id, which [`McpSession::task`] takes, also in another process.
    pub fn id(&self) -> &str {
        &self.task.task_id
    }

    /// What was last heard of it.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// What the server says to the model when the call has become a task, in 2025-11-25.
    pub fn immediate_response(&self) -> Option<&str> {
        self.immediate_response.as_deref()
    }

    /// Asks how far it is.
    pub async fn get(&mut self) -> Result<&Task, CallError> {
        self.detailed().await?;
        Ok(&self.task)
    }

    /// Asks the server to stop it. It may end otherwise all the same.
    pub async fn cancel(&self) -> Result<(), CallError> {
        let _: RawJson<'static> = self.request("tasks/cancel", self.params()?).await?;
        Ok(())
    }

    /// Waits for its result, and answers what it asks meanwhile. Dropping the future stops that; the task goes on. Where
    /// requests have connections of their own, as over HTTP, a server that is not there is asked again, thirty times at most.
    pub async fn wait(&mut self) -> Result<ToolResult, CallError> {
        self.wait_with(|_| {}).await
    }

    /// The same, and is told whenever something is heard of it.
    pub async fn wait_with(&mut self, mut heard: impl FnMut(&Task) + Send) -> Result<ToolResult, CallError> {
        self.settle(&mut heard).await?.parse().map_err(undecodable)
    }

    /// The same, and returns the result as the server writes it: for those who show or forward it.
    pub async fn wait_raw(
        &mut self,
        mut heard: impl FnMut(&Task) + Send,
    ) -> Result<RawJson<'static>, CallError> {
        self.settle(&mut heard).await
    }

    /// Answers what it asks now, and does not wait for what comes of that. A server of 2025-11-25 asks only while somebody
    /// [waits](Self::wait).
    pub async fn answer_now(&mut self) -> Result<&Task, CallError> {
        let detailed = self.detailed().await?;
        if let Some(asked) = detailed.get("inputRequests") {
            self.answer(&asked, &mut Answers::default()).await?;
        }
        Ok(&self.task)
    }

    /// Waits for its result, as the server writes it.
    pub(super) async fn settle(
        &mut self,
        heard: &mut (dyn FnMut(&Task) + Send),
    ) -> Result<RawJson<'static>, CallError> {
        let mut answers = Answers::default();
        let mut failed = 0;
        loop {
            match self.poll(heard, &mut answers).await {
                Ok(Some(end)) => return end,
                Ok(None) => failed = 0,
                Err(error) if is_away(&error) && failed < MOST_FAILED_POLLS => failed += 1,
                Err(error) => return Err(error),
            }
            tokio::time::sleep(self.interval()).await;
        }
    }

    /// Asks once how far it is, and answers what it asks. What has come of it, if it is over.
    async fn poll(
        &mut self,
        heard: &mut (dyn FnMut(&Task) + Send),
        answers: &mut Answers,
    ) -> Result<Option<Outcome>, CallError> {
        let detailed = self.detailed().await?;
        heard(&self.task);
        let status = self.task.status;
        if !self.session.revision().is_modern() {
            if status.is_final() || status == TaskStatus::InputRequired {
                // It is answered when the task is over, and the server asks by requests meanwhile.
                return Ok(Some(Ok(self.request("tasks/result", self.params()?).await?)));
            }
            return Ok(None);
        }
        if let Some(end) = end(&detailed, status) {
            return Ok(Some(end));
        }
        if let Some(asked) = detailed.get("inputRequests") {
            self.answer(&asked, answers).await?;
        }
        Ok(None)
    }

    /// Answers what was not answered before.
    async fn answer(&self, asked: &RawJson<'_>, answers: &mut Answers) -> Result<(), CallError> {
        let BoundedMap(asked) = asked.parse::<BoundedMap<Question>>().map_err(undecodable)?;
        // What is not asked any more has arrived, though nobody has said so.
        answers.unsent.retain(|key, _| asked.contains_key(key));
        for (key, question) in asked {
            if answers.given.contains(&key) {
                continue;
            }
            if answers.given.len() >= MOST_QUESTIONS {
                let reason = format!("the task has asked {MOST_QUESTIONS} times");
                return Err(CallError::Decode(reason.into()));
            }
            let answer = self.session.callbacks().answer(&question.method, question.params.as_ref()).await;
            answers.given.insert(key.clone());
            answers.unsent.insert(key, answer.map_err(CallError::Error)?);
        }
        if !answers.unsent.is_empty() {
            let mut params = self.params()?;
            params.insert("inputResponses".into(), written(&answers.unsent)?);
            let _: RawJson<'static> = self.request("tasks/update", params).await?;
            answers.unsent.clear();
        }
        Ok(())
    }

    /// The task with all that the server says of it.
    async fn detailed(&mut self) -> Result<RawJson<'static>, CallError> {
        let detailed: RawJson<'static> = self.request("tasks/get", self.params()?).await?;
        self.task = detailed.parse().map_err(undecodable)?;
        Ok(detailed)
    }

    fn params(&self) -> Result<Params, CallError> {
        Ok(Params::from([("taskId".into(), written(&self.task.task_id)?)]))
    }

    async fn request<R: DeserializeOwned + 'static>(
        &self,
        method: &'static str,
        params: Params,
    ) -> Result<R, CallError> {
        McpCall::new(&self.session, method, Ok(params)).await
    }

    fn interval(&self) -> Duration {
        let asked = self.task.poll_interval_ms.map_or(INTERVAL, Duration::from_millis);
        asked.clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL)
    }
}

/// Whether nobody has answered a question that may be asked again: the server may be starting.
fn is_away(error: &CallError) -> bool {
    let CallError::Undelivered(lost) = error else { return false };
    matches!(
        lost.failure,
        DeliveryFailure::Connect
            | DeliveryFailure::Closed
            | DeliveryFailure::Incomplete
            | DeliveryFailure::RetryAfter(_)
    ) || matches!(lost.status, Some(502..=504))
}

/// What came of a task, if it is over.
fn end(detailed: &RawJson<'_>, status: TaskStatus) -> Option<Outcome> {
    let error = |code, reason: &str| Some(Err(CallError::Error(ErrorObject::because(code, reason))));
    match status {
        TaskStatus::Completed => match detailed.get("result") {
            Some(result) => Some(Ok(result.into_owned())),
            None => Some(Err(CallError::Decode("the task is completed, but has no result".into()))),
        },
        TaskStatus::Failed => match detailed.get("error").map(|error| error.parse::<ErrorObject>()) {
            Some(Ok(error)) => Some(Err(CallError::Error(error))),
            _ => error(ErrorCode::INTERNAL_ERROR, "the task has failed, and does not say why"),
        },
        TaskStatus::Cancelled => error(ErrorCode::REQUEST_CANCELLED, "the task was cancelled"),
        TaskStatus::Working | TaskStatus::InputRequired => None,
    }
}

impl McpSession {
    /// A task that was begun before, by its id: asks the server for it.
    pub async fn task(&self, id: impl Into<String>) -> Result<McpTask, CallError> {
        let params = Params::from([("taskId".into(), written(&id.into())?)]);
        let task: RawJson<'static> = McpCall::new(self, "tasks/get", Ok(params)).await?;
        McpTask::read(self.clone(), &task)
    }
}

/// How far a task is, for those who wait for a call: only words are known of it.
pub(super) fn progress(task: &Task, count: u64) -> Option<ProgressUpdate> {
    let message = task.status_message.clone()?;
    Some(ProgressUpdate { progress: count.into(), total: None, message: Some(message) })
}

impl fmt::Debug for McpTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("McpTask").field(&self.task).finish()
    }
}
