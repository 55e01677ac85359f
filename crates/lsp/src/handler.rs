//! What handlers are.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use sabir::{ErrorCode, ErrorObject};
use tokio::runtime::Handle;
use tokio::task::JoinSet;

/// A function of a context and params that returns a future of a [`sabir::Result`]: an `async fn`, or a closure. It is
/// implemented for all of these, and for nothing else.
pub trait LspHandler<C, P, T>:
    Fn(C, P) -> <Self as LspHandler<C, P, T>>::Future + Send + Sync + 'static
{
    /// What it returns.
    type Future: Future<Output = sabir::Result<T>> + Send + 'static;
}

impl<F, Fut, C, P, T> LspHandler<C, P, T> for F
where
    F: Fn(C, P) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = sabir::Result<T>> + Send + 'static,
{
    type Future = Fut;
}

pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = sabir::Result<T>> + Send>>;

/// A handler whose type is forgotten: it runs beside what the crate does itself.
pub(crate) type Hook<C, P, T> = Arc<dyn Fn(C, P) -> BoxFuture<T> + Send + Sync>;

pub(crate) fn hook<C: 'static, P: 'static, T: 'static>(handler: impl LspHandler<C, P, T>) -> Hook<C, P, T> {
    Arc::new(move |ctx, params| Box::pin(handler(ctx, params)))
}

/// Runs work as a task of the runtime, and stops it when nobody waits for it any more.
pub(crate) async fn beside<T: Send + 'static>(
    work: impl Future<Output = sabir::Result<T>> + Send + 'static,
) -> sabir::Result<T> {
    let Ok(runtime) = Handle::try_current() else { return work.await };
    let mut tasks = JoinSet::new();
    tasks.spawn_on(work, &runtime);
    match tasks.join_next().await {
        Some(Ok(outcome)) => outcome,
        // A handler that panicked says nothing.
        _ => Err(ErrorObject::standard(ErrorCode::INTERNAL_ERROR)),
    }
}
