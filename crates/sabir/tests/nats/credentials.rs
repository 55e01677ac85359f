//! Signing in with keys, with credentials files, and with certificates.

use nkeys::KeyPair;
use sabir::{ConnectErrorKind, Error, Nats, Router};
use serde_json::json;

use crate::rights::refused;
use crate::server::NatsServer;
use crate::service::{Worker, caller_with, options};

/// Both sides are let in like this.
async fn is_let_in(url: &str, nats: Nats) {
    let _worker = Worker::with(url, nats.clone(), std::time::Duration::ZERO).await;
    let peer = caller_with(url, nats, Router::new()).await;
    assert_eq!(peer.call::<i64>("add", (1, 2)).await, Ok(3));
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_key_pair_signs_in() {
    let (own, other) = (KeyPair::new_user(), KeyPair::new_user());
    let config = format!("authorization {{ users: [ {{ nkey: {} }} ] }}\n", own.public_key());
    let server = NatsServer::configured(&config);
    let url = server.url("demo");
    assert_eq!(refused(&url, options()).await, ConnectErrorKind::Credentials);
    assert_eq!(refused(&url, options().nkey(other.seed().unwrap())).await, ConnectErrorKind::Credentials);
    assert_eq!(refused(&url, options().nkey("SUnonsense")).await, ConnectErrorKind::Credentials);
    is_let_in(&url, options().nkey(own.seed().unwrap())).await;
}

/// A JWT as NATS has it.
fn jwt(issuer: &KeyPair, subject: &KeyPair, name: &str, nats: &serde_json::Value) -> String {
    use base64::Engine as _;
    let encode = |bytes: &[u8]| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes);
    let claims = json!({
        "jti": name,
        "iat": 1_700_000_000,
        "iss": issuer.public_key(),
        "name": name,
        "sub": subject.public_key(),
        "nats": nats,
    });
    let head = encode(br#"{"typ":"JWT","alg":"ed25519-nkey"}"#);
    let signed = format!("{head}.{}", encode(claims.to_string().as_bytes()));
    let signature = issuer.sign(signed.as_bytes()).unwrap();
    format!("{signed}.{}", encode(&signature))
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_credentials_file_signs_in() {
    let (operator, account, user) = (KeyPair::new_operator(), KeyPair::new_account(), KeyPair::new_user());
    let none = json!({ "subs": -1, "data": -1, "payload": -1 });
    let limits = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1, "leaf": -1,
    });
    let of = |kind: &str| json!({ "type": kind, "version": 2 });
    let operator_jwt = jwt(&operator, &operator, "operator", &of("operator"));
    let mut claims = of("account");
    claims["limits"] = limits;
    let account_jwt = jwt(&operator, &account, "account", &claims);
    let mut claims = none;
    claims["type"] = "user".into();
    claims["version"] = 2.into();
    let user_jwt = jwt(&account, &user, "user", &claims);
    let config = format!(
        "operator: {operator_jwt}\nresolver: MEMORY\nresolver_preload: {{ {}: {account_jwt} }}\n",
        account.public_key()
    );
    let server = NatsServer::configured(&config);
    let url = server.url("demo");
    let file = |seed: &str| {
        format!(
            "-----BEGIN NATS USER JWT-----\n{user_jwt}\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
        )
    };
    assert_eq!(refused(&url, options()).await, ConnectErrorKind::Credentials);
    // The key of somebody else.
    let other = file(&KeyPair::new_user().seed().unwrap());
    assert_eq!(refused(&url, options().credentials(other)).await, ConnectErrorKind::Credentials);
    let transport = sabir::transport::url(&*url).nats(options().credentials("nonsense"));
    let Err(Error::Config(error)) = sabir::connect(transport, Router::new()).await else {
        panic!("it is read")
    };
    let text = error.to_string();
    assert!(
        text.starts_with("the credentials for NATS cannot be used: ") && !text.contains("nonsense"),
        "{text}"
    );
    is_let_in(&url, options().credentials(file(&user.seed().unwrap()))).await;
}

#[tokio::test]
#[ignore = "needs nats-server"]
async fn a_certificate_signs_in() {
    let folder = std::env::temp_dir().join(format!("sabir-nats-certificate-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let certified =
        || rcgen::generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
    let (server, client, stranger) = (certified(), certified(), certified());
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let config = format!(
        "tls {{ cert_file: {:?}, key_file: {:?}, ca_file: {:?}, verify: true }}\n",
        write("server.pem", &server.cert.pem()),
        write("server.key", &server.signing_key.serialize_pem()),
        write("client.pem", &client.cert.pem()),
    );
    let nats = NatsServer::configured(&config);
    let url = nats.url("demo").replace("nats://", "nats+tls://");
    let trusting = || options().root_certificate(server.cert.pem());
    let shows = |own: &rcgen::CertifiedKey<rcgen::KeyPair>| {
        trusting().client_certificate(own.cert.pem(), own.signing_key.serialize_pem())
    };
    for nats in [trusting(), shows(&stranger)] {
        let kind = refused(&url, nats).await;
        assert!(matches!(kind, ConnectErrorKind::Tls | ConnectErrorKind::Refused), "{kind:?}");
    }
    is_let_in(&url, shows(&client)).await;
    let _ = std::fs::remove_dir_all(folder);
}
