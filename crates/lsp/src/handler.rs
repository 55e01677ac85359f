//! What handlers are.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

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
