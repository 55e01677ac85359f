//! Who called, where the transport knows.

use std::any::Any;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use http::Extensions;
use http::request::Parts;
use sabir_proto::Origin;

use crate::server::http::Remote;

/// The certificates that a client has shown, its own first: in the extensions of
/// [`Ctx::http`](crate::Ctx::http).
#[cfg(feature = "tls")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerCertificates(pub Vec<rustls::pki_types::CertificateDer<'static>>);

/// What is known of the other end of a connection.
#[derive(Clone, Default)]
pub(crate) struct PeerAddress {
    pub(crate) address: Option<SocketAddr>,
    #[cfg(feature = "tls")]
    pub(crate) certificates: Option<Arc<PeerCertificates>>,
}

impl PeerAddress {
    /// Lets those who look at a request know.
    pub(crate) fn tell(&self, extensions: &mut Extensions) {
        if let Some(address) = self.address {
            extensions.insert(Remote(address));
        }
        #[cfg(feature = "tls")]
        if let Some(certificates) = &self.certificates {
            extensions.insert(PeerCertificates::clone(certificates));
        }
    }
}

/// The HTTP request that a message came in, and who its sender has proved to be.
pub(crate) struct HttpCaller {
    parts: Box<Parts>,
    pub(crate) identity: Option<Arc<dyn Any + Send + Sync>>,
}

impl HttpCaller {
    pub(crate) fn new(parts: impl Into<Box<Parts>>, identity: Option<Arc<dyn Any + Send + Sync>>) -> Self {
        HttpCaller { parts: parts.into(), identity }
    }

    /// Adds something for whoever looks at the request.
    pub(crate) fn extend<T: Clone + Send + Sync + 'static>(&mut self, extension: T) {
        self.parts.extensions.insert(extension);
    }

    pub(crate) fn parts(&self) -> &Parts {
        &self.parts
    }
}

/// The callers of a connection.
#[derive(Default)]
pub(crate) struct HttpCallers {
    /// Who opened it.
    pub(crate) opener: Option<Arc<HttpCaller>>,
    /// Who sent a message, where one connection carries many requests of HTTP.
    by_message: HashMap<Origin, Arc<HttpCaller>>,
}

impl HttpCallers {
    /// Who sent a request; for a notification, who opened the connection.
    pub(crate) fn of(&self, origin: Origin) -> Option<Arc<HttpCaller>> {
        let sender = if self.by_message.is_empty() { None } else { self.by_message.get(&origin) };
        sender.or(self.opener.as_ref()).cloned()
    }

    pub(crate) fn keep(&mut self, origin: Origin, caller: Arc<HttpCaller>) {
        self.by_message.insert(origin, caller);
    }

    #[cfg(debug_assertions)]
    pub(crate) fn has_no_messages(&self) -> bool {
        self.by_message.is_empty()
    }

    pub(crate) fn forget(&mut self, origin: Origin) {
        if !self.by_message.is_empty() {
            self.by_message.remove(&origin);
        }
    }
}
