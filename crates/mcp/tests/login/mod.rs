//! A protected server, a user who logs in there, and connections to it.

#![allow(dead_code, clippy::unwrap_used)] // Each test file uses some of it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sabir::Fetch;
use sabir::http::Request;
use sabir_mcp::{
    CredentialStore, LoopbackBrowser, McpClient, McpRevision, McpSession, MemoryStore, OAuthSession,
    Registration, Tokens,
};
use serde_json::{Value, json};

use crate::site::{Asked, NOW, Reply, Site, missing, ok, with};

/// A protected server that is its own authorization server. `change` are other members of the two documents (`resource`,
/// `server`), and what the browser comes back with beside the state (`returned`), `tokens` the answers of the token endpoint.
pub(crate) async fn protected_site(
    change: Value,
    tokens: impl Fn(&Asked) -> Reply + Send + Sync + 'static,
) -> Site {
    Site::start(move |url, asked| answer(url, asked, &change, &tokens)).await
}

pub(crate) fn answer(
    url: &str,
    asked: &Asked,
    change: &Value,
    tokens: &(dyn Fn(&Asked) -> Reply + Send + Sync),
) -> Reply {
    let resource = json!({"resource": format!("{url}/mcp"), "authorization_servers": [url]});
    let metadata = json!({
        "issuer": url,
        "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"),
        "registration_endpoint": format!("{url}/register"),
        "code_challenge_methods_supported": ["S256"],
    });
    match () {
        () if asked.is("GET /.well-known/oauth-protected-resource/mcp ") => {
            ok(&with(resource, &change["resource"]))
        }
        () if asked.is("GET /.well-known/oauth-authorization-server ") => {
            ok(&with(metadata, &change["server"]))
        }
        () if asked.is("POST /register ") => {
            (201, String::new(), json!({"client_id": "me", "client_secret": "the-client-secret"}).to_string())
        }
        () if asked.is("GET /authorize?") => {
            let part = |name: &str| {
                asked.line.split(['?', '&', ' ']).find_map(|part| part.strip_prefix(name)).unwrap().to_owned()
            };
            let redirect = part("redirect_uri=").replace("%3A", ":").replace("%2F", "/");
            let returned = change["returned"].as_str().unwrap_or("code=the-code").replace("URL", url);
            let location = format!("{redirect}?{returned}&state={}", part("state="));
            (302, format!("Location: {location}\r\n"), String::new())
        }
        () if asked.is("POST /token ") => tokens(asked),
        () if asked.is("POST /mcp ") => mcp(asked),
        () => missing(),
    }
}

/// A server that takes tokens which begin in the right way, until they are said to be stale.
pub(crate) fn mcp(asked: &Asked) -> Reply {
    let head = asked.head.to_ascii_lowercase();
    if !head.contains("authorization: bearer the-access-token") {
        let told = match head.contains("authorization: ") {
            true => ", error=\"invalid_token\", error_description=\"the token is not for this server\"",
            false => "",
        };
        return (401, format!("WWW-Authenticate: Bearer scope=\"a\"{told}\r\n"), String::new());
    }
    let message: Value = serde_json::from_str(&asked.body).unwrap();
    let result = match message["method"].as_str().unwrap() {
        "server/discover" => {
            json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete"})
        }
        _ => json!({"content": [{"type": "text", "text": "done"}], "resultType": "complete"}),
    };
    ok(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

pub(crate) fn granted(asked: &Asked) -> Reply {
    assert!(asked.body.contains("resource=http%3A%2F%2F127.0.0.1"), "{}", asked.body);
    ok(
        &json!({"access_token": "the-access-token", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "the-refresh-token"}),
    )
}

/// A user who goes wherever the browser is sent.
pub(crate) fn browser() -> LoopbackBrowser {
    LoopbackBrowser::new(|url| {
        let url = url.to_owned();
        tokio::spawn(async move {
            let response = Fetch::default().send(Request::get(url).body("").unwrap()).await.unwrap();
            let location = response.headers()["location"].to_str().unwrap().to_owned();
            // Somebody else comes first, with the state of another login.
            let wrong = format!("{}x", location.replace("the-code", "stolen"));
            assert_eq!(
                Fetch::default().send(Request::get(wrong).body("").unwrap()).await.unwrap().status(),
                404
            );
            assert_eq!(
                Fetch::default().send(Request::get(location).body("").unwrap()).await.unwrap().status(),
                200
            );
        });
    })
    .timeout(Duration::from_secs(20))
}

pub(crate) async fn connect(site: &Site, auth: impl Into<OAuthSession>) -> Result<McpSession, String> {
    let client = McpClient::new("t", "1").revision(McpRevision::V2026_07_28).auth(auth);
    client.connect(format!("{}/mcp", site.url)).await.map_err(|error| error.to_string())
}

/// A store that the test looks into.
#[derive(Clone, Default)]
pub(crate) struct SharedStore(Arc<MemoryStore>);

impl CredentialStore for SharedStore {
    fn tokens(&self, server: &str) -> io::Result<Option<Tokens>> {
        self.0.tokens(server)
    }
    fn set_tokens(&self, server: &str, tokens: Option<&Tokens>) -> io::Result<()> {
        self.0.set_tokens(server, tokens)
    }
    fn registration(&self, issuer: &str) -> io::Result<Option<Registration>> {
        self.0.registration(issuer)
    }
    fn set_registration(&self, issuer: &str, registration: Option<&Registration>) -> io::Result<()> {
        self.0.set_registration(issuer, registration)
    }
}

/// A clock that the test moves.
#[derive(Clone)]
pub(crate) struct Time(Arc<AtomicU64>);

impl Time {
    pub(crate) fn new() -> Self {
        Time(Arc::new(AtomicU64::new(NOW)))
    }

    pub(crate) fn pass(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }

    pub(crate) fn clock(&self) -> impl Fn() -> SystemTime + Send + Sync + use<> {
        let time = Arc::clone(&self.0);
        move || UNIX_EPOCH + Duration::from_secs(time.load(Ordering::SeqCst))
    }
}
