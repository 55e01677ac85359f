//! Certificates of clients: whose are taken, and what a handler learns of them.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use sabir::{Ctx, PeerCertificates, Router, ServerTls, transport};

use crate::client::within;
use crate::open::{Certificate, open};

struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap() }
    }

    fn pem(&self) -> String {
        self.issuer.as_ref().pem()
    }

    /// A client's certificate and its key, in PEM.
    fn client(&self) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["client".to_owned()]).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }
}

/// Says which certificates the caller has shown, as DER.
fn router() -> Router {
    Router::new().method("shown", |ctx: Ctx, (): ()| async move {
        let shown = ctx.http().and_then(|parts| parts.extensions.get::<PeerCertificates>());
        Ok(shown.map(|shown| shown.0.iter().map(|one| one.to_vec()).collect::<Vec<_>>()))
    })
}

/// What a client with this certificate is answered; `None` if it is refused.
async fn shown(
    url: &str,
    server: &Certificate,
    client: Option<&(String, String)>,
) -> Option<Option<Vec<Vec<u8>>>> {
    let mut transport = transport::url(url.to_owned()).root_certificate(server.chain());
    if let Some((certificate, key)) = client {
        transport = transport.client_certificate(certificate.clone(), key.clone());
    }
    // A server of TLS 1.3 refuses after the client's handshake: the first call may be what fails.
    let peer = within(sabir::connect(transport, Router::new())).await.ok()?;
    within(peer.call("shown", ())).await.ok()
}

#[tokio::test]
async fn whose_certificates_are_taken() {
    let (ours, foreign) = (Authority::new(), Authority::new());
    let (good, bad) = (ours.client(), foreign.client());
    let der = CertificateDer::from_pem_slice(good.0.as_bytes()).unwrap().to_vec();
    type Ask = fn(ServerTls, &[u8]) -> Result<ServerTls, sabir::Error>;
    for (ask, without) in
        [(ServerTls::require_clients as Ask, None), (ServerTls::ask_clients as Ask, Some(None))]
    {
        let certificate = Certificate::new();
        let tls = ask(certificate.server(), ours.pem().as_bytes()).unwrap();
        let server = open("https", router(), |server| server.tls(tls)).await;
        let url = format!("https://localhost:{}", server.port);
        assert_eq!(shown(&url, &certificate, None).await, without);
        assert_eq!(shown(&url, &certificate, Some(&bad)).await, None);
        assert_eq!(shown(&url, &certificate, Some(&good)).await, Some(Some(vec![der.clone()])));
        server.stop().await;
    }
}

#[test]
fn roots_must_be_certificates() {
    for roots in ["", "nonsense"] {
        assert!(Certificate::new().server().require_clients(roots.as_bytes()).is_err(), "{roots:?}");
        assert!(Certificate::new().server().ask_clients(roots.as_bytes()).is_err(), "{roots:?}");
    }
}
