//! TLS for those who connect.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::endpoint::Endpoint;
use super::error::{ConnectError, ConnectErrorKind};
use super::step::Step;

/// Whom to trust, and what to show.
#[derive(Default, Clone)]
pub(crate) struct Settings {
    /// Certificates in PEM. If there are none, those of the system.
    pub(crate) roots: Vec<Vec<u8>>,
    /// A chain of certificates and its key, in PEM.
    pub(crate) identity: Option<(Vec<u8>, Vec<u8>)>,
    /// Trusts everybody.
    pub(crate) anybody: bool,
}

impl Settings {
    pub(crate) fn is_default(&self) -> bool {
        self.roots.is_empty() && self.identity.is_none() && !self.anybody
    }

    /// With what the others have and these have not.
    #[cfg(feature = "nats")]
    pub(crate) fn or(mut self, others: &Settings) -> Settings {
        if self.roots.is_empty() && !self.anybody {
            (self.roots, self.anybody) = (others.roots.clone(), others.anybody);
        }
        self.identity = self.identity.or_else(|| others.identity.clone());
        self
    }

    /// Ready to connect, with the protocols to choose from.
    pub(crate) fn connector(&self, protocols: &[&[u8]]) -> Result<TlsConnector, String> {
        Ok(TlsConnector::from(Arc::new(self.client_config(protocols)?)))
    }

    /// The same, for those who connect by themselves.
    pub(crate) fn client_config(&self, protocols: &[&[u8]]) -> Result<ClientConfig, String> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let builder = if self.anybody {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider)))
        } else {
            builder.with_root_certificates(self.trusted()?)
        };
        let mut config = match &self.identity {
            Some((chain, key)) => {
                let key = PrivateKeyDer::from_pem_slice(key)
                    .map_err(|error| format!("the client's key cannot be read: {error}"))?;
                builder
                    .with_client_auth_cert(certificates(chain, "the client's certificate")?, key)
                    .map_err(|error| format!("the client's certificate cannot be used: {error}"))?
            }
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Ok(config)
    }

    fn trusted(&self) -> Result<RootCertStore, String> {
        let mut store = RootCertStore::empty();
        if self.roots.is_empty() {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if store.is_empty() {
                return Err("the system has no root certificates: give one".to_owned());
            }
        }
        for pem in &self.roots {
            for certificate in certificates(pem, "the root certificate")? {
                store
                    .add(certificate)
                    .map_err(|error| format!("the root certificate cannot be used: {error}"))?;
            }
        }
        Ok(store)
    }
}

fn certificates(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match certificates {
        Ok(certificates) if certificates.is_empty() => Err(format!("{what} is not in PEM")),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(format!("{what} cannot be read: {error}")),
    }
}

/// TLS over a socket that is connected.
pub(crate) async fn wrap(
    connector: &TlsConnector,
    endpoint: &Endpoint,
    stream: TcpStream,
) -> Result<TlsStream<TcpStream>, ConnectError> {
    let failed = |failure, reason: String| ConnectError::new(failure, &endpoint.url, reason);
    let name = ServerName::try_from(endpoint.host.clone()).map_err(|_| {
        failed(ConnectErrorKind::Tls, format!("`{}` cannot be a name in a certificate", endpoint.host))
    })?;
    let stream = connector.connect(name, stream).await.map_err(|error| {
        let (kind, reason) = handshake_failure(&error, &endpoint.host).unwrap_or_else(|| {
            let reason = "the server closed the connection during the TLS handshake";
            (ConnectErrorKind::NotTls, reason.to_owned())
        });
        failed(kind, reason)
    })?;
    let session = stream.get_ref().1;
    let version = session.protocol_version().map(|version| format!("{version:?}")).unwrap_or_default();
    let cipher =
        session.negotiated_cipher_suite().map(|suite| format!("{:?}", suite.suite())).unwrap_or_default();
    let protocol = session.alpn_protocol().and_then(|protocol| std::str::from_utf8(protocol).ok());
    endpoint.steps.tell(&Step::Secured { version: &version, cipher: &cipher, protocol });
    Ok(stream)
}

/// What went wrong in a handshake with a host, if TLS says so.
pub(super) fn handshake_failure(error: &std::io::Error, host: &str) -> Option<(ConnectErrorKind, String)> {
    Some(match error.get_ref()?.downcast_ref::<rustls::Error>()? {
        rustls::Error::InvalidMessage(_) => {
            (ConnectErrorKind::NotTls, "the server does not speak TLS".to_owned())
        }
        rustls::Error::InvalidCertificate(error) => (ConnectErrorKind::Tls, unacceptable(error, host)),
        error => (ConnectErrorKind::Tls, format!("TLS: {error}")),
    })
}

/// Why a server's certificate is not taken.
fn unacceptable(error: &CertificateError, host: &str) -> String {
    use CertificateError::{
        BadSignature, Expired, ExpiredContext, NotValidForName, NotValidForNameContext, NotValidYet,
        NotValidYetContext, Other, UnknownIssuer,
    };
    match error {
        UnknownIssuer | BadSignature => "the server's certificate is not signed by a trusted authority".to_owned(),
        Expired | ExpiredContext { .. } => "the server's certificate has expired".to_owned(),
        NotValidYet | NotValidYetContext { .. } => "the server's certificate is not valid yet".to_owned(),
        NotValidForName => format!("the server's certificate is not for `{host}`"),
        NotValidForNameContext { presented, .. } => {
            // They come as `DnsName("example.org")`.
            let name = |shown: &String| shown.split(['(', '"', ')']).rfind(|part| !part.is_empty()).map(str::to_owned);
            let names: Vec<_> = presented.iter().filter_map(name).collect();
            format!("the server's certificate is not for `{host}` but for {}", names.join(", "))
        }
        // What `openssl req -x509` makes unless it is told otherwise. The type is not in rustls itself.
        Other(other) if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            "the server's certificate is that of an authority, not of a server: make it with basicConstraints=CA:FALSE"
                .to_owned()
        }
        error => format!("the server's certificate: {error}"),
    }
}

/// Takes any certificate. What it signs is still checked, so the other end has at least its key.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
