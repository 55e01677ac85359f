//! Proofs of possession (DPoP, RFC 9449), as a server checks them: for this request, this token and this key, and never
//! twice.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use http::request::Parts;
use sabir::internal::lock;
use sabir::transport::Url;
use serde::Deserialize;

use crate::auth::encoding::sha256;
use crate::auth::jose::{Jws, JwsAlgorithm};
use crate::auth::place;

/// How old a proof may be, or how far ahead, in seconds.
const WINDOW: u64 = 300;
/// Proofs that are remembered.
const MOST: usize = 100_000;

/// The proofs that were seen.
#[derive(Default)]
pub(super) struct Proofs(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    ends: HashMap<String, u64>,
    /// In the order in which they came.
    order: VecDeque<String>,
}

#[derive(Deserialize)]
struct Claims {
    jti: String,
    htm: String,
    htu: String,
    iat: u64,
    ath: Option<String>,
}

impl Proofs {
    /// The thumbprint of the key that has proved to be there, or why it has not.
    pub(super) fn check(
        &self,
        parts: &Parts,
        resource: &Url,
        token: &str,
        algorithms: &[JwsAlgorithm],
        now: u64,
    ) -> Result<String, &'static str> {
        let mut headers = parts.headers.get_all("dpop").iter();
        let (Some(proof), None) = (headers.next(), headers.next()) else {
            return Err("expected one DPoP header");
        };
        let proof = proof.to_str().ok().and_then(Jws::parse).ok_or("the DPoP proof is not a signed token")?;
        if !proof.header.typ.as_deref().is_some_and(|typ| typ.eq_ignore_ascii_case("dpop+jwt")) {
            return Err("the DPoP proof is not of the type dpop+jwt");
        }
        let algorithm = proof.algorithm().filter(|algorithm| algorithms.contains(algorithm));
        let algorithm = algorithm.ok_or("the DPoP proof is signed with an algorithm that is not allowed")?;
        let key = proof.header.jwk.as_ref().filter(|key| key.d.is_none() && key.k.is_none());
        let key = key.ok_or("the DPoP proof has no public key")?;
        if !proof.is_signed_by(key, algorithm) {
            return Err("the signature of the DPoP proof is wrong");
        }
        let thumbprint = key.thumbprint().ok_or("the DPoP proof has no public key")?;
        let claims: Claims = proof.claims().ok_or("the DPoP proof lacks claims")?;
        let called = Url::parse(claims.htu.split(['?', '#']).next().unwrap_or_default());
        let is_called = called.is_ok_and(|called| {
            place::is_same_origin(&called, resource)
                && called.path().trim_end_matches('/') == parts.uri.path().trim_end_matches('/')
        });
        if claims.htm != parts.method.as_str() || !is_called {
            return Err("the DPoP proof is for another request");
        }
        if claims.iat.abs_diff(now) > WINDOW {
            return Err("the DPoP proof is too old, or not valid yet");
        }
        if claims.ath.as_deref() != Some(sha256(token).as_str()) {
            return Err("the DPoP proof is for another token");
        }
        self.remember(sha256(&format!("{thumbprint} {}", claims.jti)), now)?;
        Ok(thumbprint)
    }

    fn remember(&self, id: String, now: u64) -> Result<(), &'static str> {
        let mut seen = lock(&self.0);
        while let Some(oldest) = seen.order.front()
            && seen.ends.get(oldest).is_none_or(|end| *end < now)
        {
            let oldest = seen.order.pop_front().unwrap_or_default();
            seen.ends.remove(&oldest);
        }
        if seen.ends.contains_key(&id) {
            return Err("the DPoP proof was used before");
        }
        // To forget one early would be to take it twice.
        if seen.ends.len() >= MOST {
            return Err("too many DPoP proofs at once: try again later");
        }
        seen.order.push_back(id.clone());
        seen.ends.insert(id, now.saturating_add(2 * WINDOW));
        Ok(())
    }
}
