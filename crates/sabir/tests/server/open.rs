//! Doors to knock at, and what is said there.

use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use sabir::{Router, ServerBuilder, ServerTls, Stopper};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::client::{Client, within};

pub(crate) const ADD: &str = r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}"#;
pub(crate) const SUM: &str = r#"{"jsonrpc":"2.0","id":1,"result":3}"#;

/// A server that runs.
pub(crate) struct Open {
    pub(crate) port: u16,
    pub(crate) stopper: Stopper,
    pub(crate) running: JoinHandle<Result<(), sabir::Error>>,
}

/// Listens at a port of this machine.
pub(crate) async fn open(
    scheme: &str,
    router: Router,
    set: impl FnOnce(ServerBuilder) -> ServerBuilder,
) -> Open {
    let server = set(sabir::listen(format!("{scheme}://127.0.0.1:0"), router)).await.unwrap();
    let port = server.url().rsplit(':').next().unwrap().parse().unwrap();
    Open { port, stopper: server.stopper(), running: tokio::spawn(server.run()) }
}

impl Open {
    /// Whether an honest client is served.
    pub(crate) async fn assert_serves(&self) {
        let mut honest = Client::connect(self.port).await;
        honest.post("", ADD).await;
        assert_eq!(honest.answer().await, (200, SUM.to_owned()));
    }

    /// Stops it, and waits until every connection has ended.
    pub(crate) async fn stop(self) {
        self.stopper.stop();
        within(self.running).await.unwrap().unwrap();
    }
}

/// A certificate for this machine.
pub(crate) struct Certificate {
    chain: String,
    key: String,
}

impl Certificate {
    pub(crate) fn new() -> Self {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        Certificate { chain: cert.pem(), key: signing_key.serialize_pem() }
    }

    /// As PEM.
    pub(crate) fn chain(&self) -> String {
        self.chain.clone()
    }

    pub(crate) fn server(&self) -> ServerTls {
        ServerTls::from_pem(self.chain.as_bytes(), self.key.as_bytes()).unwrap()
    }

    pub(crate) async fn connect(&self, port: u16, alpn: &[&str]) -> TlsStream<TcpStream> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.chain.as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        within(TlsConnector::from(Arc::new(config)).connect(name, stream)).await.unwrap()
    }
}
