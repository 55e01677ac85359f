//! A client: drives a server from a test or a program, as an editor does.

pub(crate) mod answers;
mod capabilities;
mod changes;
mod diagnostics;
mod partial_call;
mod session;
mod state;
#[cfg(test)]
mod tests;

use std::path::Path;

use lsp_types::notification::{Initialized, Notification};
use lsp_types::request::Request;
use lsp_types::{ClientCapabilities, InitializedParams, Uri, WorkspaceFolder};
pub use partial_call::PartialCall;
use sabir::{CallError, Dialect, Framing, Peer, RawJson, Router, Transport};
use serde_json::{Value, json};
pub use session::LspSession;

use crate::handler::LspHandler;
use crate::{file_uri, params};

/// Servers do as they like: some send a number back as a string.
const DIALECT: Dialect = Dialect { lenient_responses: true, ..sabir::LSP };

/// A client of language servers: what it says of itself, and what it answers.
///
/// ```no_run
/// use sabir_lsp::lsp_types::request::DocumentSymbolRequest;
/// use sabir_lsp::lsp_types::{DocumentSymbolParams, TextDocumentIdentifier};
/// use sabir_lsp::{LspClient, file_uri};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let clangd = sabir::transport::child(std::process::Command::new("clangd"))?;
/// let server = LspClient::new("me", "1.0.0").folder("/src".as_ref()).connect(clangd).await?;
///
/// let uri = file_uri("/src/main.c".as_ref()).ok_or("a relative path")?;
/// server.open(uri.clone(), "c", "int main( { }").await?;
/// println!("{:?}", server.diagnostics(&uri).await?);
///
/// let text_document = TextDocumentIdentifier::new(uri);
/// let params = DocumentSymbolParams {
///     text_document,
///     partial_result_params: Default::default(),
///     work_done_progress_params: Default::default(),
/// };
/// let symbols = server.request::<DocumentSymbolRequest>(params).await?;
/// server.shutdown().await?;
/// # Ok(())
/// # }
/// ```
///
/// # What it answers
///
/// | request | answer |
/// |---|---|
/// | `workspace/configuration` | what [`settings`](Self::settings) have at the section, or null |
/// | `client/registerCapability`, `client/unregisterCapability` | taken: see [`LspSession::registrations`] |
/// | `window/workDoneProgress/create`, `workspace/…/refresh` | taken |
/// | `workspace/workspaceFolders` | the [folders](Self::folder) |
/// | `window/showMessageRequest` | null: the user has chosen nothing |
/// | `window/showDocument`, `workspace/applyEdit` | that it was not done |
/// | anything else | `-32601` |
///
/// [`request`](Self::request) answers otherwise.
#[must_use = "`connect` starts it"]
pub struct LspClient {
    config: Config,
    router: Router,
}

/// What does not change while the client runs.
#[derive(Debug)]
pub(crate) struct Config {
    name: String,
    version: String,
    capabilities: Value,
    folders: Vec<WorkspaceFolder>,
    options: Option<Value>,
    settings: Value,
}

impl LspClient {
    /// A client without folders and settings. The server may log its name and version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        let config = Config {
            name: name.into(),
            version: version.into(),
            capabilities: capabilities::all(),
            folders: Vec::new(),
            options: None,
            settings: Value::Null,
        };
        LspClient { config, router: answers::routes() }
    }

    /// Opens a folder. The first is the root.
    ///
    /// # Panics
    /// If the path is relative.
    pub fn folder(self, path: &Path) -> Self {
        let uri = file_uri(path).unwrap_or_else(|| panic!("{} is not an absolute path", path.display()));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.folder_uri(uri, name)
    }

    /// Opens a folder that is not a file.
    pub fn folder_uri(mut self, uri: Uri, name: impl Into<String>) -> Self {
        self.config.folders.push(WorkspaceFolder { uri, name: name.into() });
        self
    }

    /// Sets what the client can do. By default it says what this crate and `lsp_types` know: all position encodings, all
    /// kinds of results, work-done progress, and what is in the table above.
    pub fn capabilities(mut self, capabilities: &ClientCapabilities) -> Self {
        self.config.capabilities = json!(capabilities);
        self
    }

    /// Sets one of the capabilities, by its JSON pointer: `/workspace/configuration` to `false`, for instance.
    pub fn capability(mut self, pointer: &str, value: Value) -> Self {
        let mut place = &mut self.config.capabilities;
        for name in pointer.split('/').skip(1) {
            if !place.is_object() {
                *place = json!({});
            }
            place = &mut place[name];
        }
        *place = value;
        self
    }

    /// Sets the `initializationOptions`.
    pub fn initialization_options(mut self, options: Value) -> Self {
        self.config.options = Some(options);
        self
    }

    /// Sets what `workspace/configuration` is answered with: an object, whose members are found by the names that are
    /// separated by dots in a section.
    pub fn settings(mut self, settings: Value) -> Self {
        self.config.settings = settings;
        self
    }

    /// Answers a request of the server, in place of what the client would answer itself.
    pub fn request<R: Request>(mut self, handler: impl LspHandler<LspSession, R::Params, R::Result>) -> Self {
        self.router = self.router.method_borrowed(R::METHOD, move |rpc, raw| {
            let session = LspSession::of(rpc.peer());
            session.observe(R::METHOD, raw)?;
            Ok(handler(session, params::read(raw)?))
        });
        self
    }

    /// Handles a notification of the server. The next one waits until the handler is done, so it should be short. Responses
    /// and parts of results do not wait for it.
    pub fn notification<N: Notification>(
        mut self,
        handler: impl LspHandler<LspSession, N::Params, ()>,
    ) -> Self {
        self.router = self.router.method_borrowed(N::METHOD, move |rpc, raw| {
            let session = LspSession::of(rpc.peer());
            session.observe(N::METHOD, raw)?;
            Ok(handler(session, params::read(raw)?))
        });
        self
    }

    /// Connects to a server, in `Content-Length` framing, and does the handshake: `initialize` and `initialized`.
    pub async fn connect(self, transport: impl Into<Transport>) -> Result<LspSession, sabir::Error> {
        let LspClient { config, router } = self;
        let params = config.initialize_params();
        let transport = transport.into().framing(Framing::Headers).dialect(DIALECT);
        let peer = sabir::connect(transport, router.state(config)).await?;
        let greeted = greet(&peer, params).await;
        if greeted.is_err() {
            peer.close();
        }
        Ok(greeted?)
    }

    /// Does the handshake on a connection that is there already. The connection's own router answers the server and
    /// handles its notifications, so the session knows of no diagnostics that are published, and of no registrations.
    pub async fn initialize(&self, peer: &Peer) -> Result<LspSession, CallError> {
        greet(peer, self.config.initialize_params()).await
    }
}

async fn greet(peer: &Peer, params: Value) -> Result<LspSession, CallError> {
    let session = LspSession::of(peer);
    let result: RawJson<'static> = peer.call("initialize", params).await?;
    session.agree(&result)?;
    session.notify::<Initialized>(InitializedParams {}).await.map_err(CallError::NotSent)?;
    Ok(session)
}

impl Config {
    fn initialize_params(&self) -> Value {
        let mut params = json!({
            "processId": std::process::id(),
            "clientInfo": { "name": self.name, "version": self.version },
            "rootUri": self.folders.first().map(|folder| &folder.uri),
            "capabilities": self.capabilities,
            "workspaceFolders": (!self.folders.is_empty()).then_some(&self.folders),
        });
        if let Some(options) = &self.options {
            params["initializationOptions"] = options.clone();
        }
        params
    }
}

impl std::fmt::Debug for LspClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LspClient").field("config", &self.config).finish_non_exhaustive()
    }
}
