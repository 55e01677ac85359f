//! What authorizes the requests of a client, and learns from what is refused.

use std::pin::Pin;

use http::{HeaderMap, Method, StatusCode};

/// How often one request is sent. Each time something else is tried: a fresh token, a nonce, a wider scope.
pub(crate) const MOST_ATTEMPTS: usize = 8;

/// What an [`Authorizer`] returns: a failure is the reason, in words for people.
pub type Authorized<'a, T> = Pin<Box<dyn Future<Output = Result<T, String>> + Send + 'a>>;

/// Whether a request that was answered is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The answer stands.
    Done,
    /// The request is sent once more: what it lacked is there now.
    Again,
}

/// Authorizes the requests of a connection over HTTP, such as by tokens that expire. Both functions may take their time,
/// and run for several requests at once.
pub trait Authorizer: Send + Sync + 'static {
    /// Adds headers to a request before it is sent.
    fn authorize<'a>(
        &'a self,
        method: &'a Method,
        url: &'a str,
        headers: &'a mut HeaderMap,
    ) -> Authorized<'a, ()>;

    /// Looks at the head of the answer to a request that was sent with these headers.
    fn answered<'a>(
        &'a self,
        url: &'a str,
        sent: &'a HeaderMap,
        status: StatusCode,
        headers: &'a HeaderMap,
    ) -> Authorized<'a, Verdict>;
}
