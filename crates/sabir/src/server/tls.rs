//! The certificate of a server, and whose certificates it takes.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ServerConfig, WebPkiClientVerifier};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

use crate::Error;

/// How a server speaks TLS.
///
/// ```no_run
/// # fn run() -> Result<(), sabir::Error> {
/// let tls = sabir::ServerTls::from_files("server.pem", "server.key")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ServerTls {
    certificates: Vec<CertificateDer<'static>>,
    key: Arc<PrivateKeyDer<'static>>,
    clients: Option<Clients>,
}

#[derive(Clone)]
struct Clients {
    roots: Arc<RootCertStore>,
    required: bool,
}

impl ServerTls {
    /// A certificate chain and its key, as the text of PEM files.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self, Error> {
        let certificates = read_certificates(certificates)?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| invalid(format_args!("no private key in PEM: {error}")))?;
        let tls = ServerTls { certificates, key: Arc::new(key), clients: None };
        // What does not fit together is better known now than with the first connection.
        tls.config()?;
        Ok(tls)
    }

    /// The same from files.
    pub fn from_files(certificates: impl AsRef<Path>, key: impl AsRef<Path>) -> Result<Self, Error> {
        ServerTls::from_pem(&read(certificates.as_ref())?, &read(key.as_ref())?)
    }

    /// Requires clients to have a certificate that is signed by one of these, in PEM.
    pub fn require_clients(mut self, roots: &[u8]) -> Result<Self, Error> {
        self.clients = Some(Clients { roots: read_roots(roots)?, required: true });
        Ok(self)
    }

    /// Looks at the certificates of clients that have one, and takes others too. What was shown is in
    /// [`Ctx::http`](crate::Ctx::http)'s extensions as [`PeerCertificates`](crate::PeerCertificates).
    pub fn ask_clients(mut self, roots: &[u8]) -> Result<Self, Error> {
        self.clients = Some(Clients { roots: read_roots(roots)?, required: false });
        Ok(self)
    }

    fn config(&self) -> Result<ServerConfig, Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| invalid(&error))?;
        let builder = match &self.clients {
            None => builder.with_no_client_auth(),
            Some(clients) => {
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::clone(&clients.roots), provider);
                let verifier = if clients.required { verifier } else { verifier.allow_unauthenticated() };
                builder.with_client_cert_verifier(verifier.build().map_err(|error| invalid(&error))?)
            }
        };
        let mut config = builder
            .with_single_cert(self.certificates.clone(), self.key.clone_key())
            .map_err(|error| invalid(format_args!("the certificate and the key do not fit: {error}")))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }

    /// Speaks TLS on a connection that was accepted elsewhere, and offers HTTP/1.1.
    pub async fn accept<S>(
        &self,
        stream: S,
    ) -> Result<impl AsyncRead + AsyncWrite + Send + Unpin + use<S>, Error>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin,
    {
        let mut config = self.config()?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        TlsAcceptor::from(Arc::new(config)).accept(stream).await.map_err(Error::Io)
    }

    pub(crate) fn acceptor(&self) -> Result<TlsAcceptor, Error> {
        Ok(TlsAcceptor::from(Arc::new(self.config()?)))
    }
}

impl std::fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerTls").field("certificates", &self.certificates.len()).finish_non_exhaustive()
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|error| {
        Error::Io(io::Error::new(error.kind(), format!("cannot read {}: {error}", path.display())))
    })
}

fn read_certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Error> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match certificates {
        Ok(certificates) if certificates.is_empty() => Err(invalid("no certificate in PEM")),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(invalid(format_args!("no certificate in PEM: {error}"))),
    }
}

fn read_roots(pem: &[u8]) -> Result<Arc<RootCertStore>, Error> {
    let mut roots = RootCertStore::empty();
    for certificate in read_certificates(pem)? {
        roots.add(certificate).map_err(|error| invalid(&error))?;
    }
    Ok(Arc::new(roots))
}

fn invalid(reason: impl std::fmt::Display) -> Error {
    Error::config(reason.to_string())
}
