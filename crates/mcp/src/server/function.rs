//! The functions behind tools, resources, prompts and completions, type-erased.

use std::collections::BTreeMap;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;

use sabir::{ErrorObject, RawJson};
use serde::de::DeserializeOwned;

use super::argument_check::ArgumentCheck;
use super::ctx::McpCtx;
use super::output::{IntoContents, IntoPrompt, IntoToolResult};
use crate::error::{McpResult, shown, unfit};
use crate::headers::ParamHeader;
use crate::string_args;
use crate::template::Pattern;
use crate::types::{Contents, Prompt, PromptResult, Resource, Template, Tool, ToolResult};

type Running<T> = Pin<Box<dyn Future<Output = McpResult<T>> + Send>>;

impl ToolEntry {
    /// Checks and reads the arguments, and starts. The error says in words which argument does not fit.
    pub(crate) fn start(
        &self,
        ctx: McpCtx,
        arguments: Option<&RawJson<'_>>,
    ) -> Result<Running<ToolResult>, String> {
        self.check.run(arguments)?;
        self.function.start(ctx, arguments)
    }
}

pub(crate) struct ToolEntry {
    pub(crate) tool: Tool,
    #[cfg_attr(not(feature = "http"), allow(dead_code))]
    pub(crate) headers: Vec<ParamHeader>,
    pub(crate) check: ArgumentCheck,
    pub(crate) function: Box<dyn ToolFunction>,
}

pub(crate) trait ToolFunction: Send + Sync {
    fn start(&self, ctx: McpCtx, arguments: Option<&RawJson<'_>>) -> Result<Running<ToolResult>, String>;
}

pub(crate) struct TypedTool<F, P, R> {
    pub(crate) function: F,
    /// There are no arguments to read.
    pub(crate) nothing: bool,
    pub(crate) types: PhantomData<fn(P) -> R>,
}

impl<F, P, R, Fut> ToolFunction for TypedTool<F, P, R>
where
    F: Fn(McpCtx, P) -> Fut + Send + Sync,
    Fut: Future<Output = McpResult<R>> + Send + 'static,
    P: DeserializeOwned,
    R: IntoToolResult,
{
    fn start(&self, ctx: McpCtx, arguments: Option<&RawJson<'_>>) -> Result<Running<ToolResult>, String> {
        let (read, text) = match arguments {
            _ if self.nothing => (serde_json::from_str("null"), "null"),
            Some(arguments) => (sabir::parse(arguments), arguments.as_str()),
            None => (serde_json::from_str("{}"), "{}"),
        };
        let arguments = read.map_err(|_| misfit::<P>(text))?;
        let running = (self.function)(ctx, arguments);
        Ok(Box::pin(async move { running.await?.into_tool_result() }))
    }
}

/// Reads once more to find out where it goes wrong.
#[cold]
fn misfit<P: DeserializeOwned>(text: &str) -> String {
    let mut json = serde_json::Deserializer::from_str(text);
    match serde_path_to_error::deserialize::<_, P>(&mut json) {
        Ok(_) => "the arguments do not fit".to_owned(),
        Err(error) => {
            let path = error.path().to_string();
            let reason = sabir::error_reason(&error.into_inner());
            let text = if path == "." { reason } else { format!("{path}: {reason}") };
            shown(&text).into_owned()
        }
    }
}

pub(crate) struct ResourceEntry {
    pub(crate) resource: Resource,
    pub(crate) function: Box<dyn ReadFunction>,
}

pub(crate) struct TemplateEntry {
    pub(crate) template: Template,
    pub(crate) pattern: Pattern,
    pub(crate) function: Box<dyn ReadFunction>,
}

/// Reads a resource: `variables` are those of the template.
pub(crate) trait ReadFunction: Send + Sync {
    fn start(
        &self,
        ctx: McpCtx,
        uri: &str,
        mime_type: Option<&str>,
        variables: &BTreeMap<String, String>,
    ) -> Result<Running<Vec<Contents>>, ErrorObject>;
}

pub(crate) struct Plain<F>(pub(crate) F);

impl<F, R, Fut> ReadFunction for Plain<F>
where
    F: Fn(McpCtx) -> Fut + Send + Sync,
    Fut: Future<Output = McpResult<R>> + Send + 'static,
    R: IntoContents,
{
    fn start(
        &self,
        ctx: McpCtx,
        uri: &str,
        mime_type: Option<&str>,
        _: &BTreeMap<String, String>,
    ) -> Result<Running<Vec<Contents>>, ErrorObject> {
        Ok(contents((self.0)(ctx), uri, mime_type))
    }
}

pub(crate) struct TemplateReader<F, P> {
    pub(crate) function: F,
    pub(crate) types: PhantomData<fn(P)>,
}

impl<F, P, R, Fut> ReadFunction for TemplateReader<F, P>
where
    F: Fn(McpCtx, P) -> Fut + Send + Sync,
    Fut: Future<Output = McpResult<R>> + Send + 'static,
    P: DeserializeOwned,
    R: IntoContents,
{
    fn start(
        &self,
        ctx: McpCtx,
        uri: &str,
        mime_type: Option<&str>,
        variables: &BTreeMap<String, String>,
    ) -> Result<Running<Vec<Contents>>, ErrorObject> {
        let variables = string_args::read(variables).map_err(unfit)?;
        Ok(contents((self.function)(ctx, variables), uri, mime_type))
    }
}

/// What a function returns, as the contents of a resource.
fn contents<R: IntoContents>(
    running: impl Future<Output = McpResult<R>> + Send + 'static,
    uri: &str,
    mime_type: Option<&str>,
) -> Running<Vec<Contents>> {
    let (uri, mime_type) = (uri.to_owned(), mime_type.map(str::to_owned));
    Box::pin(async move { running.await?.into_contents(&uri, mime_type.as_deref()) })
}

pub(crate) struct PromptEntry {
    pub(crate) prompt: Prompt,
    pub(crate) function: Box<dyn PromptFunction>,
}

pub(crate) trait PromptFunction: Send + Sync {
    fn start(
        &self,
        ctx: McpCtx,
        arguments: &BTreeMap<String, String>,
    ) -> Result<Running<PromptResult>, ErrorObject>;
}

pub(crate) struct TypedPrompt<F, P> {
    pub(crate) function: F,
    pub(crate) types: PhantomData<fn(P)>,
}

impl<F, P, R, Fut> PromptFunction for TypedPrompt<F, P>
where
    F: Fn(McpCtx, P) -> Fut + Send + Sync,
    Fut: Future<Output = McpResult<R>> + Send + 'static,
    P: DeserializeOwned,
    R: IntoPrompt,
{
    fn start(
        &self,
        ctx: McpCtx,
        arguments: &BTreeMap<String, String>,
    ) -> Result<Running<PromptResult>, ErrorObject> {
        let running = (self.function)(ctx, string_args::read(arguments).map_err(unfit)?);
        Ok(Box::pin(async move { Ok(running.await?.into_prompt()) }))
    }
}

/// An argument that somebody is filling in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Partial {
    /// What is there so far.
    pub value: String,
    /// The other arguments that are filled in already. From 2025-06-18 on.
    pub others: BTreeMap<String, String>,
}

pub(crate) trait CompleteFunction: Send + Sync {
    fn start(&self, ctx: McpCtx, partial: Partial) -> Running<Vec<String>>;
}

impl<F, Fut> CompleteFunction for F
where
    F: Fn(McpCtx, Partial) -> Fut + Send + Sync,
    Fut: Future<Output = McpResult<Vec<String>>> + Send + 'static,
{
    fn start(&self, ctx: McpCtx, partial: Partial) -> Running<Vec<String>> {
        Box::pin(self(ctx, partial))
    }
}
