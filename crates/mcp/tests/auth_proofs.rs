//! Tokens that are bound to a key, and the proofs that they need: each for one request, with a nonce of the server if it wants
//! that. And tokens that are bound to something else, or allow too little for anything.

#![cfg(feature = "auth")]
#![expect(clippy::unwrap_used, reason = "a test may")]

mod protected;
mod site;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use protected::{RESOURCE, Target, authority, claims, header, issuer, settings};
use serde_json::{Value, json};
use site::{Key, NOW, Site, b64, with};

#[tokio::test]
async fn a_bound_token_needs_its_proof() {
    let (key, holder, thief) = (Key::new(), Key::new(), Key::new());
    let site = authority(vec![key.jwk(Some("one"))]).await;
    let auth = settings(&site).start().await.unwrap();
    let target = Target::start(&auth).await;
    let bound = json!({"cnf": {"jkt": holder.thumbprint()}});
    let token = key.sign(&header(), &with(claims(&site.url), &bound));
    let hash = b64(ring::digest::digest(&ring::digest::SHA256, token.as_bytes()));
    let claim = |id: &str| json!({"jti": id, "htm": "POST", "htu": RESOURCE, "iat": NOW, "ath": hash});
    let head = |by: &Key| json!({"typ": "dpop+jwt", "alg": "ES256", "jwk": by.jwk(None)});
    let proof = |id: &str, change: Value| holder.sign(&head(&holder), &with(claim(id), &change));
    let first = proof("1", json!({"iat": NOW as f64 + 0.5}));
    let private = with(holder.jwk(None), &json!({"d": "AAAA"}));
    for (name, scheme, proof, status, why) in [
        ("right", "DPoP", first.clone(), 200, ""),
        ("again", "DPoP", first, 401, "the DPoP proof was used before"),
        (
            "as bearer",
            "Bearer",
            proof("2", json!({})),
            401,
            "the token is bound to a key: send it with the scheme DPoP",
        ),
        (
            "other method",
            "DPoP",
            proof("3", json!({"htm": "GET"})),
            401,
            "the DPoP proof is for another request",
        ),
        (
            "other URL",
            "DPoP",
            proof("4", json!({"htu": "http://127.0.0.1:9/x"})),
            401,
            "the DPoP proof is for another request",
        ),
        (
            "other host",
            "DPoP",
            proof("5", json!({"htu": "http://evil.example/mcp"})),
            401,
            "the DPoP proof is for another request",
        ),
        (
            "old",
            "DPoP",
            proof("6", json!({"iat": NOW - 301})),
            401,
            "the DPoP proof is too old, or not valid yet",
        ),
        (
            "ahead",
            "DPoP",
            proof("7", json!({"iat": NOW + 301})),
            401,
            "the DPoP proof is too old, or not valid yet",
        ),
        ("other token", "DPoP", proof("8", json!({"ath": "x"})), 401, "the DPoP proof is for another token"),
        (
            "other key",
            "DPoP",
            thief.sign(&head(&thief), &claim("9")),
            401,
            "the token is bound to another key",
        ),
        (
            "forged",
            "DPoP",
            thief.sign(&head(&holder), &claim("10")),
            401,
            "the signature of the DPoP proof is wrong",
        ),
        (
            "private",
            "DPoP",
            holder.sign(&with(head(&holder), &json!({"jwk": private})), &claim("11")),
            401,
            "the DPoP proof has no public key",
        ),
        (
            "type",
            "DPoP",
            holder.sign(&with(head(&holder), &json!({"typ": "JWT"})), &claim("12")),
            401,
            "the DPoP proof is not of the type dpop+jwt",
        ),
        ("without a name", "DPoP", proof("", json!({})), 401, "the DPoP proof has no name of its own (jti)"),
        ("junk", "DPoP", "x".to_owned(), 401, "the DPoP proof is not a signed token"),
    ] {
        let authorization = format!("{scheme} {token}");
        let answer = target.call_with("who", &[("authorization", &authorization), ("dpop", &proof)]).await;
        assert_eq!(answer.status, status, "{name}: {}", answer.body);
        if status == 401 {
            assert_eq!(answer.reason(), why, "{name}");
        }
    }
    let authorization = format!("DPoP {token}");
    assert_eq!(target.call("who", &authorization).await.reason(), "expected one DPoP header");
    // A server that takes only bound tokens.
    let strict = Target::start(&settings(&site).require_dpop().start().await.unwrap()).await;
    let unbound = format!("Bearer {}", key.sign(&header(), &claims(&site.url)));
    let answer = strict.call("who", &unbound).await;
    assert_eq!(answer.status, 401);
    assert!(answer.header("www-authenticate").starts_with("DPoP error=\"invalid_token\""));
}

#[tokio::test]
async fn a_proof_needs_the_nonce_of_the_server() {
    let (key, holder) = (Key::new(), Key::new());
    let site = authority(vec![key.jwk(Some("one"))]).await;
    let time = Arc::new(AtomicU64::new(NOW));
    let now = Arc::clone(&time);
    let clock = move || UNIX_EPOCH + Duration::from_secs(now.load(Ordering::Relaxed));
    let target = Target::start(&settings(&site).clock(clock).dpop_nonces().start().await.unwrap()).await;
    let bound = json!({"cnf": {"jkt": holder.thumbprint()}, "exp": NOW + 10_000});
    let token = key.sign(&header(), &with(claims(&site.url), &bound));
    let hash = b64(ring::digest::digest(&ring::digest::SHA256, token.as_bytes()));
    let ask = async |nonce: Option<&str>| {
        let at = time.load(Ordering::Relaxed);
        let id = b64(getrandom());
        let mut proof = json!({"jti": id, "htm": "POST", "htu": RESOURCE, "iat": at, "ath": hash});
        if let Some(nonce) = nonce {
            proof["nonce"] = json!(nonce);
        }
        let proof = holder.sign(&json!({"typ": "dpop+jwt", "alg": "ES256", "jwk": holder.jwk(None)}), &proof);
        target.call_with("who", &[("authorization", &format!("DPoP {token}")), ("dpop", &proof)]).await
    };
    let first = ask(None).await;
    assert_eq!(first.status, 401);
    assert!(first.header("www-authenticate").starts_with("DPoP error=\"use_dpop_nonce\""));
    let nonce = first.header("dpop-nonce").to_owned();
    assert_eq!(ask(Some(&nonce)).await.status, 200);
    assert_eq!(ask(Some("made-up")).await.status, 401);
    // It is good for a while longer when there is a new one, and then not any more.
    time.store(NOW + 300, Ordering::Relaxed);
    assert_eq!(ask(Some(&nonce)).await.status, 200);
    time.store(NOW + 600, Ordering::Relaxed);
    let late = ask(Some(&nonce)).await;
    assert_eq!(late.status, 401);
    assert_ne!(late.header("dpop-nonce"), nonce);
    assert_eq!(ask(Some(late.header("dpop-nonce"))).await.status, 200);
}

fn getrandom() -> [u8; 16] {
    use ring::rand::SecureRandom;
    let mut bytes = [0; 16];
    ring::rand::SystemRandom::new().fill(&mut bytes).unwrap();
    bytes
}

#[tokio::test]
async fn a_token_that_is_bound_to_something_else_is_not_taken() {
    let key = Key::new();
    let site = authority(vec![key.jwk(Some("one"))]).await;
    let target = Target::start(&settings(&site).start().await.unwrap()).await;
    for cnf in [
        json!({"x5t#S256": "AAAA"}),
        json!({"jwk": {}}),
        json!({"jkt": 5}),
        json!({"jkt": "a", "x5t#S256": "b"}),
        json!("x"),
        json!([]),
    ] {
        let token = key.sign(&header(), &with(claims(&site.url), &json!({"cnf": cnf})));
        let answer = target.call("who", &format!("Bearer {token}")).await;
        assert_eq!(answer.status, 401, "{cnf}");
        assert_eq!(answer.reason(), "the token is bound to something that cannot be checked here", "{cnf}");
    }
}

#[tokio::test]
async fn what_every_call_needs_is_needed_for_all_else_too() {
    let key = Key::new();
    let site = authority(vec![key.jwk(Some("one"))]).await;
    let target = Target::start(&settings(&site).start().await.unwrap()).await;
    let token = key.sign(&header(), &with(claims(&site.url), &json!({"scope": "other"})));
    let headers = [("authorization", format!("Bearer {token}"))];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    for (method, body) in [("GET", Value::Null), ("DELETE", Value::Null), ("POST", answer)] {
        let refused = target.send(method, &target.url, &headers, &body).await;
        assert_eq!(refused.status, 403, "{method}");
        assert!(refused.header("www-authenticate").contains("scope=\"mcp\""), "{method}");
    }
}

/// A stranger's token with an unknown key makes the server ask for keys. Whoever has a known one does not wait for that.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn known_keys_do_not_wait_for_unknown_ones() {
    let (key, time) = (Arc::new(Key::new()), Arc::new(AtomicU64::new(NOW)));
    let (jwk, first) = (key.jwk(Some("one")), Arc::new(AtomicU64::new(0)));
    let (hold, held) = (Arc::new(std::sync::Barrier::new(2)), Arc::new(AtomicU64::new(0)));
    let (wait, began) = (Arc::clone(&hold), Arc::clone(&held));
    let site = Site::start(move |url, asked| {
        if asked.is("GET /keys ") && first.fetch_add(1, Ordering::SeqCst) > 0 {
            began.store(1, Ordering::SeqCst);
            tokio::task::block_in_place(|| wait.wait());
        }
        issuer(url, asked, &json!({"keys": [jwk]}))
    })
    .await;
    let now = Arc::clone(&time);
    let clock = move || UNIX_EPOCH + Duration::from_secs(now.load(Ordering::Relaxed));
    let target = Arc::new(Target::start(&settings(&site).clock(clock).start().await.unwrap()).await);
    let lasting = with(claims(&site.url), &json!({"exp": NOW + 10_000}));
    time.store(NOW + 31, Ordering::Relaxed);
    let strange = key.sign(&json!({"alg": "ES256", "kid": "unknown"}), &lasting);
    let asking = Arc::clone(&target);
    let stranger = tokio::spawn(async move { asking.call("who", &format!("Bearer {strange}")).await.status });
    while held.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    let known = key.sign(&header(), &lasting);
    assert_eq!(target.call("who", &format!("Bearer {known}")).await.status, 200);
    hold.wait();
    assert_eq!(stranger.await.unwrap(), 401);
}
