//! Proofs of possession (DPoP, RFC 9449), as a server checks them: for this request, this token and this key, and never
//! twice.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use http::request::Parts;
use sabir::internal::lock;
use sabir::transport::Url;
use serde::Deserialize;

use super::nonce::Nonces;
use crate::auth::encoding::sha256;
use crate::auth::jose::{Jws, JwsAlgorithm};
use crate::auth::place;

/// How old a proof may be, or how far ahead, in seconds.
const WINDOW: u64 = 300;
/// Proofs that are remembered, and how many of them may be of one key.
const MOST: usize = 100_000;
const MOST_OF_KEY: usize = 10_000;

/// The proofs that were seen.
#[derive(Default)]
pub(super) struct Proofs(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    ends: HashMap<String, u64>,
    /// In the order in which they came, with the thumbprints of their keys.
    order: VecDeque<(String, Arc<str>)>,
    of_key: HashMap<Arc<str>, usize>,
}

#[derive(Deserialize)]
struct Claims {
    jti: String,
    htm: String,
    htu: String,
    iat: f64,
    ath: Option<String>,
    nonce: Option<String>,
}

/// What a proof must be for.
pub(super) struct Expected<'a> {
    pub(super) resource: &'a Url,
    pub(super) token: &'a str,
    /// The thumbprint of the key that the token is bound to.
    pub(super) bound: &'a str,
    pub(super) algorithms: &'a [JwsAlgorithm],
    pub(super) nonces: Option<&'a Nonces>,
}

/// Why a proof is not taken.
#[derive(Clone, Copy)]
pub(super) enum Unproved {
    Invalid(&'static str),
    /// It lacks the nonce of the server, or has an old one.
    Nonce,
    /// Those of this key, or of all, cannot be remembered any more.
    TooMany,
}

impl From<&'static str> for Unproved {
    fn from(reason: &'static str) -> Self {
        Unproved::Invalid(reason)
    }
}

impl Proofs {
    /// Whether a request comes with a proof of the key that its token is bound to.
    pub(super) fn check(&self, parts: &Parts, expected: &Expected<'_>, now: u64) -> Result<(), Unproved> {
        let Expected { resource, token, bound, algorithms, nonces } = expected;
        let mut headers = parts.headers.get_all("dpop").iter();
        let (Some(proof), None) = (headers.next(), headers.next()) else {
            return Err("expected one DPoP header".into());
        };
        let proof = proof.to_str().ok().and_then(Jws::parse).ok_or("the DPoP proof is not a signed token")?;
        if !proof.header.typ.as_deref().is_some_and(|typ| typ.eq_ignore_ascii_case("dpop+jwt")) {
            return Err("the DPoP proof is not of the type dpop+jwt".into());
        }
        let algorithm = proof.algorithm().filter(|algorithm| algorithms.contains(algorithm));
        let algorithm = algorithm.ok_or("the DPoP proof is signed with an algorithm that is not allowed")?;
        let key = proof.header.jwk.as_ref().filter(|key| key.d.is_none() && key.k.is_none());
        let key = key.ok_or("the DPoP proof has no public key")?;
        if !proof.is_signed_by(key, algorithm) {
            return Err("the signature of the DPoP proof is wrong".into());
        }
        let thumbprint = key.thumbprint().ok_or("the DPoP proof has no public key")?;
        // Before it is remembered: whoever has stolen a token has no share of the memory.
        if thumbprint != **bound {
            return Err("the token is bound to another key".into());
        }
        let claims: Claims = proof.claims().ok_or("the DPoP proof lacks claims")?;
        if claims.jti.is_empty() {
            return Err("the DPoP proof has no name of its own (jti)".into());
        }
        let called = Url::parse(claims.htu.split(['?', '#']).next().unwrap_or_default());
        let is_called = called.is_ok_and(|called| {
            place::is_same_origin(&called, resource)
                && called.path().trim_end_matches('/') == parts.uri.path().trim_end_matches('/')
        });
        if claims.htm != parts.method.as_str() || !is_called {
            return Err("the DPoP proof is for another request".into());
        }
        #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are exact")]
        let age = now as f64 - claims.iat;
        if age.is_nan() || age.abs() > WINDOW as f64 {
            return Err("the DPoP proof is too old, or not valid yet".into());
        }
        if claims.ath.as_deref() != Some(sha256(token).as_str()) {
            return Err("the DPoP proof is for another token".into());
        }
        let is_fresh =
            |nonces: &Nonces| claims.nonce.as_deref().is_some_and(|nonce| nonces.takes(nonce, now));
        if !nonces.is_none_or(is_fresh) {
            return Err(Unproved::Nonce);
        }
        self.remember(sha256(&format!("{thumbprint} {}", claims.jti)), &thumbprint, now)
    }

    fn remember(&self, id: String, thumbprint: &str, now: u64) -> Result<(), Unproved> {
        let mut seen = lock(&self.0);
        let seen = &mut *seen;
        while let Some((oldest, key)) = seen.order.front()
            && seen.ends.get(oldest).is_none_or(|end| *end < now)
        {
            if let Some(count) = seen.of_key.get_mut(key) {
                *count -= 1;
                if *count == 0 {
                    seen.of_key.remove(key);
                }
            }
            seen.ends.remove(oldest);
            seen.order.pop_front();
        }
        if seen.ends.contains_key(&id) {
            return Err("the DPoP proof was used before".into());
        }
        let key = seen
            .of_key
            .get_key_value(thumbprint)
            .map_or_else(|| thumbprint.into(), |(key, _)| Arc::clone(key));
        let count = seen.of_key.entry(Arc::clone(&key)).or_default();
        // To forget one early would be to take it twice.
        if *count >= MOST_OF_KEY || seen.ends.len() >= MOST {
            if *count == 0 {
                seen.of_key.remove(&key);
            }
            return Err(Unproved::TooMany);
        }
        *count += 1;
        seen.order.push_back((id.clone(), key));
        seen.ends.insert(id, now.saturating_add(2 * WINDOW));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_does_not_use_up_the_memory() {
        let proofs = Proofs::default();
        for number in 0..MOST_OF_KEY {
            assert!(proofs.remember(number.to_string(), "greedy", 0).is_ok());
        }
        assert!(matches!(proofs.remember("more".into(), "greedy", 0), Err(Unproved::TooMany)));
        assert!(proofs.remember("other".into(), "modest", 0).is_ok());
        assert!(matches!(proofs.remember("other".into(), "modest", 2 * WINDOW), Err(Unproved::Invalid(_))));
        // What is forgotten makes room.
        assert!(proofs.remember("more".into(), "greedy", 2 * WINDOW + 1).is_ok());
        assert_eq!(lock(&proofs.0).of_key.len(), 1);
    }
}
