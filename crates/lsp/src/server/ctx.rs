//! What a handler of a server knows of the message that it runs for.

use std::any::Any;
use std::future::Future;
use std::io;
use std::sync::Arc;

use lsp_types::{ClientCapabilities, InitializeParams, Uri, WorkDoneProgressBegin};
use memchr::memmem;
use sabir::{ErrorCode, ErrorObject, JsonKind, RawJson};
use serde::Serialize;

use super::client_peer::ClientPeer;
use super::connection::Connection;
use super::partial_results::PartialResults;
use super::work_done::WorkDone;
use crate::document::{Document, Documents, not_open};
use crate::error::content_modified;

/// Nobody needs longer ones, and each progress repeats them: a request with one is refused, as the engine does it.
const LONGEST_TOKEN: usize = 1024;

/// The request or notification that a handler runs for: the client, the open documents, and what may be told before the
/// answer.
#[derive(Clone)]
pub struct LspCtx {
    rpc: sabir::Ctx,
    client: ClientPeer,
    tokens: Option<Arc<Tokens>>,
}

/// What the client wants to be told of a request.
#[derive(Debug)]
struct Tokens {
    work_done: Option<RawJson<'static>>,
    partial: Option<RawJson<'static>>,
}

impl LspCtx {
    /// Fails if a token of the request is too long to be kept.
    pub(crate) fn new(rpc: sabir::Ctx, params: Option<&RawJson<'_>>) -> sabir::Result<Self> {
        let connection = rpc.peer().extension::<Connection>();
        let tokens = match params.filter(|_| rpc.is_request()) {
            Some(params) => Tokens::find(params)?.map(Arc::new),
            None => None,
        };
        Ok(LspCtx { client: ClientPeer::new(rpc.peer().clone(), connection), rpc, tokens })
    }

    pub(crate) fn connection(&self) -> &Arc<Connection> {
        self.client.connection()
    }

    /// The client, to call and to notify.
    pub fn client(&self) -> &ClientPeer {
        &self.client
    }

    /// What the client sent in `initialize`: its name, its folders, what it can do.
    ///
    /// # Panics
    /// In a context that was made for a test: there was no `initialize`.
    pub fn initialize_params(&self) -> Arc<InitializeParams> {
        self.connection().client().unwrap_or_else(|| panic!("`initialize` has not come yet"))
    }

    /// What the client can do.
    pub fn client_capabilities(&self) -> ClientCapabilities {
        self.connection().client().map(|client| client.capabilities.clone()).unwrap_or_default()
    }

    /// The documents that are open.
    pub fn documents(&self) -> &Documents {
        &self.connection().documents
    }

    /// A document that is open, as of the message that the handler runs for, or later. The error says that it is not.
    pub fn document(&self, uri: &Uri) -> sabir::Result<Arc<Document>> {
        self.documents().get(uri).ok_or_else(|| not_open(uri))
    }

    /// Fails with [`content_modified`] if a document has changed since it was taken from the store, or was closed: for
    /// handlers whose result would be of no use then.
    pub fn check_current(&self, document: &Document) -> sabir::Result<()> {
        if self.documents().is_current(document) { Ok(()) } else { Err(content_modified()) }
    }

    /// Tells the user of work that takes a while, at the place where the client shows the progress of this request, or
    /// by a `window/workDoneProgress/create` of its own. Where the client shows neither, it does nothing.
    ///
    /// ```
    /// # async fn handler(ctx: sabir_lsp::LspCtx) -> sabir::Result<()> {
    /// use sabir_lsp::lsp_types::WorkDoneProgressBegin;
    ///
    /// let title = "Indexing".to_owned();
    /// let work = ctx.begin_work(WorkDoneProgressBegin { title, ..Default::default() }).await;
    /// for percentage in [20, 40, 60, 80] {
    ///     work.report("src/main.rs", Some(percentage)).await;
    /// }
    /// work.end("").await;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn begin_work(&self, begin: WorkDoneProgressBegin) -> WorkDone {
        match self.tokens.as_ref().and_then(|tokens| tokens.work_done.clone()) {
            Some(token) => WorkDone::begin(&self.client, token, begin).await,
            None => self.client.begin_work(begin).await,
        }
    }

    /// Whether the client takes the result of this request in parts.
    pub fn wants_partial_results(&self) -> bool {
        self.tokens.as_ref().is_some_and(|tokens| tokens.partial.is_some())
    }

    /// A list that is sent while it grows, if the client takes the result of this request in parts.
    pub fn partial_results<T: Serialize>(&self) -> PartialResults<T> {
        let token = self.tokens.as_ref().and_then(|tokens| tokens.partial.clone());
        PartialResults::new(self.client.clone(), token)
    }

    /// Sends a part of a result that is not a list, such as semantic tokens. Returns whether it did, which it does if
    /// the client [wants](Self::wants_partial_results) it.
    pub async fn send_partial_result<T: Serialize>(&self, part: &T) -> sabir::Result<bool> {
        match self.tokens.as_ref().and_then(|tokens| tokens.partial.as_ref()) {
            Some(token) => self.client.progress(token, part).await.map(|()| true).map_err(ErrorObject::from),
            None => Ok(false),
        }
    }

    /// The message as JSON-RPC has it: its peer, being cancelled, what is to be done after the reply.
    pub fn rpc(&self) -> &sabir::Ctx {
        &self.rpc
    }

    /// The state of this type that the server was given by [`LspServer::state`](crate::LspServer::state).
    ///
    /// # Panics
    /// If it was given none.
    pub fn state<T: Any + Send + Sync>(&self) -> &T {
        self.rpc.state()
    }

    /// Runs a function that takes its time on a thread, as [`sabir::Ctx::run_blocking`] does.
    pub fn run_blocking<T, F>(&self, function: F) -> impl Future<Output = io::Result<T>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        self.rpc.run_blocking(function)
    }
}

impl std::fmt::Debug for LspCtx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LspCtx").field("rpc", &self.rpc).finish_non_exhaustive()
    }
}

impl Tokens {
    fn find(params: &RawJson<'_>) -> sabir::Result<Option<Self>> {
        // Most requests have none, and are not walked for it.
        let may_have_one = memmem::find(params.as_str().as_bytes(), b"Token\"").is_some();
        if !may_have_one || params.kind() != JsonKind::Object {
            return Ok(None);
        }
        let token = |name| {
            let is_token = |token: &RawJson<'_>| matches!(token.kind(), JsonKind::Number | JsonKind::String);
            let Some(token) = params.get(name).filter(is_token) else { return Ok(None) };
            if token.as_str().len() > LONGEST_TOKEN {
                let reason = format!("`{name}` is longer than {LONGEST_TOKEN} bytes");
                return Err(ErrorObject::because(ErrorCode::INVALID_PARAMS, reason));
            }
            Ok(Some(token.into_owned()))
        };
        let tokens = Tokens { work_done: token("workDoneToken")?, partial: token("partialResultToken")? };
        Ok((tokens.work_done.is_some() || tokens.partial.is_some()).then_some(tokens))
    }
}
