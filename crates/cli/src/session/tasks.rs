//! Tasks of an MCP server. A call that becomes one is waited for, or handed out; later a task is found by its id.

use std::time::Duration;

use sabir::{CallError, ErrorCode, RawJson};
use sabir_mcp::{McpCall, McpRevision, McpSession, McpTask, ProgressUpdate, Started, Task, TaskStatus};
use serde_json::json;

use super::answers::Answers;
use super::{Answer, CallFailure, Form, OnProgress};
use crate::exit::{Exit, Failure};
use crate::values::Arguments;

/// How often a server is asked at most.
const POLL: Duration = Duration::from_millis(250);

/// How a call is made.
#[derive(Clone, Copy)]
pub(super) struct CallOptions<'a> {
    pub(super) progress: Option<&'a OnProgress>,
    /// A task is handed out, and not waited for.
    pub(super) detached: bool,
    pub(super) answers: &'a Answers,
}

/// Calls a tool, and waits for the task that it becomes, if it does.
pub(super) async fn call_tool(
    session: &McpSession,
    params: &RawJson<'static>,
    options: CallOptions<'_>,
) -> Result<Answer, CallFailure> {
    let request = || prepared(session, params.clone(), options.progress);
    let is_legacy = !session.revision().is_modern();
    let started = match is_legacy && !options.detached {
        // A server of 2025-11-25 makes a task of what it is asked to: of those tools that are nothing else.
        true => match request().await {
            Err(CallError::Error(error))
                if error.code == ErrorCode::METHOD_NOT_FOUND
                    && session.revision() == McpRevision::V2025_11_25
                    && session.capabilities().tasks.is_some() =>
            {
                request().start().await?
            }
            done => Started::Done(done?),
        },
        false => request().start().await?,
    };
    match started {
        Started::Done(result) => Ok(Answer { result, form: Form::Tool }),
        Started::Task(task) if options.detached => {
            let result = RawJson::from_value(task.task()).map_err(Failure::usage)?;
            Ok(Answer { result, form: Form::Task })
        }
        Started::Task(task) => wait(session, task, options).await,
    }
}

fn prepared(
    session: &McpSession,
    params: RawJson<'static>,
    progress: Option<&OnProgress>,
) -> McpCall<RawJson<'static>> {
    let call = session.request("tools/call", params.into());
    match progress.cloned() {
        Some(progress) => call.on_raw_progress(move |value| progress(&value)),
        None => call,
    }
}

/// A method of tasks. The id of the task may stand by itself, and these do more than a request then: `tasks/result` waits in
/// every revision, and `tasks/update` answers what the task asks.
pub(super) async fn call_method(
    session: &McpSession,
    method: &str,
    args: &Arguments,
    options: CallOptions<'_>,
) -> Result<Answer, CallFailure> {
    let whole = match args.split_first() {
        Some((id, rest)) if rest.is_empty() => match method {
            "tasks/result" => return wait(session, session.task(id).await?, options).await,
            "tasks/update" if session.revision().is_modern() => {
                let mut task = session.task(id).await?;
                let result = RawJson::from_value(task.answer_now().await?).map_err(Failure::usage)?;
                return Ok(Answer { result, form: Form::Json });
            }
            "tasks/update" => {
                let revision = session.revision();
                let reason = format!("the server speaks {revision}, which has no `tasks/update`");
                let failure = Failure::new(Exit::Error, reason);
                return Err(CallFailure::Failed(
                    failure.hint("`tasks/result ID` waits for the task, and answers what it asks"),
                ));
            }
            _ => Some(RawJson::from_value(&json!({"taskId": id})).map_err(Failure::usage)?),
        },
        _ => args.named()?,
    };
    let result = super::mcp::request(session, method, whole, options.progress).await?;
    Ok(Answer { result, form: Form::Json })
}

/// Waits for the result of a task, shows how far it is, and answers what it asks.
async fn wait(
    session: &McpSession,
    mut task: McpTask,
    options: CallOptions<'_>,
) -> Result<Answer, CallFailure> {
    options.answers.set_task(Some(task.id()));
    let mut count = 0_u32;
    let mut shown = None;
    let mut heard = |task: &Task| {
        options.answers.set_task(Some(&task.task_id));
        let words = words(task);
        if let Some(progress) = options.progress
            && shown.as_ref() != Some(&words)
        {
            let update = ProgressUpdate::from(count).message(words.clone());
            count += 1;
            shown = Some(words);
            if let Ok(update) = RawJson::from_value(&update) {
                progress(&update);
            }
        }
    };
    // Such a server asks those who wait for the result, and takes a refusal for the end of the task.
    while !session.revision().is_modern()
        && options.answers.is_empty()
        && !task.get().await?.status.is_final()
    {
        heard(task.task());
        if task.task().status == TaskStatus::InputRequired {
            let failure = Failure::new(Exit::Error, "the task wants an answer");
            return Err(CallFailure::Failed(
                failure.hint("give it with --answer elicitation/create=JSON, or on a terminal"),
            ));
        }
        tokio::time::sleep(task.task().poll_interval_ms.map_or(POLL, Duration::from_millis).max(POLL)).await;
    }
    let result = task.wait_raw(heard).await;
    // Where the server says nothing of the task, it goes on.
    if matches!(result, Ok(_) | Err(CallError::Error(_))) {
        options.answers.set_task(None);
    }
    Ok(Answer { result: result?, form: Form::Tool })
}

/// How far a task is, in its own words if it has any.
fn words(task: &Task) -> String {
    let status = match task.status {
        TaskStatus::Working => "working",
        TaskStatus::InputRequired => "waiting for an answer",
        _ => "done",
    };
    match task.status_message.as_deref() {
        Some(message) if !message.is_empty() => message.to_owned(),
        _ => status.to_owned(),
    }
}
