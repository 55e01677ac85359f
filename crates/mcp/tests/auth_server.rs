//! A protected server whose callers mean harm: tokens that are forged, expired, of others or for others, keys without end,
//! proofs that were used before, calls that their token does not allow. Each is refused with the right status and reason.

#![cfg(feature = "auth")]
#![expect(clippy::unwrap_used, reason = "a test may")]

mod protected;
mod site;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use protected::{RESOURCE, Target, authority, claims, header, issuer, server, settings};
use sabir::http::Request;
use sabir::{Fetch, HttpService, Protocols};
use sabir_mcp::{ClientCredentials, Introspection, McpResult, McpServer, ResourceServer, TaskOptions, Tool};
use serde_json::{Value, json};
use site::{Key, NOW, Site, b64, clock, ok, with};

#[tokio::test]
async fn only_valid_tokens_are_taken() {
    let (key, other) = (Key::new(), Key::new());
    let site =
        authority(vec![key.jwk(Some("one")), other.jwk(Some("two")), json!({"kty": "oct", "k": "AAAA"})])
            .await;
    // Another issuer that is trusted, too: its keys are good for its own tokens only.
    let second_key = Key::new();
    let second = authority(vec![second_key.jwk(Some("one"))]).await;
    let auth = settings(&site).issuer(&second.url).start().await.unwrap();
    let target = Target::start(&auth).await;
    let good = claims(&site.url);
    let signed = |change: Value| key.sign(&header(), &with(claims(&site.url), &change));
    let valid = signed(json!({}));
    let parts: Vec<&str> = valid.split('.').collect();
    let none = format!("{}.{}.", b64(json!({"alg": "none"}).to_string()), b64(good.to_string()));
    let symmetric = {
        let message =
            format!("{}.{}", b64(json!({"alg": "HS256", "kid": "one"}).to_string()), b64(good.to_string()));
        let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key.public());
        format!("{message}.{}", b64(ring::hmac::sign(&secret, message.as_bytes())))
    };
    let embedded = Key::new();
    let own_key = json!({"alg": "ES256", "jwk": embedded.jwk(None), "jku": "http://127.0.0.1:1/keys"});
    for (name, token, status, why) in [
        ("valid", valid.clone(), 200, ""),
        ("list of audiences", signed(json!({"aud": ["x", RESOURCE]})), 200, ""),
        ("second issuer", second_key.sign(&header(), &claims(&second.url)), 200, ""),
        ("expired", signed(json!({"exp": NOW - 61})), 401, "the token has expired"),
        ("no expiry", signed(json!({"exp": null})), 401, "the token has no expiry"),
        ("not yet", signed(json!({"nbf": NOW + 61})), 401, "the token is not valid yet"),
        (
            "wrong audience",
            signed(json!({"aud": "http://127.0.0.1:9/other"})),
            401,
            "the token is not for this server",
        ),
        ("no audience", signed(json!({"aud": null})), 401, "the token is not for this server"),
        (
            "unknown issuer",
            signed(json!({"iss": "https://evil.example"})),
            401,
            "the token is not of an issuer that is trusted here",
        ),
        (
            "issuer with a slash",
            signed(json!({"iss": format!("{}/", site.url)})),
            401,
            "the token is not of an issuer that is trusted here",
        ),
        (
            "other issuer's name",
            second_key.sign(&header(), &good),
            401,
            "the token is not signed by a key of its issuer",
        ),
        (
            "other issuer's key",
            key.sign(&header(), &claims(&second.url)),
            401,
            "the token is not signed by a key of its issuer",
        ),
        (
            "name of another key",
            key.sign(&json!({"alg": "ES256", "kid": "two"}), &good),
            401,
            "the token is not signed by a key of its issuer",
        ),
        (
            "a key of its own",
            embedded.sign(&own_key, &good),
            401,
            "the token is not signed by a key of its issuer",
        ),
        ("alg none", none, 401, "the token is signed with an algorithm that is not allowed"),
        (
            "HMAC with the public key",
            symmetric,
            401,
            "the token is signed with an algorithm that is not allowed",
        ),
        (
            "changed",
            format!(
                "{}.{}.{}",
                parts[0],
                b64(with(good.clone(), &json!({"sub": "eve"})).to_string()),
                parts[2]
            ),
            401,
            "the token is not signed by a key of its issuer",
        ),
        (
            "another type",
            key.sign(&json!({"alg": "ES256", "kid": "one", "typ": "dpop+jwt"}), &good),
            401,
            "the token is not an access token",
        ),
        (
            "an audience for each reader",
            key.sign_text(
                &header(),
                &good.to_string().replacen('{', r#"{"aud":"http://127.0.0.1:9/other","#, 1),
            ),
            401,
            "the token is not a signed token",
        ),
        ("not a token", "secret".to_owned(), 401, "the token is not a signed token"),
        ("huge", "a.".repeat(10_000), 401, "the token is not a signed token"),
        (
            "no subject",
            signed(json!({"sub": null, "client_id": null})),
            401,
            "the token does not say whose it is",
        ),
    ] {
        let answer = target.call("who", &format!("Bearer {token}")).await;
        assert_eq!(answer.status, status, "{name}: {}", answer.body);
        if status == 200 {
            assert!(answer.body.contains("ada"), "{name}: {}", answer.body);
            continue;
        }
        assert_eq!(answer.reason(), why, "{name}");
        let challenge = format!(
            "Bearer error=\"invalid_token\", error_description=\"{why}\", scope=\"mcp\", \
             resource_metadata=\"http://127.0.0.1:9/.well-known/oauth-protected-resource/mcp\""
        );
        assert_eq!(answer.header("www-authenticate"), challenge, "{name}");
        assert!(token.len() < 10 || !answer.body.contains(&token), "{name}: the token is repeated");
    }
    // Whatever tokens say, nobody else is asked.
    assert_eq!(second.asked("GET /keys ").len(), 1);
}

#[tokio::test]
async fn a_token_comes_once_and_in_the_header() {
    let key = Key::new();
    let site = authority(vec![key.jwk(Some("one"))]).await;
    let target = Target::start(&settings(&site).start().await.unwrap()).await;
    let token = key.sign(&header(), &claims(&site.url));
    let bearer = format!("Bearer {token}");
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let bare = target.post(&[], &ping).await;
    assert_eq!(bare.status, 401);
    let challenge = "Bearer scope=\"mcp\", resource_metadata=\"http://127.0.0.1:9/.well-known/oauth-protected-resource/mcp\"";
    assert_eq!(bare.header("www-authenticate"), challenge);
    for (headers, status) in [
        (vec![("authorization", "Basic YTpi")], 401),
        (vec![("authorization", "Bearer")], 400),
        (vec![("authorization", "Bearer ")], 400),
        (vec![("authorization", "Bearer a b")], 400),
        (vec![("authorization", bearer.as_str()), ("authorization", bearer.as_str())], 400),
    ] {
        assert_eq!(target.post(&headers, &ping).await.status, status, "{headers:?}");
    }
    let lower = format!("bearer {token}");
    assert_eq!(target.call("who", &lower).await.status, 200);
    for headers in [vec![], vec![("authorization", bearer.as_str())]] {
        let url = format!("{}?access_token={token}", target.url);
        let answer = target.send("POST", &url, &headers, &ping).await;
        assert_eq!(answer.status, 401);
        assert!(answer.reason().contains("in the query is not taken"), "{}", answer.body);
    }
}

#[tokio::test]
async fn calls_need_their_scopes() {
    let key = Key::new();
    let site = authority(vec![key.jwk(Some("one"))]).await;
    let auth = settings(&site).implies("admin", ["mcp", "files:write"]).start().await.unwrap();
    let target = Target::start(&auth).await;
    let bearer = |scope: &str| {
        format!("Bearer {}", key.sign(&header(), &with(claims(&site.url), &json!({"scope": scope}))))
    };
    for (scope, tool, status, asked) in [
        ("mcp", "who", 200, ""),
        ("mcp files:write", "write", 200, ""),
        ("admin", "write", 200, ""),
        ("mcp", "write", 403, "files:write mcp"),
        ("files:write", "who", 403, "mcp"),
        ("", "who", 403, "mcp"),
    ] {
        let answer = target.call(tool, &bearer(scope)).await;
        assert_eq!(answer.status, status, "{scope} {tool}: {}", answer.body);
        if status == 403 {
            let challenge = format!(
                "Bearer error=\"insufficient_scope\", error_description=\"the token does not allow this\", scope=\"{asked}\", \
                 resource_metadata=\"http://127.0.0.1:9/.well-known/oauth-protected-resource/mcp\""
            );
            assert_eq!(answer.header("www-authenticate"), challenge);
        }
    }
    // In a session of an old revision, beside another call, and with the name twice.
    let authorization = bearer("mcp");
    let headers = [("authorization", authorization.as_str())];
    let open = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let opened = target.post(&headers, &open).await;
    assert_eq!(opened.status, 200, "{}", opened.body);
    let session = opened.header("mcp-session-id").to_owned();
    let headers = [("authorization", authorization.as_str()), ("mcp-session-id", session.as_str())];
    let write = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "write", "arguments": {}}});
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    for message in [write.clone(), json!([ping, write])] {
        assert_eq!(target.post(&headers, &message).await.status, 403, "{message}");
    }
    let twice = r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"who","name":"write","arguments":{}}}"#;
    let request = Request::post(&target.url)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("authorization", &authorization)
        .header("mcp-session-id", &session);
    let answer = Fetch::default().send(request.body(twice).unwrap()).await.unwrap();
    assert!(!String::from_utf8_lossy(answer.body()).contains("written"));
    // The session belongs to whoever opened it.
    let eve = format!("Bearer {}", key.sign(&header(), &with(claims(&site.url), &json!({"sub": "eve"}))));
    let stolen = [("authorization", eve.as_str()), ("mcp-session-id", session.as_str())];
    assert_eq!(target.post(&stolen, &ping).await.status, 404);
    // A renewed token of the same user goes on with it.
    let renewed = format!("Bearer {}", key.sign(&header(), &with(claims(&site.url), &json!({"jti": "2"}))));
    let renewed = [("authorization", renewed.as_str()), ("mcp-session-id", session.as_str())];
    assert_eq!(target.post(&renewed, &ping).await.status, 200);
}

#[tokio::test]
async fn metadata_are_for_everybody() {
    let site = authority(vec![Key::new().jwk(Some("one"))]).await;
    let auth = settings(&site).described("Files", None).start().await.unwrap();
    let target = Target::start(&auth).await;
    let origin = target.url.strip_suffix("/mcp").unwrap();
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let url = format!("{origin}{path}");
        let found = target.send("GET", &url, &[("origin", "https://anywhere.example")], &Value::Null).await;
        assert_eq!((found.status, found.header("access-control-allow-origin")), (200, "*"));
        assert_eq!(found.header("content-type"), "application/json");
        let metadata: Value = serde_json::from_str(&found.body).unwrap();
        assert_eq!(metadata["resource"], RESOURCE);
        assert_eq!(metadata["authorization_servers"], json!([site.url]));
        assert_eq!(metadata["scopes_supported"], json!(["files:write", "mcp"]));
        assert_eq!(metadata["bearer_methods_supported"], json!(["header"]));
        assert_eq!(metadata["resource_name"], "Files");
        let head = target.send("HEAD", &url, &[], &Value::Null).await;
        assert_eq!((head.status, head.header("content-type"), &*head.body), (200, "application/json", ""));
        assert_eq!(head.header("content-length"), found.body.len().to_string());
        let options = target.send("OPTIONS", &url, &[], &Value::Null).await;
        assert_eq!((options.status, options.header("access-control-allow-origin")), (204, "*"));
        assert_eq!(target.send("POST", &url, &[], &Value::Null).await.status, 405);
    }
    assert_eq!(target.send("GET", &format!("{origin}/.well-known/x"), &[], &Value::Null).await.status, 404);
}

#[tokio::test]
async fn keys_are_fetched_now_and_then_only() {
    let (old, new) = (Arc::new(Key::new()), Arc::new(Key::new()));
    let (first, second) = (old.jwk(Some("one")), new.jwk(Some("two")));
    let time = Arc::new(AtomicU64::new(NOW));
    let turned = Arc::clone(&time);
    let site = Site::start(move |url, asked| {
        let rotated = turned.load(Ordering::Relaxed) > NOW;
        issuer(url, asked, &json!({"keys": [if rotated { &second } else { &first }]}))
    })
    .await;
    let now = Arc::clone(&time);
    let clock = move || UNIX_EPOCH + Duration::from_secs(now.load(Ordering::Relaxed));
    let target = Target::start(&settings(&site).clock(clock).start().await.unwrap()).await;
    let lasting = with(claims(&site.url), &json!({"exp": NOW + 10_000}));
    let strange = |id: usize| new.sign(&json!({"alg": "ES256", "kid": id.to_string()}), &lasting);
    for id in 0..20 {
        assert_eq!(target.call("who", &format!("Bearer {}", strange(id))).await.status, 401);
    }
    assert_eq!(site.asked("GET /keys ").len(), 1);
    time.store(NOW + 31, Ordering::Relaxed);
    let rotated = new.sign(&json!({"alg": "ES256", "kid": "two"}), &lasting);
    assert_eq!(target.call("who", &format!("Bearer {rotated}")).await.status, 200);
    for id in 0..20 {
        assert_eq!(target.call("who", &format!("Bearer {}", strange(id))).await.status, 401);
    }
    assert_eq!(site.asked("GET /keys ").len(), 2);
}

#[tokio::test]
async fn wrong_settings_are_refused_at_the_start() {
    let key = Key::new();
    let site = authority(vec![key.jwk(Some("one"))]).await;
    let many: Vec<Value> = (0..200).map(|id| key.jwk(Some(&id.to_string()))).collect();
    let crowded = authority(many).await;
    let huge = authority(vec![json!({"kty": "EC", "x": "a".repeat(1 << 20)})]).await;
    let liar = Site::start(|_, _| {
        ok(&json!({"issuer": "https://other.example", "jwks_uri": "https://other.example/k"}))
    })
    .await;
    let plain =
        Site::start(|url, _| ok(&json!({"issuer": url, "jwks_uri": "http://other.example/keys"}))).await;
    let empty = authority(Vec::new()).await;
    let symmetric = authority(vec![json!({"kty": "oct", "k": "AAAA", "kid": "one"})]).await;
    let keyless = Site::start(|url, _| ok(&json!({"issuer": url}))).await;
    let moved =
        Site::start(|_, _| (302, "Location: http://127.0.0.1:1/\r\n".to_owned(), String::new())).await;
    let at = |site: &Site| ResourceServer::new(RESOURCE).issuer(&site.url);
    for (settings, why) in [
        (ResourceServer::new(RESOURCE), "no issuer is given"),
        (ResourceServer::new("http://a.example/mcp").issuer(&site.url), "must be https://"),
        (ResourceServer::new("https://a.example/mcp/").issuer(&site.url), "at its end"),
        (ResourceServer::new("https://a.example/mcp#x").issuer(&site.url), "at its end"),
        (ResourceServer::new("mcp").issuer(&site.url), "not a valid URL"),
        (at(&site).algorithms([]), "no algorithm is given"),
        (at(&site).scopes(["offline_access"]), "cannot be a scope"),
        (at(&site).tool_scopes("x", ["a b"]), "cannot be a scope"),
        (ResourceServer::new(RESOURCE).issuer("http://as.example"), "must be https://"),
        (at(&crowded), "more than 100 keys"),
        (at(&huge), "larger than"),
        (at(&liar), "are those of another one"),
        (at(&plain), "must be https://"),
        (at(&keyless), "lack jwks_uri"),
        (at(&empty), "there is no key at"),
        (at(&symmetric), "there is no key at"),
        (at(&moved), "HTTP 302"),
    ] {
        let error = settings.start().await.unwrap_err().to_string();
        assert!(error.contains(why), "{error} | {why}");
    }
}

#[tokio::test]
async fn opaque_tokens_are_asked_about() {
    let site = Site::start(|url, asked| {
        let active = json!({"active": true, "iss": url, "aud": RESOURCE, "sub": "ada", "exp": NOW + 60, "scope": "mcp"});
        let token = |token: &str| asked.body.contains(&format!("token={token}&"));
        match () {
            () if !asked.is("POST /introspect ") || !asked.head.contains("Basic cnM6aHVzaA==") => (401, String::new(), String::new()),
            () if token("good") => ok(&active),
            () if token("stale") => ok(&with(active, &json!({"exp": NOW - 100}))),
            () if token("elsewhere") => ok(&with(active, &json!({"aud": "https://b.example"}))),
            () if token("foreign") => ok(&with(active, &json!({"iss": "https://b.example"}))),
            () if token("twice") => {
                (200, String::new(), active.to_string().replacen('{', r#"{"active":false,"#, 1))
            }
            () if token("broken") => (500, String::new(), String::new()),
            () => ok(&json!({"active": false})),
        }
    })
    .await;
    let asking = Introspection::new(
        &site.url,
        format!("{}/introspect", site.url),
        ClientCredentials::secret("rs", "hush"),
    );
    let auth = ResourceServer::new(RESOURCE).introspection(asking).clock(clock).start().await.unwrap();
    let target = Target::start(&auth).await;
    for (token, status, why) in [
        ("good", 200, ""),
        ("good", 200, ""),
        ("stale", 401, "the token has expired"),
        ("elsewhere", 401, "the token is not for this server"),
        ("foreign", 401, "the token is not active"),
        ("unknown", 401, "the token is not active"),
        ("twice", 503, "the token cannot be checked at the moment"),
        ("broken", 503, "the token cannot be checked at the moment"),
    ] {
        let answer = target.call("who", &format!("Bearer {token}")).await;
        assert_eq!(answer.status, status, "{token}: {}", answer.body);
        if status != 200 {
            assert_eq!(answer.reason(), why, "{token}");
        }
        assert!(!answer.body.contains("hush"));
    }
    assert_eq!(
        site.asked("POST /introspect ").iter().filter(|asked| asked.body.contains("token=good&")).count(),
        1
    );
}

/// Whoever has proved nothing has the places of one caller, whatever header it sends: others are left room.
#[tokio::test]
async fn tasks_of_strangers_are_counted_by_address() {
    let options = TaskOptions { running_per_caller: 2, ..TaskOptions::default() };
    let server = McpServer::new("open", "1.0.0")
        .task_options(options)
        .tool(Tool::new("wait", "Waits").task(), |_, ()| std::future::pending::<McpResult<String>>());
    let listening = server.listen("http://127.0.0.1:0/mcp").await.unwrap();
    let target = Target { url: listening.url().to_string() };
    tokio::spawn(listening.run());
    let mut answers = Vec::new();
    for caller in 0..3 {
        answers.push(target.task("wait", &[("authorization", &format!("Bearer {caller}"))]).await.body);
    }
    assert!(answers[1].contains("\"taskId\""), "{}", answers[1]);
    assert!(answers[2].contains("2 tasks of this caller run already"), "{}", answers[2]);
}

/// The same settings serve an application that has routes of its own.
#[tokio::test]
async fn a_mounted_service_has_the_same_rules() {
    let site = authority(vec![Key::new().jwk(Some("one"))]).await;
    let auth = settings(&site).start().await.unwrap();
    let http = auth.http(&server()).unwrap();
    let service = HttpService::new(server().into_router(), http.clone()).dialect(sabir::MCP);
    let request = |path: &str| Request::get(path).header("host", "127.0.0.1").body(String::new()).unwrap();
    for path in auth.metadata_paths() {
        assert_eq!(service.handle(request(&path)).await.status(), 200);
    }
    assert_eq!(service.handle(request("/mcp")).await.status(), 401);
    // What cannot carry tokens is not served at all.
    let streams = Protocols { lines: true, headers: true, http: false, websocket: false };
    for (url, protocols) in [
        ("nats://127.0.0.1:1/mcp", Protocols::default()),
        ("ws://127.0.0.1:0/mcp", Protocols::default()),
        ("tcp://127.0.0.1:0", streams),
    ] {
        let refused = server().listen(url).protocols(protocols).http(http.clone()).await;
        assert!(matches!(refused, Err(sabir::Error::Config(_))), "{url}");
    }
}

/// A name that is misspelt would leave a tool open.
#[tokio::test]
async fn scopes_are_for_tools_and_methods_that_there_are() {
    let site = authority(vec![Key::new().jwk(Some("one"))]).await;
    for (misspelt, why) in [
        (settings(&site).tool_scopes("wrte", ["files:write"]), "the tool `wrte`"),
        (settings(&site).method_scopes("tools/cal", ["files:write"]), "the method `tools/cal`"),
    ] {
        let refused = misspelt.clone().start().await.unwrap().http(&server()).unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
        assert!(misspelt.allow_unknown_names().start().await.unwrap().http(&server()).is_ok());
    }
    let right = settings(&site).method_scopes("resources/read", ["files:read"]).start().await.unwrap();
    assert!(right.http(&server()).is_ok());
}

/// A stream of a session, and a subscription of the modern era, end when the token that opened them does.
#[tokio::test]
async fn streams_end_with_their_token() {
    let key = Key::new();
    let site = authority(vec![key.jwk(Some("one"))]).await;
    let auth = settings(&site).leeway(Duration::ZERO).start().await.unwrap();
    let target = Target::start(&auth).await;
    let short = with(claims(&site.url), &json!({"exp": NOW + 1}));
    let authorization = format!("Bearer {}", key.sign(&header(), &short));
    let open = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let opened = target.post(&[("authorization", &authorization)], &open).await;
    let session = opened.header("mcp-session-id").to_owned();
    let headers = [("authorization", authorization.as_str()), ("mcp-session-id", session.as_str())];
    // They are read to their end.
    assert_eq!(target.send("GET", &target.url, &headers, &Value::Null).await.status, 200);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    });
    let listen = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
        "params": {"notifications": {"toolsListChanged": true}, "_meta": meta}});
    let headers = [
        ("authorization", authorization.as_str()),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "subscriptions/listen"),
    ];
    let told = target.post(&headers, &listen).await;
    assert!(told.body.contains("subscriptions/acknowledged"), "{} {}", told.status, told.body);
}
