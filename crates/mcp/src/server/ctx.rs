//! What a server's function knows of the request that it runs for, and what it may say and ask meanwhile.

use std::any::Any;
use std::future::Future;
use std::io;
use std::sync::Arc;

use sabir::{ErrorCode, RawJson};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::Core;
use super::catalog::Catalog;
use super::input_round::InputRound;
use super::session::{Agreed, CLIENT_CAPABILITIES, CLIENT_INFO, Caller};
use super::tasks::{LiveTask, TaskAsked};
use crate::error::{McpResult, ToolError, missing_capability};
use crate::types::{
    ClientCapabilities, Elicit, ElicitResult, Implementation, LogLevel, LogMessage, Meta, ProgressUpdate,
    Root, Sample, Sampled,
};
use crate::{McpRevision, form};

/// The request that a function runs for: who asks, and what may be said before the answer.
///
/// # Asking back
///
/// [`elicit`](Self::elicit), [`sample`](Self::sample) and [`roots`](Self::roots) work in both eras. In the
/// legacy one they are requests to the client. In the modern one there are none: the function ends with
/// [`ToolError::InputRequired`] (pass it on with `?`), the client is given the questions, and calls again; the
/// function runs anew, and finds the answers. So ask before anything is done that must not be done twice. Each
/// question has a key of its own in its function. Several at once are asked with `tokio::join!`. In a
/// [task](crate::Tool::task) the function waits for the answers in both eras.
#[derive(Clone)]
pub struct McpCtx {
    pub(crate) rpc: sabir::Ctx,
    pub(crate) core: Arc<Core>,
    pub(crate) caller: Caller,
    /// Where the modern era allows to ask back.
    pub(crate) round: Option<Arc<InputRound>>,
    /// The task that the function runs as.
    pub(crate) task: Option<Arc<LiveTask>>,
    /// The call may become a task of 2025-11-25.
    pub(crate) task_asked: Option<TaskAsked>,
}

impl McpCtx {
    /// The revision that the request is made by.
    pub fn revision(&self) -> McpRevision {
        self.caller.revision()
    }

    /// What the client can do.
    pub fn client(&self) -> ClientCapabilities {
        match &self.caller {
            Caller::Legacy(session, _) => session.agreed().map(Agreed::capabilities).unwrap_or_default(),
            Caller::Modern(_) => {
                self.meta().and_then(|meta| meta.get(CLIENT_CAPABILITIES)?.parse().ok()).unwrap_or_default()
            }
        }
    }

    /// Who the client says it is.
    pub fn client_info(&self) -> Option<Implementation> {
        match &self.caller {
            Caller::Legacy(session, _) => session.agreed()?.info(),
            Caller::Modern(_) => self.meta()?.get(CLIENT_INFO)?.parse().ok(),
        }
    }

    /// What came in `_meta`.
    pub fn meta(&self) -> Option<&RawJson<'static>> {
        self.rpc.meta()
    }

    /// The call as JSON-RPC has it: its peer, its trace context, the state of the router.
    pub fn rpc(&self) -> &sabir::Ctx {
        &self.rpc
    }

    /// Who calls, as a token has proved: with [`ResourceServer`](crate::ResourceServer).
    #[cfg(feature = "auth")]
    pub fn caller(&self) -> Option<&crate::Identity> {
        self.rpc.identity()
    }

    /// The state of this type that the server was given by [`McpServer::state`](crate::McpServer::state).
    ///
    /// # Panics
    /// If it was given none.
    pub fn state<T: Any + Send + Sync>(&self) -> &T {
        self.core.settings.states.get().unwrap_or_else(|| {
            panic!(
                "the server has no state of type `{}`: add it with `McpServer::state`",
                std::any::type_name::<T>()
            )
        })
    }

    /// Runs a function that takes its time on a thread, beside the connection: see
    /// [`McpServer::max_blocking_threads`](crate::McpServer::max_blocking_threads).
    ///
    /// ```
    /// # use sabir_mcp::{McpCtx, McpResult};
    /// async fn checksum(ctx: McpCtx, (): ()) -> McpResult<String> {
    ///     let bytes = ctx.run_blocking(|| std::fs::read("disk.img")).await??;
    ///     Ok(format!("{:x}", bytes.iter().fold(0u8, |sum, byte| sum ^ byte)))
    /// }
    /// ```
    pub fn run_blocking<T, F>(&self, function: F) -> impl Future<Output = io::Result<T>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        self.rpc.run_blocking(function)
    }

    /// What the server offers, to change it.
    pub fn catalog(&self) -> &Catalog {
        &self.core.catalog
    }

    /// Tells how far the call is, if the client wants to know: a number, two of them as `(done, total)`, or a
    /// [`ProgressUpdate`] with a message. In a task it becomes the status message.
    pub async fn progress(&self, progress: impl Into<ProgressUpdate>) {
        let mut progress = progress.into();
        if let Some(task) = &self.task {
            task.progress(&progress);
            return self.progress_of_task(progress).await;
        }
        if self.revision() < McpRevision::V2025_03_26 {
            progress.message = None;
        }
        self.rpc.progress(progress).await;
    }

    /// Sends a log message, if the client wants it: by its level in the legacy era, if the request asks for it
    /// in the modern one. A task of the modern era sends none.
    pub async fn log(&self, level: LogLevel, data: impl Serialize) {
        let wanted = match &self.caller {
            Caller::Legacy(session, _) => session.logs(level),
            Caller::Modern(_) if self.task.is_some() => false,
            Caller::Modern(modern) => modern.level.is_some_and(|least| level >= least),
        };
        if let (true, Ok(data)) = (wanted, serde_json::to_value(data)) {
            let logger = Some(self.core.settings.info.name.clone());
            // A function goes on if its log message cannot be sent.
            let _ = self.rpc.peer().notify("notifications/message", LogMessage { level, logger, data }).await;
        }
    }

    /// Waits until the client cancels the call, and from then on leaves it to the function what to do.
    pub fn cancelled(&self) -> impl Future<Output = ()> + Send + 'static {
        let task = self.task.as_ref().map(|task| task.cancelled());
        let call = self.task.is_none().then(|| self.rpc.cancelled());
        async move {
            match (task, call) {
                (Some(task), _) => task.await,
                (None, Some(call)) => call.await,
                (None, None) => {}
            }
        }
    }

    /// Asks the user to fill in a form with the members of a struct. `None` if the user would not.
    ///
    /// A form is flat: its members are texts, numbers, truth values and enums without data, each of which may be
    /// optional; from 2025-11-25 on also lists of such enums. Of anything else, such as a struct in a struct, nothing
    /// is sent, and the call fails with an internal error that names the member.
    pub async fn elicit<T: DeserializeOwned + JsonSchema>(
        &self,
        key: &str,
        message: impl Into<String>,
    ) -> McpResult<Option<T>> {
        let form = form::of::<T>(self.revision()).map_err(unsent)?;
        let result = self.elicit_with(key, Elicit::form(message, form)).await?;
        Ok(result.accepted()?)
    }

    /// The same with a form by its schema, or with a page to visit. The schema must be one of a form, as the client's
    /// revision knows them.
    pub async fn elicit_with(&self, key: &str, question: Elicit) -> McpResult<ElicitResult> {
        let elicitation = match &question {
            Elicit::Form { schema, .. } => {
                form::check(schema, self.revision()).map_err(unsent)?;
                Meta::new()
            }
            Elicit::Url { .. } => Meta::from_iter([("url".to_owned(), json!({}))]),
        };
        let needed = ClientCapabilities { elicitation: Some(elicitation), ..Default::default() };
        self.ask(key, "elicitation/create", &question, needed).await
    }

    /// Asks the client's model.
    pub async fn sample(&self, key: &str, question: Sample) -> McpResult<Sampled> {
        let needed = ClientCapabilities { sampling: Some(Meta::new()), ..Default::default() };
        self.ask(key, "sampling/createMessage", &question, needed).await
    }

    /// Asks for the folders that the client works in.
    pub async fn roots(&self, key: &str) -> McpResult<Vec<Root>> {
        #[derive(serde::Deserialize)]
        struct Roots {
            roots: Vec<Root>,
        }
        let needed = ClientCapabilities { roots: Some(Meta::new()), ..Default::default() };
        let Roots { roots } = self.ask(key, "roots/list", &json!({}), needed).await?;
        Ok(roots)
    }

    /// Fails if the client cannot do something: `-32021` in the modern era, words for the model before.
    pub fn require(&self, needed: &ClientCapabilities) -> McpResult<()> {
        let has = self.client();
        let lacking = |need: &Option<Meta>, has: &Option<Meta>| need.is_some() && has.is_none();
        if !lacking(&needed.roots, &has.roots)
            && !lacking(&needed.sampling, &has.sampling)
            && !lacking(&needed.elicitation, &has.elicitation)
            && has_extensions(needed.extensions.as_ref(), has.extensions.as_ref())
            && can_elicit(needed.elicitation.as_ref(), has.elicitation.as_ref())
        {
            return Ok(());
        }
        Err(match self.caller {
            Caller::Modern(_) => ToolError::Rpc(missing_capability(needed)),
            Caller::Legacy(..) => ToolError::new(format_args!(
                "the client lacks a capability that is needed: {}",
                serde_json::to_string(needed)?
            )),
        })
    }

    /// Keeps something until the client calls again with its answers: it goes along with the questions, signed,
    /// readable for the client. Does nothing in the legacy era, where the function simply waits.
    pub fn remember<T: Serialize>(&self, state: &T) -> McpResult<()> {
        if let Some(round) = &self.round {
            round.keep(RawJson::from_value(state)?);
        }
        Ok(())
    }

    /// What an earlier round of this call has remembered.
    pub fn remembered<T: DeserializeOwned>(&self) -> Option<T> {
        self.round.as_ref()?.state()?.parse().ok()
    }

    async fn ask<R: DeserializeOwned>(
        &self,
        key: &str,
        method: &'static str,
        params: &impl Serialize,
        needed: ClientCapabilities,
    ) -> McpResult<R> {
        self.require(&needed)?;
        let params = RawJson::from_value(params)?;
        if let Some(task) = &self.task {
            return task.ask(key, method, params).await;
        }
        match (&self.caller, &self.round) {
            (Caller::Legacy(..), _) => {
                let answer = self.rpc.peer().call_raw(method, Some(params)).await?;
                Ok(answer.parse()?)
            }
            (Caller::Modern(_), Some(round)) => {
                round.ask(key, method, params, || self.core.settings.identity(&self.rpc))
            }
            (Caller::Modern(_), None) => Err(ToolError::new("the client cannot be asked here")),
        }
    }
}

impl McpCtx {
    /// In 2025-11-25 the call's progress token is good for as long as the task runs.
    async fn progress_of_task(&self, progress: ProgressUpdate) {
        let token = self.meta().and_then(|meta| meta.get("progressToken"));
        let (Caller::Legacy(..), Some(token)) = (&self.caller, token) else { return };
        let Ok(serde_json::Value::Object(mut params)) = serde_json::to_value(progress) else { return };
        params.insert("progressToken".to_owned(), token.parse().unwrap_or_default());
        // A function goes on if its progress cannot be sent.
        let _ = self.rpc.peer().notify("notifications/progress", params).await;
    }
}

fn has_extensions(needed: Option<&Meta>, has: Option<&Meta>) -> bool {
    let has = |name: &String| has.is_some_and(|has| has.get(name).is_some_and(serde_json::Value::is_object));
    needed.is_none_or(|needed| needed.keys().all(has))
}

/// A mistake of the server's, which nobody else can do anything about.
#[expect(clippy::needless_pass_by_value, reason = "it is made for `map_err`")]
fn unsent(error: form::NotAForm) -> ToolError {
    ToolError::rpc(ErrorCode::INTERNAL_ERROR, error.to_string())
}

/// Whether a client has the modes that are needed. One that names none has forms.
fn can_elicit(needed: Option<&Meta>, has: Option<&Meta>) -> bool {
    let (Some(needed), Some(has)) = (needed, has) else { return true };
    let url = needed.contains_key("url");
    (!url || has.contains_key("url")) && (url || has.is_empty() || has.contains_key("form"))
}

impl std::fmt::Debug for McpCtx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpCtx").field("revision", &self.revision()).finish_non_exhaustive()
    }
}
