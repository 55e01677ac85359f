//! Small POSTs of HTTP/1.1, answered without hyper.
//!
//! Nearly all requests are alike: a POST of JSON, small and of a known length. Those are tokenised with `httparse`,
//! which hyper uses too, and judged by the same functions as hyper's requests (`Inner::admit`). With the first request
//! that is anything else, or that is refused, or whose answer is large or a stream, the connection is hyper's for good,
//! with all that was read.

pub(crate) mod connection;
pub(crate) mod head;
mod write;

use std::future::Future;
use std::pin::Pin;

use http::Response;

use crate::server::http::body::Body;
use crate::server::http::config::SessionOpener;
use crate::server::http::response::Refusal;
use crate::server::http::service::HttpService;

/// What is known of the first request that hyper gets.
pub(crate) enum FirstRequest {
    /// It is refused.
    Refused(Refusal),
    /// It is answered with this. What hyper reads is a stand-in for it.
    Answered(Pin<Box<dyn Future<Output = Response<Body>> + Send>>),
}

impl HttpService {
    /// Whether there are requests here that can be answered without hyper.
    pub(crate) fn has_fast_path(&self) -> bool {
        let http = &self.inner.http;
        http.speaks.http
            && http.sessions.as_ref().is_none_or(|sessions| sessions.opened_by == SessionOpener::Subscribing)
            && !http.has_async_auth()
            && http.permit.is_none()
            && !http.hyper_only
    }
}
