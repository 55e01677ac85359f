//! Contexts for tests, without a connection.

use std::any::Any;
use std::sync::Arc;

use sabir_proto::Cause;

use crate::handler::ctx::Ctx;
use crate::peer::Peer;
use crate::peer::commands::Shared;
use crate::router::Router;

/// Builds a [`Ctx`], for tests that call a handler as the function that it is.
///
/// ```
/// use sabir::Ctx;
///
/// struct User(&'static str);
///
/// async fn greet(ctx: Ctx, greeting: String) -> sabir::Result<String> {
///     let User(name) = ctx.identity().ok_or("who are you?")?;
///     Ok(format!("{greeting}, {name}{}", ctx.state::<char>()))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let ctx = Ctx::for_test().identity(User("Ada")).state('!').build();
/// assert_eq!(greet(ctx, "hello".to_owned()).await.unwrap(), "hello, Ada!");
/// # }
/// ```
///
/// There is no connection behind it: calls to [`Ctx::peer`] end with
/// [`CallError::Closed`](crate::CallError::Closed), progress goes nowhere, and
/// [`Ctx::is_request`] is false.
/// [`Router::call`] tests a handler with everything around it: params, layers, checks, calls back.
#[must_use = "`build` makes the context"]
#[derive(Debug, Default)]
pub struct TestCtx {
    router: Router,
    identity: Option<Arc<dyn Any + Send + Sync>>,
}

impl TestCtx {
    pub(crate) fn new() -> Self {
        TestCtx::default()
    }

    /// Gives a value to [`Ctx::state`], as [`Router::state`] does.
    pub fn state<T: Any + Send + Sync>(mut self, state: T) -> Self {
        self.router = self.router.state(state);
        self
    }

    /// Sets what [`Ctx::identity`] gives.
    pub fn identity<T: Any + Send + Sync>(mut self, identity: T) -> Self {
        self.identity = Some(Arc::new(identity));
        self
    }

    /// The context.
    pub fn build(self) -> Ctx {
        let shared = Shared::new(self.router.into_routes());
        if let Some(identity) = self.identity {
            let _ = shared.identity.set(identity);
        }
        shared.close(&Cause::Ended);
        Ctx {
            peer: Peer::new(Arc::new(shared)),
            key: None,
            meta: None,
            #[cfg(feature = "http")]
            caller: None,
        }
    }
}
