//! Tokens that are good only together with a key (RFC 9449): the proofs that a client sends along.

use serde_json::json;

use crate::auth::encoding::{base64url, from_base64url, random_text, sha256};
use crate::auth::jose::{Jws, SigningKey};

/// A key of one client for one server, and what proves that it has it.
#[derive(Debug, Clone)]
pub(crate) struct DpopKey {
    key: SigningKey,
    stored: String,
}

impl DpopKey {
    pub(crate) fn generate() -> Result<Self, String> {
        let der = SigningKey::generate()?;
        Ok(DpopKey { key: SigningKey::from_generated(&der)?, stored: base64url(der) })
    }

    /// The key that was kept with the tokens that are bound to it.
    pub(crate) fn stored(text: &str) -> Result<Self, String> {
        let der = from_base64url(text).ok_or("the stored key is broken")?;
        Ok(DpopKey { key: SigningKey::from_generated(&der)?, stored: text.to_owned() })
    }

    pub(crate) fn to_store(&self) -> String {
        self.stored.clone()
    }

    /// A proof for one request. `token` is the one that it is sent with.
    pub(crate) fn proof(
        &self,
        method: &str,
        url: &str,
        token: Option<&str>,
        nonce: Option<&str>,
        now: u64,
    ) -> Result<String, String> {
        let url = url.split(['?', '#']).next().unwrap_or(url);
        let mut claims = json!({"jti": random_text(), "htm": method, "htu": url, "iat": now});
        if let Some(token) = token {
            claims["ath"] = json!(sha256(token));
        }
        if let Some(nonce) = nonce {
            claims["nonce"] = json!(nonce);
        }
        let key = self.key.public().ok_or("the key has no public half")?;
        self.key.sign(&json!({"typ": "dpop+jwt", "jwk": key}), &claims)
    }
}

/// The nonce that a proof was made with.
pub(crate) fn nonce_of(proof: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Claims {
        nonce: Option<String>,
    }
    Jws::parse(proof)?.claims::<Claims>()?.nonce
}
