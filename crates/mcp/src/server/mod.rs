//! A server: what it offers, and how that becomes a router that any transport can serve.

#[cfg(feature = "validate")]
mod accepted_values;
mod argument_check;
mod catalog;
mod ctx;
mod digest;
mod extensions;
mod function;
mod input_round;
mod limits;
mod listen;
mod observe;
mod one_text;
mod output;
mod registry;
mod request_context;
mod response;
mod routes;
mod session;
#[cfg(feature = "tracing")]
mod spans;
mod state_signer;
mod states;
mod subscribers;
mod target_params;
mod tasks;

use std::any::Any;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use catalog::Completed;
pub use catalog::{Catalog, Tools};
pub use ctx::McpCtx;
pub use function::Partial;
use input_round::{State, Target};
pub use limits::McpLimits;
pub use output::{IntoContents, IntoPrompt, IntoToolResult, Json};
pub use response::Cache;
use sabir::{RawJson, Router, Transport};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
pub(crate) use session::{CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION};
use state_signer::{Binding, Rejected, StateSigner, TIME_TO_LIVE};
use states::States;
pub use subscribers::{Change, Interests};
#[cfg(feature = "auth")]
pub(crate) use target_params::TargetParams;
#[cfg(feature = "redb")]
pub use tasks::RedbTasks;
pub use tasks::{MemoryTasks, StoreFuture, TaskOptions, TaskOutcome, TaskRecord, TaskStore, TaskStoreLimits};
use tasks::{Registry, TaskSettings};

use crate::error::{McpResult, invalid};
use crate::extensions::{Extension, SkillEntry, skills};
use crate::operation::{McpOperation, Observer};
use crate::types::{Implementation, Prompt, Resource, Template, Tool};

/// A server of MCP, for every revision at once: each client gets the one that it asks for.
///
/// Functions are `async`, take a [`McpCtx`] and their arguments, and return a [`McpResult`]. Their types say the rest:
/// the schema of the arguments comes from [`JsonSchema`], the tool's description from the documentation of the
/// struct.
///
/// ```
/// use sabir_mcp::{McpCtx, McpServer};
///
/// /// The sum of two integers
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Add {
///     a: i64,
///     b: i64,
/// }
///
/// async fn add(_: McpCtx, Add { a, b }: Add) -> sabir_mcp::McpResult<i64> {
///     // The model reads "too large", as the words of a tool that failed.
///     a.checked_add(b).ok_or(sabir_mcp::ToolError::new("too large"))
/// }
///
/// let server = McpServer::new("adder", "1.0.0").tool("add", add);
/// ```
///
/// What is offered decides which capabilities are declared. It may change while the server runs, by its
/// [`Catalog`].
#[derive(Debug, Clone)]
pub struct McpServer {
    settings: Settings,
    catalog: Catalog,
}

#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) info: Implementation,
    instructions: Option<String>,
    page_size: usize,
    pub(crate) cache: Cache,
    state_signer: StateSigner,
    audience: Option<String>,
    time_to_live: Duration,
    /// `None` for the credentials of HTTP.
    identify: Option<Arc<Identify>>,
    clock: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    limits: McpLimits,
    pub(crate) states: States,
    threads: Option<usize>,
    extensions: Vec<Extension>,
    skills: Vec<SkillEntry>,
    tasks: TaskSettings,
    observers: Vec<Observer>,
    #[cfg(feature = "tracing")]
    spans: bool,
}

type Identify = dyn Fn(&sabir::Ctx) -> Option<Vec<u8>> + Send + Sync;

impl Settings {
    fn audience(&self) -> &str {
        self.audience.as_deref().unwrap_or(&self.info.name)
    }

    fn identity(&self, rpc: &sabir::Ctx) -> Option<Vec<u8>> {
        match &self.identify {
            Some(who) => who(rpc),
            None => credentials(rpc),
        }
    }

    /// The same, but only where it has been proved: anybody can send a header `Authorization` to a server that does not check it.
    fn proved_identity(&self, rpc: &sabir::Ctx) -> Option<Vec<u8>> {
        match &self.identify {
            Some(who) => who(rpc),
            #[cfg(feature = "auth")]
            None => rpc.identity::<crate::Identity>().map(crate::Identity::key),
            #[cfg(not(feature = "auth"))]
            None => None,
        }
    }

    fn seal_state(&self, binding: &Binding, state: &State) -> Option<String> {
        let payload = serde_json::to_vec(state).ok()?;
        Some(self.state_signer.seal(binding, &payload, (self.clock)() + self.time_to_live))
    }

    fn open_state(&self, rpc: &sabir::Ctx, target: &Target, sealed: &RawJson<'_>) -> sabir::Result<State> {
        let rejected = |why: Rejected| {
            invalid(match why {
                Rejected::Forged => "`requestState` is not what this server gave out for this call",
                Rejected::Expired => "`requestState` has expired: call again without it",
            })
        };
        let sealed: String = sealed.parse().map_err(|_| invalid("`requestState` must be a string"))?;
        let binding = target.binding(self.audience(), self.identity(rpc));
        let payload = binding
            .ok_or(Rejected::Forged)
            .and_then(|binding| self.state_signer.open(&binding, &sealed, (self.clock)()))
            .map_err(rejected)?;
        serde_json::from_slice(&payload).map_err(|_| rejected(Rejected::Forged))
    }
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("info", &self.info)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Who calls, unless the server knows better: the identity that a token has proved, or else whoever has the credentials in
/// the header `Authorization`.
#[cfg(feature = "http")]
fn credentials(rpc: &sabir::Ctx) -> Option<Vec<u8>> {
    #[cfg(feature = "auth")]
    if let Some(identity) = rpc.identity::<crate::Identity>() {
        return Some(identity.key());
    }
    Some(rpc.http()?.headers.get(http::header::AUTHORIZATION)?.as_bytes().to_vec())
}

#[cfg(not(feature = "http"))]
fn credentials(_: &sabir::Ctx) -> Option<Vec<u8>> {
    None
}

/// A server that is being served.
pub(crate) struct Core {
    pub(crate) settings: Settings,
    pub(crate) catalog: Catalog,
    tasks: Arc<Registry>,
    /// Who we are, written once.
    info: Box<RawValue>,
}

impl McpServer {
    /// A server that offers nothing yet.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        let settings = Settings {
            info: Implementation::new(name, version),
            instructions: None,
            page_size: usize::MAX,
            cache: Cache::default(),
            state_signer: StateSigner::random(),
            audience: None,
            time_to_live: TIME_TO_LIVE,
            identify: None,
            clock: Arc::new(SystemTime::now),
            limits: McpLimits::default(),
            states: States::default(),
            threads: None,
            extensions: Vec::new(),
            skills: Vec::new(),
            tasks: TaskSettings::default(),
            observers: Vec::new(),
            #[cfg(feature = "tracing")]
            spans: false,
        };
        McpServer { settings, catalog: Catalog::new() }
    }

    /// Says more about itself than its name and version.
    #[must_use]
    pub fn info(mut self, info: Implementation) -> Self {
        self.settings.info = info;
        self
    }

    /// Tells the model how to use the server.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.settings.instructions = Some(instructions.into());
        self
    }

    /// Adds a tool. Its name will do, where the documentation of its arguments describes it; a [`Tool`] says
    /// more.
    ///
    /// Arguments that do not match are reported to the model; from 2025-11-25 on as a result, before as an error.
    ///
    /// **A tool takes the place of an earlier one of the same name**, also of one from [`tools`](Self::tools): nothing is said.
    ///
    /// # Panics
    /// If the arguments are not an object, or the structured output is not one.
    #[must_use]
    pub fn tool<F, P, R, Fut>(self, tool: impl Into<Tool>, function: F) -> Self
    where
        F: Fn(McpCtx, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = McpResult<R>> + Send + 'static,
        P: DeserializeOwned + JsonSchema + 'static,
        R: IntoToolResult,
    {
        self.catalog.add_tool(tool, function);
        self
    }

    /// Adds a tool whose function is a plain one that takes its time: calls run on a thread, beside the connection.
    ///
    /// There are up to 64 threads for all connections together, or as many as [`max_blocking_threads`](Self::max_blocking_threads) says. When all
    /// are at work, further calls wait for one.
    ///
    /// ```
    /// use sabir_mcp::{McpServer, Tool};
    ///
    /// let server = McpServer::new("disk", "1.0.0")
    ///     .tool_blocking(Tool::new("notes", "Reads the notes"), |_, ()| Ok(std::fs::read_to_string("notes.txt")?));
    /// ```
    ///
    /// # Panics
    /// If the arguments are not an object, or the structured output is not one.
    #[must_use]
    pub fn tool_blocking<F, P, R>(self, tool: impl Into<Tool>, function: F) -> Self
    where
        F: Fn(McpCtx, P) -> McpResult<R> + Send + Sync + 'static,
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: IntoToolResult,
    {
        self.catalog.add_tool_blocking(tool, function);
        self
    }

    /// Adds the tools that are methods of a value: see [`tools`](macro@crate::tools). The value may be in an [`Arc`],
    /// to be used elsewhere too.
    #[must_use]
    pub fn tools<T: Tools>(self, tools: T) -> Self {
        self.catalog.add_tools(tools);
        self
    }

    /// Gives all functions a value to share, by [`McpCtx::state`]. One of each type.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    ///
    /// use sabir_mcp::{McpCtx, McpServer, Tool};
    ///
    /// let server = McpServer::new("counter", "1.0.0")
    ///     .state(AtomicU64::new(0))
    ///     .tool(Tool::new("increment", "Counts up"), |ctx: McpCtx, ()| async move {
    ///         Ok(ctx.state::<AtomicU64>().fetch_add(1, Relaxed) + 1)
    ///     });
    /// ```
    #[must_use]
    pub fn state<T: Any + Send + Sync>(mut self, state: T) -> Self {
        self.settings.states.add(state);
        self
    }

    /// Sets how many threads blocking tools may have at once, for all connections together: at least one. 64.
    #[must_use]
    pub fn max_blocking_threads(mut self, most: usize) -> Self {
        self.settings.threads = Some(most);
        self
    }

    /// Adds a resource: something to read at a URI.
    ///
    /// ```
    /// use sabir_mcp::{McpServer, Resource};
    ///
    /// let server = McpServer::new("notes", "1.0.0")
    ///     .resource(Resource::new("notes://today", "today"), |_| async { Ok("Buy milk.") });
    /// ```
    #[must_use]
    pub fn resource<F, R, Fut>(self, resource: impl Into<Resource>, read: F) -> Self
    where
        F: Fn(McpCtx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = McpResult<R>> + Send + 'static,
        R: IntoContents,
    {
        self.catalog.add_resource(resource, read);
        self
    }

    /// Adds resources whose URIs follow a pattern. Its variables are read into a struct. Those that are enums are completed.
    ///
    /// ```
    /// use sabir_mcp::{McpServer, Template};
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Day {
    ///     year: u16,
    ///     day: u16,
    /// }
    ///
    /// let server = McpServer::new("notes", "1.0.0")
    ///     .template(Template::new("notes://{year}/{day}", "one day"), |_, Day { year, day }| async move {
    ///         Ok(format!("Nothing happened on day {day} of {year}."))
    ///     });
    /// ```
    ///
    /// A variable `{name}` takes one segment of a path: no slash, none that is escaped (`%2F`) either, and no backslash.
    /// `{+name}` takes slashes too. Neither takes a segment `.` or `..` or a control character, however it is escaped:
    /// such a URI follows no template. What `{+name}` takes may begin with a slash; check that before you make it a part
    /// of a file's path.
    ///
    /// # Panics
    /// If the pattern has a variable that is not `{name}` or `{+name}`.
    #[must_use]
    pub fn template<F, P, R, Fut>(self, template: impl Into<Template>, read: F) -> Self
    where
        F: Fn(McpCtx, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = McpResult<R>> + Send + 'static,
        P: DeserializeOwned + 'static,
        R: IntoContents,
    {
        self.catalog.add_template(template, read);
        self
    }

    /// Adds a prompt. Its arguments are the members of the struct that it takes. Those that are enums are completed.
    #[must_use]
    pub fn prompt<F, P, R, Fut>(self, prompt: impl Into<Prompt>, function: F) -> Self
    where
        F: Fn(McpCtx, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = McpResult<R>> + Send + 'static,
        P: DeserializeOwned + JsonSchema + 'static,
        R: IntoPrompt,
    {
        self.catalog.add_prompt(prompt, function);
        self
    }

    /// Completes an argument of a prompt, best first. More than a hundred are cut off.
    #[must_use]
    pub fn complete_prompt<F, Fut>(self, prompt: &str, argument: &str, function: F) -> Self
    where
        F: Fn(McpCtx, Partial) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = McpResult<Vec<String>>> + Send + 'static,
    {
        self.catalog.complete(Completed::Prompt(prompt.to_owned()), argument.to_owned(), function);
        self
    }

    /// Completes a variable of a template.
    #[must_use]
    pub fn complete_template<F, Fut>(self, uri_template: &str, variable: &str, function: F) -> Self
    where
        F: Fn(McpCtx, Partial) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = McpResult<Vec<String>>> + Send + 'static,
    {
        self.catalog.complete(Completed::Template(uri_template.to_owned()), variable.to_owned(), function);
        self
    }

    /// Gives out lists in pages of this many. All at once, unless this is set.
    #[must_use]
    pub fn page_size(mut self, size: usize) -> Self {
        self.settings.page_size = size;
        self
    }

    /// Says how long lists and resources may be kept, in the modern era. Not at all, unless this is set.
    #[must_use]
    pub fn cache(mut self, cache: Cache) -> Self {
        self.settings.cache = cache;
        self
    }

    /// Signs what clients bring back with this key instead of a random one, so that another process can go on
    /// with a call.
    ///
    /// A `requestState` is good for the call that it was given out for: the same method, name and arguments, the same
    /// [caller](Self::identify), a server of the same [audience](Self::audience), and for a
    /// [while](Self::state_lifetime). It may be used more than once in that time, since nothing is kept.
    #[must_use]
    pub fn secret(mut self, key: [u8; 32]) -> Self {
        self.settings.state_signer = StateSigner::with_key(key);
        self
    }

    /// Names the servers that take each other's `requestState`, if they share a [secret](Self::secret). The server's
    /// name, unless this is set.
    #[must_use]
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.settings.audience = Some(audience.into());
        self
    }

    /// How long a client may take to call again with a `requestState`. 15 minutes, unless this is set; each round
    /// gives a new one.
    #[must_use]
    pub fn state_lifetime(mut self, lifetime: Duration) -> Self {
        self.settings.time_to_live = lifetime;
        self
    }

    /// Tells callers apart, so that none can go on with what another has begun. Unless this is set, it is the
    /// header `Authorization` over HTTP; without one, and on other transports, all callers are the same.
    ///
    /// Set it if callers prove who they are in another way, or if their credentials may change between two rounds of a
    /// call:
    ///
    /// ```
    /// # #[cfg(feature = "http")] {
    /// # #[derive(PartialEq)] struct User { id: u64 }
    /// let server = sabir_mcp::McpServer::new("bank", "1.0.0")
    ///     // What `sabir::Http::auth` has found out.
    ///     .identify(|rpc| Some(rpc.identity::<User>()?.id.to_be_bytes().to_vec()));
    /// # }
    /// ```
    #[must_use]
    pub fn identify(mut self, who: impl Fn(&sabir::Ctx) -> Option<Vec<u8>> + Send + Sync + 'static) -> Self {
        self.settings.identify = Some(Arc::new(who));
        self
    }

    /// Takes the time from here instead of the system's clock, for tests of what expires.
    #[must_use]
    pub fn clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.settings.clock = Arc::new(now);
        self
    }

    /// Limits what one client may make the server keep.
    #[must_use]
    pub fn limits(mut self, limits: McpLimits) -> Self {
        self.settings.limits = limits;
        self
    }

    /// Calls `observer` when a request has ended, for metrics. All observers are called. What all of JSON-RPC has, such as
    /// connections and bytes, is in [`Router::observe`] of the [router](Self::into_router).
    ///
    /// ```
    /// use sabir_mcp::McpServer;
    ///
    /// let server = McpServer::new("adder", "1.0.0").observe(|operation| {
    ///     println!("{} {:?}: {:?}", operation.method, operation.target, operation.took);
    /// });
    /// ```
    #[must_use]
    pub fn observe(mut self, observer: impl Fn(&McpOperation<'_>) + Send + Sync + 'static) -> Self {
        self.settings.observers.push(Arc::new(observer));
        self
    }

    /// Handles every request in a span of `tracing`, at the level of info, named and with the attributes that
    /// OpenTelemetry's conventions have for MCP. What a function logs belongs to it. What the server asks its client has
    /// spans, too. An exporter such as `tracing-opentelemetry` makes the rest of it, and [`Router::propagate`] of the
    /// [router](Self::into_router) joins them with the client's.
    #[cfg(feature = "tracing")]
    #[must_use]
    pub fn spans(mut self) -> Self {
        self.settings.spans = true;
        self
    }

    /// What it offers, to be changed while it runs.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The server as a router, for any transport. Give that the dialect [`sabir::MCP`].
    pub fn into_router(mut self) -> Router {
        if !self.settings.skills.is_empty() {
            let skills = std::mem::take(&mut self.settings.skills);
            self.settings.extensions.push(skills::extension(skills));
        }
        let info = to_raw_value(&self.settings.info).expect("a name and a version are JSON");
        let TaskSettings { store, options } = self.settings.tasks.clone();
        let has_tasks = store.is_some();
        let store = store.unwrap_or_else(|| Arc::new(MemoryTasks::default()));
        let tasks = Registry::new(store, options.unwrap_or_default(), Arc::clone(&self.settings.clock));
        // What an earlier process has left expires, too, also if nobody asks for a task here.
        if has_tasks && tokio::runtime::Handle::try_current().is_ok() {
            tasks.sweep();
        }
        let core = Arc::new(Core { settings: self.settings, catalog: self.catalog, tasks, info });
        let mut router = routes::router(&core);
        if let Some(most) = core.settings.threads {
            router = router.max_blocking_threads(most);
        }
        for observer in &core.settings.observers {
            router = observe::wrap(router, &core, observer);
        }
        #[cfg(feature = "tracing")]
        if core.settings.spans {
            router = spans::wrap(router, &core).client_spans(crate::client_spans::McpSpans::default());
        }
        router
    }

    /// Listens at a URL such as `http://127.0.0.1:8080/mcp`, for clients of both eras. The builder has the settings of
    /// the listener, such as hosts, authentication and TLS; awaiting it binds the address, and [`sabir::Server::run`]
    /// serves.
    ///
    /// ```no_run
    /// # async fn run() -> Result<(), sabir::Error> {
    /// let server = sabir_mcp::McpServer::new("empty", "1.0.0");
    /// server.listen("http://127.0.0.1:8080/mcp").await?.run().await
    /// # }
    /// ```
    #[cfg(feature = "http")]
    pub fn listen(self, url: impl Into<String>) -> sabir::ServerBuilder {
        sabir::listen(url, self.into_router()).dialect(sabir::MCP).http(crate::streamable_http())
    }

    /// Serves in memory, in a task of its own, and returns the client's end: for tests. Must be called in a runtime of
    /// `tokio`.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use sabir_mcp::{McpClient, McpServer, Tool};
    ///
    /// let server = McpServer::new("greeter", "1.0.0")
    ///     .tool(Tool::new("greet", "Says hello"), |_, ()| async { Ok("hello") });
    /// let session = McpClient::new("test", "1.0.0").connect(server.in_memory()).await?;
    /// assert_eq!(session.call("greet", ()).await?.text(), "hello");
    /// # Ok(())
    /// # }
    /// ```
    pub fn in_memory(self) -> Transport {
        let (near, far) = sabir::transport::memory();
        tokio::spawn(self.serve(far));
        near
    }

    /// Serves one connection until it ends: `server.serve(transport::stdio())`.
    pub async fn serve(self, transport: Transport) -> std::result::Result<(), sabir::Error> {
        sabir::serve(transport.dialect(sabir::MCP), self.into_router()).await
    }
}
