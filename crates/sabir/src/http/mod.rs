//! HTTP, as a server: plain JSON-RPC over POST, and Streamable HTTP with its streams and sessions.
//!
//! It answers requests and knows nothing of sockets: those, and the time that a head may take, are the
//! door's, or those of the application that it is mounted in.

mod answer;
mod body;
mod check;
mod exchange;
mod negotiate;
mod receive;
mod service;
mod session;
mod settings;
mod smuggling;
mod sse;
mod stop;
mod upgrade;

pub use body::Body;
pub use service::HttpService;
pub(crate) use session::Way;
pub(crate) use settings::{Bound, Speaks};
pub use settings::{Denied, Http, Remote, Sessions};
pub(crate) use smuggling::{HeadWatch, Smuggled};
pub(crate) use stop::Stop;
pub(crate) use upgrade::Stay;
