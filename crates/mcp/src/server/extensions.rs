//! Extensions of a server: how they become capabilities, methods and checks of who may use them.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use sabir::{RawJson, Router};

use super::request_context::{Eras, request_context};
use super::response::{Answer, ResponseBuilder};
use super::session::Caller;
use super::{Core, McpCtx, McpServer};
use crate::error::{McpResult, not_found};
use crate::extensions::{AddedMethod, Extension, SkillEntry};
use crate::types::{ClientCapabilities, Meta};

impl McpServer {
    /// Offers an extension: it is declared in `capabilities.extensions`, and what it adds is served.
    ///
    /// # Panics
    /// When the server is served, if a method of it exists already.
    #[must_use]
    pub fn extension(mut self, extension: Extension) -> Self {
        self.settings.extensions.push(extension);
        self
    }

    pub(crate) fn add_skill_entry(&mut self, skill: SkillEntry) {
        self.settings.skills.push(skill);
    }
}

impl McpCtx {
    pub(crate) fn page_size(&self) -> usize {
        self.core.settings.page_size
    }

    /// The settings with which the client declares an extension. `None` if it does not.
    pub fn extension(&self, name: &str) -> Option<Meta> {
        let mut declared = self.client().extensions?;
        match declared.remove(name)? {
            serde_json::Value::Object(settings) => Some(settings),
            _ => None,
        }
    }

    /// Fails if the client does not declare an extension: see [`require`](Self::require).
    pub fn require_extension(&self, name: &str) -> McpResult<()> {
        let extensions = Meta::from_iter([(name.to_owned(), Meta::new().into())]);
        self.require(&ClientCapabilities { extensions: Some(extensions), ..ClientCapabilities::default() })
    }
}

/// What is declared of the extensions, if there are any.
pub(super) fn declared<'e>(extensions: impl IntoIterator<Item = &'e Extension>) -> Option<Meta> {
    let declared = extensions
        .into_iter()
        .map(|extension| (extension.name.clone(), serde_json::Value::Object(extension.settings.clone())));
    Some(Meta::from_iter(declared)).filter(|declared| !declared.is_empty())
}

/// Adds the methods of all extensions.
pub(super) fn add_methods(mut router: Router, core: &Arc<Core>) -> Router {
    for extension in &core.settings.extensions {
        let mutual = extension.mutual.then(|| Arc::<str>::from(extension.name.as_str()));
        for method in &extension.methods {
            let (core, method, mutual) = (Arc::clone(core), method.clone(), mutual.clone());
            router = router.method_borrowed(method.name.clone(), move |rpc, params: Option<&RawJson<'_>>| {
                let params = params.map(RawJson::as_borrowed);
                let ctx = request_context(&core, rpc, &method.name, Eras::Both, params.as_ref())?;
                call(ctx, mutual.as_deref(), &method, params.as_ref())
            });
        }
    }
    router
}

fn call(
    ctx: McpCtx,
    mutual: Option<&str>,
    method: &AddedMethod,
    params: Option<&RawJson<'_>>,
) -> sabir::Result<
    impl Future<Output = sabir::Result<Answer<BTreeMap<String, RawJson<'static>>>>> + Send + use<>,
> {
    if let Some(name) = mutual {
        declared_by_client(&ctx, name)?;
    }
    let end = ResponseBuilder::of(&ctx);
    let (running, cached) = (method.function.start(ctx, params)?, method.cached);
    Ok(async move {
        match running.await {
            Ok(body) => Ok(end.answer(body, None, cached)),
            Err(failure) => end.fail(failure),
        }
    })
}

/// Refuses a client that does not declare an extension.
pub(super) fn declared_by_client(ctx: &McpCtx, name: &str) -> sabir::Result<()> {
    match (&ctx.caller, ctx.require_extension(name)) {
        (_, Ok(())) => Ok(()),
        (Caller::Legacy(..), Err(_)) => Err(not_found()),
        (Caller::Modern(_), Err(failure)) => Err(failure.into_error()),
    }
}
