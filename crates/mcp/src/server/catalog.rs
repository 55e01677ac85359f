//! What a server offers, which may change while it runs.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::marker::PhantomData;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::argument_check::ArgumentCheck;
use super::ctx::McpCtx;
use super::function::{
    CompleteFunction, Partial, Plain, PromptEntry, ResourceEntry, TemplateEntry, TemplateReader, ToolEntry,
    ToolFunction, TypedPrompt, TypedTool,
};
use super::output::{IntoContents, IntoPrompt, IntoToolResult};
use super::registry::Named;
use super::subscribers::{Change, Subscribers};
use crate::error::McpResult;
use crate::headers::ParamHeader;
use crate::schema;
use crate::template::Pattern;
use crate::types::{
    ListChanged, Meta, Prompt, Resource, Resources, ServerCapabilities, TaskSupport, Template, Tool,
    ToolResult,
};
use crate::variants;

/// Tools that are methods of a value. The attribute [`tools`](macro@crate::tools) implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no tools",
    note = "write `#[sabir_mcp::tools]` before its `impl` block, and `#[tool]` before its methods"
)]
pub trait Tools: Send + Sync + Sized + 'static {
    /// Adds them.
    #[doc(hidden)]
    fn add_shared(this: &Arc<Self>, catalog: &Catalog);
}

impl<T: Tools> Tools for Arc<T> {
    fn add_shared(this: &Arc<Self>, catalog: &Catalog) {
        T::add_shared(this, catalog);
    }
}

/// The tools, resources and prompts of a server. Cheap to clone; changes are sent to all clients that want
/// to know.
#[derive(Clone)]
pub struct Catalog(Arc<Shared>);

struct Shared {
    lists: RwLock<Lists>,
    subscribers: Subscribers,
}

#[derive(Default)]
pub(crate) struct Lists {
    pub(crate) tools: Named<ToolEntry>,
    pub(crate) resources: Named<ResourceEntry>,
    pub(crate) templates: Named<TemplateEntry>,
    pub(crate) prompts: Named<PromptEntry>,
    pub(crate) completions: HashMap<(Completed, String), Arc<dyn CompleteFunction>>,
    /// There has been a tool that runs as a task.
    pub(crate) has_tasks: bool,
}

/// What has an argument to complete.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Completed {
    Prompt(String),
    Template(String),
}

impl Catalog {
    pub(crate) fn new() -> Self {
        Catalog(Arc::new(Shared { lists: RwLock::default(), subscribers: Subscribers::new() }))
    }

    /// Adds a tool, or replaces it. See [`McpServer::tool`](crate::McpServer::tool).
    pub fn add_tool<F, P, R, Fut>(&self, tool: impl Into<Tool>, function: F)
    where
        F: Fn(McpCtx, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = McpResult<R>> + Send + 'static,
        P: DeserializeOwned + JsonSchema + 'static,
        R: IntoToolResult,
    {
        self.insert_tool::<P, R>(tool.into(), |nothing| {
            Box::new(TypedTool { function, nothing, types: PhantomData })
        });
    }

    /// Adds a tool that runs on a thread, or replaces it. See
    /// [`McpServer::tool_blocking`](crate::McpServer::tool_blocking).
    pub fn add_tool_blocking<F, P, R>(&self, tool: impl Into<Tool>, function: F)
    where
        F: Fn(McpCtx, P) -> McpResult<R> + Send + Sync + 'static,
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: IntoToolResult,
    {
        let function = Arc::new(function);
        let beside = move |ctx: McpCtx, arguments: P| {
            let function = Arc::clone(&function);
            ctx.clone().run_blocking(move || function(ctx, arguments)?.into_tool_result())
        };
        self.insert_tool::<P, R>(tool.into(), |nothing| {
            let function = move |ctx, arguments| {
                let running = beside(ctx, arguments);
                async move { running.await? }
            };
            Box::new(TypedTool { function, nothing, types: PhantomData::<fn(P) -> ToolResult> })
        });
    }

    /// Adds the tools that are methods of a value, or replaces them. See [`McpServer::tools`](crate::McpServer::tools).
    pub fn add_tools<T: Tools>(&self, tools: T) {
        T::add_shared(&Arc::new(tools), self);
    }

    fn insert_tool<P: JsonSchema, R: IntoToolResult>(
        &self,
        mut tool: Tool,
        function: impl FnOnce(bool) -> Box<dyn ToolFunction>,
    ) {
        let input = schema::input::<P>(&tool.name);
        let by_hand = tool.has_schema();
        if !by_hand {
            tool.input_schema = input.schema;
        }
        let checked = if by_hand { tool.input_schema.clone() } else { input.tolerant };
        tool.description = tool.description.or(input.description);
        tool.output_schema = tool.output_schema.or_else(R::output_schema);
        let wrong = |reason| -> ! { panic!("the schema of tool `{}` is wrong: {reason}", tool.name) };
        let headers = ParamHeader::of(&tool.input_schema).unwrap_or_else(|reason| wrong(reason.to_string()));
        let check = match tool.unchecked {
            true => ArgumentCheck::none(),
            false => ArgumentCheck::new(&checked, by_hand).unwrap_or_else(|reason| wrong(reason)),
        };
        let entry = ToolEntry { headers, check, function: function(input.nothing), tool };
        self.change(&Change::Tools, |lists| {
            lists.has_tasks |= entry.tool.task_support() != TaskSupport::Forbidden;
            lists.tools.add(entry.tool.name.clone(), entry);
            true
        });
    }

    /// Removes a tool. Whether there was one. Calls that are running go on.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.change(&Change::Tools, |lists| lists.tools.remove(name))
    }

    /// Adds a resource, or replaces it. See [`McpServer::resource`](crate::McpServer::resource).
    pub fn add_resource<F, R, Fut>(&self, resource: impl Into<Resource>, read: F)
    where
        F: Fn(McpCtx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = McpResult<R>> + Send + 'static,
        R: IntoContents,
    {
        let resource = resource.into();
        self.change(&Change::Resources, |lists| {
            let entry = ResourceEntry { resource, function: Box::new(Plain(read)) };
            lists.resources.add(entry.resource.uri.clone(), entry);
            true
        });
    }

    /// Removes a resource. Whether there was one.
    pub fn remove_resource(&self, uri: &str) -> bool {
        self.change(&Change::Resources, |lists| lists.resources.remove(uri))
    }

    /// Adds a template, or replaces it. See [`McpServer::template`](crate::McpServer::template).
    pub fn add_template<F, P, R, Fut>(&self, template: impl Into<Template>, read: F)
    where
        F: Fn(McpCtx, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = McpResult<R>> + Send + 'static,
        P: DeserializeOwned + 'static,
        R: IntoContents,
    {
        let template = template.into();
        let pattern = Pattern::new(&template.uri_template);
        let choices = variants::choices::<P>();
        self.change(&Change::Resources, |lists| {
            for (variable, words) in choices {
                // What is set by hand comes first.
                let completed = (Completed::Template(template.uri_template.clone()), variable);
                lists.completions.entry(completed).or_insert_with(|| Arc::new(one_of(words)));
            }
            let function = Box::new(TemplateReader { function: read, types: PhantomData });
            lists.templates.add(template.uri_template.clone(), TemplateEntry { template, pattern, function });
            true
        });
    }

    /// Adds a prompt, or replaces it. See [`McpServer::prompt`](crate::McpServer::prompt).
    pub fn add_prompt<F, P, R, Fut>(&self, prompt: impl Into<Prompt>, function: F)
    where
        F: Fn(McpCtx, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = McpResult<R>> + Send + 'static,
        P: DeserializeOwned + JsonSchema + 'static,
        R: IntoPrompt,
    {
        let mut prompt = prompt.into();
        if prompt.arguments.is_empty() {
            prompt.arguments = schema::prompt_arguments::<P>();
        }
        let choices = schema::choices::<P>();
        self.change(&Change::Prompts, |lists| {
            for (argument, words) in choices {
                // What is set by hand comes first.
                let completed = (Completed::Prompt(prompt.name.clone()), argument);
                lists.completions.entry(completed).or_insert_with(|| Arc::new(one_of(words)));
            }
            let function = Box::new(TypedPrompt { function, types: PhantomData });
            lists.prompts.add(prompt.name.clone(), PromptEntry { prompt, function });
            true
        });
    }

    /// Removes a prompt. Whether there was one.
    pub fn remove_prompt(&self, name: &str) -> bool {
        self.change(&Change::Prompts, |lists| lists.prompts.remove(name))
    }

    /// Tells those who have subscribed to a resource that it has changed.
    pub fn resource_changed(&self, uri: impl Into<String>) {
        self.0.subscribers.tell(&Change::Resource(uri.into()));
    }

    pub(crate) fn complete<F, Fut>(&self, of: Completed, argument: String, function: F)
    where
        F: Fn(McpCtx, Partial) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = McpResult<Vec<String>>> + Send + 'static,
    {
        let mut lists = self.0.lists.write().unwrap_or_else(PoisonError::into_inner);
        lists.completions.insert((of, argument), Arc::new(function));
    }

    fn change(&self, what: &Change, change: impl FnOnce(&mut Lists) -> bool) -> bool {
        let changed = change(&mut self.0.lists.write().unwrap_or_else(PoisonError::into_inner));
        if changed {
            self.0.subscribers.tell(what);
        }
        changed
    }

    pub(crate) fn lists(&self) -> RwLockReadGuard<'_, Lists> {
        self.0.lists.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn subscribers(&self) -> &Subscribers {
        &self.0.subscribers
    }
}

/// Completes an argument that is one of a few words.
fn one_of(
    words: Vec<String>,
) -> impl Fn(McpCtx, Partial) -> std::future::Ready<McpResult<Vec<String>>> + Send + Sync {
    move |_, partial| {
        let fitting = words.iter().filter(|word| word.starts_with(&partial.value));
        std::future::ready(Ok(fitting.cloned().collect()))
    }
}

impl Lists {
    pub(crate) fn has_resources(&self) -> bool {
        self.resources.is_offered() || self.templates.is_offered()
    }

    /// The template that a URI follows, and its variables.
    pub(crate) fn template(&self, uri: &str) -> Option<(Arc<TemplateEntry>, BTreeMap<String, String>)> {
        let matching = |entry: &Arc<TemplateEntry>| Some((Arc::clone(entry), entry.pattern.matches(uri)?));
        self.templates.list().iter().find_map(matching)
    }

    /// What there is decides what is offered.
    pub(crate) fn capabilities(&self) -> ServerCapabilities {
        let list = |offered: bool| offered.then_some(ListChanged { list_changed: true });
        ServerCapabilities {
            tools: list(self.tools.is_offered()),
            resources: self.has_resources().then_some(Resources { subscribe: true, list_changed: true }),
            prompts: list(self.prompts.is_offered()),
            completions: (!self.completions.is_empty()).then(Meta::new),
            logging: Some(Meta::new()),
            ..ServerCapabilities::default()
        }
    }
}

impl std::fmt::Debug for Catalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lists = self.lists();
        f.debug_struct("Catalog")
            .field("tools", &lists.tools.list().iter().map(|entry| &entry.tool.name).collect::<Vec<_>>())
            .field(
                "prompts",
                &lists.prompts.list().iter().map(|entry| &entry.prompt.name).collect::<Vec<_>>(),
            )
            .finish_non_exhaustive()
    }
}
