//! The macros of `sabir`, which re-exports them: a service from a trait, and errors with codes from an enum.

mod attributes;
mod client;
mod definition;
mod errors;
mod names;
mod params;
mod server;

use proc_macro::TokenStream;
use quote::quote;
use syn::parse_macro_input;

/// Makes a service of a trait: a router, a typed client, and a description of both.
///
/// ```
/// use sabir::{Ctx, ServiceError, Progress, transport};
///
/// /// A calculator.
/// #[sabir::service]
/// trait Math {
///     /// Adds two numbers.
///     async fn add(&self, a: i64, b: i64) -> sabir::Result<i64>;
///
///     /// Divides one number by another.
///     async fn divide(&self, dividend: f64, divisor: f64) -> Result<f64, MathError>;
///
///     /// Counts, and says so.
///     async fn count(&self, to: u64, progress: Progress<u64>) -> sabir::Result<u64>;
///
///     /// Remembers a line.
///     async fn log(&self, line: String, #[rpc(default = 3)] level: u8);
/// }
///
/// #[derive(Debug, PartialEq, sabir::RpcError)]
/// enum MathError {
///     /// Division by zero
///     #[rpc(code = 1)]
///     DivisionByZero,
/// }
///
/// struct Calculator;
///
/// impl Math for Calculator {
///     async fn add(&self, a: i64, b: i64) -> sabir::Result<i64> {
///         Ok(a + b)
///     }
///
///     async fn divide(&self, dividend: f64, divisor: f64) -> Result<f64, MathError> {
///         if divisor == 0.0 { Err(MathError::DivisionByZero) } else { Ok(dividend / divisor) }
///     }
///
///     async fn count(&self, to: u64, progress: Progress<u64>) -> sabir::Result<u64> {
///         for n in 1..=to {
///             progress.send(n).await;
///         }
///         Ok(to)
///     }
///
///     async fn log(&self, _line: String, _level: u8) {}
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (near, far) = transport::memory();
/// tokio::spawn(sabir::serve(far, Calculator.into_router()));
/// let math = MathClient::new(sabir::connect(near, sabir::Router::new()).await?);
///
/// assert_eq!(math.add(1, 2).await?, 3);
/// assert_eq!(math.divide(1.0, 0.0).await, Err(ServiceError::Answered(MathError::DivisionByZero)));
///
/// let mut call = math.count(3);
/// assert_eq!(call.next_progress().await, Some(1));
/// assert_eq!(call.await?, 3);
///
/// math.log("done".to_owned(), 1).await?;
/// # Ok(())
/// # }
/// ```
///
/// # The trait
///
/// - Methods are `async` and take `&self`: they run side by side. `Send`, `Sync` and `'static` are added to
///   the trait's bounds.
/// - They return `sabir::Result<T>`, or `Result<T, E>` with an error that derives
///   [`RpcError`](derive@RpcError). A method that returns nothing is a notification.
/// - Arguments are params, by name and by position. They are owned, and implement serde's traits and
///   `schemars::JsonSchema`, as results do.
/// - An argument of the type `Ctx` is the call's own [`Ctx`], one of the type `Progress<T>` tells its
///   progress. Neither is sent.
/// - `Option` arguments may be left out.
/// - Doc comments, on the trait, on methods and on arguments, become descriptions; `#[deprecated]` is told too.
/// - Type parameters of the trait go into the client. Methods have none: a name on the wire stands for one
///   method.
///
/// # What it makes
///
/// For a trait `Math`, the methods `into_router` and `add_to(router)` of the trait, and a struct `MathClient`.
/// The router answers `rpc.discover` with its description, [`Router::openrpc`] returns it.
///
/// `Arc<S>` is a `Math` if `S` is one: keep a clone of it to share its state with the rest of a program.
///
/// `MathClient` is a `Math`, too, so that a function of `&impl Math` takes a client, the service itself, or a mock.
/// For this, errors need a variant for whatever may happen to a call, `#[rpc(other)]`; without it the client has its own
/// methods only. By the trait, a client ignores `Ctx` and `Progress`, and a notification that cannot be sent is lost; its
/// own methods return a [`Call`], with timeout, progress and cancellation. A trait with type parameters or supertraits has
/// neither of the two.
///
/// [`Call`]: https://docs.rs/sabir/latest/sabir/struct.Call.html
/// [`Ctx`]: https://docs.rs/sabir/latest/sabir/struct.Ctx.html
/// [`Router::openrpc`]: https://docs.rs/sabir/latest/sabir/struct.Router.html#method.openrpc
///
/// # Attributes
///
/// | where | attribute | does |
/// |---|---|---|
/// | trait | `#[sabir::service(prefix = "math.")]` | stands before each method's name |
/// | trait | `#[sabir::service(rename_all = "camelCase")]` | spells the names of methods and params: `camelCase`, `PascalCase`, `kebab-case` |
/// | method | `#[rpc(name = "sum")]` | its name on the wire, after the prefix |
/// | argument | `#[rpc(name = "from")]` | its name on the wire |
/// | argument | `#[rpc(default)]`, `#[rpc(default = 10)]` | may be left out |
/// | argument | `#[serde(…)]`, `#[schemars(…)]` | as on the field of a struct |
#[proc_macro_attribute]
pub fn service(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut options = definition::Options::default();
    let parser = syn::meta::parser(|meta| options.parse(&meta));
    parse_macro_input!(attribute with parser);
    let item = parse_macro_input!(item as syn::Item);
    let service = match definition::Service::new(item, &options) {
        Ok(service) => service,
        Err(error) => return error.into_compile_error().into(),
    };
    let params = params::structs(&service);
    let server = server::trait_(&service);
    let shared = server::shared(&service);
    let client = client::struct_(&service);
    let implementation = client::implementation(&service);
    quote!(#server #shared #params #client #implementation).into()
}

/// Makes an error of a service from an enum: each variant has a code, and its fields are the error's `data`.
///
/// | on | attribute | does |
/// |---|---|---|
/// | variant | `#[rpc(code = 1)]` | its code, which must be its own |
/// | variant | `#[rpc(message = "only {balance} left")]` | its message, with fields in braces; otherwise the doc comment, or the name |
/// | variant | `#[rpc(transparent)]` | holds another such error, which travels as itself |
/// | variant | `#[rpc(other)]` | holds a `sabir::ErrorObject`: every error that is none of the others. `?` makes one of any error |
///
/// See the trait `sabir::RpcError` for an example.
#[proc_macro_derive(RpcError, attributes(rpc))]
pub fn rpc_error(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as syn::DeriveInput);
    errors::derive(item).unwrap_or_else(syn::Error::into_compile_error).into()
}
