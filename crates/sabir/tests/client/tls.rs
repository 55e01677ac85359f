//! TLS: whom to trust, and what to show.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedKey, IsCa, KeyPair, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use sabir::{ConnectErrorKind, Error, Router, Transport, transport};
use tokio_rustls::TlsAcceptor;

use crate::script::{Script, json, three, within};

pub(crate) struct Identity {
    pub(crate) chain: String,
    pub(crate) key: String,
}

pub(crate) fn identity(name: &str) -> Identity {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed([name.to_owned()]).unwrap();
    Identity { chain: cert.pem(), key: signing_key.serialize_pem() }
}

/// A server with a certificate for `localhost`, which may want one too. Returns where it is.
async fn server(identity: &Identity, client: Option<&Identity>) -> String {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificate = CertificateDer::from_pem_slice(identity.chain.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match client {
        Some(client) => {
            let mut roots = rustls::RootCertStore::empty();
            roots.add(CertificateDer::from_pem_slice(client.chain.as_bytes()).unwrap()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
        None => builder.with_no_client_auth(),
    };
    let acceptor = TlsAcceptor::from(Arc::new(builder.with_single_cert(vec![certificate], key).unwrap()));
    let accept = move |stream| {
        let accepting = acceptor.accept(stream);
        async move { accepting.await.ok() }
    };
    let script = Script::over(|seen| json(&three(seen)), accept).await;
    script.address.replace("127.0.0.1", "localhost")
}

async fn call(transport: Transport) -> Result<i64, String> {
    match within(sabir::connect(transport, Router::new())).await {
        Ok(peer) => within(peer.call("add", (1, 2))).await.map_err(|error| error.to_string()),
        Err(Error::Connect(error)) => {
            let speaks_tls = error.reason() != "the server does not speak TLS";
            let want = if speaks_tls { ConnectErrorKind::Tls } else { ConnectErrorKind::NotTls };
            assert_eq!(error.kind(), want, "{error}");
            Err(error.reason().to_owned())
        }
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn whom_to_trust() {
    let ours = identity("localhost");
    let address = server(&ours, None).await;
    let url = || transport::url(format!("https://{address}/"));
    assert_eq!(call(url().root_certificate(ours.chain.clone())).await, Ok(3));
    assert_eq!(call(url().danger_accept_any_certificate()).await, Ok(3));
    let error = call(url().root_certificate(identity("localhost").chain)).await.unwrap_err();
    assert_eq!(error, "the server's certificate is not signed by a trusted authority");
    // The name is checked too.
    let elsewhere = transport::url(format!("https://{}/", address.replace("localhost", "127.0.0.1")));
    let error = call(elsewhere.root_certificate(ours.chain.clone())).await.unwrap_err();
    assert_eq!(error, "the server's certificate is not for `127.0.0.1` but for localhost");
    // What `openssl req -x509` makes by itself.
    let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let authority = Identity { chain: params.self_signed(&key).unwrap().pem(), key: key.serialize_pem() };
    let address = server(&authority, None).await;
    let url = transport::url(format!("https://{address}/")).root_certificate(authority.chain.clone());
    assert_eq!(
        call(url).await.unwrap_err(),
        "the server's certificate is that of an authority, not of a server: make it with basicConstraints=CA:FALSE"
    );
}

#[tokio::test]
async fn what_to_show() {
    let (ours, client) = (identity("localhost"), identity("client"));
    let address = server(&ours, Some(&client)).await;
    let url = || transport::url(format!("https://{address}/")).root_certificate(ours.chain.clone());
    assert_eq!(call(url().client_certificate(client.chain.clone(), client.key.clone())).await, Ok(3));
    assert!(call(url()).await.is_err());
}

#[tokio::test]
async fn what_is_no_tls_and_what_is_no_certificate() {
    let script = Script::answer(|seen| json(&three(seen))).await;
    for scheme in ["https", "wss", "tls"] {
        let garbage = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = garbage.local_addr().unwrap();
        tokio::spawn(async move {
            use tokio::io::AsyncWriteExt;
            let (mut stream, _) = garbage.accept().await.unwrap();
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
            tokio::time::sleep(std::time::Duration::from_secs(5)).await;
        });
        let transport = transport::url(format!("{scheme}://{address}")).danger_accept_any_certificate();
        assert_eq!(call(transport).await, Err("the server does not speak TLS".to_owned()), "{scheme}");
    }
    for transport in [
        transport::url("https://localhost:1").root_certificate("nonsense"),
        transport::url("https://localhost:1").client_certificate("a", "b").danger_accept_any_certificate(),
        transport::url(script.url()).danger_accept_any_certificate(),
    ] {
        let error = within(sabir::connect(transport, Router::new())).await.unwrap_err();
        assert!(matches!(error, Error::Config(_)), "{error}");
    }
}

/// Lines over TLS.
#[tokio::test]
async fn lines() {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    let ours = identity("localhost");
    let key = PrivateKeyDer::from_pem_slice(ours.key.as_bytes()).unwrap();
    let certificate = CertificateDer::from_pem_slice(ours.chain.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let stream = TlsAcceptor::from(Arc::new(config)).accept(stream).await.unwrap();
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        assert!(line.contains("add"));
        stream.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":3}\n").await.unwrap();
        stream.flush().await.unwrap();
        stream.read_line(&mut line).await.unwrap();
    });
    let transport = transport::url(format!("tls://localhost:{port}")).root_certificate(ours.chain);
    assert_eq!(call(transport).await, Ok(3));
}
