//! A server: its handlers, and the lifecycle around them.

mod capabilities;
mod client_peer;
mod commands;
mod connection;
mod ctx;
mod initialize;
mod partial_results;
mod routes;
mod work_done;

use std::any::Any;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

pub use client_peer::ClientPeer;
use commands::Commands;
use connection::Ending;
pub use connection::{Exit, ExitReason};
pub use ctx::LspCtx;
use lsp_types::notification::Notification;
use lsp_types::request::Request;
use lsp_types::{ServerCapabilities, ServerInfo};
pub use partial_results::PartialResults;
use routes::Hooks;
use sabir::{Framing, Router, Transport};
use serde::Serialize;
use serde::de::DeserializeOwned;
pub use work_done::WorkDone;

use crate::document::{DocumentLimits, PositionEncoding};
use crate::handler::{LspHandler, beside, hook};
use crate::params;

/// A language server.
///
/// Handlers are added by the types of [`lsp_types`]: its requests and notifications, and your own by its traits
/// [`Request`] and [`Notification`]. A handler is an `async` function of a [`LspCtx`] and the params.
///
/// ```
/// use sabir_lsp::lsp_types::request::HoverRequest;
/// use sabir_lsp::lsp_types::{Hover, HoverContents, HoverParams, MarkedString};
/// use sabir_lsp::{LspCtx, LspServer};
///
/// async fn hover(ctx: LspCtx, params: HoverParams) -> sabir::Result<Option<Hover>> {
///     let at = params.text_document_position_params;
///     let document = ctx.document(&at.text_document.uri)?;
///     let line = document.line(at.position.line).unwrap_or_default();
///     Ok(Some(Hover { contents: HoverContents::Scalar(MarkedString::String(line.to_owned())), range: None }))
/// }
///
/// let server = LspServer::new("lines", "1.0.0").request::<HoverRequest>(hover);
/// ```
///
/// # What it does itself
///
/// | message | what happens before a handler for it, if there is one |
/// |---|---|
/// | `initialize` | [capabilities](Self::capabilities) are completed, the position encoding is agreed on; the client's process is watched |
/// | `shutdown` | requests are answered `-32600` from now on |
/// | `exit` | the connection ends once the handler is done; [`serve`](Self::serve) returns |
/// | `textDocument/didOpen`, `didChange`, `didClose` | [`LspCtx::documents`] is brought up to date |
/// | `workspace/executeCommand` | the [command](Self::command) of this name runs in its place |
/// | `$/setTrace` | [`ClientPeer::trace`] changes |
/// | `window/workDoneProgress/cancel` | [`WorkDone::cancelled`] returns |
/// | `$/cancelRequest` | the handler of the request is dropped at its next `await`, and answered `-32800` |
///
/// Requests before `initialize` are answered `-32002`, unknown ones `-32601`. Notifications before it, and unknown ones
/// whose name begins with `$/`, are ignored.
///
/// # Order
///
/// The handler of a notification finishes before any later message is handled, so documents are never seen in a state
/// that the client has not sent. Handlers of requests run side by side in the task of the connection. Those that compute for
/// long are added by [`request_spawned`](Self::request_spawned) or [`request_blocking`](Self::request_blocking).
#[must_use = "`serve` runs it"]
pub struct LspServer {
    config: Config,
    router: Router,
    hooks: Hooks,
    commands: Commands,
    watches_client: bool,
}

/// What does not change while the server runs.
pub(crate) struct Config {
    info: ServerInfo,
    capabilities: ServerCapabilities,
    encodings: Vec<PositionEncoding>,
    limits: DocumentLimits,
    /// Those that there are handlers for.
    methods: BTreeSet<&'static str>,
    /// The names of those that there are handlers for.
    commands: Vec<String>,
}

impl LspServer {
    /// A server without handlers. The client may show its name and version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        let config = Config {
            info: ServerInfo { name: name.into(), version: Some(version.into()) },
            capabilities: ServerCapabilities::default(),
            encodings: vec![PositionEncoding::Utf8, PositionEncoding::Utf32],
            limits: DocumentLimits::default(),
            methods: BTreeSet::new(),
            commands: Vec::new(),
        };
        LspServer {
            config,
            router: Router::new(),
            hooks: HashMap::new(),
            commands: Commands::new(),
            watches_client: true,
        }
    }

    /// Adds the handler of a request, or replaces it.
    ///
    /// A handler of `initialize` returns the capabilities, in place of [`capabilities`](Self::capabilities).
    pub fn request<R: Request>(mut self, handler: impl LspHandler<LspCtx, R::Params, R::Result>) -> Self {
        self.config.methods.insert(R::METHOD);
        if routes::is_built_in(R::METHOD) {
            self.hooks.insert(R::METHOD, Box::new(hook::<LspCtx, R::Params, R::Result>(handler)));
            return self;
        }
        self.router = self.router.method_borrowed(R::METHOD, move |rpc, raw| {
            let ctx = LspCtx::new(rpc, raw)?;
            ctx.connection().admit()?;
            Ok(handler(ctx, params::read(raw)?))
        });
        self
    }

    /// Adds the handler of a request that computes much, and awaits between: it runs as a task of the runtime, beside the
    /// connection and other handlers.
    ///
    /// Requests are started in the order in which they came. Later messages may be handled before such a handler has
    /// begun, though: the document that it takes may be newer than its request, as it may be for any handler behind an
    /// `await`. A handler that is cancelled stops at its next `await`. Without a runtime it runs as others do, and with one
    /// thread it takes turns with them.
    pub fn request_spawned<R: Request>(self, handler: impl LspHandler<LspCtx, R::Params, R::Result>) -> Self {
        self.request::<R>(move |ctx, params| beside(handler(ctx, params)))
    }

    /// Adds the handler of a request that computes or waits for long: a plain function, which runs on a thread beside the
    /// connection. See [`Router::method_blocking`].
    pub fn request_blocking<R: Request>(
        self,
        handler: impl Fn(LspCtx, R::Params) -> sabir::Result<R::Result> + Send + Sync + 'static,
    ) -> Self {
        let handler = Arc::new(handler);
        self.request::<R>(move |ctx, params| {
            let handler = Arc::clone(&handler);
            async move { ctx.clone().run_blocking(move || handler(ctx, params)).await? }
        })
    }

    /// Adds the handler of a notification, or replaces it.
    pub fn notification<N: Notification>(mut self, handler: impl LspHandler<LspCtx, N::Params, ()>) -> Self {
        self.config.methods.insert(N::METHOD);
        if routes::is_built_in(N::METHOD) {
            self.hooks.insert(N::METHOD, Box::new(hook::<LspCtx, N::Params, ()>(handler)));
            return self;
        }
        self.router = self.router.method_borrowed(N::METHOD, move |rpc, raw| {
            let ctx = LspCtx::new(rpc, raw)?;
            ctx.connection().admit()?;
            Ok(handler(ctx, params::read(raw)?))
        });
        self
    }

    /// Adds the handler of a command, or replaces it: what `workspace/executeCommand` runs for this name. The capabilities
    /// name it. The handler takes the arguments as a tuple, an array or a `Vec`, or as `()` if there are none.
    ///
    /// ```
    /// use sabir_lsp::{LspCtx, LspServer};
    ///
    /// async fn repeat(_: LspCtx, (word, times): (String, usize)) -> sabir::Result<String> {
    ///     Ok(word.repeat(times))
    /// }
    ///
    /// let server = LspServer::new("words", "1.0.0").command("words.repeat", repeat);
    /// ```
    ///
    /// A handler of the request `workspace/executeCommand` gets all commands that have none of their own. Name those in
    /// [`capabilities`](Self::capabilities).
    pub fn command<P, T>(mut self, name: impl Into<String>, handler: impl LspHandler<LspCtx, P, T>) -> Self
    where
        P: DeserializeOwned + 'static,
        T: Serialize + 'static,
    {
        self.commands.insert(name.into(), commands::command(handler));
        self
    }

    /// Sets what the server can do. What handlers are there for need not be said, unless there is more to say than yes,
    /// such as which characters trigger a completion. Documents are synchronised incrementally.
    pub fn capabilities(mut self, capabilities: ServerCapabilities) -> Self {
        self.config.capabilities = capabilities;
        self
    }

    /// Sets what columns should count, the best first. UTF-16 is taken if the client offers none of them. Unless it is
    /// set, UTF-8 is best, where the server has nothing to convert, and UTF-32 comes next.
    pub fn position_encodings(mut self, encodings: impl Into<Vec<PositionEncoding>>) -> Self {
        self.config.encodings = encodings.into();
        self
    }

    /// Sets how much a client may have open.
    pub fn document_limits(mut self, limits: DocumentLimits) -> Self {
        self.config.limits = limits;
        self
    }

    /// Gives all handlers a value to share, by [`LspCtx::state`]. One of each type.
    pub fn state<T: Any + Send + Sync>(mut self, state: T) -> Self {
        self.router = self.router.state(state);
        self
    }

    /// Sets whether the server ends with the process that `initialize` names, as the specification wants it. It does. Turn it
    /// off where that is the number of a process on another machine, or in another container.
    pub fn watch_client_process(mut self, watch: bool) -> Self {
        self.watches_client = watch;
        self
    }

    /// Serves one client until it ends, in `Content-Length` framing and by the rules of LSP. Return what it returns from
    /// `main`: the process then exits with the right code.
    ///
    /// ```no_run
    /// use sabir_lsp::{Exit, LspServer};
    ///
    /// #[tokio::main(flavor = "current_thread")]
    /// async fn main() -> Result<Exit, sabir::Error> {
    ///     LspServer::new("nothing", "1.0.0").serve(sabir::transport::stdio()).await
    /// }
    /// ```
    pub async fn serve(self, transport: impl Into<Transport>) -> Result<Exit, sabir::Error> {
        let ending = Arc::<Ending>::default();
        let router = self.routes(&ending);
        let transport = transport.into().framing(Framing::Headers).dialect(sabir::LSP);
        sabir::serve(transport, router).await?;
        Ok(ending.exit())
    }

    /// The server as a router: for [`sabir::listen`] and whatever else takes one. Each connection has a lifecycle of its
    /// own. The transport must speak [`sabir::LSP`] with [`Framing::Headers`].
    pub fn into_router(self) -> Router {
        self.routes(&Arc::default())
    }
}

impl std::fmt::Debug for LspServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LspServer").field("methods", &self.config.methods).finish_non_exhaustive()
    }
}
