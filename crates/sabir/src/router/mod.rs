//! Methods by name, and the handlers behind them.

pub(crate) mod call;
#[cfg(feature = "tracing")]
pub(crate) mod client_spans;
pub(crate) mod handlers;
pub(crate) mod layer;
pub(crate) mod method;
pub(crate) mod observe;
pub(crate) mod params;
#[cfg(feature = "tracing")]
pub(crate) mod propagate;
pub(crate) mod routes;
#[cfg(feature = "tracing")]
pub(crate) mod spans;
pub(crate) mod subscription;

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::handler::ctx::Ctx;
use crate::handler::thread_pool::Pool;
use crate::router::handlers::{Borrowed, Fallback, Handler, Raw, SyncFn, Typed};
use crate::router::layer::{LayerFn, Layered, Next};
use crate::router::method::MethodName;
use crate::router::observe::Observer;
use crate::router::routes::Route;
use crate::runtime::driving;
use crate::{ErrorCode, ErrorObject, RawJson, Result};
pub(crate) use routes::Routes;

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
/// | the handler | is added by |
/// |---|---|
/// | an `async` function | [`method`](Router::method) |
/// | a function that returns quickly | [`method_sync`](Router::method_sync) |
/// | a function that computes or waits for long | [`method_blocking`](Router::method_blocking) |
/// | an `async` function that computes much | [`method_spawned`](Router::method_spawned), or [`spawned`](Router::spawned) for a whole router |
/// | an `async` function of JSON text | [`method_raw`](Router::method_raw) |
/// | a function that reads the params in place | [`method_borrowed`](Router::method_borrowed) |
///
/// Routers are put together by [`merge`](Router::merge) and [`nest`](Router::nest).
///
/// - Params are taken by name or by position into the same struct, by position into a tuple or a list. What
///   does not fit is answered `-32602` with the reason and the path to the member.
/// - `_meta` is not an argument: [`Ctx::meta`] has it, and a type sees it only if it is a struct with a member of
///   this name. Handlers of [`method_raw`](Router::method_raw) and
///   [`method_borrowed`](Router::method_borrowed), fallbacks and layers see the params as they came.
/// - Any error that `?` meets is answered `-32603` with its text: those of any type, `anyhow::Error` and its like,
///   `Box<dyn Error + Send + Sync>`, texts. An [`ErrorObject`] is answered as it is. What the caller should not read
///   must not be in the text; the type of the error is sent only after
///   [`expose_exceptions`](Router::expose_exceptions).
/// - A panic is answered `-32603` without details, and the connection continues.
/// - A notification runs the same handler; whatever it returns is dropped. One that fails is a
///   [`Report`](crate::Report), for the transport's `on_report` and for [`observe`](Router::observe).
#[derive(Clone, Default)]
pub struct Router {
    pub(crate) routes: Routes,
    #[cfg(feature = "schema")]
    pub(crate) docs: crate::schema::discover::MethodDocs,
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
    /// let router = sabir::Router::new().method_sync("add", |_, (a, b): (i64, i64)| Ok(a + b));
    /// ```
    #[must_use]
    pub fn method_sync<M, F, P, R>(self, method: M, handler: F) -> Self
    where
        M: MethodName<P, R>,
        F: Fn(Ctx, P) -> Result<R> + Send + Sync + 'static,
        P: DeserializeOwned + 'static,
        R: Serialize + Send + 'static,
    {
        self.add_named(method, SyncFn { function: Arc::new(handler), types: PhantomData })
    }

    /// Adds a method whose handler is a plain function that computes or waits for long: calls run on the router's
    /// threads, beside the connection.
    ///
    /// There are up to 64 threads for all connections of the router together, or as many as
    /// [`max_blocking_threads`](Router::max_blocking_threads) says; they are started when they are needed, and end when they have had
    /// nothing to do for a while. When all are at work, further calls wait for one, in the order in which they
    /// came. A call that waits counts against its connection's [`Limits`](crate::Limits), and is forgotten when it is cancelled;
    /// one that runs goes on to its end even then. A handler that calls back and waits for the answer holds
    /// its thread meanwhile.
    ///
    /// ```
    /// let router = sabir::Router::new().max_blocking_threads(4).method_blocking("hash", |_, text: String| {
    ///     Ok(text.bytes().fold(0u64, |hash, byte| hash.wrapping_mul(31) + u64::from(byte)))
    /// });
    /// ```
    #[must_use]
    pub fn method_blocking<M, F, P, R>(self, method: M, handler: F) -> Self
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

    /// Adds a method whose calls run as tasks of the runtime, beside the connection and each other: for `async`
    /// handlers that compute so much that others would wait. What [`spawned`](Router::spawned) says of all methods of
    /// a router holds for this one.
    ///
    /// ```
    /// let router = sabir::Router::new().method_spawned("sum", |_, numbers: Vec<f64>| async move {
    ///     Ok(numbers.iter().sum::<f64>())
    /// });
    /// ```
    #[must_use]
    pub fn method_spawned<M, F, P, R, Fut>(self, method: M, handler: F) -> Self
    where
        M: MethodName<P, R>,
        F: Fn(Ctx, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R>> + Send + 'static,
        P: DeserializeOwned + 'static,
        R: Serialize + 'static,
    {
        let index = self.routes.count;
        let mut router = self.method(method, handler);
        if let Some(route) = router.routes.handlers.values_mut().find(|route| route.index == index) {
            route.spawned = true;
        }
        router
    }

    /// Runs all handlers of this router as tasks of the runtime, beside their connection and each other, so that calls
    /// of one connection use several cores. Without it they share the task of their connection, which is faster for
    /// everything that computes little. A group of methods is a router of its own:
    ///
    /// ```
    /// use sabir::{Ctx, Router};
    ///
    /// async fn render(_: Ctx, pixels: Vec<u8>) -> sabir::Result<u64> {
    ///     Ok(pixels.iter().map(|&pixel| u64::from(pixel)).sum())
    /// }
    ///
    /// let heavy = Router::new().method("render", render).spawned();
    /// let router = Router::new().method("ping", |_, ()| async { Ok("pong") }).merge(heavy);
    /// ```
    ///
    /// - It does not matter whether a method was added before or after. [Layers](Router::layer) and checks of params
    ///   run in the connection's task; params are read and results are written as JSON in the handler's.
    /// - Requests are started in the order in which they came, and run in any. A notification's handler still
    ///   finishes before the handler of the next message starts, so state that notifications change stays in order: a
    ///   notification that is not to hold up others spawns its own work, since nobody waits for its answer.
    /// - What a handler sends before it returns goes out before its answer, as always. That a handler has the answer to
    ///   a call of its own before the next message is handled is not promised here.
    /// - A call that is cancelled, or whose connection has ended, is stopped at its next `await`, unless it has called
    ///   [`Ctx::cancelled`]. A panic is answered `-32603`. Each call counts against its connection's
    ///   [`Limits`](crate::Limits) until it is answered.
    /// - On a runtime with one thread the handlers take turns. Without a runtime, under [`blocking`](crate::blocking),
    ///   they run on the threads of [`method_blocking`](Router::method_blocking).
    #[must_use]
    pub fn spawned(mut self) -> Self {
        self.routes.spawned = true;
        self
    }

    /// Sets how many threads handlers of [`method_blocking`](Router::method_blocking) may have at once, for all
    /// connections of the router together: at least one. 64.
    #[must_use]
    pub fn max_blocking_threads(mut self, most: usize) -> Self {
        self.routes.threads = Arc::new(Pool::new(most));
        self
    }

    /// Adds a method that takes its params and returns its result as JSON text, for forwarding.
    #[must_use]
    pub fn method_raw<F, Fut>(self, method: impl Into<Cow<'static, str>>, handler: F) -> Self
    where
        F: Fn(Ctx, Option<RawJson<'static>>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<RawJson<'static>>> + Send + 'static,
    {
        self.add(method.into(), Raw(Arc::new(handler)))
    }

    /// Adds a method that reads its params in place, before they are copied out of the message, and then starts: for
    /// protocols on top of JSON-RPC, whose params say which type they must be read into.
    ///
    /// ```
    /// use sabir::{RawJson, Router};
    ///
    /// let router = Router::new().method_borrowed("length", |_, params: Option<&RawJson<'_>>| {
    ///     let length = params.map_or(0, |params| params.as_str().len());
    ///     Ok(async move { Ok(length) })
    /// });
    /// ```
    #[must_use]
    pub fn method_borrowed<F, Fut, R>(self, method: impl Into<Cow<'static, str>>, handler: F) -> Self
    where
        F: Fn(Ctx, Option<&RawJson<'_>>) -> Result<Fut> + Send + Sync + 'static,
        Fut: Future<Output = Result<R>> + Send + 'static,
        R: Serialize + 'static,
    {
        self.add(method.into(), Borrowed(Arc::new(handler)))
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

    pub(super) fn add(mut self, name: Cow<'static, str>, handler: impl Handler + 'static) -> Self {
        routes::check_name(&name);
        #[cfg(feature = "schema")]
        self.docs.forget(&name);
        let route = self.route(handler);
        self.routes.handlers.insert(name, route);
        self
    }

    pub(crate) fn route(&mut self, handler: impl Handler + 'static) -> Route {
        self.routes.route_to(Arc::new(handler))
    }

    /// Handles every method that has no handler of its own.
    #[must_use]
    pub fn fallback<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(Ctx, String, Option<RawJson<'static>>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<RawJson<'static>>> + Send + 'static,
    {
        let route = self.route(Fallback(Arc::new(handler)));
        self.routes.add_fallback(Cow::Borrowed(""), route);
        self
    }

    /// Adds everything of another router. Its methods keep its [layers](Router::layer): so a layer around one
    /// method, or around a group, is a small router of its own.
    ///
    /// ```
    /// use sabir::{Ctx, ErrorObject, Next, Router};
    ///
    /// async fn admins_only(ctx: Ctx, next: Next) -> sabir::Result<sabir::RawJson<'static>> {
    ///     match ctx.is_request() {
    ///         true => next.run().await,
    ///         false => Err(ErrorObject::new(403, "ask, do not tell")),
    ///     }
    /// }
    ///
    /// let admin = Router::new().method("reset", |_, ()| async { Ok(true) }).layer(admins_only);
    /// let router = Router::new().method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) }).merge(admin);
    /// assert_eq!(router.methods(), ["add", "reset"]);
    /// ```
    ///
    /// Its fallback, state, observers, descriptions and [`validate`](#method.validate) come along; observers then
    /// see the calls of both. What is one for all stays that of `self`: the threads of
    /// [`method_blocking`](Router::method_blocking), [`expose_exceptions`](Router::expose_exceptions), and the name in
    /// the description if it has one.
    ///
    /// # Panics
    /// If both have a method of the same name, a fallback, or a state of the same type.
    #[must_use]
    pub fn merge(self, other: Router) -> Self {
        self.nest("", other)
    }

    /// Adds everything of another router, as [`merge`](Router::merge) does, with `prefix` before the names of its
    /// methods. The prefix is taken as it is, with its separator.
    ///
    /// ```
    /// use sabir::Router;
    ///
    /// let users = Router::new().method("list", |_, ()| async { Ok(["ada"]) });
    /// let router = Router::new().nest("users.", users);
    /// assert_eq!(router.methods(), ["users.list"]);
    /// ```
    ///
    /// Its fallback takes the methods that begin with the prefix and have no handler. Layers and fallbacks see the
    /// whole name, as it was called.
    ///
    /// # Panics
    /// Where [`merge`](Router::merge) does, and if a name begins with `rpc.`, which the specification reserves.
    #[must_use]
    pub fn nest(mut self, prefix: &str, other: Router) -> Self {
        #[cfg(feature = "schema")]
        let other = self.docs.merge(prefix, other);
        self.routes.merge(prefix, other.routes);
        self
    }

    /// Wraps every call of this router, inside batches and outside: for timing, logging, permissions.
    ///
    /// The order, from the outside in:
    ///
    /// 1. [observers](Router::observe);
    /// 2. [`spans`](#method.spans);
    /// 3. the layers of this router, the first one that was added outermost. It does not matter whether a method
    ///    was added before or after a layer. They also see calls of methods that do not exist;
    /// 4. for the methods of a [merged](Router::merge) router, its spans and layers in the same order, and so on;
    /// 5. the check of the params by [`validate`](#method.validate);
    /// 6. the handler.
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
        self.routes.layers.push(Arc::new(LayerFn(layer)));
        self.routes.layered = Some(self.route(Layered));
        self
    }

    /// Makes the layer that was added last the outermost, whatever is added before or after it.
    #[cfg(feature = "tracing")]
    pub(crate) fn outermost(mut self) -> Self {
        self.routes.layers.rotate_right(1);
        self
    }

    /// Tells callers the type of an error that `?` met, as `data.exception`: `{"exception": "std::io::error::Error"}`.
    /// For programs that trust each other, and while debugging. Without it only the error's text is sent, and the
    /// type is in [`ErrorObject::exception`] for layers and logs.
    #[must_use]
    pub fn expose_exceptions(mut self) -> Self {
        self.routes.exposes_exceptions = true;
        self
    }

    /// Gives all handlers a value to share, by [`Ctx::state`]. One of each type.
    #[must_use]
    pub fn state<T: Any + Send + Sync>(mut self, state: T) -> Self {
        let name = std::any::type_name::<T>();
        self.routes.state.insert(TypeId::of::<T>(), (name, Arc::new(state)));
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
        return Arc::new(self.published().wrapped());
        #[cfg(not(feature = "schema"))]
        Arc::new(self.routes.wrapped())
    }
}

impl std::fmt::Debug for Router {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Router").field("methods", &self.methods()).finish_non_exhaustive()
    }
}
