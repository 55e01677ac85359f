//! Wider scopes that a server asks for in the middle of a session: each operation may want its own, whatever was granted
//! before, and nothing is asked for twice in vain.

#![cfg(feature = "auth")]
#![expect(clippy::unwrap_used, reason = "a test may")]

mod login;
mod site;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use login::{Time, answer, browser, granted, protected_site};
use sabir_mcp::{ClientCredentials, McpClient, McpRevision, McpSession, OAuth};
use serde_json::{Value, json};
use site::{Asked, Reply, Site, missing, ok};

/// An authorization server that grants what it is asked for: the scopes are in the token.
#[derive(Default)]
struct Authority {
    asked: Mutex<String>,
    /// It takes no refresh token.
    ends_logins: AtomicBool,
}

impl Authority {
    fn answer(&self, name: &str, url: &str, asked: &Asked) -> Reply {
        if asked.is("GET /authorize?") {
            *self.asked.lock().unwrap() = scope(asked);
        }
        let tokens = |asked: &Asked| match asked.body.contains("grant_type=refresh_token") {
            true if self.ends_logins.load(Ordering::SeqCst) => {
                (400, String::new(), json!({"error": "invalid_grant"}).to_string())
            }
            _ => ok(&json!({
                "access_token": format!("{name}.{}", self.asked.lock().unwrap().replace(' ', ".")),
                "token_type": "Bearer", "refresh_token": "the-refresh-token", "expires_in": 60,
            })),
        };
        answer(url, asked, &json!({"resource": {}, "server": {}}), &tokens)
    }
}

/// The scopes that a browser was sent for.
fn scope(asked: &Asked) -> String {
    let scope = asked.line.split(['&', ' ']).find_map(|part| part.strip_prefix("scope=")).unwrap();
    scope.replace("%20", " ")
}

fn logins(site: &Site) -> Vec<String> {
    site.asked("GET /authorize?").iter().map(scope).collect()
}

/// What a message needs: its method, the cursor or the tool.
fn needed(message: &Value) -> &'static str {
    let params = &message["params"];
    match (message["method"].as_str().unwrap(), params["cursor"].as_str(), params["name"].as_str()) {
        ("tools/list", None, _) => "b",
        ("tools/list", Some(_), _) => "c",
        ("tools/call", _, Some("one")) => "d",
        ("tools/call", _, _) => "e",
        _ => "a",
    }
}

/// An MCP server that takes the tokens of an authority as far as their scopes go.
fn mcp(authority: &str, asked: &Asked) -> Reply {
    if !asked.is("POST /mcp ") {
        return (405, String::new(), String::new());
    }
    let message: Value = serde_json::from_str(&asked.body).unwrap();
    let need = needed(&message);
    let token = asked.head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("authorization").then(|| value.strip_prefix("Bearer ")).flatten()
    });
    let scopes = token.and_then(|token| token.strip_prefix(authority)?.strip_prefix('.'));
    let Some(scopes) = scopes else {
        return (401, "WWW-Authenticate: Bearer scope=\"a\"\r\n".to_owned(), String::new());
    };
    if !scopes.split('.').collect::<BTreeSet<_>>().contains(need) {
        let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{need}\"");
        return (403, format!("WWW-Authenticate: {challenge}\r\n"), String::new());
    }
    if message.get("id").is_none() {
        return (202, String::new(), String::new());
    }
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    let result = match (message["method"].as_str().unwrap(), message["params"].get("cursor")) {
        ("server/discover", _) => json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}),
        ("initialize", _) => json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"},
        }),
        ("tools/list", None) => {
            json!({"tools": [tool("one")], "nextCursor": "2", "ttlMs": 0, "cacheScope": "private"})
        }
        ("tools/list", _) => json!({"tools": [tool("two")], "ttlMs": 0, "cacheScope": "private"}),
        _ => json!({"content": [{"type": "text", "text": "done"}]}),
    };
    let mut result = result;
    result["resultType"] = json!("complete");
    ok(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

async fn connect(site: &Site, revision: McpRevision, auth: OAuth) -> McpSession {
    let client = McpClient::new("t", "1").revision(revision).auth(auth);
    client.connect(format!("{}/mcp", site.url)).await.unwrap()
}

async fn call(session: &McpSession, tool: &str) -> Result<String, String> {
    let result = session.call(tool, json!({})).await;
    result.map(|result| result.text()).map_err(|error| error.to_string())
}

#[tokio::test]
async fn each_operation_may_want_wider_scopes() {
    for revision in [McpRevision::V2026_07_28, McpRevision::V2025_11_25] {
        let authority = Authority::default();
        let site = Site::start(move |url, asked| match asked.line.contains(" /mcp ") {
            true => mcp("one", asked),
            false => authority.answer("one", url, asked),
        })
        .await;
        let session = connect(&site, revision, OAuth::browser(browser())).await;
        assert_eq!(session.tools().await.unwrap().len(), 2, "{revision:?}");
        assert_eq!(call(&session, "one").await.as_deref(), Ok("done"), "{revision:?}");
        assert_eq!(call(&session, "two").await.as_deref(), Ok("done"), "{revision:?}");
        assert_eq!(logins(&site), ["a", "a b", "a b c", "a b c d", "a b c d e"], "{revision:?}");
    }
}

/// The new login is for what the server asks at first, and is widened as the old one was.
#[tokio::test]
async fn a_new_login_is_widened_again() {
    let authority = Arc::new(Authority::default());
    let at = Arc::clone(&authority);
    let site = Site::start(move |url, asked| match asked.line.contains(" /mcp ") {
        true => mcp("one", asked),
        false => at.answer("one", url, asked),
    })
    .await;
    let time = Time::new();
    let auth = OAuth::browser(browser()).clock(time.clock());
    let session = connect(&site, McpRevision::V2026_07_28, auth).await;
    assert_eq!(call(&session, "one").await.as_deref(), Ok("done"));
    time.pass(3600);
    authority.ends_logins.store(true, Ordering::SeqCst);
    assert_eq!(call(&session, "one").await.as_deref(), Ok("done"));
    assert_eq!(logins(&site), ["a", "a d", "a", "a d"]);
}

#[tokio::test]
async fn a_login_at_another_authorization_server_is_widened_again() {
    let authority = |name: &'static str| {
        let authority = Authority::default();
        Site::start(move |url, asked| authority.answer(name, url, asked))
    };
    let (old, new) = (authority("old").await, authority("new").await);
    let (urls, which) = ([old.url.clone(), new.url.clone()], Arc::new(AtomicUsize::new(0)));
    let current = Arc::clone(&which);
    let site = Site::start(move |url, asked| {
        let which = current.load(Ordering::SeqCst);
        match () {
            () if asked.line.contains(" /mcp ") => mcp(["old", "new"][which], asked),
            () if asked.is("GET /.well-known/oauth-protected-resource") => {
                ok(&json!({"resource": format!("{url}/mcp"), "authorization_servers": [urls[which]]}))
            }
            () => missing(),
        }
    })
    .await;
    let session = connect(&site, McpRevision::V2026_07_28, OAuth::browser(browser())).await;
    assert_eq!(call(&session, "one").await.as_deref(), Ok("done"));
    which.store(1, Ordering::SeqCst);
    assert_eq!(call(&session, "one").await.as_deref(), Ok("done"));
    assert_eq!(
        (logins(&old), logins(&new)),
        (vec!["a".into(), "a d".into()], vec!["a".into(), "a d".into()])
    );
}

/// A refresh token is asked for where the authorization server has a scope for that, whatever the MCP server says.
#[tokio::test]
async fn a_refresh_token_is_asked_for_where_there_is_a_scope_for_it() {
    for (listed, challenged, want) in [
        (json!(["a", "offline_access"]), "a", "a offline_access"),
        (json!(["a", "offline_access"]), "a offline_access", "a offline_access"),
        (json!(["a"]), "a offline_access", "a"),
        (Value::Null, "a offline_access", "a"),
    ] {
        let server = json!({"scopes_supported": listed});
        let challenge = format!("WWW-Authenticate: Bearer scope=\"{challenged}\"\r\n");
        let site = Site::start(move |url, asked| {
            match asked.is("POST /mcp ") && !asked.head.contains("the-access-token") {
                true => (401, challenge.clone(), String::new()),
                false => answer(url, asked, &json!({"resource": {}, "server": server}), &granted),
            }
        })
        .await;
        connect(&site, McpRevision::V2026_07_28, OAuth::browser(browser())).await;
        assert_eq!(logins(&site), [want], "{listed} {challenged}");
    }
    // A client that acts for itself needs no refresh token: it has its own credentials.
    let change = json!({"resource": {}, "server": {"scopes_supported": ["a", "offline_access"]}});
    let site = protected_site(change, granted).await;
    let client = ClientCredentials::secret("me", "hush").issuer(&site.url);
    connect(&site, McpRevision::V2026_07_28, OAuth::client_credentials(client)).await;
    let asked = site.asked("POST /token ").remove(0).body;
    assert!(asked.contains("scope=a") && !asked.contains("offline_access"), "{asked}");
}
