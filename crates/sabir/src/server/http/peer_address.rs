//! What is known of the other end of a connection: its address, and the certificates that it has shown.

use std::net::SocketAddr;
#[cfg(feature = "tls")]
use std::sync::Arc;

use http::Extensions;

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
