//! Methods by name, with or without their types.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A method with the types of its params and its result, to be shared by both sides.
///
/// ```
/// use sabir::{Method, Router};
///
/// const ADD: Method<(i64, i64), i64> = Method::new("add");
///
/// let router = Router::new().method(ADD, |_, (a, b)| async move { Ok(a + b) });
///
/// # async fn run(peer: sabir::Peer) -> Result<(), sabir::CallError> {
/// let sum = peer.call_method(ADD, (1, 2)).await?;
/// # Ok(())
/// # }
/// ```
pub struct Method<P, R> {
    name: &'static str,
    types: PhantomData<fn(P) -> R>,
}

impl<P, R> Method<P, R> {
    /// A method of this name.
    pub const fn new(name: &'static str) -> Self {
        Method { name, types: PhantomData }
    }

    /// The name.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl<P, R> Clone for Method<P, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P, R> Copy for Method<P, R> {}

impl<P, R> fmt::Debug for Method<P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Method").field(&self.name).finish()
    }
}

/// Only this crate says what can name a method.
mod sealed {
    #[allow(unreachable_pub)]
    pub trait Sealed {}

    impl<P, R> Sealed for super::Method<P, R> {}
    impl Sealed for &'static str {}
    impl Sealed for String {}
    #[cfg(feature = "schema")]
    impl Sealed for crate::Description {}
}

/// What names a method for [`Router::method`](crate::Router::method) and its like: a string, for any types; a
/// [`Method`], for its own; or a description. It is sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name a method with params `{P}` and result `{R}`",
    note = "a method is named by a string, or by a `Method<P, R>` whose types are these"
)]
pub trait MethodName<P, R>: sealed::Sealed {
    /// The name.
    fn into_name(self) -> Cow<'static, str>;

    /// The name with all else that is known.
    #[cfg(feature = "schema")]
    #[doc(hidden)]
    fn into_description(self) -> (Cow<'static, str>, Option<crate::Description>)
    where
        Self: Sized,
    {
        (self.into_name(), None)
    }
}

impl<P, R> MethodName<P, R> for Method<P, R> {
    fn into_name(self) -> Cow<'static, str> {
        Cow::Borrowed(self.name)
    }
}

impl<P, R> MethodName<P, R> for &'static str {
    fn into_name(self) -> Cow<'static, str> {
        Cow::Borrowed(self)
    }
}

impl<P, R> MethodName<P, R> for String {
    fn into_name(self) -> Cow<'static, str> {
        Cow::Owned(self)
    }
}
