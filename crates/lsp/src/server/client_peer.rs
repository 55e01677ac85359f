//! The client, as a server sees it.

use std::sync::Arc;

use lsp_types::notification::{LogMessage, LogTrace, Notification, PublishDiagnostics, ShowMessage};
use lsp_types::request::{
    ApplyWorkspaceEdit, RegisterCapability, Request, ShowDocument, ShowMessageRequest, UnregisterCapability,
    WorkDoneProgressCreate, WorkspaceConfiguration, WorkspaceFoldersRequest,
};
use lsp_types::{
    ApplyWorkspaceEditParams, ApplyWorkspaceEditResponse, ConfigurationItem, ConfigurationParams, Diagnostic,
    LogMessageParams, LogTraceParams, MessageActionItem, MessageType, NumberOrString,
    PublishDiagnosticsParams, Registration, RegistrationParams, ShowDocumentParams, ShowDocumentResult,
    ShowMessageParams, ShowMessageRequestParams, TraceValue, Unregistration, UnregistrationParams, Uri,
    WorkDoneProgressBegin, WorkDoneProgressCreateParams, WorkspaceEdit, WorkspaceFolder,
};
use sabir::{Call, Peer, RawJson, SendError};
use serde::Serialize;
use serde_json::Value;

use super::connection::Connection;
use super::work_done::WorkDone;

/// The client: what a server may ask and tell it. Cheap to clone, and good outside of handlers, too.
///
/// A handler may await an answer while the client waits for the handler's own. In the handler of a *notification*,
/// though, nothing that comes behind the notification starts before the handler is done: where the client must ask
/// something of the server before it can answer, call it from a task (`tokio::spawn`).
#[derive(Clone)]
pub struct ClientPeer {
    peer: Peer,
    connection: Arc<Connection>,
}

impl ClientPeer {
    pub(crate) fn new(peer: Peer, connection: Arc<Connection>) -> Self {
        ClientPeer { peer, connection }
    }

    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Calls a method of the client. The call goes out when it is first awaited, and is cancelled when it is dropped.
    ///
    /// ```
    /// # async fn handler(ctx: sabir_lsp::LspCtx) -> sabir::Result<()> {
    /// use sabir_lsp::lsp_types::request::SemanticTokensRefresh;
    ///
    /// ctx.client().request::<SemanticTokensRefresh>(()).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[expect(clippy::needless_pass_by_value, reason = "callers make them for this")]
    pub fn request<R: Request>(&self, params: R::Params) -> Call<R::Result> {
        self.peer.call(R::METHOD, &params)
    }

    /// Sends a notification. Waits while the client leaves too much unread.
    pub async fn notify<N: Notification>(&self, params: N::Params) -> Result<(), SendError> {
        self.peer.notify(N::METHOD, &params).await
    }

    /// The client as JSON-RPC has it: for methods without a type.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Shows a message to the user.
    pub async fn show_message(&self, typ: MessageType, message: impl Into<String>) -> Result<(), SendError> {
        self.notify::<ShowMessage>(ShowMessageParams { typ, message: message.into() }).await
    }

    /// Writes a message to the client's log.
    pub async fn log_message(&self, typ: MessageType, message: impl Into<String>) -> Result<(), SendError> {
        self.notify::<LogMessage>(LogMessageParams { typ, message: message.into() }).await
    }

    /// Asks the user to choose one of some actions.
    pub fn show_message_request(
        &self,
        typ: MessageType,
        message: impl Into<String>,
        actions: Vec<MessageActionItem>,
    ) -> Call<Option<MessageActionItem>> {
        let params = ShowMessageRequestParams { typ, message: message.into(), actions: Some(actions) };
        self.request::<ShowMessageRequest>(params)
    }

    /// Opens a document in the client, or outside of it.
    pub fn show_document(&self, params: ShowDocumentParams) -> Call<ShowDocumentResult> {
        self.request::<ShowDocument>(params)
    }

    /// Sends all diagnostics of a document. They take the place of those that were sent before.
    pub async fn publish_diagnostics(
        &self,
        uri: Uri,
        diagnostics: Vec<Diagnostic>,
        version: Option<i32>,
    ) -> Result<(), SendError> {
        self.notify::<PublishDiagnostics>(PublishDiagnosticsParams { uri, diagnostics, version }).await
    }

    /// Asks the client to change documents.
    pub fn apply_edit(&self, edit: WorkspaceEdit) -> Call<ApplyWorkspaceEditResponse> {
        self.request::<ApplyWorkspaceEdit>(ApplyWorkspaceEditParams { label: None, edit })
    }

    /// Asks for settings: one value for each item, in their order.
    pub fn configuration(&self, items: Vec<ConfigurationItem>) -> Call<Vec<Value>> {
        self.request::<WorkspaceConfiguration>(ConfigurationParams { items })
    }

    /// Asks for the folders that are open.
    pub fn workspace_folders(&self) -> Call<Option<Vec<WorkspaceFolder>>> {
        self.request::<WorkspaceFoldersRequest>(())
    }

    /// Registers capabilities, from `initialized` on.
    pub fn register(&self, registrations: Vec<Registration>) -> Call<()> {
        self.request::<RegisterCapability>(RegistrationParams { registrations })
    }

    /// Takes back what was registered.
    pub fn unregister(&self, unregisterations: Vec<Unregistration>) -> Call<()> {
        self.request::<UnregisterCapability>(UnregistrationParams { unregisterations })
    }

    /// What the client wants to be logged by [`log_trace`](Self::log_trace): it says so in `initialize`, and by
    /// `$/setTrace`.
    pub fn trace(&self) -> TraceValue {
        self.connection.trace()
    }

    /// Logs how the server works, if the client wants to know. `verbose` is called only if it wants to know more.
    pub async fn log_trace(
        &self,
        message: impl Into<String>,
        verbose: impl FnOnce() -> Option<String>,
    ) -> Result<(), SendError> {
        let verbose = match self.trace() {
            TraceValue::Off => return Ok(()),
            TraceValue::Messages => None,
            TraceValue::Verbose => verbose(),
        };
        self.notify::<LogTrace>(LogTraceParams { message: message.into(), verbose }).await
    }

    /// Tells the user of work that belongs to no request. Where the client does not show it, it does nothing.
    pub async fn begin_work(&self, begin: WorkDoneProgressBegin) -> WorkDone {
        let client = self.connection.client();
        let window = client.as_ref().and_then(|client| client.capabilities.window.as_ref());
        if window.and_then(|window| window.work_done_progress) != Some(true) {
            return WorkDone::unseen();
        }
        let created = self.connection.work_token();
        let params = WorkDoneProgressCreateParams { token: NumberOrString::String(created.token.clone()) };
        match self.request::<WorkDoneProgressCreate>(params).await {
            Ok(()) => WorkDone::begin_created(self, created, begin).await,
            Err(_) => WorkDone::unseen(),
        }
    }

    pub(crate) async fn progress<T: Serialize>(
        &self,
        token: &RawJson<'static>,
        value: &T,
    ) -> Result<(), SendError> {
        self.peer.notify("$/progress", ProgressOf { token, value }).await
    }

    pub(crate) fn try_progress<T: Serialize>(&self, token: &RawJson<'static>, value: &T) {
        // Nobody is left who could be told that it was not sent.
        let _ = self.peer.try_notify("$/progress", ProgressOf { token, value });
    }
}

/// `$/progress`, for any value.
#[derive(Serialize)]
struct ProgressOf<'a, T> {
    token: &'a RawJson<'static>,
    value: &'a T,
}

impl std::fmt::Debug for ClientPeer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientPeer").field("peer", &self.peer).finish_non_exhaustive()
    }
}
