//! Tools that run as tasks: the call is answered at once, and the client asks for the result later. There are two designs,
//! that of 2025-11-25 and the extension of 2026-07-28; functions are the same for both.

mod live;
mod memory;
mod methods;
mod record;
#[cfg(feature = "redb")]
mod redb;
mod registry;
mod store;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use live::LiveTask;
pub use memory::MemoryTasks;
pub(super) use methods::{LISTEN_FIELD, add_methods, listen};
pub use record::{TaskOutcome, TaskRecord};
#[cfg(feature = "redb")]
pub use redb::RedbTasks;
pub(crate) use registry::Registry;
use registry::{Reservation, Reserved};
use sabir::RawJson;
use serde::{Deserialize, Serialize};
use serde_json::json;
pub use store::{StoreFuture, TaskStore, TaskStoreLimits};

use super::function::ToolEntry;
use super::output::IntoToolResult;
use super::session::Caller;
use super::{Core, McpCtx, McpServer};
use crate::McpRevision;
use crate::error::{McpResult, ToolError, not_found, unread};
use crate::extensions::TypedResult;
use crate::types::{IMMEDIATE_RESPONSE, Meta, ServerCapabilities, TASKS_EXTENSION, TaskSupport, ToolResult};

/// How tasks are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskOptions {
    /// How long after its beginning a task is kept; one that still runs then is stopped. Clients of 2025-11-25 may ask
    /// for less. 1 h.
    pub ttl: Duration,
    /// How long clients are told to wait before they ask again. 1 s.
    pub poll_interval: Duration,
    /// Tasks that may run at once. 1,000.
    pub running: usize,
    /// Tasks of one caller that may run at once: of one identity, or over HTTP else of one address. 100.
    pub running_per_caller: usize,
    /// Bytes of arguments that tasks which run may have together. 64 MiB.
    pub running_bytes: usize,
    /// The same of one caller. 32 MiB.
    pub running_bytes_per_caller: usize,
}

impl Default for TaskOptions {
    fn default() -> Self {
        TaskOptions {
            ttl: Duration::from_secs(60 * 60),
            poll_interval: Duration::from_secs(1),
            running: 1000,
            running_per_caller: 100,
            running_bytes: 64 << 20,
            running_bytes_per_caller: 32 << 20,
        }
    }
}

/// What a server is told of tasks before it is served.
#[derive(Clone, Default)]
pub(super) struct TaskSettings {
    pub(super) store: Option<Arc<dyn TaskStore>>,
    pub(super) options: Option<TaskOptions>,
}

impl McpServer {
    /// Keeps tasks here instead of in memory.
    #[must_use]
    pub fn task_store(mut self, store: impl TaskStore) -> Self {
        self.settings.tasks.store = Some(Arc::new(store));
        self
    }

    /// Sets how tasks are run. Offers tasks, also if no tool is [one](crate::Tool::task): functions may become tasks by
    /// [`McpCtx::as_task`].
    #[must_use]
    pub fn task_options(mut self, options: TaskOptions) -> Self {
        self.settings.tasks.options = Some(options);
        self
    }
}

impl Core {
    /// Whether anything here runs as a task.
    pub(crate) fn offers_tasks(&self) -> bool {
        let TaskSettings { store, options } = &self.settings.tasks;
        store.is_some() || options.is_some() || self.catalog.lists().has_tasks
    }

    /// What both eras declare.
    pub(super) fn capabilities(&self) -> ServerCapabilities {
        let mut capabilities = self.catalog.lists().capabilities();
        capabilities.extensions = super::extensions::declared(&self.settings.extensions);
        capabilities
    }

    pub(super) fn modern_capabilities(&self) -> ServerCapabilities {
        let mut capabilities = self.capabilities();
        if self.offers_tasks() {
            let extensions = capabilities.extensions.get_or_insert_default();
            extensions.insert(TASKS_EXTENSION.to_owned(), json!({}));
        }
        capabilities
    }
}

/// The answer to a call of 2025-11-25 that has become a task.
#[derive(Serialize)]
struct Created {
    task: record::Members,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<serde_json::Value>,
}

pub(super) fn legacy_capability() -> Meta {
    Meta::from_iter([
        ("list".to_owned(), json!({})),
        ("cancel".to_owned(), json!({})),
        ("requests".to_owned(), json!({"tools": {"call": {}}})),
    ])
}

/// What a call of 2025-11-25 says about being run as a task.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct TaskAsked {
    /// How many milliseconds it should be kept.
    ttl: Option<u64>,
}

/// Whether a call asks to be run as a task. Other revisions ignore that.
pub(super) fn asked(ctx: &McpCtx, task: Option<&RawJson<'_>>) -> sabir::Result<Option<TaskAsked>> {
    match (task, &ctx.caller) {
        (Some(task), Caller::Legacy(_, McpRevision::V2025_11_25)) if ctx.core.offers_tasks() => {
            task.parse().map(Some).map_err(|error| unread(&error))
        }
        _ => Ok(None),
    }
}

type Running = Pin<Box<dyn Future<Output = McpResult<ToolResult>> + Send>>;

/// Starts a tool that runs as a task, if the client can have one.
pub(super) fn start(
    mut ctx: McpCtx,
    support: TaskSupport,
    entry: &ToolEntry,
    arguments: Option<&RawJson<'_>>,
) -> sabir::Result<Result<Running, String>> {
    if !ctx.can_have_task() {
        return match (support, &ctx.caller) {
            (TaskSupport::Required, Caller::Modern(_)) => Err(ctx
                .require_extension(TASKS_EXTENSION)
                .err()
                .map_or_else(not_found, ToolError::into_error)),
            (TaskSupport::Required, Caller::Legacy(_, McpRevision::V2025_11_25)) => Err(not_found()),
            _ => Ok(entry.start(ctx, arguments)),
        };
    }
    let reserved = ctx
        .reserve(&entry.tool.name, arguments.map_or(0, |arguments| arguments.as_str().len()))
        .map_err(ToolError::into_error)?;
    let creator = ctx.clone();
    ctx.task = Some(Arc::clone(reserved.task()));
    let running = match entry.start(ctx, arguments) {
        Ok(running) => running,
        // Arguments that do not fit are the answer to the call.
        Err(reason) => return Ok(Err(reason)),
    };
    let told = entry.tool.immediate_response.clone();
    Ok(Ok(Box::pin(async move { Err(creator.begin(reserved, running, told).await?.into()) })))
}

impl McpCtx {
    /// Goes on as a task, if the client can have one: the call is answered with the task, and what `function` returns is
    /// its result. Otherwise, and in a task, `function` is run as it is. Return what this returns.
    ///
    /// A tool that is a task [as a whole](crate::Tool::task) needs no such call. This is for those that decide, or that
    /// ask the client before the task begins.
    ///
    /// ```
    /// use sabir_mcp::{McpCtx, McpResult, ToolResult};
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)] struct Pages { count: u32 }
    ///
    /// async fn print(ctx: McpCtx, Pages { count }: Pages) -> McpResult<ToolResult> {
    ///     ctx.as_task(move |ctx| async move {
    ///         for page in 1..=count {
    ///             ctx.progress((page, count)).await;
    ///         }
    ///         Ok(format!("{count} pages"))
    ///     })
    ///     .await
    /// }
    /// ```
    pub async fn as_task<F, R, Fut>(&self, function: F) -> McpResult<ToolResult>
    where
        F: FnOnce(McpCtx) -> Fut,
        Fut: Future<Output = McpResult<R>> + Send + 'static,
        R: IntoToolResult,
    {
        if self.task.is_some() || !self.can_have_task() {
            return function(self.clone()).await?.into_tool_result();
        }
        let reserved = self.reserve("", self.message_bytes())?;
        let ctx = McpCtx { task: Some(Arc::clone(reserved.task())), ..self.clone() };
        let running = function(ctx);
        let running = Box::pin(async move { running.await?.into_tool_result() });
        Err(self.begin(reserved, running, None).await?.into())
    }

    /// The id of the task that the function runs as.
    pub fn task_id(&self) -> Option<&str> {
        self.task.as_ref().map(|task| task.id.as_str())
    }

    fn can_have_task(&self) -> bool {
        match &self.caller {
            Caller::Modern(_) => self.core.offers_tasks() && self.extension(TASKS_EXTENSION).is_some(),
            Caller::Legacy(..) => self.task_asked.is_some(),
        }
    }

    /// How many bytes a function may have got by its call, as far as that is known.
    fn message_bytes(&self) -> usize {
        #[cfg(feature = "http")]
        if let Some(parts) = self.rpc.http() {
            let length = parts.headers.get(http::header::CONTENT_LENGTH);
            return length.and_then(|length| length.to_str().ok()?.parse().ok()).unwrap_or(0);
        }
        0
    }

    /// Who a task is counted for: whoever has proved who they are, or else the address that the call came from. A header that
    /// nobody has checked does not count, since a caller could send another one with each call.
    fn share(&self) -> Option<String> {
        let proved = registry::owner(self.core.settings.proved_identity(&self.rpc));
        #[cfg(feature = "http")]
        let proved = proved.or_else(|| {
            let sabir::Remote(address) = self.rpc.http()?.extensions.get()?;
            registry::owner(Some(sabir::internal::network(address.ip()).to_string().into_bytes()))
        });
        proved.or_else(|| self.owner())
    }

    fn reserve(&self, tool: &str, bytes: usize) -> McpResult<Reserved> {
        let (ttl, peer) = match &self.caller {
            Caller::Modern(_) => (None, None),
            Caller::Legacy(..) => {
                (self.task_asked.and_then(|asked| asked.ttl), Some(self.rpc.peer().downgrade()))
            }
        };
        let (owner, share) = (self.owner(), self.share());
        let asked = Reservation { tool, bytes, owner, share, ttl, revision: self.revision(), peer };
        self.core.tasks.reserve(asked)
    }

    /// Begins a task, for the answer to the call. The model may be told something at once.
    async fn begin(
        &self,
        reserved: Reserved,
        running: Running,
        told: Option<String>,
    ) -> McpResult<TypedResult> {
        let record = reserved.begin(running).await?;
        let task = record.task(self.revision())?;
        Ok(match &self.caller {
            Caller::Modern(_) => TypedResult { result_type: "task".into(), members: task },
            Caller::Legacy(session, _) => {
                session.remember_task(record.id);
                let meta = told.map(|told| json!({IMMEDIATE_RESPONSE: told}));
                TypedResult::new("task", &Created { task, meta })?
            }
        })
    }
}
