//! The methods of tasks: what clients ask of a task that they know.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;

use sabir::{ErrorCode, ErrorObject, RawJson};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;

use super::live::LiveTask;
use super::record::{Members, TaskOutcome, TaskRecord};
use super::registry::{Found, broken, owner};
use crate::McpRevision;
use crate::bounded::{self, BoundedMap};
use crate::error::{ToolError, invalid, not_found, unread};
use crate::extensions::{Answering, ListenField};
use crate::server::McpCtx;
use crate::server::extensions::declared_by_client;
use crate::server::request_context::Eras;
use crate::server::response::{Answer, ResponseBuilder};
use crate::server::routes::{Params, Routes, read};
use crate::server::session::Caller;
use crate::types::TASKS_EXTENSION;

/// The field of `subscriptions/listen`.
pub(crate) const LISTEN_FIELD: &str = "taskIds";
/// What a message says that belongs to a task, in 2025-11-25.
const RELATED: &str = "io.modelcontextprotocol/related-task";
/// Tasks that one page of a list has.
const PAGE: usize = 100;
/// Tasks that one subscription may name.
const MOST_IDS: usize = 1024;

pub(crate) fn add_methods(routes: Routes<'_>) -> Routes<'_> {
    routes
        .on("tasks/get", Eras::Both, get)
        .on("tasks/cancel", Eras::Both, cancel)
        .on("tasks/update", Eras::Modern, update)
        .on("tasks/result", Eras::Legacy, result)
        .on("tasks/list", Eras::Legacy, list)
}

/// Whether there are tasks here at all, for this client.
fn admit(ctx: &McpCtx) -> sabir::Result<()> {
    match &ctx.caller {
        _ if !ctx.core.offers_tasks() => Err(not_found()),
        Caller::Modern(_) => declared_by_client(ctx, TASKS_EXTENSION),
        Caller::Legacy(_, McpRevision::V2025_11_25) => Ok(()),
        Caller::Legacy(..) => Err(not_found()),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ById {
    task_id: String,
}

impl McpCtx {
    pub(super) fn owner(&self) -> Option<String> {
        owner(self.core.settings.identity(&self.rpc))
    }

    async fn find_task(&self, id: &str) -> sabir::Result<Found> {
        self.core.tasks.find(id, self.owner().as_deref()).await
    }
}

fn get(
    ctx: McpCtx,
    params: Params<'_>,
) -> sabir::Result<impl Future<Output = sabir::Result<Answer<Members>>> + use<>> {
    admit(&ctx)?;
    let ById { task_id } = read(params)?;
    Ok(async move {
        let record = ctx.find_task(&task_id).await?.record();
        let revision = ctx.revision();
        let body = if revision.is_modern() { record.detailed(revision)? } else { record.task(revision)? };
        Ok(ResponseBuilder::of(&ctx).answer(body, None, false))
    })
}

fn cancel(
    ctx: McpCtx,
    params: Params<'_>,
) -> sabir::Result<impl Future<Output = sabir::Result<Answer<Members>>> + use<>> {
    admit(&ctx)?;
    let ById { task_id } = read(params)?;
    Ok(async move {
        let found = ctx.find_task(&task_id).await?;
        let (revision, status) = (ctx.revision(), found.record().status);
        if status.is_final() && !revision.is_modern() {
            return Err(invalid("the task is over already"));
        }
        if let Found::Live(task) = &found {
            task.cancel().await;
        }
        match revision.is_modern() {
            true => acknowledged(),
            false => Ok(Answer::Legacy(found.record().task(revision)?)),
        }
    })
}

fn update(
    ctx: McpCtx,
    params: Params<'_>,
) -> sabir::Result<impl Future<Output = sabir::Result<Answer<Members>>> + use<>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Update {
        task_id: String,
        input_responses: BoundedMap<RawJson<'static>>,
    }
    admit(&ctx)?;
    let Update { task_id, input_responses: BoundedMap(answers) } = read(params)?;
    Ok(async move {
        if let Found::Live(task) = ctx.find_task(&task_id).await? {
            let mut taken = false;
            // What is not asked, or was answered before, is ignored.
            for (key, answer) in answers {
                taken |= task.answer(&key, Ok(answer));
            }
            if taken {
                task.after_answers().await;
            }
        }
        acknowledged()
    })
}

/// An empty result. Without the server's name in `_meta`, since clients in the field (rmcp 3) take an acknowledgement with
/// `_meta` for the result of a tool.
fn acknowledged() -> sabir::Result<Answer<Members>> {
    Ok(Answer::Legacy(Members::from([("resultType".to_owned(), RawJson::from_value("complete")?)])))
}

/// Waits for the end of a task, and answers what the call would have been answered. Meanwhile the client is asked what
/// the task wants to know.
fn result(
    ctx: McpCtx,
    params: Params<'_>,
) -> sabir::Result<impl Future<Output = sabir::Result<Answer<Members>>> + use<>> {
    admit(&ctx)?;
    let ById { task_id } = read(params)?;
    Ok(async move {
        let record = match ctx.find_task(&task_id).await? {
            Found::Live(task) => ended(&ctx, &task).await,
            Found::Stored(record) => *record,
        };
        let body = match record.outcome {
            Some(TaskOutcome::Result(result)) => result,
            Some(TaskOutcome::Error(error)) => return Err(error),
            None => return Err(ErrorObject::because(ErrorCode::REQUEST_CANCELLED, "the task was cancelled")),
        };
        let mut body: Members = body.parse()?;
        let mut meta: crate::types::Meta =
            body.get("_meta").and_then(|meta| meta.parse().ok()).unwrap_or_default();
        meta.insert(RELATED.to_owned(), json!({"taskId": record.id}));
        body.insert("_meta".to_owned(), RawJson::from_value(&meta)?);
        Ok(ResponseBuilder::of(&ctx).answer(body, None, false))
    })
}

async fn ended(ctx: &McpCtx, task: &Arc<LiveTask>) -> TaskRecord {
    let mut changes = task.changes();
    let finished = async {
        loop {
            let record = task.record();
            if record.status.is_final() {
                return record;
            }
            // The sender is in the task, which is here.
            let _ = changes.changed().await;
        }
    };
    tokio::select! {
        record = finished => record,
        never = ask_all(ctx, task) => match never {},
    }
}

/// Asks the client what the task wants to know, one question after the other.
async fn ask_all(ctx: &McpCtx, task: &Arc<LiveTask>) -> Infallible {
    let mut changes = task.changes();
    loop {
        let Some((key, method, params)) = task.next_to_send() else {
            let _ = changes.changed().await;
            continue;
        };
        let asking = Asking(task, key);
        // Another question that is opened meanwhile waits for its turn; one that is closed is not asked any more.
        let answer = tokio::select! {
            answer = ask(ctx, &task.id, method, params) => answer,
            () = task.closed(&asking.1) => continue,
        };
        task.answer(&asking.1, answer);
        task.after_answers().await;
    }
}

/// A question that is on its way to the client.
struct Asking<'t>(&'t LiveTask, String);

impl Drop for Asking<'_> {
    /// Somebody else may ask, if nobody waits for the answer here.
    fn drop(&mut self) {
        self.0.not_sent(&self.1);
    }
}

/// Asks the client by a request that belongs to the task.
async fn ask(
    ctx: &McpCtx,
    task: &str,
    method: &'static str,
    params: RawJson<'static>,
) -> sabir::Result<RawJson<'static>> {
    let internal = |error: &dyn std::fmt::Display| ErrorObject::because(ErrorCode::INTERNAL_ERROR, error);
    let related = json!({RELATED: {"taskId": task}});
    let params = params.parse::<BTreeMap<String, RawJson<'static>>>().and_then(|mut params| {
        params.insert("_meta".to_owned(), RawJson::from_value(&related)?);
        RawJson::from_value(&params)
    });
    let params = params.map_err(|error| internal(&error))?;
    ctx.rpc.peer().call_raw(method, Some(params)).await.map_err(|error| match error {
        sabir::CallError::Error(error) => error,
        other => internal(&other),
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    tasks: Vec<Members>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// The tasks of the caller; where it is not known who that is, of this session.
fn list(
    ctx: McpCtx,
    params: Params<'_>,
) -> sabir::Result<impl Future<Output = sabir::Result<Answer<Listed>>> + use<>> {
    #[derive(Deserialize)]
    struct Page {
        cursor: Option<String>,
    }
    admit(&ctx)?;
    let Page { cursor } = read(params)?;
    Ok(async move {
        let after = cursor.as_deref();
        let ids: Vec<String> = match (ctx.owner(), &ctx.caller) {
            (Some(owner), _) => {
                let stored = ctx.core.tasks.store.list(&owner, after, PAGE + 1).await;
                stored.map_err(|error| broken(&error))?.into_iter().map(|record| record.id).collect()
            }
            (None, Caller::Legacy(session, _)) => session.tasks(after, PAGE + 1),
            (None, Caller::Modern(_)) => Vec::new(),
        };
        let more = ids.len() > PAGE;
        let mut tasks = Vec::new();
        for id in ids.iter().take(PAGE) {
            // One that has expired meanwhile is not listed.
            if let Ok(found) = ctx.find_task(id).await {
                tasks.push(found.record().task(ctx.revision())?);
            }
        }
        let next_cursor = ids.get(PAGE - 1).filter(|_| more).cloned();
        Ok(ResponseBuilder::of(&ctx).answer(Listed { tasks, next_cursor }, None, false))
    })
}

/// What a subscription to tasks is told: the whole task whenever it has changed.
pub(crate) fn listen(ctx: McpCtx, asked: RawJson<'static>) -> Answering<ListenField> {
    #[derive(Deserialize)]
    struct Ids(#[serde(deserialize_with = "bounded::list::<MOST_IDS, _, _>")] Vec<String>);
    Box::pin(async move {
        let Ids(asked) = asked.parse().map_err(|error| ToolError::Rpc(unread(&error)))?;
        let mut changes = ctx.core.tasks.changes();
        let mut ids = Vec::new();
        for id in asked {
            if ctx.find_task(&id).await.is_ok() {
                ids.push(id);
            }
        }
        let acknowledged = json!(ids);
        let (tell, notifications) = mpsc::channel(1);
        tokio::spawn(async move {
            loop {
                let changed = tokio::select! {
                    changed = changes.recv() => changed,
                    () = tell.closed() => return,
                };
                let changed = match changed {
                    Ok(id) => ids.iter().filter(|own| ***own == *id).cloned().collect(),
                    Err(RecvError::Lagged(_)) => ids.clone(),
                    Err(RecvError::Closed) => return,
                };
                for id in changed {
                    let Ok(found) = ctx.find_task(&id).await else { continue };
                    let Ok(task) = found.record().detailed(ctx.revision()) else { continue };
                    let Ok(params) = RawJson::from_value(&task) else { continue };
                    if tell.send((Cow::Borrowed("notifications/tasks"), params)).await.is_err() {
                        return;
                    }
                }
            }
        });
        Ok(ListenField { acknowledged, notifications })
    })
}
