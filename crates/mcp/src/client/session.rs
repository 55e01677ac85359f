//! An agreement with a server, and everything that can be asked of it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use sabir::{CallError, Cause, Peer, RawJson};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::McpClient;
use super::McpHeaders;
use super::call::{McpCall, Params};
use super::callbacks::Callbacks;
use super::pages::ListPages;
use crate::operation::Observer;
use crate::types::{
    Contents, Implementation, LogLevel, Meta, Prompt, PromptResult, Resource, ServerCapabilities, Template,
    Tool, ToolResult,
};
use crate::{Interests, McpRevision};

/// A server, and what was agreed on with it. Cheap to clone.
#[derive(Clone)]
pub struct McpSession(Arc<Inner>);

struct Inner {
    peer: Peer,
    callbacks: Callbacks,
    agreed: Agreed,
    observers: Vec<Observer>,
    /// Which arguments of which tools travel in headers.
    #[cfg_attr(not(feature = "http"), allow(dead_code))]
    headers: McpHeaders,
}

pub(super) struct Agreed {
    pub(super) revision: McpRevision,
    pub(super) capabilities: ServerCapabilities,
    pub(super) info: Option<Implementation>,
    pub(super) instructions: Option<String>,
    /// What every request says.
    pub(super) meta: Meta,
}

impl McpSession {
    pub(super) fn new(client: McpClient, peer: Peer, agreed: Agreed) -> Self {
        #[cfg(feature = "tracing")]
        if let Some(spans) = &client.telemetry.spans {
            let _ = spans.revision.set(agreed.revision);
        }
        McpSession(Arc::new(Inner {
            peer,
            callbacks: client.callbacks,
            agreed,
            observers: client.telemetry.observers,
            headers: McpHeaders::default(),
        }))
    }

    pub(super) fn with_headers(mut self, headers: McpHeaders) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.headers = headers;
        }
        self
    }

    /// The revision that is spoken.
    pub fn revision(&self) -> McpRevision {
        self.0.agreed.revision
    }

    /// What the server can do.
    pub fn capabilities(&self) -> &ServerCapabilities {
        &self.0.agreed.capabilities
    }

    /// Who the server says it is.
    pub fn server_info(&self) -> Option<&Implementation> {
        self.0.agreed.info.as_ref()
    }

    /// How the server wants to be used.
    pub fn instructions(&self) -> Option<&str> {
        self.0.agreed.instructions.as_deref()
    }

    /// The connection itself, for what is not in the vocabulary.
    pub fn peer(&self) -> &Peer {
        &self.0.peer
    }

    pub(super) fn callbacks(&self) -> &Callbacks {
        &self.0.callbacks
    }

    pub(super) fn observers(&self) -> &[Observer] {
        &self.0.observers
    }

    pub(super) fn meta(&self) -> &Meta {
        &self.0.agreed.meta
    }

    /// All tools. In the modern era, those whose schema asks for a header in a wrong way are left out over HTTP.
    pub async fn tools(&self) -> Result<Vec<Tool>, CallError> {
        let tools = self.list("tools/list", "tools").await?;
        #[cfg(feature = "http")]
        let tools = if self.revision().is_modern() { self.0.headers.learn(tools) } else { tools };
        Ok(tools)
    }

    /// Calls a tool. The arguments are a struct, a map or `()`. What the tool could not do is a result too, with
    /// `is_error`. A tool that runs as a task is waited for, if the client knows [tasks](McpClient::tasks).
    pub fn call<A: Serialize>(&self, tool: &str, arguments: A) -> McpCall<ToolResult> {
        let params = || {
            let mut params = Params::from([("name".into(), RawJson::from_value(tool)?)]);
            let arguments = RawJson::from_value(&arguments)?;
            if arguments != RawJson::NULL {
                params.insert("arguments".into(), arguments);
            }
            Ok(params)
        };
        McpCall::new(self, "tools/call", params()).that_waits()
    }

    /// Calls any method, with params that are JSON already, for a result as it comes. What the session says with each
    /// request is added to their `_meta`, and what the server asks first is answered.
    pub fn request(
        &self,
        method: impl Into<Cow<'static, str>>,
        params: Option<RawJson<'static>>,
    ) -> McpCall<RawJson<'static>> {
        let params = params.map_or_else(|| Ok(Params::new()), |params| params.parse());
        McpCall::new(self, method, params)
    }

    /// All prompts.
    pub async fn prompts(&self) -> Result<Vec<Prompt>, CallError> {
        self.list("prompts/list", "prompts").await
    }

    /// A prompt, filled in.
    pub fn prompt(&self, name: &str, arguments: &BTreeMap<String, String>) -> McpCall<PromptResult> {
        let params = || {
            let name = RawJson::from_value(name)?;
            Ok(Params::from([("name".into(), name), ("arguments".into(), RawJson::from_value(arguments)?)]))
        };
        McpCall::new(self, "prompts/get", params())
    }

    /// All resources.
    pub async fn resources(&self) -> Result<Vec<Resource>, CallError> {
        self.list("resources/list", "resources").await
    }

    /// All templates of resources.
    pub async fn templates(&self) -> Result<Vec<Template>, CallError> {
        self.list("resources/templates/list", "resourceTemplates").await
    }

    /// What is in a resource.
    pub async fn read(&self, uri: &str) -> Result<Vec<Contents>, CallError> {
        #[derive(Deserialize)]
        struct Read {
            contents: Vec<Contents>,
        }
        let Read { contents } = McpCall::new(self, "resources/read", self.uri(uri)).await?;
        Ok(contents)
    }

    /// Completes an argument of a prompt.
    pub async fn complete_prompt(
        &self,
        prompt: &str,
        argument: &str,
        value: &str,
    ) -> Result<Vec<String>, CallError> {
        self.complete(serde_json::json!({"type": "ref/prompt", "name": prompt}), argument, value).await
    }

    /// Completes a variable of a template.
    pub async fn complete_template(
        &self,
        uri_template: &str,
        variable: &str,
        value: &str,
    ) -> Result<Vec<String>, CallError> {
        self.complete(serde_json::json!({"type": "ref/resource", "uri": uri_template}), variable, value).await
    }

    /// Subscribes to changes of a resource. Only in the legacy era: later it is [`listen`](Self::listen).
    pub async fn subscribe(&self, uri: &str) -> Result<(), CallError> {
        let _: Meta = McpCall::new(self, "resources/subscribe", self.uri(uri)).await?;
        Ok(())
    }

    /// No longer wants to. Only in the legacy era.
    pub async fn unsubscribe(&self, uri: &str) -> Result<(), CallError> {
        let _: Meta = McpCall::new(self, "resources/unsubscribe", self.uri(uri)).await?;
        Ok(())
    }

    /// Listens to changes for as long as it is awaited: they go to [`McpClient::on_change`]. Only in the modern era.
    pub async fn listen(&self, interests: &Interests) -> Result<(), CallError> {
        let params = || {
            let mut asked = serde_json::to_value(interests)?;
            for (field, value) in &interests.extensions {
                asked[field] = value.clone();
            }
            Ok(Params::from([("notifications".into(), RawJson::from_value(&asked)?)]))
        };
        let params = params();
        let _: Meta = McpCall::new(self, "subscriptions/listen", params).await?;
        Ok(())
    }

    /// Sets which log messages come. Only in the legacy era: later it is [`McpClient::log_level`].
    pub async fn set_level(&self, level: LogLevel) -> Result<(), CallError> {
        let params = RawJson::from_value(&level).map(|level| Params::from([("level".into(), level)]));
        let _: Meta = McpCall::new(self, "logging/setLevel", params).await?;
        Ok(())
    }

    /// Asks whether the server is there. Only in the legacy era.
    pub async fn ping(&self) -> Result<(), CallError> {
        let _: Meta = McpCall::new(self, "ping", Ok(Params::new())).await?;
        Ok(())
    }

    /// Ends the connection, after what is open has been finished for as long as `grace`.
    pub async fn close(&self, grace: Duration) -> Cause {
        self.0.peer.shutdown(grace).await
    }

    fn uri(&self, uri: &str) -> Result<Params, serde_json::Error> {
        Ok(Params::from([("uri".into(), RawJson::from_value(uri)?)]))
    }

    async fn complete(
        &self,
        of: serde_json::Value,
        argument: &str,
        value: &str,
    ) -> Result<Vec<String>, CallError> {
        #[derive(Deserialize)]
        struct Completion {
            completion: Values,
        }
        #[derive(Deserialize)]
        struct Values {
            values: Vec<String>,
        }
        let argument = serde_json::json!({"name": argument, "value": value});
        let params = || {
            let of = RawJson::from_value(&of)?;
            Ok(Params::from([("ref".into(), of), ("argument".into(), RawJson::from_value(&argument)?)]))
        };
        let Completion { completion } = McpCall::new(self, "completion/complete", params()).await?;
        Ok(completion.values)
    }

    /// A list as the server writes it, page by page: for entries with members that have no type here. `method` is such as
    /// `tools/list`, and `member` what its result has them in, such as `tools`.
    pub fn pages(&self, method: &'static str, member: &'static str) -> ListPages {
        ListPages::new(self.clone(), method, member)
    }

    async fn list<T: DeserializeOwned>(
        &self,
        method: &'static str,
        member: &'static str,
    ) -> Result<Vec<T>, CallError> {
        let mut pages = self.pages(method, member);
        let mut all = Vec::new();
        while let Some(page) = pages.next().await? {
            let listed = page.get(member).unwrap_or(RawJson::NULL);
            let entries: Vec<T> = listed.parse().map_err(super::call::undecodable)?;
            all.extend(entries);
        }
        Ok(all)
    }
}

impl std::fmt::Debug for McpSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpSession")
            .field("revision", &self.revision())
            .field("server", &self.server_info())
            .finish_non_exhaustive()
    }
}
