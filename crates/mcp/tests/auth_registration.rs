//! Who a client is at an authorization server: named, by a document, or registered; what is kept of that, and what becomes of
//! clients that are not known there any more.

#![cfg(feature = "auth")]
#![expect(clippy::unwrap_used, reason = "a test may")]

mod login;
mod site;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use login::{SharedStore, Time, answer, browser, connect, granted, protected_site};
use sabir::Fetch;
use sabir::http::Request;
use sabir_mcp::{CredentialStore as _, OAuth, OAuthSession, UserAgent, Visit};
use serde_json::json;
use site::{Asked, Reply, Site, missing, ok};

/// A server that numbers the clients which it registers, and whose first ones it forgets.
#[derive(Clone, Default)]
struct Registry {
    count: Arc<AtomicUsize>,
    forgotten: Arc<AtomicUsize>,
}

impl Registry {
    fn register(&self) -> Reply {
        let number = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        (201, String::new(), json!({"client_id": format!("client-{number}")}).to_string())
    }

    fn knows(&self, text: &str) -> bool {
        let Some(rest) = text.split("client_id=client-").nth(1) else { return false };
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<usize>().unwrap() > self.forgotten.load(Ordering::SeqCst)
    }

    /// Tokens that last for a minute.
    fn tokens(&self, asked: &Asked) -> Reply {
        match self.knows(&asked.body) {
            true => ok(&json!({
                "access_token": "the-access-token", "token_type": "Bearer", "refresh_token": "the-refresh-token",
                "expires_in": 60,
            })),
            false => (401, String::new(), json!({"error": "invalid_client"}).to_string()),
        }
    }

    async fn site(&self) -> Site {
        let registry = self.clone();
        Site::start(move |url, asked| match () {
            () if asked.is("POST /register ") => registry.register(),
            () if asked.is("GET /authorize?") && !registry.knows(&asked.line) => missing(),
            () => answer(url, asked, &json!({"resource": {}, "server": {}}), &|asked| registry.tokens(asked)),
        })
        .await
    }
}

/// A user at a page of their own, who gives up where the browser is not sent back.
struct Page;

impl UserAgent for Page {
    fn redirect_uri(&self) -> Visit<'_> {
        Box::pin(std::future::ready(Ok("http://127.0.0.1:1/callback".to_owned())))
    }

    fn visit<'a>(&'a self, url: &'a str) -> Visit<'a> {
        Box::pin(async move {
            let response = Fetch::default().send(Request::get(url).body("").unwrap()).await.unwrap();
            let location = response.headers().get("location").ok_or("the user has given up")?;
            Ok(location.to_str().unwrap().to_owned())
        })
    }
}

fn parameter(line: &str, name: &str) -> String {
    line.split(['?', '&', ' ']).find_map(|part| part.strip_prefix(name)).unwrap_or_default().to_owned()
}

/// The clients that the user was asked about.
fn clients(site: &Site) -> Vec<String> {
    site.asked("GET /authorize?").iter().map(|asked| parameter(&asked.line, "client_id=")).collect()
}

#[tokio::test]
async fn a_registration_is_kept_once_it_has_got_tokens() {
    let refuses = Arc::new(AtomicBool::new(true));
    let refused = Arc::clone(&refuses);
    let site = Site::start(move |url, asked| {
        let returned = if refused.load(Ordering::SeqCst) { "error=access_denied" } else { "code=the-code" };
        answer(url, asked, &json!({"resource": {}, "server": {}, "returned": returned}), &granted)
    })
    .await;
    let store = SharedStore::default();
    let auth = || OAuth::browser(Page).store(store.clone());
    let error = connect(&site, auth()).await.unwrap_err();
    assert!(error.contains("access_denied"), "{error}");
    assert_eq!(store.registration(&site.url).unwrap(), None);
    refuses.store(false, Ordering::SeqCst);
    connect(&site, auth()).await.unwrap();
    assert_eq!(store.registration(&site.url).unwrap().unwrap().client_id, "me");
}

/// The page of the authorization server shows an error then, and the browser never comes back.
#[tokio::test]
async fn a_registration_that_leads_nowhere_is_used_once() {
    let registry = Registry::default();
    let (site, store) = (registry.site().await, SharedStore::default());
    let url = format!("{}/mcp", site.url);
    let auth = || OAuth::browser(Page).store(store.clone());
    connect(&site, auth()).await.unwrap();
    // It is used again as long as it is known.
    store.set_tokens(&url, None).unwrap();
    connect(&site, auth()).await.unwrap();
    assert_eq!(clients(&site), ["client-1", "client-1"]);
    registry.forgotten.store(1, Ordering::SeqCst);
    store.set_tokens(&url, None).unwrap();
    let error = connect(&site, auth()).await.unwrap_err();
    assert!(error.contains("given up"), "{error}");
    connect(&site, auth()).await.unwrap();
    assert_eq!(clients(&site), ["client-1", "client-1", "client-1", "client-2"]);
    // Whoever logs in by hand does not have to fail first.
    registry.forgotten.store(2, Ordering::SeqCst);
    OAuthSession::from(auth()).login(&url).await.unwrap();
    assert_eq!(clients(&site)[4..], ["client-3"]);
}

/// Tokens are renewed by the client that they were issued to, though the issuer has registered another one since.
#[tokio::test]
async fn tokens_are_renewed_by_their_own_client() {
    let registry = Registry::default();
    let issuer = registry.site().await;
    let resource = || {
        let issuer = issuer.url.clone();
        Site::start(move |url, asked| {
            let change = json!({"resource": {"authorization_servers": [issuer]}, "server": {}});
            answer(url, asked, &change, &granted)
        })
    };
    let (one, other) = (resource().await, resource().await);
    let (time, store) = (Time::new(), SharedStore::default());
    // Each browser comes back to a port of its own, so that each is registered.
    let auth = || OAuth::browser(browser()).clock(time.clock()).store(store.clone());
    let first = connect(&one, auth()).await.unwrap();
    let second = connect(&other, auth()).await.unwrap();
    time.pass(3600);
    for session in [&first, &second] {
        assert_eq!(session.call("x", json!({})).await.unwrap().text(), "done");
    }
    let renewed: Vec<_> = issuer.asked("POST /token ").into_iter().map(|asked| asked.body).collect();
    let renewed: Vec<_> = renewed.iter().filter(|body| body.contains("grant_type=refresh_token")).collect();
    let by: Vec<_> = renewed.iter().map(|body| parameter(body, "client_id=")).collect();
    assert_eq!(by, ["client-1", "client-2"]);
    assert_eq!(clients(&issuer).len(), 2);
}

/// Its tokens are good for nothing any more, either.
#[tokio::test]
async fn a_client_that_is_not_known_any_more_is_registered_once_more() {
    let registry = Registry::default();
    let (site, time) = (registry.site().await, Time::new());
    let session = connect(&site, OAuth::browser(browser()).clock(time.clock())).await.unwrap();
    registry.forgotten.store(1, Ordering::SeqCst);
    time.pass(3600);
    assert_eq!(session.call("x", json!({})).await.unwrap().text(), "done");
    assert_eq!(clients(&site), ["client-1", "client-2"]);
    let refused = site.asked("POST /token ");
    assert_eq!(refused.iter().filter(|asked| asked.body.contains("grant_type=refresh_token")).count(), 1);
}

#[tokio::test]
async fn a_server_that_knows_none_of_its_clients_is_not_asked_for_ever() {
    let registry = Registry::default();
    registry.forgotten.store(usize::MAX, Ordering::SeqCst);
    let known = registry.clone();
    let site = Site::start(move |url, asked| match asked.is("POST /register ") {
        true => known.register(),
        false => answer(url, asked, &json!({"resource": {}, "server": {}}), &|asked| known.tokens(asked)),
    })
    .await;
    let store = SharedStore::default();
    let error = connect(&site, OAuth::browser(browser()).store(store.clone())).await.unwrap_err();
    assert!(error.contains("invalid_client"), "{error}");
    assert_eq!(clients(&site), ["client-1", "client-2"]);
    assert_eq!(store.registration(&site.url).unwrap(), None);
}

#[tokio::test]
async fn a_document_names_the_client_where_that_is_understood() {
    for (understood, client, registered) in
        [(json!(true), "https%3A%2F%2Fapp.example%2Fclient.json", 0), (json!(false), "me", 1)]
    {
        let change = json!({"resource": {}, "server": {"client_id_metadata_document_supported": understood}});
        let site = protected_site(change, granted).await;
        let auth = OAuth::browser(browser()).metadata_document("https://app.example/client.json");
        connect(&site, auth).await.unwrap();
        assert_eq!(clients(&site), [client]);
        assert_eq!(site.asked("POST /register ").len(), registered);
    }
}

/// A server of 2025-03-26 has no metadata of its own: its origin is the authorization server, and may have usual endpoints alone.
#[tokio::test]
async fn a_server_without_metadata_is_its_own_authorization_server() {
    for has_metadata in [true, false] {
        let site = Site::start(move |url, asked| {
            let is_missing = asked.is("GET /.well-known/oauth-protected-resource")
                || asked.is("GET /.well-known/") && !has_metadata;
            let tokens = |asked: &Asked| {
                assert!(!asked.body.contains("resource="), "{}", asked.body);
                ok(&json!({"access_token": "the-access-token", "token_type": "Bearer"}))
            };
            match is_missing {
                true => missing(),
                false => answer(url, asked, &json!({"resource": {}, "server": {}}), &tokens),
            }
        })
        .await;
        let session = connect(&site, OAuth::browser(browser())).await.unwrap();
        assert_eq!(session.call("x", json!({})).await.unwrap().text(), "done");
        assert_eq!(site.asked("GET /authorize?").len(), 1);
        for place in ["/mcp ", " "] {
            let line = format!("GET /.well-known/oauth-protected-resource{place}");
            assert_eq!(site.asked(&line).len(), 1, "{line}");
        }
    }
    // Metadata of somebody else are not believed there, either.
    let site = Site::start(|url, asked| match asked.is("GET /.well-known/oauth-protected-resource") {
        true => missing(),
        false => {
            let server = json!({"issuer": "https://evil.example"});
            answer(url, asked, &json!({"resource": {}, "server": server}), &granted)
        }
    })
    .await;
    let error = connect(&site, OAuth::browser(browser())).await.unwrap_err();
    assert!(error.contains("are those of another one"), "{error}");
    assert!(site.asked("POST /register ").is_empty());
}
