//! Authorization servers over TLS, whose certificates the system does not know: clients and servers take them if they are
//! given the certificate that signs them.

#![cfg(feature = "auth")]
#![expect(clippy::unwrap_used, reason = "a test may")]

mod login;
mod protected;
mod site;

use login::{answer, browser, connect};
use protected::{Target, claims, header};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use sabir::{Http, Router, ServerTls};
use sabir_mcp::{OAuth, ResourceServer};
use serde_json::json;
use site::{Key, Site, ok};

/// An authorization server over TLS, which serves documents. The rest of it is at a site without TLS on this machine.
struct Issuer {
    url: String,
    certificate: String,
}

impl Issuer {
    async fn start(endpoints: &str, keys: &str) -> Self {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let url = format!("https://127.0.0.1:{port}");
        let metadata = json!({
            "issuer": url, "jwks_uri": format!("{url}/keys"), "code_challenge_methods_supported": ["S256"],
            "authorization_endpoint": format!("{endpoints}/authorize"), "token_endpoint": format!("{endpoints}/token"),
            "registration_endpoint": format!("{endpoints}/register"),
        });
        let http = Http::new()
            .document("/.well-known/oauth-authorization-server", metadata.to_string())
            .document("/keys", keys);
        let (chain, key) = (cert.pem(), signing_key.serialize_pem());
        let tls = ServerTls::from_pem(chain.as_bytes(), key.as_bytes()).unwrap();
        let server = sabir::listen(&url, Router::new()).http(http).tls(tls).await.unwrap();
        tokio::spawn(server.run());
        Issuer { url, certificate: chain }
    }
}

#[tokio::test]
async fn a_client_takes_an_issuer_by_its_certificate() {
    let endpoints = Site::start(|url, asked| {
        let tokens =
            |_: &site::Asked| ok(&json!({"access_token": "the-access-token", "token_type": "Bearer"}));
        answer(url, asked, &json!({"resource": {}, "server": {}}), &tokens)
    })
    .await;
    let issuer = Issuer::start(&endpoints.url, "{}").await;
    let at = issuer.url.clone();
    let site = Site::start(move |url, asked| {
        let change = json!({"resource": {"authorization_servers": [at]}, "server": {}});
        answer(url, asked, &change, &|_| site::missing())
    })
    .await;
    let error = connect(&site, OAuth::browser(browser())).await.unwrap_err();
    assert!(error.contains("certificate"), "{error}");
    assert!(endpoints.asked("").is_empty());
    let auth = OAuth::browser(browser()).root_certificate(issuer.certificate);
    let session = connect(&site, auth).await.unwrap();
    assert_eq!(session.call("x", json!({})).await.unwrap().text(), "done");
}

#[tokio::test]
async fn a_server_takes_an_issuer_by_its_certificate() {
    let key = Key::new();
    let keys = json!({"keys": [key.jwk(Some("one"))]}).to_string();
    let issuer = Issuer::start("https://127.0.0.1:1", &keys).await;
    let settings = ResourceServer::new(protected::RESOURCE).issuer(&issuer.url).clock(site::clock);
    let Err(error) = settings.clone().start().await else { panic!("its certificate is not known") };
    assert!(error.to_string().contains("certificate"), "{error}");
    let auth = settings.root_certificate(issuer.certificate).start().await.unwrap();
    let target = Target::start(&auth).await;
    let token = key.sign(&header(), &claims(&issuer.url));
    assert_eq!(target.call("who", &format!("Bearer {token}")).await.status, 200);
}
