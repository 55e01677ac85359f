//! A connection to a server, after the handshake.

use std::sync::Arc;
use std::time::Duration;

use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, Exit, Notification,
};
use lsp_types::request::{DocumentDiagnosticRequest, Request, Shutdown};
use lsp_types::{
    Diagnostic, DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    Registration, ServerCapabilities, ServerInfo, TextDocumentContentChangeEvent, TextDocumentIdentifier,
    TextDocumentItem, TextDocumentSyncCapability, TextDocumentSyncKind, Uri, VersionedTextDocumentIdentifier,
};
use sabir::{Call, CallError, ErrorObject, Peer, RawJson, SendError, SubscriptionStyle};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::changes::difference;
use super::partial_call::{MOST_BYTES, PartialCall};
use super::state::State;
use crate::document::{Document, PositionEncoding};
use crate::error::code;
use crate::params;

/// How long a server may take to end after `exit`.
const GRACE: Duration = Duration::from_millis(1500);

/// How often a server is asked again that has cancelled a request for diagnostics, and how long to wait before.
const RETRIES: u32 = 20;
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// A server, after `initialize` and `initialized`: what a client may ask and tell it. Cheap to clone.
#[derive(Clone)]
pub struct LspSession {
    peer: Peer,
    state: Arc<State>,
}

impl LspSession {
    pub(super) fn of(peer: &Peer) -> Self {
        LspSession { peer: peer.clone(), state: peer.extension() }
    }

    pub(super) fn agree(&self, result: &RawJson<'_>) -> Result<(), CallError> {
        self.state.agree(result)
    }

    /// What the server can do. A capability that does not fit its type is left out.
    pub fn capabilities(&self) -> &ServerCapabilities {
        &self.state.agreed().capabilities
    }

    /// Who the server says it is.
    pub fn server_info(&self) -> Option<&ServerInfo> {
        self.state.agreed().info.as_ref()
    }

    /// What the columns of positions count.
    pub fn position_encoding(&self) -> PositionEncoding {
        self.state.documents.encoding()
    }

    /// What the server has registered since, and not taken back.
    pub fn registrations(&self) -> Vec<Registration> {
        self.state.registrations()
    }

    /// The server as JSON-RPC has it: for methods without a type.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Calls a method of the server. The call goes out when it is first awaited, and is cancelled when it is dropped.
    #[expect(clippy::needless_pass_by_value, reason = "callers make them for this")]
    pub fn request<R: Request>(&self, params: R::Params) -> Call<R::Result> {
        self.peer.call(R::METHOD, &params)
    }

    /// Calls a method of the server, and takes its result in parts of the type `P`.
    #[expect(clippy::needless_pass_by_value, reason = "callers make them for this")]
    pub fn request_in_parts<R: Request, P: DeserializeOwned>(&self, params: R::Params) -> PartialCall<R, P> {
        let mut params = json!(params);
        if let Some(members) = params.as_object_mut() {
            // The session has a token of its own.
            members.remove("partialResultToken");
        }
        let style = SubscriptionStyle::lsp_partial(R::METHOD);
        PartialCall::new(self.peer.subscribe(style, params).capacity(usize::MAX).capacity_bytes(MOST_BYTES))
    }

    /// Sends a notification. Waits while the server leaves too much unread.
    pub async fn notify<N: Notification>(&self, params: N::Params) -> Result<(), SendError> {
        self.peer.notify(N::METHOD, &params).await
    }

    /// Opens a document.
    pub async fn open(
        &self,
        uri: Uri,
        language_id: impl Into<String>,
        text: impl Into<String>,
    ) -> Result<(), SendError> {
        let text_document = TextDocumentItem::new(uri, language_id.into(), 1, text.into());
        let params = DidOpenTextDocumentParams { text_document };
        self.state.documents.open(&params).map_err(|error| SendError::Params(error.to_string()))?;
        self.state.published.outdate(&params.text_document.uri);
        self.notify::<DidOpenTextDocument>(params).await
    }

    /// Changes an open document to this text. A server that takes changes is sent what is different, others all of it.
    pub async fn change(&self, uri: &Uri, text: &str) -> Result<(), SendError> {
        let Some(document) = self.state.documents.get(uri) else { return Err(not_open(uri)) };
        let change = if self.sync_kind() == TextDocumentSyncKind::INCREMENTAL {
            let (old, new) = difference(document.text(), text);
            let range = Some(document.range(old));
            TextDocumentContentChangeEvent { range, range_length: None, text: text[new].to_owned() }
        } else {
            TextDocumentContentChangeEvent { range: None, range_length: None, text: text.to_owned() }
        };
        let version = document.version() + 1;
        let text_document = VersionedTextDocumentIdentifier::new(uri.clone(), version);
        let params = DidChangeTextDocumentParams { text_document, content_changes: vec![change] };
        drop(document);
        self.state.documents.change(&params).map_err(|error| SendError::Params(error.to_string()))?;
        self.state.published.outdate(uri);
        if self.sync_kind() == TextDocumentSyncKind::NONE {
            return Ok(());
        }
        self.notify::<DidChangeTextDocument>(params).await
    }

    /// Closes a document.
    pub async fn close(&self, uri: &Uri) -> Result<(), SendError> {
        let text_document = TextDocumentIdentifier::new(uri.clone());
        let params = DidCloseTextDocumentParams { text_document };
        self.state.documents.close(&params).map_err(|_| not_open(uri))?;
        self.state.published.forget(uri);
        self.notify::<DidCloseTextDocument>(params).await
    }

    /// A document that is open, as it was last sent: for positions in it.
    pub fn document(&self, uri: &Uri) -> Option<Arc<Document>> {
        self.state.documents.get(uri)
    }

    fn sync_kind(&self) -> TextDocumentSyncKind {
        match &self.capabilities().text_document_sync {
            Some(TextDocumentSyncCapability::Kind(kind)) => *kind,
            Some(TextDocumentSyncCapability::Options(options)) => {
                options.change.unwrap_or(TextDocumentSyncKind::NONE)
            }
            None => TextDocumentSyncKind::NONE,
        }
    }

    /// The diagnostics of a document as it is now: asked for, if the server is to be asked, and else waited for until they
    /// are [published](Self::published_diagnostics).
    pub async fn diagnostics(&self, uri: &Uri) -> Result<Vec<Diagnostic>, CallError> {
        let method = DocumentDiagnosticRequest::METHOD;
        let is_registered = || self.registrations().iter().any(|registration| registration.method == method);
        if self.capabilities().diagnostic_provider.is_some() || is_registered() {
            return self.pull_diagnostics(uri).await;
        }
        self.published_diagnostics(uri).await
    }

    /// Waits for the diagnostics that the server publishes for a document as it is now. There may never be any: set a
    /// timeout around it. Where the server does not say which version they are for, the first that come after the last
    /// change are taken.
    pub async fn published_diagnostics(&self, uri: &Uri) -> Result<Vec<Diagnostic>, CallError> {
        let mut published = self.state.published.subscribe();
        loop {
            let version = self.document(uri).map_or(i32::MIN, |document| document.version());
            if let Some(diagnostics) = self.state.published.get(uri, version) {
                return diagnostics.map_err(|error| CallError::Decode(error.to_string().into()));
            }
            tokio::select! {
                _ = published.changed() => {}
                cause = self.peer.closed() => return Err(CallError::Closed(cause)),
            }
        }
    }

    async fn pull_diagnostics(&self, uri: &Uri) -> Result<Vec<Diagnostic>, CallError> {
        #[derive(Deserialize)]
        struct Report {
            #[serde(default)]
            items: Vec<Diagnostic>,
        }
        let identifier = match &self.capabilities().diagnostic_provider {
            Some(lsp_types::DiagnosticServerCapabilities::Options(options)) => options.identifier.as_deref(),
            Some(lsp_types::DiagnosticServerCapabilities::RegistrationOptions(options)) => {
                options.diagnostic_options.identifier.as_deref()
            }
            None => None,
        };
        let mut params = json!({ "textDocument": { "uri": uri } });
        if let Some(identifier) = identifier {
            params["identifier"] = json!(identifier);
        }
        for _ in 0..RETRIES {
            match self.peer.call::<Report>(DocumentDiagnosticRequest::METHOD, &params).await {
                Err(CallError::Error(error)) if is_to_be_retried(&error) => {
                    tokio::time::sleep(RETRY_AFTER).await;
                }
                answer => return answer.map(|report| report.items),
            }
        }
        self.peer.call::<Report>(DocumentDiagnosticRequest::METHOD, &params).await.map(|report| report.items)
    }

    /// Takes notice of a message of the server.
    pub(super) fn observe(&self, method: &str, raw: Option<&RawJson<'_>>) -> sabir::Result<()> {
        match method {
            "textDocument/publishDiagnostics" => self.observe_diagnostics(raw),
            "client/registerCapability" => raw.map_or(Ok(()), |raw| self.state.register(raw))?,
            "client/unregisterCapability" => self.state.unregister(&params::read(raw)?),
            _ => {}
        }
        Ok(())
    }

    fn observe_diagnostics(&self, raw: Option<&RawJson<'_>>) {
        let Some(raw) = raw else { return };
        let uri = raw.get("uri").and_then(|uri| uri.parse::<String>().ok());
        let version = raw.get("version").and_then(|version| version.parse().ok());
        if let (Some(uri), Some(diagnostics)) = (uri, raw.get("diagnostics")) {
            self.state.published.add(&uri, version, diagnostics.into_owned());
        }
    }

    /// Ends the server as the specification has it: `shutdown`, its answer, `exit`, and the end of the connection and
    /// of the process that was started for it.
    pub async fn shutdown(&self) -> Result<(), sabir::Error> {
        let answer = self.request::<Shutdown>(()).await;
        // A server that is gone already needs no `exit`.
        let _ = self.notify::<Exit>(()).await;
        self.peer.shutdown(GRACE).await;
        Ok(answer?)
    }
}

/// Whether the server wants to be asked again.
fn is_to_be_retried(error: &ErrorObject) -> bool {
    let retrigger = || error.data.as_ref()?.get("retriggerRequest")?.parse::<bool>().ok();
    error.code == code::SERVER_CANCELLED && retrigger() != Some(false)
}

fn not_open(uri: &Uri) -> SendError {
    SendError::Params(format!("`{}` is not open", uri.as_str()))
}

impl std::fmt::Debug for LspSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LspSession").field("peer", &self.peer).finish_non_exhaustive()
    }
}
