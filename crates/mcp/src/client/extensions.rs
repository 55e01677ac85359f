//! Extensions of a client: what it declares, results of other types, requests and notifications.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use sabir::{CallError, RawJson};

use super::{McpClient, McpSession};
use crate::types::Meta;

/// Makes a result of the type that a method has by itself of one of another type.
pub(super) type ResolveResult = dyn Fn(
        McpSession,
        RawJson<'static>,
    ) -> Pin<Box<dyn Future<Output = Result<RawJson<'static>, CallError>> + Send>>
    + Send
    + Sync;

pub(super) type OnNotification = dyn Fn(RawJson<'static>) + Send + Sync;

/// Answers a request of a server.
pub(super) type OnRequest = dyn Fn(RawJson<'static>) -> Pin<Box<dyn Future<Output = sabir::Result<RawJson<'static>>> + Send>>
    + Send
    + Sync;

impl McpClient {
    /// Declares an extension, with its settings. Its methods are called by [`McpSession::request`].
    ///
    /// ```
    /// use sabir_mcp::{McpClient, Meta};
    ///
    /// let client = McpClient::new("me", "1.0.0").extension("com.example/rooms", Meta::new());
    /// ```
    #[must_use]
    pub fn extension(mut self, name: impl Into<String>, settings: Meta) -> Self {
        let extensions = self.callbacks.extensions.get_or_insert_default();
        extensions.insert(name.into(), settings.into());
        self
    }

    /// Resolves results of a type that an extension adds: `resolve` is given such a result, and returns the one that the
    /// caller waits for.
    #[must_use]
    pub fn on_result_type<F, Fut>(mut self, result_type: impl Into<String>, resolve: F) -> Self
    where
        F: Fn(McpSession, RawJson<'static>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<RawJson<'static>, CallError>> + Send + 'static,
    {
        let resolve: Arc<ResolveResult> = Arc::new(move |session, result| Box::pin(resolve(session, result)));
        self.callbacks.result_types.insert(result_type.into(), resolve);
        self
    }

    /// Answers requests of a server that an extension adds. Only servers of the legacy era send requests; in the modern one
    /// such a method may be a question in a result.
    ///
    /// ```
    /// use sabir::RawJson;
    /// use sabir_mcp::{McpClient, Meta};
    ///
    /// let client = McpClient::new("me", "1.0.0")
    ///     .extension("com.example/clock", Meta::new())
    ///     .on_request("clock/read", |_| async { Ok(RawJson::from_value(&7)?) });
    /// ```
    #[must_use]
    pub fn on_request<F, Fut>(mut self, method: impl Into<Cow<'static, str>>, answer: F) -> Self
    where
        F: Fn(RawJson<'static>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = sabir::Result<RawJson<'static>>> + Send + 'static,
    {
        let answer: Arc<OnRequest> = Arc::new(move |params| Box::pin(answer(params)));
        self.callbacks.requests.insert(method.into(), answer);
        self
    }

    /// Sets what is called for notifications that an extension adds.
    #[must_use]
    pub fn on_notification(
        mut self,
        method: impl Into<Cow<'static, str>>,
        told: impl Fn(RawJson<'static>) + Send + Sync + 'static,
    ) -> Self {
        self.callbacks.notifications.push((method.into(), Arc::new(told)));
        self
    }
}
