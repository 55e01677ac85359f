//! The ways to a token from end to end: each grant, with and without a key that the token is bound to; wider scopes, up to
//! a limit; answers of other authorization servers; a server that changes its authorization server.

#![cfg(feature = "auth")]
#![expect(clippy::unwrap_used, reason = "a test may")]

mod login;
mod site;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use login::{answer, browser, connect, granted, protected_site};
use sabir_mcp::testing::FakeIssuer;
use sabir_mcp::{
    ClientCredentials, IdentityProvider, Introspection, McpClient, McpCtx, McpServer, OAuth, ResourceServer,
    Tool, UserAgent, Visit,
};
use serde_json::{Value, json};
use site::{Asked, Reply, Site, ok};

/// A server that takes the tokens of an issuer.
async fn protected(issuer: &FakeIssuer, settings: impl FnOnce(ResourceServer) -> ResourceServer) -> String {
    // Tokens are issued for the server's URL, so its port is chosen before it listens.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/mcp");
    let auth = settings(ResourceServer::new(&url).tool_scopes("who", ["people"]));
    let auth = match auth.clone().issuer(issuer.url()).start().await {
        Ok(auth) => auth,
        Err(error) => panic!("{error}"),
    };
    let server = McpServer::new("protected", "1.0.0").tool(
        Tool::new("who", "Says who"),
        |ctx: McpCtx, ()| async move {
            let caller = ctx.caller().ok_or("nobody")?;
            Ok(format!("{} {}", caller.claims.contains_key("cnf"), caller.scopes.contains("people")))
        },
    );
    let http = auth.http(&server).unwrap();
    tokio::spawn(server.listen(&url).http(http).await.unwrap().run());
    url
}

fn grants(issuer: &FakeIssuer) -> [(&'static str, OAuth); 4] {
    let client = || ClientCredentials::secret("me", "hush").issuer(issuer.url());
    let provider = IdentityProvider::new(
        format!("{}/token", issuer.url()),
        ClientCredentials::public("me-at-the-provider"),
        || async { Ok("the-id-token".to_owned()) },
    );
    [
        ("a browser", OAuth::browser(issuer.browser())),
        ("a client of its own", OAuth::client_credentials(client())),
        ("a company", OAuth::enterprise(provider, client())),
        ("a workload", OAuth::workload(client(), || async { Ok("the-token-of-the-platform".to_owned()) })),
    ]
}

#[tokio::test]
async fn every_grant_gets_tokens_that_are_bound_to_a_key_where_that_is_wanted() {
    let issuer = FakeIssuer::start().await.unwrap();
    let open = protected(&issuer, |settings| settings).await;
    let strict = protected(&issuer, |settings| settings.require_dpop().dpop_nonces()).await;
    for (url, is_bound) in [(&open, false), (&strict, true)] {
        for (who, auth) in grants(&issuer) {
            let client = McpClient::new("test", "1.0.0").auth(auth);
            let session = client.connect(url.as_str()).await.unwrap_or_else(|error| panic!("{who}: {error}"));
            for _ in 0..2 {
                let told = session.call("who", ()).await.unwrap_or_else(|error| panic!("{who}: {error}"));
                assert_eq!(told.text(), format!("{is_bound} true"), "{who}");
            }
        }
    }
    // A client may want it though the server does not.
    for (who, auth) in grants(&issuer) {
        let client = McpClient::new("test", "1.0.0").auth(auth.dpop());
        let told = client.connect(open.as_str()).await.unwrap().call("who", ()).await.unwrap();
        assert_eq!(told.text(), "true true", "{who}");
    }
    // A token without a key is of no use where one is wanted.
    let bearer = sabir::transport::url(strict.as_str()).bearer(issuer.token(&strict, "people"));
    assert!(McpClient::new("test", "1.0.0").connect(bearer).await.is_err());
}

/// The extensions of authorization that a client makes use of are declared to servers.
#[tokio::test]
async fn each_grant_declares_its_extension() {
    let issuer = FakeIssuer::start().await.unwrap();
    let mut declared = Vec::new();
    for (_, auth) in grants(&issuer) {
        for auth in [auth.clone(), auth.dpop()] {
            let server = McpServer::new("open", "1.0.0").tool(
                Tool::new("client", "Its extensions"),
                |ctx: McpCtx, ()| async move {
                    let extensions = ctx.client().extensions.clone().unwrap_or_default();
                    let mut names: Vec<String> = extensions.into_iter().map(|(name, _)| name).collect();
                    names.sort();
                    Ok(names.join(" "))
                },
            );
            let session =
                McpClient::new("test", "1.0.0").auth(auth).connect(server.in_memory()).await.unwrap();
            let said = session.call("client", ()).await.unwrap().text();
            declared.push(said.replace("io.modelcontextprotocol/", ""));
        }
    }
    let want = [
        "",
        "auth/dpop",
        "oauth-client-credentials",
        "auth/dpop oauth-client-credentials",
        "enterprise-managed-authorization",
        "auth/dpop enterprise-managed-authorization",
        "auth/wif",
        "auth/dpop auth/wif",
    ];
    assert_eq!(declared, want);
}

/// The issuer is asked about tokens instead of their signatures being checked.
#[tokio::test]
async fn an_issuer_may_be_asked_about_its_tokens() {
    let issuer = FakeIssuer::start().await.unwrap();
    let other = FakeIssuer::start().await.unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/mcp");
    let asking = Introspection::new(
        issuer.url(),
        format!("{}/introspect", issuer.url()),
        ClientCredentials::public("rs"),
    );
    let auth = ResourceServer::new(&url).introspection(asking).start().await.unwrap();
    let server =
        McpServer::new("protected", "1.0.0").tool(Tool::new("who", "Says who"), |_, ()| async { Ok("you") });
    let http = auth.http(&server).unwrap();
    tokio::spawn(server.listen(&url).http(http).await.unwrap().run());
    for (token, fits) in [
        (issuer.token(&url, ""), true),
        (issuer.token("https://other.example/mcp", ""), false),
        (issuer.token_with(&url, "", &json!({"exp": 1})), false),
        (other.token(&url, ""), false),
        ("opaque".to_owned(), false),
    ] {
        let transport = sabir::transport::url(url.as_str()).bearer(token.as_str());
        let connected = McpClient::new("test", "1.0.0").connect(transport).await;
        assert_eq!(connected.is_ok(), fits, "{token}");
    }
}

/// A server that always wants more is given what it wants three times, and nothing twice.
#[tokio::test]
async fn wider_scopes_are_asked_for_up_to_a_limit() {
    for (grows, logins) in [(true, 4), (false, 2)] {
        let refused = AtomicUsize::new(0);
        let site = Site::start(move |url, asked| {
            let is_in = asked.head.to_ascii_lowercase().contains("authorization: bearer the-access-token");
            if asked.is("POST /mcp ") && is_in {
                let number = if grows { refused.fetch_add(1, Ordering::SeqCst) } else { 0 };
                let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"more-{number}\"");
                return (403, format!("WWW-Authenticate: {challenge}\r\n"), String::new());
            }
            answer(url, asked, &json!({"resource": {}, "server": {}}), &granted)
        })
        .await;
        let error = connect(&site, OAuth::browser(browser())).await.unwrap_err();
        assert!(error.contains("still wants more"), "{error}");
        let asked = site.asked("GET /authorize?");
        assert_eq!(asked.len(), logins, "{asked:?}");
        // What was granted before is asked for again.
        let scope = |asked: &Asked| {
            let scope = asked.line.split(['&', ' ']).find_map(|part| part.strip_prefix("scope="));
            scope.unwrap().replace("%20", " ")
        };
        assert_eq!((scope(&asked[0]).as_str(), scope(&asked[1]).as_str()), ("a", "a more-0"));
    }
}

/// The browser says which authorization server has sent it back: another one's code is not taken to ours.
#[tokio::test]
async fn answers_of_another_authorization_server_are_refused() {
    let says_it = json!({"authorization_response_iss_parameter_supported": true});
    let from = |who: &str| format!("code=the-code&iss={who}");
    for (server, returned, why) in [
        (json!({}), from("URL"), ""),
        (says_it.clone(), from("URL"), ""),
        (json!({}), "code=the-code".to_owned(), ""),
        (says_it.clone(), "code=the-code".to_owned(), "does not say who it is from"),
        (json!({}), from("https://evil.example"), "came back from `https://evil.example`"),
        (says_it.clone(), from("https://evil.example"), "came back from `https://evil.example`"),
        (says_it, from("URL/"), "came back from"),
        (json!({}), "error=access_denied&iss=https://evil.example".to_owned(), "came back from"),
        (json!({}), "error=access_denied&iss=URL".to_owned(), "refuses: access_denied"),
        (json!({}), "iss=URL".to_owned(), "without a code"),
    ] {
        let change = json!({"resource": {}, "server": server, "returned": returned});
        let site = protected_site(change, granted).await;
        let connected = connect(&site, OAuth::browser(browser())).await;
        let told = connected.map(|_| String::new()).unwrap_or_else(|error| error);
        assert!(told.contains(why) && told.is_empty() == why.is_empty(), "{returned}: {told} | {why}");
        assert_eq!(site.asked("POST /token ").is_empty(), !why.is_empty(), "{returned}");
    }
}

/// A browser that somebody else has sent: with the answer to another login.
struct Misled(&'static str);

impl UserAgent for Misled {
    fn redirect_uri(&self) -> Visit<'_> {
        Box::pin(std::future::ready(Ok("http://127.0.0.1:1/callback".to_owned())))
    }

    fn visit<'a>(&'a self, url: &'a str) -> Visit<'a> {
        let state = url.split('&').find_map(|part| part.strip_prefix("state=")).unwrap();
        let query = self.0.replace("STATE", state);
        Box::pin(std::future::ready(Ok(format!("http://127.0.0.1:1/callback?{query}"))))
    }
}

#[tokio::test]
async fn the_answer_to_another_login_is_refused() {
    for (query, is_ours) in [
        ("code=the-code&state=STATE", true),
        ("code=the-code&state=STATEx", false),
        ("code=the-code&state=", false),
        ("code=the-code", false),
        ("code=the-code#state=STATE", false),
    ] {
        let site = protected_site(json!({"resource": {}, "server": {}}), granted).await;
        let connected = connect(&site, OAuth::browser(Misled(query))).await;
        let told = connected.map(|_| String::new()).unwrap_or_else(|error| error);
        let why = if is_ours { "" } else { "the browser came back from another login" };
        assert!(told.contains(why) && told.is_empty() == is_ours, "{query}: {told}");
        assert_eq!(site.asked("POST /token ").is_empty(), !is_ours, "{query}");
    }
}

/// Proofs are signed with ES256 alone.
#[tokio::test]
async fn proofs_are_not_made_with_algorithms_that_are_not_understood() {
    for (algorithms, is_fine) in
        [(json!(["RS256", "EdDSA"]), false), (json!([]), false), (json!(["ES256"]), true)]
    {
        let server = json!({"dpop_signing_alg_values_supported": algorithms});
        let site = protected_site(json!({"resource": {}, "server": server}), |_| {
            ok(&json!({"access_token": "the-access-token", "token_type": "DPoP"}))
        })
        .await;
        let told = connect(&site, OAuth::browser(browser()).dpop()).await.map(|_| String::new());
        let told = told.unwrap_or_else(|error| error);
        assert_eq!(told.contains("supports DPoP only without ES256"), !is_fine, "{algorithms}: {told}");
        assert_eq!(site.asked("GET /authorize?").is_empty(), !is_fine, "{algorithms}");
    }
}

/// An authorization server with a client, a code and tokens of its own.
async fn authority(number: u32) -> Site {
    Site::start(move |url, asked| {
        let tokens = move |_: &Asked| -> Reply {
            ok(&json!({
                "access_token": format!("the-access-token-{number}"), "token_type": "Bearer",
                "refresh_token": format!("the-refresh-token-{number}"), "expires_in": 3600,
            }))
        };
        match asked.is("POST /register ") {
            true => (201, String::new(), json!({"client_id": format!("client-{number}")}).to_string()),
            false => answer(url, asked, &json!({"resource": {}, "server": {}}), &tokens),
        }
    })
    .await
}

#[tokio::test]
async fn a_server_may_change_its_authorization_server() {
    let (old, new) = (authority(1).await, authority(2).await);
    let current = Arc::new(AtomicU64::new(1));
    let (urls, which) = ([old.url.clone(), new.url.clone()], Arc::clone(&current));
    let site = Site::start(move |url, asked| {
        let number = which.load(Ordering::SeqCst);
        let at = &urls[usize::try_from(number).unwrap() - 1];
        let is_old = !asked.head.to_ascii_lowercase().contains(&format!("bearer the-access-token-{number}"));
        if asked.is("POST /mcp ") && is_old {
            return (401, "WWW-Authenticate: Bearer\r\n".to_owned(), String::new());
        }
        answer(url, asked, &json!({"resource": {"authorization_servers": [at]}, "server": {}}), &granted)
    })
    .await;
    let session = connect(&site, OAuth::browser(browser())).await.unwrap();
    assert_eq!(session.call("x", Value::Null).await.unwrap().text(), "done");
    assert!(new.asked("").is_empty());
    let before = old.asked("").len();
    current.store(2, Ordering::SeqCst);
    assert_eq!(session.call("x", Value::Null).await.unwrap().text(), "done");
    // Nothing of the old one is told to the new one, and the old one hears no more.
    assert_eq!(old.asked("").len(), before);
    assert_eq!(new.asked("POST /register ").len(), 1);
    for asked in new.asked("") {
        for secret in ["client-1", "the-refresh-token-1", "the-access-token-1"] {
            assert!(!asked.head.contains(secret) && !asked.body.contains(secret), "{asked:?}");
        }
    }
}
