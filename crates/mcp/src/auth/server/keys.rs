//! The keys of an authorization server: fetched when they are needed, kept for a while, and never fetched more often than
//! now and then, whatever tokens say.

use std::sync::{Arc, Mutex};

use http::Request;
use sabir::Fetch;
use sabir::internal::lock;
use sabir::transport::Url;
use serde::Deserialize;
use serde_json::Value;

use crate::auth::client::AuthError;
use crate::auth::jose::jwk::Jwk;
use crate::auth::jose::{Jws, JwsAlgorithm};
use crate::auth::place;

/// Keys of one authorization server.
const MOST_KEYS: usize = 100;
/// Keys that a token without the name of one is tried with.
const MOST_TRIES: usize = 8;
/// How long keys are good for, in seconds.
const FRESH: u64 = 600;
/// How long keys are used that cannot be fetched again.
const STALE: u64 = 24 * 3600;
/// How long it takes at least between two fetches.
const PAUSE: u64 = 30;

/// The keys of one issuer.
pub(super) struct Keys {
    pub(super) issuer: String,
    url: String,
    fetch: Fetch,
    cache: Mutex<Cache>,
    /// Held by whoever fetches. Tokens whose keys are known do not wait for that.
    fetching: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct Cache {
    keys: Arc<[Jwk]>,
    fetched: u64,
    attempted: u64,
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

impl Keys {
    /// Finds the keys of an issuer by its metadata, and fetches them for the first time.
    pub(super) async fn of(
        issuer: &str,
        private: bool,
        roots: &[Vec<u8>],
        now: u64,
    ) -> Result<Self, AuthError> {
        let url = place::secure(issuer, "the issuer").map_err(AuthError::new)?;
        let fetch = Fetch {
            private_addresses: private || place::is_private(&url),
            root_certificates: roots.to_vec(),
            ..Fetch::default()
        };
        let metadata = crate::auth::client::authorization_server(&fetch, issuer).await?;
        let jwks = metadata
            .jwks_uri
            .ok_or_else(|| AuthError::new(format!("{issuer} has no keys: its metadata lack jwks_uri")))?;
        let jwks: Url = place::secure(&jwks, "jwks_uri").map_err(AuthError::new)?;
        let keys = Keys {
            issuer: issuer.to_owned(),
            url: jwks.to_string(),
            fetch,
            cache: Mutex::default(),
            fetching: Arc::default(),
        };
        let fetched = keys.fetch().await?;
        *lock(&keys.cache) = Cache { keys: fetched, fetched: now, attempted: now };
        Ok(keys)
    }

    /// Whether a token is signed by one of the keys.
    pub(super) async fn verify(self: &Arc<Self>, token: &Jws<'_>, algorithm: JwsAlgorithm, now: u64) -> bool {
        let id = token.header.kid.as_deref();
        let (mut keys, age) = {
            let cache = lock(&self.cache);
            (Arc::clone(&cache.keys), now.saturating_sub(cache.fetched))
        };
        let is_known = id.is_none() || keys.iter().any(|key| key.kid.as_deref() == id);
        if !is_known || age >= STALE {
            // Keys change: a name that is not known may be that of a new one.
            self.renew(now).await;
            keys = Arc::clone(&lock(&self.cache).keys);
        } else if age >= FRESH {
            let keys = Arc::clone(self);
            tokio::spawn(async move { keys.renew(now).await });
        }
        let fits = |key: &&Jwk| (id.is_none() || key.kid.as_deref() == id) && key.is_for(algorithm);
        keys.iter().filter(fits).take(MOST_TRIES).any(|key| token.is_signed_by(key, algorithm))
    }

    /// Fetches the keys anew, unless that was tried a moment ago. Whoever comes while another one fetches waits for that.
    async fn renew(&self, now: u64) {
        let _turn = self.fetching.lock().await;
        {
            let mut cache = lock(&self.cache);
            if now.saturating_sub(cache.attempted) < PAUSE {
                return;
            }
            cache.attempted = now;
        }
        let fetched = self.fetch().await;
        let mut cache = lock(&self.cache);
        match fetched {
            Ok(keys) => (cache.keys, cache.fetched) = (keys, now),
            // Old keys are better than none, for a time.
            Err(_) if now.saturating_sub(cache.fetched) < STALE => {}
            Err(_) => cache.keys = Arc::default(),
        }
    }

    async fn fetch(&self) -> Result<Arc<[Jwk]>, AuthError> {
        let request = Request::get(&self.url).header("accept", "application/json").body("");
        let request = request.map_err(|error| AuthError::new(error.to_string()))?;
        let response = self.fetch.send(request).await.map_err(|error| AuthError::new(error.to_string()))?;
        let url = &self.url;
        if response.status() != http::StatusCode::OK {
            return Err(AuthError::new(format!("HTTP {} from {url}", response.status().as_str())));
        }
        let set: KeySet = serde_json::from_slice(response.body())
            .map_err(|_| AuthError::new(format!("the document at {url} is not a set of keys")))?;
        if set.keys.len() > MOST_KEYS {
            return Err(AuthError::new(format!("there are more than {MOST_KEYS} keys at {url}")));
        }
        // Keys of other kinds may stand beside ours.
        let keys = set.keys.into_iter().filter_map(|key| serde_json::from_value(key).ok());
        let keys: Arc<[Jwk]> = keys
            .filter(|key: &Jwk| JwsAlgorithm::ALL.iter().any(|algorithm| key.is_for(*algorithm)))
            .collect();
        match keys.is_empty() {
            true => {
                Err(AuthError::new(format!("there is no key at {url} that tokens could be verified with")))
            }
            false => Ok(keys),
        }
    }
}
