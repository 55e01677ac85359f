//! The keys of an issuer while a protected server runs: fetched beside the calls, kept when the issuer fails, and not for ever.

#![cfg(feature = "auth")]
#![expect(clippy::unwrap_used, reason = "a test may")]

mod protected;
mod site;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use protected::{Answer, Target, claims, issuer, settings};
use serde_json::{Value, json};
use site::{Key, NOW, Reply, Site, ok, with};

const UNSIGNED: &str = "the token is not signed by a key of its issuer";

/// A server whose time and whose issuer's keys a test changes.
struct Turning {
    time: Arc<AtomicU64>,
    keys: Arc<Mutex<Reply>>,
    site: Site,
    target: Target,
}

impl Turning {
    async fn start(first: &Value) -> Self {
        let keys = Arc::new(Mutex::new(ok(&json!({"keys": [first]}))));
        let (time, current) = (Arc::new(AtomicU64::new(NOW)), Arc::clone(&keys));
        let site = Site::start(move |url, asked| match asked.is("GET /keys ") {
            true => current.lock().unwrap().clone(),
            false => issuer(url, asked, &Value::Null),
        })
        .await;
        let now = Arc::clone(&time);
        let clock = move || UNIX_EPOCH + Duration::from_secs(now.load(Ordering::Relaxed));
        let target = Target::start(&settings(&site).clock(clock).start().await.unwrap()).await;
        Turning { time, keys, site, target }
    }

    /// Seconds after the start.
    fn at(&self, second: u64) {
        self.time.store(NOW + second, Ordering::Relaxed);
    }

    fn keys(&self, reply: Reply) {
        *self.keys.lock().unwrap() = reply;
    }

    async fn call(&self, key: &Key, id: &str) -> Answer {
        let lasting = with(claims(&self.site.url), &json!({"exp": NOW + 1_000_000}));
        let token = key.sign(&json!({"alg": "ES256", "typ": "at+jwt", "kid": id}), &lasting);
        self.target.call("who", &format!("Bearer {token}")).await
    }

    async fn fetched(&self, times: usize) {
        for _ in 0..500 {
            if self.site.asked("GET /keys ").len() >= times {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the keys were fetched {} times", self.site.asked("GET /keys ").len());
    }
}

#[tokio::test]
async fn keys_that_are_withdrawn_are_not_taken_for_long() {
    let (old, new) = (Key::new(), Key::new());
    let server = Turning::start(&old.jwk(Some("one"))).await;
    server.keys(ok(&json!({"keys": [new.jwk(Some("two"))]})));
    server.at(599);
    assert_eq!(server.call(&old, "one").await.status, 200);
    assert_eq!(server.site.asked("GET /keys ").len(), 1, "they are fresh for ten minutes");
    // Nobody waits for the fetch: the call is answered by the keys that are known.
    server.at(600);
    assert_eq!(server.call(&old, "one").await.status, 200);
    server.fetched(2).await;
    let mut refused = server.call(&old, "one").await;
    for _ in 0..500 {
        if refused.status == 401 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        refused = server.call(&old, "one").await;
    }
    assert_eq!((refused.status, refused.reason().as_str()), (401, UNSIGNED));
    assert_eq!(server.call(&new, "two").await.status, 200);
    assert_eq!(server.site.asked("GET /keys ").len(), 2);
}

#[tokio::test]
async fn a_set_that_cannot_be_used_replaces_none_until_the_keys_are_stale() {
    let key = Key::new();
    let jwk = key.jwk(Some("one"));
    let many: Vec<Value> = (0..101).map(|id| key.jwk(Some(&id.to_string()))).collect();
    for (what, reply) in [
        ("an error", (500, String::new(), String::new())),
        ("a redirect", (302, "Location: http://127.0.0.1:1/\r\n".to_owned(), String::new())),
        ("no JSON", (200, String::new(), "<html>".to_owned())),
        ("no keys", ok(&json!({"keys": []}))),
        ("a symmetric key", ok(&json!({"keys": [{"kty": "oct", "k": "AAAA", "kid": "one"}]}))),
        ("too many keys", ok(&json!({"keys": many}))),
        ("a huge set", ok(&json!({"keys": [jwk, {"kty": "EC", "x": "a".repeat(1 << 20)}]}))),
    ] {
        let server = Turning::start(&jwk).await;
        server.keys(reply);
        server.at(600);
        assert_eq!(server.call(&key, "one").await.status, 200, "{what}");
        server.fetched(2).await;
        server.at(86_399);
        assert_eq!(server.call(&key, "one").await.status, 200, "{what}");
        server.fetched(3).await;
        server.at(86_400 + 30);
        let refused = server.call(&key, "one").await;
        assert_eq!((refused.status, refused.reason().as_str()), (401, UNSIGNED), "{what}");
        // When the issuer is back, so are they.
        server.keys(ok(&json!({"keys": [jwk]})));
        server.at(86_400 + 59);
        assert_eq!(server.call(&key, "one").await.status, 401, "{what}: it was asked a moment ago");
        server.at(86_400 + 60);
        assert_eq!(server.call(&key, "one").await.status, 200, "{what}");
    }
}
