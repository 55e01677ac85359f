//! Where a client may be led by what servers say: a server that is not trusted names the URLs of metadata and tokens, and
//! what lies in a private network is not reached by them.

#![cfg(feature = "auth")]
#![expect(clippy::unwrap_used, reason = "a test may")]

mod login;
mod site;

use login::{granted, protected_site};
use sabir::Authorizer as _;
use sabir::http::{HeaderMap, Method, StatusCode};
use sabir_mcp::{CredentialStore as _, LoopbackBrowser, MemoryStore, OAuth, OAuthSession, Tokens};
use serde_json::json;
use site::Site;

/// It has a name, and so none of its documents may be at a private address.
const SERVER: &str = "https://mcp.example.com/mcp";

fn oauth() -> OAuth {
    OAuth::browser(LoopbackBrowser::new(|url| panic!("nobody is sent to {url}")))
}

/// What a client says when the server refuses it and names its metadata.
async fn led_to(oauth: OAuth, metadata: &str) -> String {
    let session = OAuthSession::from(oauth);
    let mut headers = HeaderMap::new();
    let challenge = format!("Bearer resource_metadata=\"{metadata}\"");
    headers.insert("www-authenticate", challenge.parse().unwrap());
    let verdict = session.answered(SERVER, &HeaderMap::new(), StatusCode::UNAUTHORIZED, &headers).await;
    verdict.map(|_| "a token".to_owned()).unwrap_or_else(|error| error)
}

async fn private_site() -> (Site, String) {
    let site = protected_site(json!({"resource": {}, "server": {}}), granted).await;
    let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", site.url);
    (site, metadata)
}

#[tokio::test]
async fn a_challenge_does_not_lead_into_a_private_network() {
    let (site, metadata) = private_site().await;
    let by_name = metadata.replace("127.0.0.1", "localhost");
    for (place, why) in [
        (metadata.as_str(), "private address"),
        (&by_name, "private address"),
        ("https://10.0.0.1/metadata", "private address"),
        ("https://192.168.0.1:8443/metadata", "private address"),
        ("https://169.254.169.254/latest/meta-data", "private address"),
        ("https://[fd00::1]/metadata", "private address"),
        ("https://[fe80::1]/metadata", "private address"),
        ("https://[::ffff:10.0.0.1]/metadata", "private address"),
        ("http://169.254.169.254/latest/meta-data", "must be https://"),
        ("http://evil.example/metadata", "must be https://"),
        ("file:///etc/passwd", "not a valid URL"),
        ("unix:/run/docker.sock", "must be https://"),
    ] {
        let told = led_to(oauth(), place).await;
        assert!(told.contains(why), "{place}: {told}");
    }
    assert!(site.asked("").is_empty());
    // Whoever allows it gets there, and the document must be about the server all the same.
    let told = led_to(oauth().allow_private_addresses(), &metadata).await;
    assert!(told.contains("are for another resource"), "{told}");
    assert_eq!(site.asked("").len(), 1);
}

/// What was allowed at the login goes on to be allowed, and nothing else: stored tokens name their issuer.
#[tokio::test]
async fn stored_tokens_do_not_lead_into_a_private_network() {
    for allowed in [false, true] {
        let (site, _) = private_site().await;
        let store = MemoryStore::default();
        let mut tokens = Tokens::default();
        tokens.issuer.clone_from(&site.url);
        tokens.access_token = "the-access-token".to_owned();
        tokens.refresh_token = Some("the-refresh-token".to_owned());
        tokens.expires_at = Some(1);
        tokens.private_addresses = allowed;
        store.set_tokens(SERVER, Some(&tokens)).unwrap();
        let session = OAuthSession::from(oauth().store(store));
        session.authorize(&Method::POST, SERVER, &mut HeaderMap::new()).await.unwrap();
        assert_eq!(site.asked("").is_empty(), !allowed);
    }
}
