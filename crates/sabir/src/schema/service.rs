//! What services that are traits need while they run, on both sides.

use std::fmt;
use std::marker::PhantomData;

use schemars::SchemaGenerator;
use serde::Serialize;

use crate::handler::ctx::Ctx;
use crate::schema::describe::ErrorDescription;
use crate::{CallError, Error, ErrorObject};

/// An error of a service that both sides know: an enum whose variants have codes.
///
/// ```
/// #[derive(Debug, PartialEq, sabir::RpcError)]
/// enum BankError {
///     /// No such account
///     #[rpc(code = 1)]
///     Unknown,
///     #[rpc(code = 2, message = "only {balance} left")]
///     Overdrawn { balance: i64 },
/// }
///
/// let error = sabir::ErrorObject::from(BankError::Overdrawn { balance: 5 });
/// assert_eq!(error.to_string(), r#"2: only 5 left ({"balance":5})"#);
/// ```
///
/// The fields of a variant are sent as `data`. The enum gets `Display`, which writes the message. A handler may
/// answer with the enum by `?`, so it is not a [`std::error::Error`] itself; the [`ServiceError`] that a caller gets
/// is one.
///
/// Two kinds of variants have no code of their own:
///
/// - `#[rpc(other)]` holds an [`ErrorObject`]: a caller finds every error there that no other variant is, and in the
///   methods of the service `?` makes one of any error.
/// - `#[rpc(transparent)]` holds another `RpcError`, which travels as itself.
///
/// ```
/// use sabir::{ErrorObject, RpcError};
///
/// #[derive(Debug, PartialEq, RpcError)]
/// enum StoreError {
///     #[rpc(code = 10, message = "no item {0}")]
///     NoItem(u32),
/// }
///
/// #[derive(Debug, PartialEq, RpcError)]
/// enum ShopError {
///     #[rpc(code = 1, message = "closed")]
///     Closed,
///     #[rpc(transparent)]
///     Store(StoreError),
///     #[rpc(other)]
///     Other(ErrorObject),
/// }
///
/// fn count(text: &str) -> Result<u32, ShopError> {
///     Ok(text.parse()?)
/// }
///
/// assert_eq!(ShopError::from_error(&ErrorObject::new(1, "closed")), Some(ShopError::Closed));
/// assert_eq!(ErrorObject::from(ShopError::Store(StoreError::NoItem(7))).to_string(), "10: no item 7 (7)");
/// assert!(matches!(count("x"), Err(ShopError::Other(error)) if error.code.0 == -32603));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an error of a service: it has no codes",
    label = "expected an enum that derives `sabir::RpcError`",
    note = "to answer with any error, return `sabir::Result<T>`: `?` makes an internal error of it"
)]
pub trait RpcError: Sized {
    /// As it is sent.
    fn to_error(&self) -> ErrorObject;

    /// Read from what was sent, if it is one of these.
    fn from_error(error: &ErrorObject) -> Option<Self>;

    /// All that there are.
    fn describe(generator: &mut SchemaGenerator) -> Vec<ErrorDescription>;
}

/// Any error at all.
impl RpcError for ErrorObject {
    fn to_error(&self) -> ErrorObject {
        self.clone()
    }

    fn from_error(error: &ErrorObject) -> Option<Self> {
        Some(error.clone())
    }

    fn describe(_: &mut SchemaGenerator) -> Vec<ErrorDescription> {
        Vec::new()
    }
}

/// Why a call of a service did not end in a result.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServiceError<E> {
    /// The service answered with an error of its own.
    Answered(E),
    /// Everything else, which can happen to any call.
    Call(CallError),
}

impl<E: RpcError> From<CallError> for ServiceError<E> {
    fn from(error: CallError) -> Self {
        let known = match &error {
            CallError::Error(object) => E::from_error(object),
            _ => None,
        };
        known.map_or(ServiceError::Call(error), ServiceError::Answered)
    }
}

impl<E: RpcError> fmt::Display for ServiceError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServiceError::Answered(error) => error.to_error().fmt(f),
            ServiceError::Call(error) => error.fmt(f),
        }
    }
}

impl<E: RpcError + fmt::Debug> std::error::Error for ServiceError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ServiceError::Answered(_) => None,
            ServiceError::Call(error) => Some(error),
        }
    }
}

impl<E: RpcError> From<ServiceError<E>> for Error {
    fn from(error: ServiceError<E>) -> Self {
        Error::Call(match error {
            ServiceError::Answered(error) => CallError::Error(error.to_error()),
            ServiceError::Call(error) => error,
        })
    }
}

/// An argument of a service's method, by which it sends progress. It is not a param: the caller reads the progress
/// from [`Call::next_progress`](crate::Call::next_progress).
pub struct Progress<T> {
    ctx: Ctx,
    type_: PhantomData<fn(T)>,
}

impl<T: Serialize> Progress<T> {
    /// Sends progress to the caller, if it asked for progress: a number, or an object. Waits while the caller leaves too
    /// much unread.
    pub async fn send(&self, value: T) {
        self.ctx.progress(value).await;
    }
}

impl<T> From<Ctx> for Progress<T> {
    fn from(ctx: Ctx) -> Self {
        Progress { ctx, type_: PhantomData }
    }
}

impl<T> fmt::Debug for Progress<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress").field("ctx", &self.ctx).finish_non_exhaustive()
    }
}

/// What the macros write, in one place that they can name.
#[doc(hidden)]
pub mod private {
    pub use sabir_proto::SendError;
    pub use {schemars, serde};

    use schemars::{JsonSchema, SchemaGenerator};
    use serde::Serialize;
    use serde::de::DeserializeOwned;

    use super::{RpcError, ServiceError};
    use crate::peer::call::Call;
    use crate::peer::{Peer, written};
    use crate::{CallError, ErrorObject, PendingSink, RawJson, Stream};

    /// A call with all its types known.
    pub fn call<P: Serialize, R, E, T>(peer: &Peer, method: &'static str, params: &P) -> Call<R, E, T> {
        Call::new(peer.clone(), method.into(), written(params))
    }

    /// Sends the items of a stream, which may borrow from its service.
    pub async fn feed<S: Stream<Item: Serialize>>(
        stream: S,
        pending: PendingSink,
    ) -> Result<(), ErrorObject> {
        let mut stream = std::pin::pin!(stream);
        let sink = pending.accept().await;
        loop {
            // Written before anything is awaited: items need not be `Send`.
            let item = match std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
                Some(item) => RawJson::from_value(&item)?,
                None => return Ok(()),
            };
            sink.send_raw(item).await?;
        }
    }

    /// The same, of a stream whose first error ends it.
    pub async fn try_feed<S, T>(stream: S, pending: PendingSink) -> Result<(), ErrorObject>
    where
        S: Stream<Item = Result<T, ErrorObject>>,
        T: Serialize,
    {
        let mut stream = std::pin::pin!(stream);
        let sink = pending.accept().await;
        loop {
            let item = match std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
                Some(item) => RawJson::from_value(&item?)?,
                None => return Ok(()),
            };
            sink.send_raw(item).await?;
        }
    }

    /// What a client that stands for its service fails with.
    pub fn service_error<E: RpcError + From<CallError>>(error: ServiceError<E>) -> E {
        match error {
            ServiceError::Answered(error) => error,
            ServiceError::Call(error) => <E as From<CallError>>::from(error),
        }
    }

    /// The data of an error with fields.
    pub fn data_of<D: JsonSchema>(generator: &mut SchemaGenerator) -> Option<schemars::Schema> {
        Some(generator.subschema_for::<D>())
    }

    /// Reads the data of an error.
    pub fn read_data<D: DeserializeOwned>(error: &ErrorObject) -> Option<D> {
        error.data.as_ref()?.parse().ok()
    }
}
