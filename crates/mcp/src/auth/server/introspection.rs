//! Tokens that only their issuer understands (RFC 7662): it is asked, and its answers are kept for a moment.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use http::Request;
use sabir::Fetch;
use sabir::internal::lock;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use crate::auth::client::{AuthError, AuthorizationServer, ClientCredentials};
use crate::auth::encoding::{form, sha256};
use crate::auth::jose::unique::Unique;
use crate::auth::place;

/// Answers that are kept, their bytes, and for how many seconds. Those about tokens that are not active, which anybody can
/// send, are kept apart, so that they take no room of the others.
const MOST_KEPT: usize = 10_000;
const MOST_INACTIVE: usize = 1_000;
const MOST_BYTES: usize = 32 << 20;
const KEPT: u64 = 30;
/// Questions at once, and how long one waits for its turn: an issuer that is slow does not make callers wait for ever.
const MOST_ASKED: usize = 32;
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// An authorization server that is asked about each token.
#[derive(Debug, Clone)]
pub struct Introspection {
    pub(super) issuer: String,
    pub(super) endpoint: String,
    pub(super) client: ClientCredentials,
}

impl Introspection {
    /// Asks the endpoint of an issuer, as this client.
    pub fn new(issuer: impl Into<String>, endpoint: impl Into<String>, client: ClientCredentials) -> Self {
        Introspection { issuer: issuer.into(), endpoint: endpoint.into(), client }
    }
}

pub(super) struct Introspector {
    pub(super) settings: Introspection,
    fetch: Fetch,
    active: Mutex<Answers>,
    inactive: Mutex<Answers>,
    asking: Semaphore,
}

/// Answers by token. The oldest are forgotten first.
struct Answers {
    most: usize,
    kept: HashMap<String, Kept>,
    order: VecDeque<String>,
    bytes: usize,
}

struct Kept {
    until: u64,
    claims: Map<String, Value>,
    bytes: usize,
}

impl Answers {
    fn new(most: usize) -> Mutex<Self> {
        Mutex::new(Answers { most, kept: HashMap::new(), order: VecDeque::new(), bytes: 0 })
    }

    fn get(&self, token: &str, now: u64) -> Option<&Map<String, Value>> {
        self.kept.get(token).filter(|kept| now < kept.until).map(|kept| &kept.claims)
    }

    fn keep(&mut self, token: String, kept: Kept) {
        if self.kept.contains_key(&token) {
            self.forget(&token);
            self.order.retain(|other| *other != token);
        }
        self.bytes += kept.bytes;
        self.order.push_back(token.clone());
        self.kept.insert(token, kept);
        while self.kept.len() > self.most || self.bytes > MOST_BYTES {
            let Some(oldest) = self.order.pop_front() else { return };
            self.forget(&oldest);
        }
    }

    fn forget(&mut self, token: &str) {
        if let Some(kept) = self.kept.remove(token) {
            self.bytes -= kept.bytes;
        }
    }
}

impl Introspector {
    pub(super) fn new(settings: Introspection, roots: &[Vec<u8>]) -> Result<Self, AuthError> {
        place::secure(&settings.endpoint, "the introspection endpoint").map_err(AuthError::new)?;
        place::secure(&settings.issuer, "the issuer").map_err(AuthError::new)?;
        let fetch = Fetch { root_certificates: roots.to_vec(), ..Fetch::default() };
        Ok(Introspector {
            settings,
            fetch,
            active: Answers::new(MOST_KEPT),
            inactive: Answers::new(MOST_INACTIVE),
            asking: Semaphore::new(MOST_ASKED),
        })
    }

    /// What the issuer says about a token: nothing if it is not active.
    pub(super) async fn ask(&self, token: &str, now: u64) -> Result<Option<Map<String, Value>>, AuthError> {
        let key = sha256(token);
        if let Some(known) = self.known(&key, now) {
            return Ok(known);
        }
        let turn = tokio::time::timeout(LONGEST_WAIT, self.asking.acquire()).await;
        let _turn = turn.map_err(|_| AuthError::new("too many tokens are asked about"))?;
        // Another request with the same token may have asked meanwhile.
        if let Some(known) = self.known(&key, now) {
            return Ok(known);
        }
        let (claims, bytes) = self.fetch(token, now).await?;
        let kept =
            Kept { until: now.saturating_add(KEPT), claims: claims.clone().unwrap_or_default(), bytes };
        match &claims {
            Some(_) => lock(&self.active).keep(key, kept),
            None => lock(&self.inactive).keep(key, Kept { bytes: 0, ..kept }),
        }
        Ok(claims)
    }

    /// What the issuer has said a moment ago.
    fn known(&self, key: &str, now: u64) -> Option<Option<Map<String, Value>>> {
        if let Some(claims) = lock(&self.active).get(key, now) {
            return Some(Some(claims.clone()));
        }
        lock(&self.inactive).get(key, now).map(|_| None)
    }

    /// What the issuer says, and how many bytes that has.
    async fn fetch(&self, token: &str, now: u64) -> Result<(Option<Map<String, Value>>, usize), AuthError> {
        let Introspection { issuer, endpoint, client } = &self.settings;
        let mut members = vec![("token", token.to_owned()), ("token_type_hint", "access_token".to_owned())];
        let server = AuthorizationServer { issuer: issuer.clone(), ..AuthorizationServer::default() };
        let authorization = client.prove(&server, &mut members, now).map_err(AuthError::new)?;
        let mut request = Request::post(endpoint)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("accept", "application/json");
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        let request = request.body(form(&members)).map_err(|error| AuthError::new(error.to_string()))?;
        let response = self.fetch.send(request).await.map_err(|error| AuthError::new(error.to_string()))?;
        if !response.status().is_success() {
            return Err(AuthError::new(format!("HTTP {} from {endpoint}", response.status().as_str())));
        }
        let Ok(Unique(Value::Object(claims))) = serde_json::from_slice(response.body()) else {
            return Err(AuthError::new(format!("the answer of {endpoint} is not an object")));
        };
        let active = claims.get("active") == Some(&Value::Bool(true));
        let own = claims.get("iss").is_none_or(|found| found == issuer.as_str());
        Ok(((active && own).then_some(claims), response.body().len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn introspector() -> Introspector {
        let settings = Introspection::new(
            "https://as.example",
            "https://as.example/ask",
            ClientCredentials::public("rs"),
        );
        Introspector::new(settings, &[]).expect("the settings are right")
    }

    fn kept(bytes: usize) -> Kept {
        Kept { until: 100, claims: Map::new(), bytes }
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_ever_while_the_issuer_is_slow() {
        let introspector = introspector();
        let _slow = introspector.asking.acquire_many(32).await.expect("it is not closed");
        lock(&introspector.active).keep(sha256("known"), kept(1));
        assert!(introspector.ask("known", 0).await.is_ok_and(|claims| claims.is_some()));
        let refused = introspector.ask("unknown", 0).await.map_err(|error| error.to_string());
        assert_eq!(refused, Err("too many tokens are asked about".to_owned()));
    }

    #[test]
    fn the_oldest_answers_are_forgotten_first() {
        let answers = Answers::new(3);
        let mut answers = lock(&answers);
        for (token, bytes) in [("a", 1), ("b", 1), ("c", 1), ("b", 2), ("d", 1)] {
            answers.keep(token.to_owned(), kept(bytes));
        }
        let known = |answers: &Answers| ["a", "b", "c", "d"].map(|token| answers.get(token, 99).is_some());
        assert_eq!((known(&answers), answers.bytes), ([false, true, true, true], 4));
        assert!(answers.get("d", 100).is_none());
        answers.keep("e".to_owned(), kept(MOST_BYTES));
        assert_eq!((known(&answers), answers.kept.len(), answers.bytes), ([false; 4], 1, MOST_BYTES));
    }
}
