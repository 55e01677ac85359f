//! Extensions: what servers and clients agree on beside the protocol. An extension is a name, its settings, and the
//! methods, types of results and fields of `subscriptions/listen` that it adds. [`Extension`] is the server's side; the
//! client's is in [`McpClient`](crate::McpClient).

mod apps;
pub(crate) mod skills;

use std::any::TypeId;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

pub use apps::{UI_EXTENSION, UI_MIME_TYPE, UiDomains, UiPage, UiPermissions};
use sabir::RawJson;
use serde::Serialize;
use serde::de::DeserializeOwned;
pub use skills::{SKILLS_EXTENSION, Skill, SkillEntry, SkillFile};
use tokio::sync::mpsc;

use crate::error::{McpResult, unread};
use crate::server::McpCtx;
use crate::types::Meta;

/// An extension that a server offers: [`McpServer::extension`](crate::McpServer::extension) adds it.
///
/// ```
/// use sabir_mcp::{Extension, McpServer};
/// use serde_json::json;
///
/// #[derive(serde::Deserialize)]
/// struct Room {
///     name: String,
/// }
///
/// let rooms = Extension::new("com.example/rooms")
///     .setting("most", json!(8))
///     .method("rooms/open", |_, Room { name }| async move { Ok(json!({"opened": name})) });
/// let server = McpServer::new("house", "1.0.0").extension(rooms);
/// ```
#[derive(Clone)]
pub struct Extension {
    pub(crate) name: String,
    pub(crate) settings: Meta,
    pub(crate) mutual: bool,
    pub(crate) methods: Vec<AddedMethod>,
    pub(crate) fields: Vec<(&'static str, Arc<ListenFunction>)>,
}

#[derive(Clone)]
pub(crate) struct AddedMethod {
    pub(crate) name: Cow<'static, str>,
    /// Its result says how long it may be kept.
    pub(crate) cached: bool,
    pub(crate) function: Arc<dyn ExtensionMethod>,
}

/// Notifications of a field of `subscriptions/listen`: what the client is told that it will hear, and the messages. They
/// end with their sender.
#[derive(Debug)]
pub struct ListenField {
    /// The part of what the client has asked for that it gets.
    pub acknowledged: serde_json::Value,
    /// What it gets: methods and params. Params are objects; the subscription's id is added to their `_meta`.
    pub notifications: mpsc::Receiver<(Cow<'static, str>, RawJson<'static>)>,
}

pub(crate) type ListenFunction = dyn Fn(McpCtx, RawJson<'static>) -> Answering<ListenField> + Send + Sync;

pub(crate) type Answering<T> = Pin<Box<dyn Future<Output = McpResult<T>> + Send>>;

pub(crate) trait ExtensionMethod: Send + Sync {
    fn start(
        &self,
        ctx: McpCtx,
        params: Option<&RawJson<'_>>,
    ) -> sabir::Result<Answering<BTreeMap<String, RawJson<'static>>>>;
}

struct TypedMethod<F, P>(F, std::marker::PhantomData<fn(P)>);

impl<F, P, R, Fut> ExtensionMethod for TypedMethod<F, P>
where
    F: Fn(McpCtx, P) -> Fut + Send + Sync,
    Fut: Future<Output = McpResult<R>> + Send + 'static,
    P: DeserializeOwned + 'static,
    R: Serialize,
{
    fn start(
        &self,
        ctx: McpCtx,
        params: Option<&RawJson<'_>>,
    ) -> sabir::Result<Answering<BTreeMap<String, RawJson<'static>>>> {
        let text = match TypeId::of::<P>() == TypeId::of::<()>() {
            true => "null",
            false => params.map_or("{}", RawJson::as_str),
        };
        let params = serde_json::from_str(text).map_err(|error| unread(&error))?;
        let running = (self.0)(ctx, params);
        Ok(Box::pin(async move { Ok(members(&running.await?)?) }))
    }
}

impl Extension {
    /// An extension by its name, such as `com.example/rooms`, that adds nothing yet.
    pub fn new(name: impl Into<String>) -> Self {
        Extension {
            name: name.into(),
            settings: Meta::new(),
            mutual: false,
            methods: Vec::new(),
            fields: Vec::new(),
        }
    }

    /// Sets something that clients are told with the name.
    #[must_use]
    pub fn setting(mut self, key: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
        self.settings.insert(key.into(), value.into());
        self
    }

    /// Only for clients that declare it, too: others are refused with `-32021`, or in the legacy era told that there is
    /// no such method.
    #[must_use]
    pub fn mutual(mut self) -> Self {
        self.mutual = true;
        self
    }

    /// Adds a method. It takes a struct, or `()` if it has no params; its result is an object.
    #[must_use]
    pub fn method<F, P, R, Fut>(self, method: impl Into<Cow<'static, str>>, function: F) -> Self
    where
        F: Fn(McpCtx, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = McpResult<R>> + Send + 'static,
        P: DeserializeOwned + 'static,
        R: Serialize,
    {
        self.add(method.into(), false, function)
    }

    /// Adds a method whose result may be kept for as long as [`McpServer::cache`](crate::McpServer::cache) says.
    #[must_use]
    pub fn cached_method<F, P, R, Fut>(self, method: impl Into<Cow<'static, str>>, function: F) -> Self
    where
        F: Fn(McpCtx, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = McpResult<R>> + Send + 'static,
        P: DeserializeOwned + 'static,
        R: Serialize,
    {
        self.add(method.into(), true, function)
    }

    fn add<F, P, R, Fut>(mut self, name: Cow<'static, str>, cached: bool, function: F) -> Self
    where
        F: Fn(McpCtx, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = McpResult<R>> + Send + 'static,
        P: DeserializeOwned + 'static,
        R: Serialize,
    {
        let function = Arc::new(TypedMethod(function, std::marker::PhantomData));
        self.methods.push(AddedMethod { name, cached, function });
        self
    }

    /// Adds a field of `subscriptions/listen`: `function` is given what a client asks for in it.
    ///
    /// ```
    /// use sabir::RawJson;
    /// use sabir_mcp::{Extension, ListenField};
    ///
    /// let news = Extension::new("com.example/news").listen("topics", |_, topics| async move {
    ///     let (send, notifications) = tokio::sync::mpsc::channel(16);
    ///     let told = RawJson::from_value(&serde_json::json!({"headline": "Rain"}))?;
    ///     tokio::spawn(async move {
    ///         // Fails when the client no longer listens.
    ///         let _ = send.send(("notifications/news".into(), told)).await;
    ///     });
    ///     Ok(ListenField { acknowledged: topics.parse()?, notifications })
    /// });
    /// ```
    #[must_use]
    pub fn listen<F, Fut>(mut self, field: &'static str, function: F) -> Self
    where
        F: Fn(McpCtx, RawJson<'static>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = McpResult<ListenField>> + Send + 'static,
    {
        self.fields.push((field, Arc::new(move |ctx, asked| Box::pin(function(ctx, asked)))));
        self
    }
}

impl std::fmt::Debug for Extension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Extension").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A result of a type that an extension adds, instead of the one that the method has by itself. A function returns it as
/// a [`ToolError::Typed`](crate::ToolError::Typed).
///
/// ```
/// use sabir_mcp::{McpServer, Tool, TypedResult};
/// use serde_json::json;
///
/// let server = McpServer::new("desk", "1.0.0").tool(Tool::new("ask", "Asks"), |_, ()| async {
///     Err::<String, _>(TypedResult::new("com.example/ticket", &json!({"ticket": 7}))?.into())
/// });
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TypedResult {
    pub(crate) result_type: Cow<'static, str>,
    pub(crate) members: BTreeMap<String, RawJson<'static>>,
}

impl TypedResult {
    /// A result that is an object with these members. In the legacy era, which has no types of results, it is sent without
    /// its type.
    pub fn new(
        result_type: impl Into<Cow<'static, str>>,
        body: &impl Serialize,
    ) -> Result<Self, serde_json::Error> {
        Ok(TypedResult { result_type: result_type.into(), members: members(body)? })
    }
}

/// The members of a value that is an object.
fn members(value: &impl Serialize) -> Result<BTreeMap<String, RawJson<'static>>, serde_json::Error> {
    RawJson::from_value(value)?.parse()
}
