//! The dispatcher: a router whose handlers are the methods of MCP, in front of the catalog.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::future::{Future, ready};
use std::sync::Arc;

use sabir::{ErrorCode, ErrorObject, RawJson, Router};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::catalog::{Completed, Lists};
use super::function::Partial;
use super::input_round::{InputRound, Target};
use super::limits::Usage;
use super::registry::Named;
use super::request_context::{self, Eras, request_context};
use super::response::{Answer, ResponseBuilder};
use super::session::{Caller, Initialize, Session};
use super::target_params::TargetParams;
use super::{Core, McpCtx, extensions, tasks};
use crate::McpRevision;
use crate::bounded::BoundedMap;
use crate::error::{ToolError, not_found, reason, shown, unfit, unknown_resource, unread};
use crate::page::page;
use crate::types::{
    Contents, Implementation, LogLevel, Meta, PromptResult, ServerCapabilities, TaskSupport, ToolResult,
};

pub(super) type Params<'a> = Option<&'a RawJson<'a>>;

/// Completions that one answer may hold.
const MOST_COMPLETIONS: usize = 100;

pub(super) fn router(core: &Arc<Core>) -> Router {
    let routes = Routes { core, router: Router::new() };
    let routes = routes
        .handshake()
        .plain("logging/setLevel", Eras::Legacy, set_level)
        .plain("resources/subscribe", Eras::Legacy, subscribe)
        .plain("resources/unsubscribe", Eras::Legacy, unsubscribe)
        .cached("server/discover", Eras::Modern, discover)
        .cached("tools/list", Eras::Both, |ctx, params| {
            ctx.list(
                params,
                "tools",
                |lists| &lists.tools,
                |entry, revision| entry.tool.clone().fit(revision),
            )
        })
        .cached("prompts/list", Eras::Both, |ctx, params| {
            let fit = |entry: &super::function::PromptEntry, revision| entry.prompt.clone().fit(revision);
            ctx.list(params, "prompts", |lists| &lists.prompts, fit)
        })
        .cached("resources/list", Eras::Both, |ctx, params| {
            let fit = |entry: &super::function::ResourceEntry, revision| entry.resource.clone().fit(revision);
            ctx.list(params, "resources", |lists| &lists.resources, fit)
        })
        .cached("resources/templates/list", Eras::Both, |ctx, params| {
            let fit = |entry: &super::function::TemplateEntry, revision| entry.template.clone().fit(revision);
            ctx.list(params, "resourceTemplates", |lists| &lists.templates, fit)
        })
        .on("tools/call", Eras::Both, call_tool)
        .on("prompts/get", Eras::Both, get_prompt)
        .on("resources/read", Eras::Both, read_resource)
        .on("completion/complete", Eras::Both, complete)
        .on("subscriptions/listen", Eras::Modern, super::listen::listen);
    extensions::add_methods(tasks::add_methods(routes).router, core)
}

pub(super) struct Routes<'c> {
    core: &'c Arc<Core>,
    router: Router,
}

impl Routes<'_> {
    pub(super) fn on<F, Fut, R>(mut self, method: &'static str, eras: Eras, handler: F) -> Self
    where
        F: Fn(McpCtx, Params<'_>) -> sabir::Result<Fut> + Send + Sync + 'static,
        Fut: Future<Output = sabir::Result<R>> + Send + 'static,
        R: Serialize + 'static,
    {
        let core = Arc::clone(self.core);
        self.router = self.router.method_borrowed(method, move |rpc, params: Option<&RawJson<'_>>| {
            let params = params.map(RawJson::as_borrowed);
            let ctx = request_context(&core, rpc, method, eras, params.as_ref())?;
            handler(ctx, params.as_ref())
        });
        self
    }

    /// A method that is answered at once.
    fn plain<T: Serialize + Send + 'static>(
        self,
        method: &'static str,
        eras: Eras,
        handler: impl Fn(&McpCtx, Params<'_>) -> sabir::Result<T> + Send + Sync + 'static,
    ) -> Self {
        self.answered_at_once(method, eras, false, handler)
    }

    /// A method that is answered at once, with a result that may be kept.
    fn cached<T: Serialize + Send + 'static>(
        self,
        method: &'static str,
        eras: Eras,
        handler: impl Fn(&McpCtx, Params<'_>) -> sabir::Result<T> + Send + Sync + 'static,
    ) -> Self {
        self.answered_at_once(method, eras, true, handler)
    }

    fn answered_at_once<T: Serialize + Send + 'static>(
        self,
        method: &'static str,
        eras: Eras,
        cacheable: bool,
        handler: impl Fn(&McpCtx, Params<'_>) -> sabir::Result<T> + Send + Sync + 'static,
    ) -> Self {
        self.on(method, eras, move |ctx, params| {
            let body = handler(&ctx, params)?;
            Ok(ready(Ok(ResponseBuilder::of(&ctx).answer(body, None, cacheable))))
        })
    }

    /// What may come before anything is agreed on: the handshake of the legacy era, and pings.
    fn handshake(mut self) -> Self {
        let core = Arc::clone(self.core);
        self.router = self.router.method_borrowed("initialize", move |rpc, params: Option<&RawJson<'_>>| {
            if request_context::modern(&rpc, "initialize", params)?.is_some() {
                return Err(not_found());
            }
            initialize(&core, &rpc, params).map(|result| ready(Ok(result)))
        });
        self.router = self.router.method_borrowed("ping", |rpc, params: Option<&RawJson<'_>>| {
            match request_context::modern(&rpc, "ping", params)? {
                Some(_) => Err(not_found()),
                None => Ok(ready(Ok(Meta::new()))),
            }
        });
        let core = Arc::clone(self.core);
        self.router = self.router.method_borrowed("notifications/initialized", move |rpc: sabir::Ctx, _| {
            let session = rpc.peer().extension::<Session>();
            if session.joins() {
                core.catalog.subscribers().join(rpc.peer(), &session);
            }
            Ok(ready(Ok(())))
        });
        self
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Initialized {
    protocol_version: McpRevision,
    capabilities: ServerCapabilities,
    server_info: Implementation,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
}

fn initialize(core: &Core, rpc: &sabir::Ctx, params: Params<'_>) -> sabir::Result<Initialized> {
    let target = Initialize::read(params, &core.settings.limits)?;
    let again = || ErrorObject::because(ErrorCode::INVALID_REQUEST, "the session is initialized already");
    let revision = rpc.peer().extension::<Session>().agree(target).ok_or_else(again)?;
    rpc.peer().set_dialect(revision.dialect());
    let mut capabilities = core.capabilities();
    if revision == McpRevision::V2025_11_25 && core.offers_tasks() {
        capabilities.tasks = Some(tasks::legacy_capability());
    }
    if revision < McpRevision::V2025_03_26 {
        capabilities.completions = None;
    }
    Ok(Initialized {
        protocol_version: revision,
        capabilities,
        server_info: core.settings.info.clone(),
        instructions: core.settings.instructions.clone(),
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Discovered {
    supported_versions: Vec<McpRevision>,
    capabilities: ServerCapabilities,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
}

fn discover(ctx: &McpCtx, _: Params<'_>) -> sabir::Result<Discovered> {
    Ok(Discovered {
        supported_versions: McpRevision::modern().collect(),
        capabilities: ctx.core.modern_capabilities(),
        instructions: ctx.core.settings.instructions.clone(),
    })
}

fn set_level(ctx: &McpCtx, params: Params<'_>) -> sabir::Result<Meta> {
    #[derive(Deserialize)]
    struct SetLevel {
        level: LogLevel,
    }
    let SetLevel { level } = read(params)?;
    ctx.session()?.set_level(level);
    Ok(Meta::new())
}

#[derive(Deserialize)]
struct Uri {
    uri: String,
}

fn subscribe(ctx: &McpCtx, params: Params<'_>) -> sabir::Result<Meta> {
    let Uri { uri } = read(params)?;
    let lists = ctx.core.catalog.lists();
    if !lists.has_resources() {
        return Err(not_found());
    }
    if lists.resources.get(&uri).is_none() && lists.template(&uri).is_none() {
        return Err(unknown_resource(&uri, ctx.revision()));
    }
    let usage = ctx.rpc.peer().extension::<Usage>();
    ctx.session()?.subscribe(uri, &usage, &ctx.core.settings.limits)?;
    Ok(Meta::new())
}

fn unsubscribe(ctx: &McpCtx, params: Params<'_>) -> sabir::Result<Meta> {
    let Uri { uri } = read(params)?;
    ctx.session()?.unsubscribe(&uri, &ctx.rpc.peer().extension::<Usage>());
    Ok(Meta::new())
}

/// What a call names. Where nothing of the kind was ever offered, there is no such method.
fn named<T>(all: &Named<T>, kind: &str, name: &str) -> sabir::Result<Arc<T>> {
    match all.get(name) {
        Some(entry) => Ok(entry),
        None if all.is_offered() => Err(unfit(format_args!("there is no {kind} `{}`", shown(name)))),
        None => Err(not_found()),
    }
}

fn call_tool(
    mut ctx: McpCtx,
    params: Params<'_>,
) -> sabir::Result<impl Future<Output = sabir::Result<Answer<ToolResult>>> + use<>> {
    let target = TargetParams::by_name(params)?;
    let entry = named(&ctx.core.catalog.lists().tools, "tool", &target.name)?;
    #[cfg(feature = "http")]
    if matches!(ctx.caller, Caller::Modern(_)) && ctx.rpc.http().is_some() {
        crate::headers::check_arguments(
            |name| request_context::header(&ctx.rpc, name),
            params,
            &entry.headers,
        )?;
    }
    ctx.begin_round("tools/call", &target)?;
    ctx.task_asked = tasks::asked(&ctx, target.task.as_ref())?;
    let end = ResponseBuilder::of(&ctx);
    let running = match entry.tool.task_support() {
        TaskSupport::Forbidden => entry.start(ctx, target.arguments.as_ref()),
        support => tasks::start(ctx, support, &entry, target.arguments.as_ref())?,
    };
    Ok(async move {
        let outcome = match running {
            Ok(running) => running.await,
            Err(reason) if end.revision() < McpRevision::V2025_11_25 => return Err(unfit(reason)),
            Err(reason) => Err(ToolError::Failed(format!("invalid arguments: {reason}"))),
        };
        let result = match outcome {
            Err(ToolError::Failed(why)) => ToolResult::error(why),
            Ok(result) => result,
            Err(failure) => return end.fail(failure),
        };
        Ok(end.tool_answer(result))
    })
}

fn get_prompt(
    mut ctx: McpCtx,
    params: Params<'_>,
) -> sabir::Result<impl Future<Output = sabir::Result<Answer<PromptResult>>> + use<>> {
    let target = TargetParams::by_name(params)?;
    let entry = named(&ctx.core.catalog.lists().prompts, "prompt", &target.name)?;
    let BoundedMap(arguments): BoundedMap<String> = match &target.arguments {
        Some(arguments) => arguments.parse().map_err(|error| {
            unfit(format_args!("the arguments of a prompt are strings: {}", reason(&error)))
        })?,
        None => BoundedMap::default(),
    };
    ctx.begin_round("prompts/get", &target)?;
    let end = ResponseBuilder::of(&ctx);
    let running = entry.function.start(ctx, &arguments)?;
    Ok(async move {
        let mut result = match running.await {
            Ok(result) => result,
            Err(failure) => return end.fail(failure),
        };
        result.description = result.description.or_else(|| entry.prompt.description.clone());
        result.fit(end.revision());
        let meta = end.take_meta(&mut result.meta);
        Ok(end.answer(result, meta, false))
    })
}

#[derive(Serialize)]
struct Read {
    contents: Vec<Contents>,
}

fn read_resource(
    mut ctx: McpCtx,
    params: Params<'_>,
) -> sabir::Result<impl Future<Output = sabir::Result<Answer<Read>>> + use<>> {
    let target = TargetParams::by_uri(params)?;
    let uri = target.name.clone().into_owned();
    ctx.begin_round("resources/read", &target)?;
    let end = ResponseBuilder::of(&ctx);
    let core = Arc::clone(&ctx.core);
    let lists = core.catalog.lists();
    let running = if let Some(entry) = lists.resources.get(&uri) {
        drop(lists);
        entry.function.start(ctx, &uri, entry.resource.mime_type.as_deref(), &BTreeMap::new())?
    } else if let Some((entry, variables)) = lists.template(&uri) {
        drop(lists);
        entry.function.start(ctx, &uri, entry.template.mime_type.as_deref(), &variables)?
    } else if lists.has_resources() {
        return Err(unknown_resource(&uri, end.revision()));
    } else {
        return Err(not_found());
    };
    Ok(async move {
        match running.await {
            Ok(contents) => Ok(end.answer(Read { contents }, None, true)),
            Err(failure) => end.fail(failure),
        }
    })
}

#[derive(Deserialize)]
struct Complete {
    #[serde(rename = "ref")]
    of: Reference,
    argument: Argument,
    #[serde(default)]
    context: Context,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Reference {
    #[serde(rename = "ref/prompt")]
    Prompt { name: String },
    #[serde(rename = "ref/resource")]
    Resource { uri: String },
}

#[derive(Deserialize)]
struct Argument {
    name: String,
    value: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Context {
    arguments: BoundedMap<String>,
}

#[derive(Serialize)]
struct Completion {
    completion: Values,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Values {
    total: usize,
    has_more: bool,
    values: Vec<String>,
}

fn complete(
    ctx: McpCtx,
    params: Params<'_>,
) -> sabir::Result<impl Future<Output = sabir::Result<Answer<Completion>>> + use<>> {
    let Complete { of, argument, context } = read(params)?;
    let lists = ctx.core.catalog.lists();
    if lists.completions.is_empty() {
        return Err(not_found());
    }
    let of = match of {
        Reference::Prompt { name } if lists.prompts.get(&name).is_some() => Completed::Prompt(name),
        Reference::Prompt { name } => {
            return Err(unfit(format_args!("there is no prompt `{}`", shown(&name))));
        }
        Reference::Resource { uri } if lists.templates.get(&uri).is_some() => Completed::Template(uri),
        Reference::Resource { uri } => {
            return Err(unfit(format_args!("there is no template `{}`", shown(&uri))));
        }
    };
    let function = lists.completions.get(&(of, argument.name)).cloned();
    drop(lists);
    let end = ResponseBuilder::of(&ctx);
    let partial = Partial { value: argument.value, others: context.arguments.0 };
    let running = function.map(|function| function.start(ctx, partial));
    Ok(async move {
        let mut values = match running {
            Some(running) => running.await.map_err(ToolError::into_error)?,
            None => Vec::new(),
        };
        let total = values.len();
        values.truncate(MOST_COMPLETIONS);
        let completion = Values { total, has_more: total > values.len(), values };
        Ok(end.answer(Completion { completion }, None, false))
    })
}

/// Reads params whose members have the names that the protocol gives them.
pub(super) fn read<P: DeserializeOwned>(params: Params<'_>) -> sabir::Result<P> {
    serde_json::from_str(params.map_or("{}", RawJson::as_str)).map_err(|error| unread(&error))
}

impl McpCtx {
    fn session(&self) -> sabir::Result<&Session> {
        match &self.caller {
            Caller::Legacy(session, _) => Ok(session),
            Caller::Modern(_) => Err(not_found()),
        }
    }

    /// In the modern era, finds the answers to what an earlier round has asked.
    fn begin_round(&mut self, method: &'static str, params: &TargetParams<'_>) -> sabir::Result<()> {
        if let Caller::Modern(_) = self.caller {
            let target = Target::new(method, &params.name, params.arguments.as_ref())?;
            let earlier = match &params.state {
                Some(sealed) => Some(self.core.settings.open_state(&self.rpc, &target, sealed)?),
                None => None,
            };
            self.round = Some(Arc::new(InputRound::new(target, earlier, params.responses.as_ref())?));
        }
        Ok(())
    }

    pub(super) async fn tell(
        &self,
        method: impl Into<Cow<'static, str>>,
        params: impl Serialize,
    ) -> sabir::Result<()> {
        let told: Result<(), _> = self.rpc.peer().notify(method, params).await;
        told.map_err(|refused| ErrorObject::because(ErrorCode::INTERNAL_ERROR, refused))
    }

    /// One page of a list.
    fn list<T, U: Serialize>(
        &self,
        params: Params<'_>,
        member: &'static str,
        of: impl Fn(&Lists) -> &Named<T>,
        fit: impl Fn(&T, McpRevision) -> U,
    ) -> sabir::Result<BTreeMap<&'static str, RawJson<'static>>> {
        #[derive(Deserialize)]
        struct Page {
            cursor: Option<String>,
        }
        let Page { cursor } = read(params)?;
        let lists = self.core.catalog.lists();
        let resources = member.starts_with("resource");
        if !(of(&lists).is_offered() || (resources && lists.has_resources())) {
            return Err(not_found());
        }
        let (entries, next) = page(of(&lists).list(), cursor.as_deref(), self.core.settings.page_size)?;
        let entries: Vec<_> = entries.iter().map(|entry| fit(entry, self.revision())).collect();
        let mut result = BTreeMap::from([(member, RawJson::from_value(&entries)?)]);
        if let Some(next) = next {
            result.insert("nextCursor", RawJson::from_value(&next)?);
        }
        Ok(result)
    }
}
