//! A client that logs in by itself, at servers that are honest and at some that are not: tokens are kept, renewed once for
//! all who wait, and never sent or told to anybody else.

#![cfg(feature = "auth")]
#![expect(clippy::unwrap_used, reason = "a test may")]

mod login;
mod site;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use login::{SharedStore, Time, answer, browser, connect, granted, protected_site};
use sabir::Fetch;
use sabir::http::Request;
use sabir_mcp::{
    ClientCredentials, CredentialStore, FileStore, IdentityProvider, LoggedOut, LoopbackBrowser, OAuth,
    OAuthSession, UserAgent, Visit,
};
use serde_json::json;
use site::{Asked, NOW, Reply, Site, missing, ok};

/// What must never be told.
const SECRETS: [&str; 4] = ["the-access-token", "the-refresh-token", "the-code", "the-client-secret"];

#[tokio::test]
async fn a_login_is_kept_and_used_again() {
    let site = protected_site(json!({"resource": {}, "server": {}}), granted).await;
    let folder = std::env::temp_dir().join(format!("sabir-auth-{}", std::process::id()));
    let path = folder.join("credentials.json");
    let first = connect(&site, OAuth::browser(browser()).store(FileStore::new(&path))).await.unwrap();
    assert_eq!(first.call("x", json!({})).await.unwrap().text(), "done");
    let authorize = site.asked("GET /authorize?");
    assert_eq!(authorize.len(), 1);
    for part in [
        "response_type=code",
        "code_challenge_method=S256",
        "scope=a",
        "client_id=me",
        "resource=http%3A%2F%2F127.0.0.1",
    ] {
        assert!(authorize[0].line.contains(part), "{part}: {}", authorize[0].line);
    }
    // Another run of the program.
    let second = connect(
        &site,
        OAuth::browser(LoopbackBrowser::new(|_| panic!("no login"))).store(FileStore::new(&path)),
    );
    assert_eq!(second.await.unwrap().call("x", json!({})).await.unwrap().text(), "done");
    assert_eq!(site.asked("GET /authorize?").len(), 1);
    std::fs::remove_dir_all(folder).unwrap();
}

/// One client may be connected to many servers: each sees only what was issued for it.
#[tokio::test]
async fn a_server_never_sees_the_token_of_another() {
    let (one, other) = (
        protected_site(json!({"resource": {}, "server": {}}), granted).await,
        protected_site(json!({"resource": {}, "server": {}}), |_| {
            ok(&json!({"access_token": "the-access-token-of-another", "token_type": "Bearer"}))
        })
        .await,
    );
    let auth = OAuthSession::from(OAuth::browser(browser()));
    let first = connect(&one, auth.clone()).await.unwrap();
    let second = connect(&other, auth.clone()).await.unwrap();
    for session in [&first, &second, &first] {
        assert_eq!(session.call("x", json!({})).await.unwrap().text(), "done");
    }
    let sent = |site: &Site, token: &str| {
        let line = format!("authorization: bearer {token}\r\n");
        site.asked("POST /mcp ")
            .iter()
            .filter(|asked| asked.head.to_ascii_lowercase().contains(&line))
            .count()
    };
    assert_eq!((sent(&one, "the-access-token"), sent(&one, "the-access-token-of-another")), (3, 0));
    assert_eq!((sent(&other, "the-access-token"), sent(&other, "the-access-token-of-another")), (0, 2));
    // A second connection to the same server shares the login.
    connect(&one, auth).await.unwrap();
    assert_eq!(one.asked("GET /authorize?").len(), 1);
}

#[tokio::test]
async fn many_who_wait_renew_a_token_once() {
    let time = Arc::new(AtomicU64::new(NOW));
    let site = protected_site(json!({"resource": {}, "server": {}}), |asked| {
        let (access, refresh) = match asked.body.contains("refresh_token=") {
            true => ("the-access-token-2", "the-refresh-token-2"),
            false => ("the-access-token", "the-refresh-token"),
        };
        ok(&json!({"access_token": access, "token_type": "bearer", "expires_in": 60, "refresh_token": refresh}))
    })
    .await;
    let (now, store) = (Arc::clone(&time), SharedStore::default());
    let clock = move || UNIX_EPOCH + Duration::from_secs(now.load(Ordering::Relaxed));
    let auth = OAuth::browser(browser()).clock(clock).store(store.clone());
    let session = connect(&site, auth).await.unwrap();
    time.store(NOW + 55, Ordering::Relaxed);
    let calls: Vec<_> = (0..20).map(|_| tokio::spawn(session.call("x", json!({})).into_future())).collect();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap().text(), "done");
    }
    let refreshes = site.asked("POST /token ");
    let refreshes: Vec<_> =
        refreshes.iter().filter(|asked| asked.body.contains("grant_type=refresh_token")).collect();
    assert_eq!(refreshes.len(), 1);
    assert!(refreshes[0].body.contains("refresh_token=the-refresh-token&"), "{}", refreshes[0].body);
    let kept = store.tokens(&format!("{}/mcp", site.url)).unwrap().unwrap();
    assert_eq!(kept.refresh_token.as_deref(), Some("the-refresh-token-2"));
    assert_eq!(site.asked("GET /authorize?").len(), 1);
}

/// Each has a store of its own in the same file, as two programs have.
#[tokio::test]
async fn two_programs_renew_a_token_once() {
    let site = rotating().await;
    let folder = std::env::temp_dir().join(format!("sabir-auth-two-{}", std::process::id()));
    let path = folder.join("credentials.json");
    let time = Arc::new(AtomicU64::new(NOW));
    let auth = || {
        let now = Arc::clone(&time);
        let clock = move || UNIX_EPOCH + Duration::from_secs(now.load(Ordering::Relaxed));
        OAuth::browser(browser()).clock(clock).store(FileStore::new(&path))
    };
    connect(&site, auth()).await.unwrap();
    let sessions = [connect(&site, auth()).await.unwrap(), connect(&site, auth()).await.unwrap()];
    for round in 1..=3 {
        time.fetch_add(55, Ordering::Relaxed);
        let calls = sessions.each_ref().map(|session| session.call("x", json!({})).into_future());
        for call in calls.map(tokio::spawn) {
            assert_eq!(call.await.unwrap().unwrap().text(), "done", "{round}");
        }
        let refreshes = site.asked("POST /token ");
        let refreshes = refreshes.iter().filter(|asked| asked.body.contains("grant_type=refresh_token"));
        assert_eq!(refreshes.count(), round);
    }
    assert_eq!(site.asked("GET /authorize?").len(), 1);
    std::fs::remove_dir_all(folder).unwrap();
}

/// An authorization server that ends the login when a refresh token is sent twice.
async fn rotating() -> Site {
    let last = AtomicU64::new(0);
    protected_site(json!({"resource": {}, "server": {}}), move |asked| {
        let number = last.load(Ordering::SeqCst);
        let is_last = asked.body.contains(&format!("refresh_token=the-refresh-token-{number}&"));
        if asked.body.contains("grant_type=refresh_token") && !is_last {
            last.store(u64::MAX / 2, Ordering::SeqCst);
            return (400, String::new(), json!({"error": "invalid_grant"}).to_string());
        }
        let number = last.fetch_add(1, Ordering::SeqCst) + 1;
        ok(&json!({
            "access_token": format!("the-access-token-{number}"), "token_type": "bearer", "expires_in": 60,
            "refresh_token": format!("the-refresh-token-{number}"),
        }))
    })
    .await
}

#[tokio::test]
async fn a_refresh_token_that_is_refused_is_not_sent_again() {
    let site = protected_site(json!({"resource": {}, "server": {}}), |asked| {
        match asked.body.contains("grant_type=refresh_token") {
            true => (400, String::new(), json!({"error": "invalid_grant"}).to_string()),
            false => granted(asked),
        }
    })
    .await;
    let time = Arc::new(AtomicU64::new(NOW));
    let now = Arc::clone(&time);
    let clock = move || UNIX_EPOCH + Duration::from_secs(now.load(Ordering::Relaxed));
    let session = connect(&site, OAuth::browser(browser()).clock(clock)).await.unwrap();
    time.store(NOW + 3600, Ordering::Relaxed);
    // It logs in anew.
    assert_eq!(session.call("x", json!({})).await.unwrap().text(), "done");
    let asked = site.asked("POST /token ");
    assert_eq!(asked.iter().filter(|asked| asked.body.contains("grant_type=refresh_token")).count(), 1);
    assert_eq!(site.asked("GET /authorize?").len(), 2);
}

/// Its refresh token is revoked: sending it would only tell of a login that nobody wants any more.
#[tokio::test]
async fn a_logout_by_another_program_is_noticed() {
    let site = protected_site(json!({"resource": {}, "server": {}}), granted).await;
    let (time, store) = (Time::new(), SharedStore::default());
    let auth = OAuth::browser(browser()).clock(time.clock()).store(store.clone());
    let session = connect(&site, auth).await.unwrap();
    store.set_tokens(&format!("{}/mcp", site.url), None).unwrap();
    time.pass(3600);
    assert_eq!(session.call("x", json!({})).await.unwrap().text(), "done");
    let asked = site.asked("POST /token ");
    assert!(!asked.iter().any(|asked| asked.body.contains("grant_type=refresh_token")), "{asked:?}");
    assert_eq!(site.asked("GET /authorize?").len(), 2);
    // The user may not want to log in again.
    let auth = OAuth::browser(Unwilling).clock(time.clock()).store(store.clone());
    let other = connect(&site, auth).await.unwrap();
    store.set_tokens(&format!("{}/mcp", site.url), None).unwrap();
    time.pass(3600);
    let error = other.call("x", json!({})).await.unwrap_err().to_string();
    assert!(error.contains("not again"), "{error}");
}

struct Unwilling;

impl UserAgent for Unwilling {
    fn redirect_uri(&self) -> Visit<'_> {
        Box::pin(std::future::ready(Err("not again".to_owned())))
    }

    fn visit<'a>(&'a self, _: &'a str) -> Visit<'a> {
        self.redirect_uri()
    }
}

#[tokio::test]
async fn a_logout_revokes_the_tokens() {
    for (status, body, want) in [
        (200, "", LoggedOut::Revoked),
        (404, "", LoggedOut::NotOffered),
        (503, r#"{"error": "temporarily_unavailable"}"#, LoggedOut::NotLoggedIn),
    ] {
        let site = Site::start(move |url, asked| {
            let change = match status {
                404 => json!({}),
                _ => json!({"revocation_endpoint": format!("{url}/revoke")}),
            };
            match asked.is("POST /revoke ") {
                true => (status, String::new(), body.to_owned()),
                false => answer(url, asked, &json!({"resource": {}, "server": change}), &granted),
            }
        })
        .await;
        let (url, store) = (format!("{}/mcp", site.url), SharedStore::default());
        let session = OAuthSession::from(OAuth::browser(browser()).store(store.clone()));
        assert_eq!(session.logout(&url).await, Ok(LoggedOut::NotLoggedIn));
        session.login(&url).await.unwrap();
        let done = session.logout(&url).await.unwrap();
        match (status, done) {
            (503, LoggedOut::NotRevoked(error)) => {
                let told = error.to_string();
                assert!(
                    told.contains("temporarily_unavailable") && !told.contains("the-refresh-token"),
                    "{told}"
                );
            }
            (_, done) => assert_eq!(done, want),
        }
        // It is forgotten in any case.
        assert_eq!(store.tokens(&url).unwrap(), None);
        let revoked = site.asked("POST /revoke ");
        if status == 200 {
            let hints = [
                "token=the-refresh-token&token_type_hint=refresh_token",
                "token=the-access-token&token_type_hint=access_token",
            ];
            for (asked, hint) in revoked.iter().zip(hints) {
                assert!(asked.body.starts_with(hint), "{}", asked.body);
                assert!(asked.head.to_ascii_lowercase().contains("authorization: basic "), "{}", asked.head);
            }
            assert_eq!(revoked.len(), 2);
        }
    }
}

/// Whoever is on this machine may hold connections open. The browser is served all the same.
#[tokio::test]
async fn idle_connections_do_not_stand_before_the_browser() {
    let site = protected_site(json!({"resource": {}, "server": {}}), granted).await;
    let idle: Arc<Mutex<Vec<std::net::TcpStream>>> = Arc::default();
    let opened = Arc::clone(&idle);
    let browser = LoopbackBrowser::new(move |url| {
        let (url, opened) = (url.to_owned(), Arc::clone(&opened));
        tokio::spawn(async move {
            let response = Fetch::default().send(Request::get(url).body("").unwrap()).await.unwrap();
            let location = response.headers()["location"].to_str().unwrap().to_owned();
            let port: u16 = location.split([':', '/']).nth(4).unwrap().parse().unwrap();
            for _ in 0..64 {
                opened.lock().unwrap().push(std::net::TcpStream::connect(("127.0.0.1", port)).unwrap());
            }
            let back = Fetch::default().send(Request::get(location).body("").unwrap()).await.unwrap();
            assert_eq!(back.status(), 200);
        });
    })
    .timeout(Duration::from_secs(20));
    connect(&site, OAuth::browser(browser)).await.unwrap();
    assert_eq!(idle.lock().unwrap().len(), 64);
}

#[tokio::test]
async fn documents_that_lie_are_not_believed() {
    let elsewhere = Site::start(|_, _| missing()).await;
    let there = elsewhere.url.clone();
    for (resource, server, why) in [
        (json!({"resource": "https://evil.example/mcp"}), json!({}), "are for another resource"),
        (json!({"resource": there}), json!({}), "are for another resource"),
        (json!({"authorization_servers": []}), json!({}), "name no authorization server"),
        (json!({"authorization_servers": ["http://as.example"]}), json!({}), "must be https://"),
        (json!({"authorization_servers": ["file:///etc/passwd"]}), json!({}), "not a valid URL"),
        (json!({}), json!({"issuer": "https://evil.example"}), "are those of another one"),
        (json!({}), json!({"code_challenge_methods_supported": ["plain"]}), "PKCE"),
        (json!({}), json!({"code_challenge_methods_supported": null}), "PKCE"),
        (json!({}), json!({"authorization_endpoint": "http://evil.example/a"}), "must be https://"),
        (json!({}), json!({"authorization_endpoint": "javascript:alert(1)"}), "not a valid URL"),
        (json!({}), json!({"token_endpoint": "http://evil.example/t"}), "must be https://"),
        (json!({}), json!({"registration_endpoint": "http://evil.example/r"}), "must be https://"),
        (json!({}), json!({"x": "a".repeat(1 << 20)}), "larger than"),
    ] {
        let site = protected_site(json!({"resource": resource, "server": server}), granted).await;
        let error = connect(&site, OAuth::browser(browser())).await.unwrap_err();
        assert!(error.contains(why), "{error} | {why}");
        assert!(site.asked("POST /token ").is_empty(), "{why}");
    }
    assert!(elsewhere.asked("").is_empty());
}

#[tokio::test]
async fn a_secret_stays_with_its_issuer() {
    let site = protected_site(json!({"resource": {}, "server": {}}), granted).await;
    let client = ClientCredentials::secret("me", "the-client-secret").issuer("https://as.example");
    let error = connect(&site, OAuth::client_credentials(client)).await.unwrap_err();
    assert!(error.contains("no client is given for that"), "{error}");
    // Nobody has said who knows it: the server alone has chosen.
    let client = || ClientCredentials::secret("me", "the-client-secret");
    let idp =
        IdentityProvider::new(format!("{}/idp", site.url), ClientCredentials::public("own"), || async {
            Ok("the-id-token".to_owned())
        });
    for auth in [
        OAuth::client_credentials(client()),
        OAuth::browser(browser()).client(client()),
        OAuth::enterprise(idp, client()),
    ] {
        let error = connect(&site, auth).await.unwrap_err();
        assert!(error.contains("`.issuer(url)` says which one knows the client"), "{error}");
    }
    assert!(site.asked("POST /token ").is_empty() && site.asked("POST /idp ").is_empty());
    assert!(site.asked("GET /authorize?").is_empty());
    // Unless that is what the user wants.
    connect(&site, OAuth::client_credentials(client().any_issuer())).await.unwrap();
    assert_eq!(site.asked("POST /token ").len(), 1);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let trap = Site::start(|_, _| ok(&json!({}))).await;
    let there = trap.url.clone();
    let site = Site::start(move |_, asked| match asked.is("POST /mcp ") {
        true => (401, "WWW-Authenticate: Bearer\r\n".to_owned(), String::new()),
        false => (302, format!("Location: {there}/\r\n"), String::new()),
    })
    .await;
    let error = connect(&site, OAuth::browser(browser())).await.unwrap_err();
    assert!(error.contains("HTTP 302"), "{error}");
    assert!(trap.asked("").is_empty());
}

#[tokio::test]
async fn private_addresses_are_reached_only_if_allowed() {
    let site = Site::start(|_, _| ok(&json!({}))).await;
    let fetch = Fetch { private_addresses: false, ..Fetch::default() };
    let port = site.url.rsplit(':').next().unwrap();
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"] {
        let request = Request::get(format!("http://{host}:{port}/")).body("").unwrap();
        let error = fetch.send(request).await.unwrap_err().to_string();
        assert!(error.contains("private address"), "{error}");
    }
    assert!(site.asked("").is_empty());
    let request = Request::get(format!("{}/", site.url)).body("").unwrap();
    assert_eq!(Fetch::default().send(request).await.unwrap().status(), 200);
}

#[tokio::test]
async fn no_error_tells_a_secret() {
    let (told, mut made_up) = (Arc::new(Mutex::new(Vec::new())), Vec::new());
    let refuses: [fn(&Asked) -> Reply; 4] = [
        |_| {
            (
                400,
                String::new(),
                json!({"error": "invalid_grant", "error_description": "no\u{1b}[31m"}).to_string(),
            )
        },
        |_| ok(&json!({"access_token": 7, "refresh_token": "the-refresh-token"})),
        |_| ok(&json!({"access_token": "the-access-token\n", "token_type": "Bearer"})),
        |_| ok(&json!({"access_token": "the-access-token", "token_type": "mac"})),
    ];
    for refuse in refuses {
        let site = protected_site(json!({"resource": {}, "server": {}}), refuse).await;
        let error = connect(&site, OAuth::browser(browser())).await.unwrap_err();
        assert!(!error.contains('\u{1b}'), "{error:?}");
        // What the client has made up is as secret as what it was given.
        let form = site.asked("POST /token ").remove(0).body;
        let member =
            |name: &str| form.split('&').find_map(|pair| pair.strip_prefix(name)).unwrap().to_owned();
        made_up.push(member("code_verifier="));
        told.lock().unwrap().push(error);
    }
    // A server that never takes what it has just asked for is asked once.
    let site = protected_site(json!({"resource": {}, "server": {}}), |_| {
        ok(&json!({"access_token": "other", "token_type": "Bearer"}))
    })
    .await;
    let error = connect(&site, OAuth::browser(browser())).await.unwrap_err();
    assert!(error.contains("has just issued: the token is not for this server"), "{error}");
    assert_eq!(site.asked("GET /authorize?").len(), 1);
    told.lock().unwrap().push(error);
    let client = ClientCredentials::secret("me", "the-client-secret");
    let auth = OAuth::browser(browser()).client(client.clone());
    told.lock().unwrap().push(format!("{client:?} {auth:?} {:?}", OAuthSession::from(auth.clone())));
    for text in told.lock().unwrap().iter() {
        for secret in SECRETS.into_iter().chain(made_up.iter().map(String::as_str)) {
            assert!(!text.contains(secret), "{text}");
        }
    }
}
