//! The steps on the way to an answer, for those who want to see them and how long each takes.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// A step of a connection that was just taken. The time between two is how long the second took.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Step<'a> {
    /// The name of the host is about to be resolved. What was done before does not belong to the connection.
    Connecting {
        /// The name.
        host: &'a str,
    },
    /// The name of the host was resolved.
    Resolved {
        /// The name.
        host: &'a str,
    },
    /// The socket is connected.
    Connected {
        /// To where.
        address: SocketAddr,
    },
    /// TLS is set up.
    Secured {
        /// Such as `TLSv1_3`.
        version: &'a str,
        /// The cipher suite.
        cipher: &'a str,
        /// What is spoken over it, if that was agreed on.
        protocol: Option<&'a str>,
    },
    /// A request of HTTP is about to be sent.
    #[cfg(feature = "http")]
    Request {
        /// Its method.
        method: &'a http::Method,
        /// Where it goes.
        uri: &'a http::Uri,
        /// Its headers.
        headers: &'a http::HeaderMap,
    },
    /// The head of its response has come.
    #[cfg(feature = "http")]
    Response {
        /// Its version.
        version: http::Version,
        /// Its status.
        status: http::StatusCode,
        /// Its headers.
        headers: &'a http::HeaderMap,
    },
}

type OnStep = dyn Fn(&Step<'_>) + Send + Sync;

/// Whoever wants to see the steps.
#[derive(Clone, Default)]
pub(crate) struct Steps(Option<Arc<OnStep>>);

impl Steps {
    pub(crate) fn to(told: impl Fn(&Step<'_>) + Send + Sync + 'static) -> Self {
        Steps(Some(Arc::new(told)))
    }

    pub(crate) fn tell(&self, step: &Step<'_>) {
        if let Some(told) = &self.0 {
            told(step);
        }
    }
}

impl fmt::Debug for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Steps").field(&self.0.is_some()).finish()
    }
}
