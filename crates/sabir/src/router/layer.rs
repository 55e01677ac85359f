//! Layers around handlers, and the order in which a call passes them.

use std::future::Future;
use std::sync::Arc;

use crate::handler::ctx::Ctx;
use crate::handler::task::{self, Awaiting, BoxTask};
use crate::router::handlers::{Handler, RawFuture, owned};
use crate::{ErrorCode, ErrorObject, RawJson, Result};

/// What wraps a call.
pub(super) trait Layer: Send + Sync {
    fn wrap(&self, ctx: Ctx, next: Next) -> RawFuture;
}

/// A layer that is a function.
pub(super) struct LayerFn<F>(pub(super) F);

impl<F, Fut> Layer for LayerFn<F>
where
    F: Fn(Ctx, Next) -> Fut + Send + Sync,
    Fut: Future<Output = Result<RawJson<'static>>> + Send + 'static,
{
    fn wrap(&self, ctx: Ctx, next: Next) -> RawFuture {
        Box::pin((self.0)(ctx, next))
    }
}

/// The layers of the whole router, and whatever takes the call behind them. It also takes calls of methods that
/// do not exist.
pub(super) struct Layered;

/// A handler with layers of its own: those of the router that it was added to before that was merged.
#[derive(Clone)]
pub(super) struct Wrapped(Arc<Stack>);

struct Stack {
    /// The outermost first.
    layers: Vec<Arc<dyn Layer>>,
    handler: Arc<dyn Handler>,
}

impl Wrapped {
    pub(super) fn new(layers: Vec<Arc<dyn Layer>>, handler: Arc<dyn Handler>) -> Self {
        Wrapped(Arc::new(Stack { layers, handler }))
    }
}

impl Handler for Layered {
    fn task(&self) -> BoxTask {
        Awaiting::boxed(|ctx, method: &str, raw| Ok(Next::new(ctx, method, raw, None).run()), task::raw())
    }

    fn call(&self, ctx: Ctx, method: &str, params: Option<&RawJson<'_>>) -> Result<RawFuture> {
        Ok(Box::pin(Next::new(ctx, method, params, None).run()))
    }
}

impl Handler for Wrapped {
    fn task(&self) -> BoxTask {
        let stack = Arc::clone(&self.0);
        let begin = move |ctx, method: &str, raw: Option<&RawJson<'_>>| {
            Ok(Next::new(ctx, method, raw, Some(Arc::clone(&stack))).run())
        };
        Awaiting::boxed(begin, task::raw())
    }

    fn call(&self, ctx: Ctx, method: &str, params: Option<&RawJson<'_>>) -> Result<RawFuture> {
        Ok(Box::pin(Next::new(ctx, method, params, Some(Arc::clone(&self.0))).run()))
    }
}

/// The rest of the layers and the handler, as a layer sees them.
pub struct Next {
    ctx: Ctx,
    method: String,
    params: Option<RawJson<'static>>,
    /// The layers of a merged router; `None` for those of the whole router.
    stack: Option<Arc<Stack>>,
    /// How many layers it has passed.
    passed: usize,
}

impl Next {
    fn new(ctx: Ctx, method: &str, params: Option<&RawJson<'_>>, stack: Option<Arc<Stack>>) -> Self {
        Next { ctx, method: method.to_owned(), params: params.map(owned), stack, passed: 0 }
    }

    /// The method that is called, with the prefixes of all routers that it is [nested](crate::Router::nest) in.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Its params.
    pub fn params(&self) -> Option<&RawJson<'static>> {
        self.params.as_ref()
    }

    /// Whether the router has a handler for this method by its name. A fallback may still take it.
    pub fn is_known(&self) -> bool {
        self.ctx.peer.shared.routes.knows(&self.method)
    }

    /// Goes on to the next layer, or to the handler.
    pub async fn run(mut self) -> Result<RawJson<'static>> {
        let routes = Arc::clone(&self.ctx.peer.shared.routes);
        let stack = self.stack.clone();
        let layers = stack.as_deref().map_or(&routes.layers, |stack| &stack.layers);
        if let Some(layer) = layers.get(self.passed) {
            self.passed += 1;
            return layer.wrap(self.ctx.clone(), self).await;
        }
        let handler = match &stack {
            Some(stack) => Some(&stack.handler),
            None => routes.handler(&self.method).map(|route| &route.handler),
        };
        match handler {
            Some(handler) => handler.call(self.ctx, &self.method, self.params.as_ref())?.await,
            None => Err(ErrorObject::standard(ErrorCode::METHOD_NOT_FOUND)),
        }
    }
}

impl std::fmt::Debug for Next {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Next").field("method", &self.method).finish_non_exhaustive()
    }
}
