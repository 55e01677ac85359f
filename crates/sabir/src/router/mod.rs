//! Methods by name, and the handlers behind them.

pub(crate) mod method;
pub(crate) mod observe;
pub(crate) mod params;
#[cfg(feature = "tracing")]
mod spans;

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::collections::HashMap;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use foldhash::fast::FixedState;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::handler::ctx::Ctx;
use crate::handler::task::{self, Awaiting, BoxTask, Immediate};
use crate::handler::thread_pool::Pool;
use crate::router::method::MethodName;
use crate::router::observe::{Observed, Observer};
use crate::runtime::driving;
use crate::{ErrorCode, ErrorObject, RawJson, Result};

/// The methods that one side offers.
///
/// A handler is a function of the call's [`Ctx`] and its params that returns a future of
/// [`Result`](crate::Result): an `async fn` or a closure.
///
/// ```
/// use sabir::{Ctx, Router};
///
/// #[derive(serde::Deserialize)]
/// struct Greet {
///     name: String,
/// }
///
/// async fn greet(_: Ctx, p: Greet) -> sabir::Result<String> {
///     Ok(format!("hello, {}", p.name))
/// }
///
/// let router = Router::new()
///     .method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) })
///     .method("greet", greet);
/// ```
///
/// - Params are taken by name or by position into the same struct, by position into a tuple or a list. What
///   does not fit is answered `-32602` with the reason and the path to the member.
/// - `_meta` is no argument: [`Ctx::meta`] has it, and a type sees it only if it is a struct with a member of
///   this name. [`raw`](Router::raw) and [`reading`](Router::reading) handlers, fallbacks and layers see the params
///   as they came.
/// - Any error that `?` meets is answered `-32603` with its text and, as `data.exception`, its type. An
///   [`ErrorObject`] is answered as it is.
/// - A panic is answered `-32603` and shows nothing of the inside; the connection lives.
/// - A notification runs the same handler; whatever it returns is dropped. One that fails is a
///   [`Report`](crate::Report), for the transport's `on_report` and for [`observe`](Router::observe).
#[derive(Clone, Default)]
pub struct Router {
    pub(crate) routes: Routes,
    #[cfg(feature = "schema")]
    pub(crate) docs: crate::schema::discover::MethodDocs,
}

#[derive(Clone, Default)]
pub(crate) struct Routes {
    /// The names are our own, so a plain fast hash will do.
    pub(crate) handlers: HashMap<Cow<'static, str>, Route, FixedState>,
    fallback: Option<Route>,
    layers: Vec<Arc<dyn Layer>>,
    /// Takes all calls once there are layers.
    layered: Option<Route>,
    /// How many routes there are.
    count: usize,
    state: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    observers: Vec<Observer>,
    /// Where handlers run that take their time.
    pub(crate) threads: Arc<Pool>,
}

/// Where a call goes.
#[derive(Clone)]
pub(crate) struct Route {
    /// A small number that no other route has.
    pub(crate) index: usize,
    pub(crate) handler: Arc<dyn Handler>,
}

pub(crate) type RawFuture = Pin<Box<dyn Future<Output = Result<RawJson<'static>>> + Send>>;

/// A handler with its types forgotten.
pub(crate) trait Handler: Send + Sync {
    /// A task that runs the handler and writes its result straight into the output, for one call after the
    /// other.
    fn task(&self) -> BoxTask;

    /// The same for middleware, which wants the result in its hands.
    fn call(&self, ctx: Ctx, method: &str, params: Option<&RawJson<'_>>) -> Result<RawFuture>;
}

trait Layer: Send + Sync {
    fn wrap(&self, ctx: Ctx, next: Next) -> RawFuture;
}

struct Typed<F, P, R> {
    function: Arc<F>,
    types: PhantomData<fn(P) -> R>,
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

struct Plain<F, P, R> {
    function: Arc<F>,
    types: PhantomData<fn(P) -> R>,
}

impl<F, P, R> Handler for Plain<F, P, R>
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

struct Reading<F>(Arc<F>);

impl<F, Fut, R> Handler for Reading<F>
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

struct Fallback<F>(Arc<F>);

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

/// All the layers, and the handler behind them.
struct Layered;

impl Handler for Layered {
    fn task(&self) -> BoxTask {
        let begin = |ctx, method: &str, raw: Option<&RawJson<'_>>| {
            Ok(Next { method: method.to_owned(), params: raw.map(owned), ctx, layer: 0 }.run())
        };
        Awaiting::boxed(begin, task::raw())
    }

    fn call(&self, ctx: Ctx, method: &str, params: Option<&RawJson<'_>>) -> Result<RawFuture> {
        Ok(Box::pin(Next { method: method.to_owned(), params: params.map(owned), ctx, layer: 0 }.run()))
    }
}

fn owned(params: &RawJson<'_>) -> RawJson<'static> {
    params.clone().into_owned()
}

impl Router {
    /// No methods yet.
    pub fn new() -> Self {
        Router::default()
    }

    /// Adds a method, or replaces it.
    ///
    /// # Panics
    /// For names that begin with `rpc.`, which the specification reserves.
    #[must_use]
    pub fn method<M, F, P, R, Fut>(self, method: M, handler: F) -> Self
    where
        M: MethodName<P, R>,
        F: Fn(Ctx, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R>> + Send + 'static,
        P: DeserializeOwned + 'static,
        R: Serialize + 'static,
    {
        self.add_named(method, Typed { function: Arc::new(handler), types: PhantomData })
    }

    /// Adds a method whose handler is a plain function. It runs where the connection runs, so it should not
    /// take long.
    ///
    /// ```
    /// let router = sabir::Router::new().function("add", |_, (a, b): (i64, i64)| Ok(a + b));
    /// ```
    #[must_use]
    pub fn function<M, F, P, R>(self, method: M, handler: F) -> Self
    where
        M: MethodName<P, R>,
        F: Fn(Ctx, P) -> Result<R> + Send + Sync + 'static,
        P: DeserializeOwned + 'static,
        R: Serialize + Send + 'static,
    {
        self.add_named(method, Plain { function: Arc::new(handler), types: PhantomData })
    }

    /// Adds a method whose handler is a plain function that takes its time: calls run on the router's threads,
    /// beside the connection.
    ///
    /// There are up to 64 threads for all connections of the router together, or as many as
    /// [`threads`](Router::threads) says; they are started when they are needed, and end when they have had
    /// nothing to do for a while. When all are at work, further calls wait for one, in the order in which they
    /// came. A call that waits counts against its connection's [`Limits`](crate::Limits), and is forgotten when it is cancelled;
    /// one that runs goes on to its end even then. A handler that calls back and waits for the answer holds
    /// its thread meanwhile.
    ///
    /// ```
    /// let router = sabir::Router::new().threads(4).threaded("hash", |_, text: String| {
    ///     Ok(text.bytes().fold(0u64, |hash, byte| hash.wrapping_mul(31) + u64::from(byte)))
    /// });
    /// ```
    #[must_use]
    pub fn threaded<M, F, P, R>(self, method: M, handler: F) -> Self
    where
        M: MethodName<P, R>,
        F: Fn(Ctx, P) -> Result<R> + Send + Sync + 'static,
        P: DeserializeOwned + Send + 'static,
        R: Serialize + Send + 'static,
    {
        let handler = Arc::new(handler);
        self.method(method, move |ctx, params| {
            let handler = Arc::clone(&handler);
            async move {
                let shared = Arc::clone(&ctx.peer.shared);
                let run = move || {
                    let _handled = driving::handle(&ctx.peer.shared);
                    handler(ctx.clone(), params)
                };
                // A handler that panicked says nothing.
                let outcome = shared.routes.threads.run(run)?.await;
                outcome.unwrap_or_else(|| Err(ErrorObject::standard(ErrorCode::INTERNAL_ERROR)))
            }
        })
    }

    /// Sets how many threads [`threaded`](Router::threaded) handlers may have at once, for all connections
    /// of the router together: at least one. 64.
    #[must_use]
    pub fn threads(mut self, most: usize) -> Self {
        self.routes.threads = Arc::new(Pool::new(most));
        self
    }

    /// Adds a method that takes its params and gives its result as JSON text: for those who forward.
    #[must_use]
    pub fn raw<F, Fut>(self, method: impl Into<Cow<'static, str>>, handler: F) -> Self
    where
        F: Fn(Ctx, Option<RawJson<'static>>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<RawJson<'static>>> + Send + 'static,
    {
        self.add(method.into(), Raw(Arc::new(handler)))
    }

    /// Adds a method that reads its params itself, while they still lie in the message, and then starts: for
    /// protocols built on this one, whose params say which type they are to be read into. Nothing is copied.
    ///
    /// ```
    /// use sabir::{RawJson, Router};
    ///
    /// let router = Router::new().reading("length", |_, params: Option<&RawJson<'_>>| {
    ///     let length = params.map_or(0, |params| params.as_str().len());
    ///     Ok(async move { Ok(length) })
    /// });
    /// ```
    #[must_use]
    pub fn reading<F, Fut, R>(self, method: impl Into<Cow<'static, str>>, handler: F) -> Self
    where
        F: Fn(Ctx, Option<&RawJson<'_>>) -> Result<Fut> + Send + Sync + 'static,
        Fut: Future<Output = Result<R>> + Send + 'static,
        R: Serialize + 'static,
    {
        self.add(method.into(), Reading(Arc::new(handler)))
    }

    /// Adds a method with all that is said of it beside its name.
    fn add_named<P, R>(self, method: impl MethodName<P, R>, handler: impl Handler + 'static) -> Self
    where
        P: DeserializeOwned,
    {
        #[cfg(not(feature = "schema"))]
        return self.add(method.into_name(), handler);
        #[cfg(feature = "schema")]
        match method.into_description() {
            (name, Some(description)) => {
                let description = description.by_name(params::only_by_name::<P>());
                self.add(name, handler).describe(description)
            }
            (name, None) => self.add(name, handler),
        }
    }

    fn add(mut self, name: Cow<'static, str>, handler: impl Handler + 'static) -> Self {
        assert!(!name.starts_with("rpc."), "method names that begin with `rpc.` are reserved: `{name}`");
        #[cfg(feature = "schema")]
        self.docs.forget(&name);
        let route = self.route(handler);
        self.routes.handlers.insert(name, route);
        self
    }

    pub(crate) fn route(&mut self, handler: impl Handler + 'static) -> Route {
        self.routes.count += 1;
        Route { index: self.routes.count - 1, handler: Arc::new(handler) }
    }

    /// Handles every method that has no handler of its own.
    #[must_use]
    pub fn fallback<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(Ctx, String, Option<RawJson<'static>>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<RawJson<'static>>> + Send + 'static,
    {
        self.routes.fallback = Some(self.route(Fallback(Arc::new(handler))));
        self
    }

    /// Wraps every call, inside batches and outside: for timing, logging, permissions. The first layer that
    /// is added is the outermost.
    ///
    /// ```
    /// use sabir::{Ctx, ErrorObject, Next, Router};
    ///
    /// let router = Router::new()
    ///     .method("secret", |_, ()| async { Ok(42) })
    ///     .layer(|_: Ctx, next: Next| async move {
    ///         if next.method() == "secret" {
    ///             return Err(ErrorObject::new(403, "not for you"));
    ///         }
    ///         next.run().await
    ///     });
    /// ```
    #[must_use]
    pub fn layer<F, Fut>(mut self, layer: F) -> Self
    where
        F: Fn(Ctx, Next) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<RawJson<'static>>> + Send + 'static,
    {
        struct Function<F>(F);
        impl<F, Fut> Layer for Function<F>
        where
            F: Fn(Ctx, Next) -> Fut + Send + Sync,
            Fut: Future<Output = Result<RawJson<'static>>> + Send + 'static,
        {
            fn wrap(&self, ctx: Ctx, next: Next) -> RawFuture {
                Box::pin((self.0)(ctx, next))
            }
        }
        self.routes.layers.push(Arc::new(Function(layer)));
        self.routes.layered = Some(self.route(Layered));
        self
    }

    /// Makes the layer that was added last the outermost, whatever is added before or after it.
    #[cfg(feature = "tracing")]
    pub(crate) fn outermost(mut self) -> Self {
        self.routes.layers.rotate_right(1);
        self
    }

    /// Gives all handlers a value to share, by [`Ctx::state`]. One of each type.
    #[must_use]
    pub fn state<T: Any + Send + Sync>(mut self, state: T) -> Self {
        self.routes.state.insert(TypeId::of::<T>(), Arc::new(state));
        self
    }

    pub(crate) fn add_observer(mut self, observer: Observer) -> Self {
        self.routes.observers.push(observer);
        self
    }

    /// The names of the methods, in order.
    pub fn methods(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.routes.handlers.keys().map(AsRef::as_ref).collect();
        names.sort_unstable();
        names
    }

    pub(crate) fn into_routes(self) -> Arc<Routes> {
        #[cfg(feature = "schema")]
        return Arc::new(self.published());
        #[cfg(not(feature = "schema"))]
        Arc::new(self.routes)
    }
}

impl std::fmt::Debug for Router {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Router").field("methods", &self.methods()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Routes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Routes").field("methods", &self.handlers.keys()).finish_non_exhaustive()
    }
}

impl Routes {
    pub(crate) fn state<T: Any>(&self) -> Option<&T> {
        self.state.get(&TypeId::of::<T>())?.downcast_ref()
    }

    /// Where calls of a method go.
    #[inline]
    pub(crate) fn route(&self, method: &str) -> Option<&Route> {
        self.layered.as_ref().or_else(|| self.handler(method))
    }

    #[inline]
    fn handler(&self, method: &str) -> Option<&Route> {
        self.handlers.get(method).or(self.fallback.as_ref())
    }

    /// Tells whoever wants to know.
    #[inline]
    pub(crate) fn tell(&self, event: &Observed<'_>) {
        for observer in &self.observers {
            observer(event);
        }
    }

    pub(crate) fn is_observed(&self) -> bool {
        !self.observers.is_empty()
    }

    pub(crate) fn knows(&self, method: &str) -> bool {
        self.handlers.contains_key(method)
    }
}

impl Route {
    pub(crate) fn task(&self) -> BoxTask {
        self.handler.task()
    }
}

/// The rest of the way to a handler, as a layer sees it.
pub struct Next {
    ctx: Ctx,
    method: String,
    params: Option<RawJson<'static>>,
    layer: usize,
}

impl Next {
    /// The method that is called.
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
        if let Some(layer) = routes.layers.get(self.layer) {
            self.layer += 1;
            return layer.wrap(self.ctx.clone(), self).await;
        }
        match routes.handler(&self.method) {
            Some(route) => route.handler.call(self.ctx, &self.method, self.params.as_ref())?.await,
            None => Err(ErrorObject::standard(ErrorCode::METHOD_NOT_FOUND)),
        }
    }
}

impl std::fmt::Debug for Next {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Next").field("method", &self.method).finish_non_exhaustive()
    }
}
