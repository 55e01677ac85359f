//! HTTP, as a server: plain JSON-RPC over POST, and Streamable HTTP with its streams and sessions.
//!
//! It answers requests and knows nothing of sockets: those, and the time that a head may take, are the
//! door's, or those of the application that it is mounted in.

mod answer;
mod at_once;
mod begun;
mod body;
mod check;
mod exchange;
#[cfg(feature = "fuzzing")]
#[allow(missing_docs, clippy::result_unit_err)]
pub(crate) mod fuzzing;
mod negotiate;
mod plain;
mod receive;
mod service;
mod session;
mod settings;
mod smuggling;
mod sse;
mod stop;
mod upgrade;

pub(crate) use answer::Answer;
pub(crate) use at_once::{Admission, Admitted, Answering, Start, Streaming};
pub use body::Body;
pub(crate) use plain::{Found, Head, Plain};
pub(crate) use service::ConnectionBudget;
pub use service::HttpService;
pub(crate) use session::Way;
pub(crate) use settings::{Bound, Speaks};
pub use settings::{Denied, Http, Remote, Sessions};
pub(crate) use smuggling::{HeadWatch, Smuggled};
pub(crate) use stop::Stop;
pub(crate) use upgrade::Stay;
