//! A request to a server, with all the rounds that it may take.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::time::Duration;

use sabir::{CallEnd, CallError, ErrorCode, JsonKind, RawJson, Side};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::session::McpSession;
use super::tasks::{self, McpTask};
use crate::McpRevision;
use crate::bounded::BoundedMap;
use crate::error::{reason, shown};
use crate::operation::{CALL_TOOL, Ending};
use crate::types::{Meta, ProgressUpdate, Task};

pub(super) type Params = BTreeMap<Cow<'static, str>, RawJson<'static>>;

/// How often a server may ask back: one that asks more often probably loops.
const MOST_ROUNDS: usize = 32;
/// Questions that a server may ask in one round: each may end up before the user.
const MOST_QUESTIONS: usize = 64;

/// A request: await it for its result. Drop it, and it is cancelled.
#[must_use = "a request is sent when it is awaited"]
pub struct McpCall<R> {
    session: McpSession,
    method: Cow<'static, str>,
    params: Result<Params, CallError>,
    meta: Meta,
    timeout: Option<Duration>,
    progress: Option<Box<dyn FnMut(RawJson<'static>) + Send>>,
    /// A tool that is a task alone is asked to be one, and waited for.
    waits: bool,
    result: PhantomData<fn() -> R>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InputRequired {
    #[serde(default)]
    input_requests: BoundedMap<Question, MOST_QUESTIONS>,
    request_state: Option<RawJson<'static>>,
}

#[derive(Deserialize)]
struct Question {
    method: String,
    params: Option<RawJson<'static>>,
}

impl<R: DeserializeOwned> McpCall<R> {
    pub(super) fn new(
        session: &McpSession,
        method: impl Into<Cow<'static, str>>,
        params: Result<Params, serde_json::Error>,
    ) -> Self {
        McpCall {
            session: session.clone(),
            method: method.into(),
            params: params.map_err(|error| CallError::NotSent(sabir::SendError::Params(error.to_string()))),
            meta: session.meta().clone(),
            timeout: None,
            progress: None,
            waits: false,
            result: PhantomData,
        }
    }

    /// Ends each round with [`CallError::TimedOut`] after this long, and cancels it. The wait for a task ends after as
    /// long again; the task goes on.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Asks for progress. What is heard of a task are its status messages.
    pub fn on_progress(self, mut progress: impl FnMut(ProgressUpdate) + Send + 'static) -> Self {
        self.on_raw_progress(move |update| {
            if let Ok(update) = update.parse() {
                progress(update);
            }
        })
    }

    /// Asks for progress, as the text that the server sends: for those who show or forward it.
    pub fn on_raw_progress(mut self, progress: impl FnMut(RawJson<'static>) + Send + 'static) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }

    /// Says something in `_meta`.
    pub fn meta(mut self, key: impl Into<String>, value: Value) -> Self {
        self.meta.insert(key.into(), value);
        self
    }

    pub(super) fn that_waits(mut self) -> Self {
        self.waits = true;
        self
    }

    async fn run(self) -> Result<R, CallError> {
        let result = match self.session.observers() {
            [] => self.whole().await?,
            _ => self.observed().await?,
        };
        result.parse().map_err(undecodable)
    }

    /// Reports how it ended.
    async fn observed(self) -> Result<RawJson<'static>, CallError> {
        let (session, method) = (self.session.clone(), self.method.clone().into_owned());
        let name = self.params.as_ref().ok().and_then(|params| params.get("name"));
        let is_named = matches!(&*method, CALL_TOOL | "prompts/get");
        let target = name.filter(|_| is_named).and_then(|name| name.parse::<String>().ok());
        let revision = Some(session.revision());
        let ending = Ending::new(session.observers().to_vec(), Side::Ours, method, target, revision);
        let outcome = self.whole().await;
        let failed = |error| CallEnd::from(error).error_type().unwrap_or_default();
        ending.end(revision, outcome.as_ref().map_err(failed));
        outcome
    }

    /// With the wait for what the call has become.
    async fn whole(mut self) -> Result<RawJson<'static>, CallError> {
        let (kind, result) = match self.settle().await {
            // In 2025-11-25 that is the answer of a tool that is a task alone: nothing was done yet.
            Err(CallError::Error(error))
                if self.waits
                    && error.code == ErrorCode::METHOD_NOT_FOUND
                    && self.session.revision() == McpRevision::V2025_11_25
                    && self.session.callbacks().tasks
                    && tasks::offers_tasks(&self.session) =>
            {
                self.ask_for_task()?;
                let (kind, result) = self.settle().await?;
                let task = result.get("task").map(RawJson::into_owned);
                match task {
                    Some(task) => return self.wait_for_task(&task).await,
                    None => (kind, result),
                }
            }
            settled => settled?,
        };
        self.resolve(kind, result).await
    }

    pub(super) fn session(&self) -> &McpSession {
        &self.session
    }

    /// Asks a server of 2025-11-25 to make a task of the call.
    pub(super) fn ask_for_task(&mut self) -> Result<(), CallError> {
        let task = written(&Meta::new())?;
        if let Ok(params) = &mut self.params {
            params.insert("task".into(), task);
        }
        Ok(())
    }

    pub(super) fn ask_for_no_task(&mut self) {
        if let Ok(params) = &mut self.params {
            params.remove("task");
        }
    }

    /// All rounds of the call: the type of its result, and the result.
    pub(super) async fn settle(&mut self) -> Result<(Option<String>, RawJson<'static>), CallError> {
        let mut params = self.params.clone()?;
        let mut meta = self.meta.clone();
        if let Some(own) = params.remove("_meta") {
            // What the caller says in the params comes before what the session says.
            meta.extend(own.parse::<Meta>().map_err(undecodable)?);
        }
        if !meta.is_empty() {
            params.insert("_meta".into(), written(&meta)?);
        }
        for _ in 0..MOST_ROUNDS {
            let result = self.round(&params).await?;
            if result.kind() != JsonKind::Object {
                // A struct could be read from an array, too.
                return Err(CallError::Decode(format!("expected an object, found {}", result.kind()).into()));
            }
            let kind = result.get("resultType").and_then(|kind| kind.parse::<String>().ok());
            if kind.as_deref() != Some("input_required") {
                return Ok((kind.filter(|kind| kind != "complete"), result));
            }
            let asked = result.parse().map_err(undecodable)?;
            answer(&self.session, &mut params, asked).await?;
        }
        Err(CallError::Decode(format!("the server has asked back {MOST_ROUNDS} times").into()))
    }

    /// The result that the caller wants, of one that may be of another type.
    pub(super) async fn resolve(
        self,
        kind: Option<String>,
        result: RawJson<'static>,
    ) -> Result<RawJson<'static>, CallError> {
        let Some(kind) = kind else { return Ok(result) };
        let callbacks = self.session.callbacks();
        if kind == "task" && self.method == "tools/call" && callbacks.tasks {
            return self.wait_for_task(&result).await;
        }
        match callbacks.result_types.get(&kind) {
            Some(resolve) => resolve(self.session.clone(), result).await,
            None => {
                let reason = format!("its type `{}` is unknown", shown(&kind).escape_debug());
                Err(CallError::Decode(reason.into()))
            }
        }
    }

    /// Waits for the task that the call has become, for as long as the call may take.
    async fn wait_for_task(mut self, created: &RawJson<'_>) -> Result<RawJson<'static>, CallError> {
        let mut task = McpTask::read(self.session.clone(), created)?;
        let mut tell = self.progress.take();
        let mut count = 0;
        let mut heard = |task: &Task| {
            let Some(tell) = &mut tell else { return };
            if let Some(Ok(progress)) =
                tasks::progress(task, count).map(|progress| RawJson::from_value(&progress))
            {
                count += 1;
                tell(progress);
            }
        };
        match self.timeout {
            Some(timeout) => {
                let settled = tokio::time::timeout(timeout, task.settle(&mut heard)).await;
                settled.unwrap_or(Err(CallError::TimedOut))
            }
            None => task.settle(&mut heard).await,
        }
    }

    async fn round(&mut self, params: &Params) -> Result<RawJson<'static>, CallError> {
        let params = if params.is_empty() { None } else { Some(written(params)?) };
        let mut call = self.session.peer().call_raw(self.method.clone(), params);
        if let Some(timeout) = self.timeout {
            call = call.timeout(timeout);
        }
        if let Some(tell) = &mut self.progress {
            while let Some(progress) = call.progress::<RawJson<'static>>().await {
                tell(progress);
            }
        }
        call.await
    }
}

/// Answers what the server wants to know first.
async fn answer(session: &McpSession, params: &mut Params, asked: InputRequired) -> Result<(), CallError> {
    let mut answers = BTreeMap::new();
    for (key, Question { method, params }) in asked.input_requests.0 {
        let answer = session.callbacks().answer(&method, params.as_ref()).await;
        answers.insert(key, answer.map_err(CallError::Error)?);
    }
    params.remove("inputResponses");
    if !answers.is_empty() {
        params.insert("inputResponses".into(), written(&answers)?);
    }
    match asked.request_state {
        Some(state) => params.insert("requestState".into(), state),
        None => params.remove("requestState"),
    };
    Ok(())
}

pub(super) fn written<T: serde::Serialize>(value: &T) -> Result<RawJson<'static>, CallError> {
    RawJson::from_value(value)
        .map_err(|error| CallError::NotSent(sabir::SendError::Params(error.to_string())))
}

#[expect(clippy::needless_pass_by_value, reason = "it is made for `map_err`")]
pub(super) fn undecodable(error: serde_json::Error) -> CallError {
    CallError::Decode(reason(&error).into())
}

impl<R: DeserializeOwned + 'static> IntoFuture for McpCall<R> {
    type Output = Result<R, CallError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl<R> std::fmt::Debug for McpCall<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpCall").field("method", &self.method).finish_non_exhaustive()
    }
}
