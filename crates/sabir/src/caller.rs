//! Who called, where the transport knows.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use http::request::Parts;
use sabir_proto::Origin;

/// The certificates that a client has shown, its own first: in the extensions of
/// [`Ctx::http`](crate::Ctx::http).
#[cfg(feature = "tls")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerCertificates(pub Vec<rustls::pki_types::CertificateDer<'static>>);

/// The HTTP request that a message came in, and who its sender has proved to be.
pub(crate) struct Caller {
    pub(crate) parts: Parts,
    pub(crate) identity: Option<Arc<dyn Any + Send + Sync>>,
}

/// The callers of a connection.
#[derive(Default)]
pub(crate) struct Callers {
    /// Who opened it.
    pub(crate) opener: Option<Arc<Caller>>,
    /// Who sent a message, where one connection carries many requests of HTTP.
    by_message: HashMap<Origin, Arc<Caller>>,
}

impl Callers {
    /// Who sent a request; for a notification, who opened the connection.
    pub(crate) fn of(&self, origin: Origin) -> Option<Arc<Caller>> {
        let sender = if self.by_message.is_empty() { None } else { self.by_message.get(&origin) };
        sender.or(self.opener.as_ref()).cloned()
    }

    pub(crate) fn keep(&mut self, origin: Origin, caller: Arc<Caller>) {
        self.by_message.insert(origin, caller);
    }

    pub(crate) fn forget(&mut self, origin: Origin) {
        self.by_message.remove(&origin);
    }
}
