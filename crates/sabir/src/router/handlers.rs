//! Type-erased handlers: one kind for each `method…` function of the router.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::handler::ctx::Ctx;
use crate::handler::task::{self, Awaiting, BoxTask, Immediate};
use crate::router::params;
use crate::{RawJson, Result};

pub(crate) type RawFuture = Pin<Box<dyn Future<Output = Result<RawJson<'static>>> + Send>>;

/// A type-erased handler.
pub(crate) trait Handler: Send + Sync {
    /// A task that runs the handler and writes its result straight into the output, for one call after the
    /// other.
    fn task(&self) -> BoxTask;

    /// The same for layers, which need the result as a value.
    fn call(&self, ctx: Ctx, method: &str, params: Option<&RawJson<'_>>) -> Result<RawFuture>;
}

pub(super) struct Typed<F, P, R> {
    pub(super) function: Arc<F>,
    pub(super) types: PhantomData<fn(P) -> R>,
}

impl<F, P, R, Fut> Handler for Typed<F, P, R>
where
    F: Fn(Ctx, P) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R>> + Send + 'static,
    P: DeserializeOwned + 'static,
    R: Serialize + 'static,
{
    fn task(&self) -> BoxTask {
        let function = Arc::clone(&self.function);
        let begin = move |ctx: Ctx, _: &str, raw: Option<&RawJson<'_>>| {
            let params = params::read(raw, ctx.meta.is_some())?;
            Ok(function(ctx, params))
        };
        Awaiting::boxed(begin, task::typed())
    }

    fn call(&self, ctx: Ctx, _: &str, params: Option<&RawJson<'_>>) -> Result<RawFuture> {
        let params = params::read(params, ctx.meta.is_some())?;
        let future = (self.function)(ctx, params);
        Ok(Box::pin(async move { Ok(RawJson::from_value(&future.await?)?) }))
    }
}

pub(super) struct SyncFn<F, P, R> {
    pub(super) function: Arc<F>,
    pub(super) types: PhantomData<fn(P) -> R>,
}

impl<F, P, R> Handler for SyncFn<F, P, R>
where
    F: Fn(Ctx, P) -> Result<R> + Send + Sync + 'static,
    P: DeserializeOwned + 'static,
    R: Serialize + Send + 'static,
{
    fn task(&self) -> BoxTask {
        let function = Arc::clone(&self.function);
        let run = move |ctx: Ctx, raw: Option<&RawJson<'_>>| {
            let params = params::read(raw, ctx.meta.is_some())?;
            function(ctx, params)
        };
        Immediate::boxed(run, task::typed())
    }

    fn call(&self, ctx: Ctx, _: &str, params: Option<&RawJson<'_>>) -> Result<RawFuture> {
        let params = params::read(params, ctx.meta.is_some())?;
        let result = (self.function)(ctx, params)?;
        Ok(Box::pin(std::future::ready(Ok(RawJson::from_value(&result)?))))
    }
}

pub(crate) struct Raw<F>(pub(crate) Arc<F>);

impl<F, Fut> Handler for Raw<F>
where
    F: Fn(Ctx, Option<RawJson<'static>>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<RawJson<'static>>> + Send + 'static,
{
    fn task(&self) -> BoxTask {
        let function = Arc::clone(&self.0);
        let begin = move |ctx, _: &str, raw: Option<&RawJson<'_>>| Ok(function(ctx, raw.map(owned)));
        Awaiting::boxed(begin, task::raw())
    }

    fn call(&self, ctx: Ctx, _: &str, params: Option<&RawJson<'_>>) -> Result<RawFuture> {
        Ok(Box::pin((self.0)(ctx, params.map(owned))))
    }
}

pub(super) struct Borrowed<F>(pub(super) Arc<F>);

impl<F, Fut, R> Handler for Borrowed<F>
where
    F: Fn(Ctx, Option<&RawJson<'_>>) -> Result<Fut> + Send + Sync + 'static,
    Fut: Future<Output = Result<R>> + Send + 'static,
    R: Serialize + 'static,
{
    fn task(&self) -> BoxTask {
        let function = Arc::clone(&self.0);
        let begin = move |ctx, _: &str, raw: Option<&RawJson<'_>>| function(ctx, raw);
        Awaiting::boxed(begin, task::typed())
    }

    fn call(&self, ctx: Ctx, _: &str, params: Option<&RawJson<'_>>) -> Result<RawFuture> {
        let future = (self.0)(ctx, params)?;
        Ok(Box::pin(async move { Ok(RawJson::from_value(&future.await?)?) }))
    }
}

pub(super) struct Fallback<F>(pub(super) Arc<F>);

impl<F, Fut> Handler for Fallback<F>
where
    F: Fn(Ctx, String, Option<RawJson<'static>>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<RawJson<'static>>> + Send + 'static,
{
    fn task(&self) -> BoxTask {
        let function = Arc::clone(&self.0);
        let begin = move |ctx, method: &str, raw: Option<&RawJson<'_>>| {
            Ok(function(ctx, method.to_owned(), raw.map(owned)))
        };
        Awaiting::boxed(begin, task::raw())
    }

    fn call(&self, ctx: Ctx, method: &str, params: Option<&RawJson<'_>>) -> Result<RawFuture> {
        Ok(Box::pin((self.0)(ctx, method.to_owned(), params.map(owned))))
    }
}

pub(crate) fn owned(params: &RawJson<'_>) -> RawJson<'static> {
    params.clone().into_owned()
}
