//! A task that runs: what its function says and asks, and who waits for it.

use std::collections::{BTreeMap, HashSet};
use std::future::Future;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sabir::{ErrorCode, ErrorObject, RawJson, WeakPeer};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::{oneshot, watch};

use super::record::{TaskOutcome, TaskRecord};
use super::registry::Registry;
use crate::McpRevision;
use crate::error::{McpResult, ToolError};
use crate::types::{ProgressUpdate, TaskStatus, ToolResult};

/// Questions that one task may have open: each may end up before the user.
const MOST_OPEN: usize = 64;
/// How often a function may ask: the keys of a task are never used again, and so must be remembered.
const MOST_KEYS: usize = 1024;
/// How often a question is asked again whose answer makes no sense.
const MOST_ATTEMPTS: usize = 8;
/// How long it takes until a result is stored again that could not be.
const STORE_AGAIN: Duration = Duration::from_secs(5);
/// Bytes of a status message.
const LONGEST_MESSAGE: usize = 1024;

pub(crate) struct LiveTask {
    pub(super) id: String,
    /// Who it is counted for.
    pub(super) share: Option<String>,
    /// Of its arguments.
    pub(super) bytes: usize,
    pub(super) revision: McpRevision,
    pub(super) registry: Arc<Registry>,
    /// A session of the legacy era, which is told what happens.
    peer: Option<WeakPeer>,
    state: Mutex<State>,
    /// Sent whenever the state has changed.
    changed: watch::Sender<()>,
    cancel: watch::Sender<bool>,
    /// The function handles being cancelled by itself.
    attended: AtomicBool,
    /// Holds what is being written, so that an older state never replaces a newer one.
    writing: tokio::sync::Mutex<()>,
}

struct State {
    record: TaskRecord,
    open: BTreeMap<String, OpenQuestion>,
    keys: HashSet<String>,
}

struct OpenQuestion {
    method: &'static str,
    params: RawJson<'static>,
    tell: oneshot::Sender<sabir::Result<RawJson<'static>>>,
    /// A request to the client is on its way.
    sent: bool,
}

/// How the function of a task has ended.
pub(super) enum End {
    Done(McpResult<ToolResult>),
    Panicked,
    Stopped,
    /// Its time is over: it is forgotten.
    Expired,
}

impl LiveTask {
    pub(super) fn new(
        record: TaskRecord,
        bytes: usize,
        revision: McpRevision,
        registry: Arc<Registry>,
        peer: Option<WeakPeer>,
    ) -> Self {
        LiveTask {
            id: record.id.clone(),
            share: record.share.clone(),
            bytes,
            revision,
            registry,
            peer,
            state: Mutex::new(State { record, open: BTreeMap::new(), keys: HashSet::new() }),
            changed: watch::Sender::new(()),
            cancel: watch::Sender::new(false),
            attended: AtomicBool::new(false),
            writing: tokio::sync::Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn record(&self) -> TaskRecord {
        self.state().record.clone()
    }

    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Changes the record of a task that has not ended. Whether it had not.
    fn change(&self, change: impl FnOnce(&mut State)) -> bool {
        let mut state = self.state();
        if state.record.status.is_final() {
            return false;
        }
        change(&mut state);
        state.record.updated = self.registry.now().max(state.record.updated);
        true
    }

    /// Tells everybody who wants to know.
    fn announce(&self) {
        self.changed.send_replace(());
        self.registry.announce(&self.id);
        if let Some(peer) = self.peer.as_ref().and_then(WeakPeer::upgrade)
            && let Ok(task) = self.record().task(self.revision)
        {
            // A client that does not read misses it, and finds out when it asks.
            let _ = peer.try_notify("notifications/tasks/status", task);
        }
    }

    /// Stores the record as it is now. A task goes on if that fails: it is only known to this process then.
    async fn store(&self) {
        let _writing = self.writing.lock().await;
        let record = self.record();
        let _ = self.registry.store.put(&record).await;
    }

    /// Says in words how far it is.
    pub(crate) fn progress(&self, progress: &ProgressUpdate) {
        let mut text = match &progress.total {
            Some(total) => format!("{} of {total}", progress.progress),
            None => progress.progress.to_string(),
        };
        if let Some(message) = &progress.message {
            text = format!("{text}: {message}");
        }
        text.truncate(
            (0..=LONGEST_MESSAGE.min(text.len())).rfind(|at| text.is_char_boundary(*at)).unwrap_or(0),
        );
        if self.change(|state| state.record.status_message = Some(text)) {
            self.announce();
        }
    }

    /// Asks the client, and waits for the answer.
    pub(crate) async fn ask<R: DeserializeOwned>(
        self: &Arc<Self>,
        key: &str,
        method: &'static str,
        params: RawJson<'static>,
    ) -> McpResult<R> {
        for _ in 0..MOST_ATTEMPTS {
            let (question, told) = self.open(key, method, params.clone())?;
            self.announce();
            self.store().await;
            let answer = told.await;
            drop(question);
            let answer = answer.map_err(|_| ToolError::new("the task is over"))?;
            let answer = answer.map_err(ToolError::Rpc)?;
            if let Ok(answer) = answer.parse() {
                return Ok(answer);
            }
        }
        Err(ToolError::new(format_args!("the client does not answer `{key}` as it should")))
    }

    fn open(
        self: &Arc<Self>,
        key: &str,
        method: &'static str,
        params: RawJson<'static>,
    ) -> McpResult<(QuestionGuard, oneshot::Receiver<sabir::Result<RawJson<'static>>>)> {
        let (tell, told) = oneshot::channel();
        let request = RawJson::from_value(&json!({"method": method, "params": params}))?;
        let mut opened = None;
        self.change(|state| {
            if state.open.len() >= MOST_OPEN || state.keys.len() >= MOST_KEYS {
                return;
            }
            let keys = std::iter::once(key.to_owned()).chain((2..).map(|n| format!("{key}-{n}")));
            let Some(key) = keys.into_iter().find(|key| !state.keys.contains(key)) else { return };
            state.keys.insert(key.clone());
            state.record.status = TaskStatus::InputRequired;
            state.record.input_requests.insert(key.clone(), request);
            state.open.insert(key.clone(), OpenQuestion { method, params, tell, sent: false });
            opened = Some(QuestionGuard { task: Arc::clone(self), key });
        });
        match opened {
            Some(guard) => Ok((guard, told)),
            None => Err(ToolError::new("the task asks too much, or is over")),
        }
    }

    /// Takes the answer to a question. Whether there is such a question.
    pub(super) fn answer(&self, key: &str, answer: sabir::Result<RawJson<'static>>) -> bool {
        let mut tell = None;
        self.change(|state| tell = state.close(key));
        // Fails if nobody waits for it any more.
        let Some(tell) = tell else { return false };
        let _ = tell.send(answer);
        true
    }

    /// A question that is not on its way to the client yet, and from here on is.
    pub(super) fn next_to_send(self: &Arc<Self>) -> Option<(String, &'static str, RawJson<'static>)> {
        let mut state = self.state();
        let (key, question) = state.open.iter_mut().find(|(_, question)| !question.sent)?;
        question.sent = true;
        Some((key.clone(), question.method, question.params.clone()))
    }

    /// A question that was on its way is not any more.
    pub(super) fn not_sent(&self, key: &str) {
        if let Some(question) = self.state().open.get_mut(key) {
            question.sent = false;
        }
        self.changed.send_replace(());
    }

    /// Waits until a question is not open any more.
    pub(super) async fn closed(&self, key: &str) {
        let mut changes = self.changes();
        while self.state().open.contains_key(key) {
            // The sender is here.
            let _ = changes.changed().await;
        }
    }

    /// Tells what was answered, and stores it.
    pub(super) async fn after_answers(&self) {
        self.announce();
        self.store().await;
    }

    /// Asks the function to stop, or stops it. In the legacy era the task is over at once.
    pub(super) async fn cancel(&self) {
        if !self.revision.is_modern() {
            self.change(|state| state.end(TaskStatus::Cancelled, None));
            self.store().await;
            self.announce();
        }
        self.cancel.send_replace(true);
    }

    /// Waits until it is cancelled, and from then on leaves it to the function what to do.
    pub(crate) fn cancelled(&self) -> impl Future<Output = ()> + Send + use<> {
        self.attended.store(true, Ordering::Relaxed);
        let mut cancel = self.cancel.subscribe();
        async move {
            // The sender is gone when the task is over.
            let _ = cancel.wait_for(|cancelled| *cancelled).await;
        }
    }

    /// Waits until it is cancelled, and the function does not handle that itself.
    pub(super) async fn stopped(&self) {
        let mut cancel = self.cancel.subscribe();
        let _ = cancel.wait_for(|cancelled| *cancelled).await;
        if self.attended.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }

    /// Stores what came of it before anybody hears of it.
    pub(super) async fn finish(&self, end: End) {
        let cancelled = *self.cancel.borrow();
        let ended = match end {
            End::Expired => None,
            End::Stopped => Some((TaskStatus::Cancelled, None)),
            End::Done(Err(_)) if cancelled => Some((TaskStatus::Cancelled, None)),
            End::Panicked => Some(failed("the tool panicked")),
            End::Done(outcome) => Some(ended(outcome, self.revision)),
        };
        if let Some((status, outcome)) = ended {
            self.end(status, outcome).await;
        }
        self.registry.forget(&self.id);
        self.announce();
    }

    async fn end(&self, status: TaskStatus, outcome: Option<TaskOutcome>) {
        let writing = self.writing.lock().await;
        let record = self.record();
        if record.status.is_final() {
            return;
        }
        let mut state = State { record, open: BTreeMap::new(), keys: HashSet::new() };
        state.end(status, outcome);
        let mut record = state.record;
        record.updated = self.registry.now().max(record.updated);
        let mut stored = self.registry.store.put(&record).await;
        if stored.as_ref().is_err_and(|error| error.kind() == ErrorKind::StorageFull) {
            (record.status, record.outcome) = failed("there is no room for the result");
            stored = self.registry.store.put(&record).await;
        }
        self.change(|state| {
            state.open.clear();
            state.record = record.clone();
        });
        drop(writing);
        if stored.is_err() {
            self.announce();
            self.store_later(&record).await;
        }
    }

    /// Tries to store what came of it for as long as anybody may ask. Until then it is known to this process alone, and not
    /// forgotten: a store that has failed would go on saying that it runs.
    async fn store_later(&self, record: &TaskRecord) {
        while record.expires() > self.registry.now() {
            tokio::time::sleep(STORE_AGAIN).await;
            if self.registry.store.put(record).await.is_ok() {
                return;
            }
        }
    }
}

impl State {
    fn end(&mut self, status: TaskStatus, outcome: Option<TaskOutcome>) {
        self.open.clear();
        self.record.input_requests.clear();
        self.record.status = status;
        self.record.outcome = outcome;
    }

    /// Closes a question, and goes on working when it was the last one.
    fn close(&mut self, key: &str) -> Option<oneshot::Sender<sabir::Result<RawJson<'static>>>> {
        let question = self.open.remove(key)?;
        self.record.input_requests.remove(key);
        if self.open.is_empty() {
            self.record.status = TaskStatus::Working;
        }
        Some(question.tell)
    }
}

/// Closes a question that nobody waits for any more.
struct QuestionGuard {
    task: Arc<LiveTask>,
    key: String,
}

impl Drop for QuestionGuard {
    fn drop(&mut self) {
        let mut closed = false;
        self.task.change(|state| closed = state.close(&self.key).is_some());
        if closed {
            self.task.announce();
        }
    }
}

fn failed(reason: &str) -> (TaskStatus, Option<TaskOutcome>) {
    let error = ErrorObject::because(ErrorCode::INTERNAL_ERROR, reason);
    (TaskStatus::Failed, Some(TaskOutcome::Error(error)))
}

/// What the call would have been answered with.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Complete<'a> {
    result_type: &'static str,
    #[serde(flatten)]
    result: &'a ToolResult,
}

/// What a tool could not do is a result: in the legacy era of a task that has failed.
fn ended(outcome: McpResult<ToolResult>, revision: McpRevision) -> (TaskStatus, Option<TaskOutcome>) {
    let mut result = match outcome {
        Ok(result) => result,
        Err(ToolError::Failed(why)) => ToolResult::error(why),
        Err(failure) => return (TaskStatus::Failed, Some(TaskOutcome::Error(failure.into_error()))),
    };
    result.fit(revision);
    let status = match result.is_error && !revision.is_modern() {
        true => TaskStatus::Failed,
        false => TaskStatus::Completed,
    };
    let written = match revision.is_modern() {
        true => RawJson::from_value(&Complete { result_type: "complete", result: &result }),
        false => RawJson::from_value(&result),
    };
    match written {
        Ok(result) => (status, Some(TaskOutcome::Result(result))),
        Err(error) => failed(&error.to_string()),
    }
}
