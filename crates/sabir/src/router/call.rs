//! Calls of a router's methods in memory, for tests.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use sabir_proto::{Config, Role};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::peer::written;
use crate::router::Router;
use crate::runtime::connection::Connection;
use crate::transport::{self, Transport};
use crate::{CallError, RawJson};

impl Router {
    /// Calls a method of this router in memory: for tests. Everything happens as it would over a connection: params
    /// are read, and layers, observers and checks run. It needs a tokio runtime, and nothing else.
    ///
    /// ```
    /// use sabir::{Ctx, Router};
    ///
    /// struct User(&'static str);
    ///
    /// async fn whoami(ctx: Ctx, (): ()) -> sabir::Result<String> {
    ///     let User(name) = ctx.identity().ok_or("who are you?")?;
    ///     Ok((*name).to_owned())
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), sabir::Error> {
    /// let router = Router::new().method("whoami", whoami);
    /// let name: String = router.call("whoami", ()).identity(User("Ada")).await?;
    /// assert_eq!(name, "Ada");
    /// assert!(router.call::<String>("whoami", ()).await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn call<R: DeserializeOwned>(
        &self,
        method: impl Into<Cow<'static, str>>,
        params: impl Serialize,
    ) -> RouterCall<R> {
        RouterCall {
            router: self.clone(),
            method: method.into(),
            params: written(&params),
            identity: None,
            caller: Router::new(),
            result: PhantomData,
        }
    }
}

/// A call of a router's method in memory, made by [`Router::call`]. Await it for its result.
#[must_use = "a call is made when it is awaited"]
pub struct RouterCall<R> {
    router: Router,
    method: Cow<'static, str>,
    params: Result<Option<RawJson<'static>>, CallError>,
    identity: Option<Arc<dyn Any + Send + Sync>>,
    caller: Router,
    result: PhantomData<fn() -> R>,
}

impl<R> RouterCall<R> {
    /// Sets who calls: what [`Ctx::identity`](crate::Ctx::identity) gives to layers and handlers.
    pub fn identity<T: Any + Send + Sync>(mut self, identity: T) -> Self {
        self.identity = Some(Arc::new(identity));
        self
    }

    /// Sets what answers when a handler calls back, by [`Ctx::peer`](crate::Ctx::peer). Without it nothing does.
    pub fn caller(mut self, router: Router) -> Self {
        self.caller = router;
        self
    }
}

impl<R: DeserializeOwned + 'static> IntoFuture for RouterCall<R> {
    type Output = Result<R, CallError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let (near, far) = transport::memory();
            let client = connection(near, self.caller, Role::Client).await?;
            let server = connection(far, self.router, Role::Server).await?;
            if let Some(identity) = self.identity {
                let _ = server.peer().shared.identity.set(identity);
            }
            let call = crate::Call::<R>::new(client.peer(), self.method, self.params);
            tokio::select! {
                outcome = call => outcome,
                // One ends with the other, and either ends the call.
                (cause, _) = async { tokio::join!(client, server) } => Err(CallError::Closed(cause)),
            }
        })
    }
}

async fn connection(
    transport: Transport,
    router: Router,
    role: Role,
) -> Result<Connection<Box<dyn crate::runtime::io::Io>>, CallError> {
    let failed = |error: crate::Error| {
        CallError::Closed(sabir_proto::Cause::Lost(sabir_proto::Lost::from_error(error)))
    };
    let opened = transport.open().await.map_err(failed)?;
    let config = Config { role, ..opened.config };
    Ok(Connection::new(config, router.into_routes(), opened.io, opened.on_report))
}

impl<R> fmt::Debug for RouterCall<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RouterCall").field("method", &self.method).finish_non_exhaustive()
    }
}
