//! A signed token that came from somebody, taken apart.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::JwsAlgorithm;
use super::jwk::Jwk;
use crate::auth::encoding::from_base64url;

/// Bytes of a token that are looked at.
pub(crate) const MOST_BYTES: usize = 16 * 1024;

/// A token in its compact form. Nothing in it is true until a key has verified it.
#[derive(Debug)]
pub(crate) struct Jws<'t> {
    pub(crate) header: Header,
    payload: Vec<u8>,
    message: &'t str,
    signature: Vec<u8>,
}

/// The members of the header that matter. Others, such as `jku`, `x5u` or a `jwk` where none belongs, are never used.
#[derive(Debug, Deserialize)]
pub(crate) struct Header {
    pub(crate) alg: String,
    #[serde(default)]
    pub(crate) kid: Option<String>,
    #[serde(default)]
    pub(crate) typ: Option<String>,
    #[serde(default)]
    pub(crate) jwk: Option<Jwk>,
    /// Also if it is `null`: an extension that is not understood must not be passed over.
    #[serde(default, deserialize_with = "present")]
    crit: bool,
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    serde::de::IgnoredAny::deserialize(deserializer).map(|_| true)
}

impl<'t> Jws<'t> {
    /// `None` if it is not a token of three parts, or needs an extension that nobody here knows.
    pub(crate) fn parse(token: &'t str) -> Option<Self> {
        if token.len() > MOST_BYTES {
            return None;
        }
        let (message, signature) = token.rsplit_once('.')?;
        let (header, payload) = message.split_once('.')?;
        let header: Header = serde_json::from_slice(&from_base64url(header)?).ok()?;
        if header.crit || payload.contains('.') {
            return None;
        }
        let (payload, signature) = (from_base64url(payload)?, from_base64url(signature)?);
        Some(Jws { header, payload, message, signature })
    }

    /// The algorithm, if it is one that can be trusted at all.
    pub(crate) fn algorithm(&self) -> Option<JwsAlgorithm> {
        JwsAlgorithm::parse(&self.header.alg)
    }

    pub(crate) fn is_signed_by(&self, key: &Jwk, algorithm: JwsAlgorithm) -> bool {
        key.verifies(algorithm, self.message.as_bytes(), &self.signature)
    }

    /// What it claims.
    pub(crate) fn claims<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.payload).ok()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may")]

    use serde_json::{Value, json};

    use super::*;
    use crate::auth::encoding::base64url;
    use crate::auth::jose::SigningKey;

    #[test]
    fn a_token_is_verified_by_its_own_key_only() {
        let key = SigningKey::from_generated(&SigningKey::generate().unwrap()).unwrap();
        let other = SigningKey::from_generated(&SigningKey::generate().unwrap()).unwrap();
        let token = key.sign(&json!({"typ": "x"}), &json!({"sub": "ada"})).unwrap();
        let jws = Jws::parse(&token).unwrap();
        assert_eq!(jws.algorithm(), Some(JwsAlgorithm::Es256));
        assert!(jws.is_signed_by(&key.public().unwrap(), JwsAlgorithm::Es256));
        assert!(!jws.is_signed_by(&other.public().unwrap(), JwsAlgorithm::Es256));
        assert!(!jws.is_signed_by(&key.public().unwrap(), JwsAlgorithm::Rs256));
        assert_eq!(jws.claims::<Value>().unwrap(), json!({"sub": "ada"}));
        let parts: Vec<&str> = token.split('.').collect();
        let forged = format!("{}.{}.{}", parts[0], base64url(r#"{"sub":"eve"}"#), parts[2]);
        assert!(!Jws::parse(&forged).unwrap().is_signed_by(&key.public().unwrap(), JwsAlgorithm::Es256));
    }

    #[test]
    fn what_is_no_token_is_not_parsed() {
        let part = |text: &str| base64url(text);
        for token in [
            String::new(),
            "a.b".to_owned(),
            "a.b.c".to_owned(),
            format!("{}.{}.", part("[]"), part("{}")),
            format!("{}.{}.x.y", part(r#"{"alg":"RS256"}"#), part("{}")),
            format!("{}.{}.", part(r#"{"alg":"RS256","crit":["b64"]}"#), part("{}")),
            format!("{}.{}.", part(r#"{"alg":"RS256","crit":null}"#), part("{}")),
            format!("{}.{}.", part(r#"{"alg":"none","alg":"RS256"}"#), part("{}")),
            "a".repeat(MOST_BYTES + 1),
        ] {
            assert!(Jws::parse(&token).is_none(), "{token}");
        }
        let none = format!("{}.{}.", part(r#"{"alg":"none"}"#), part("{}"));
        assert_eq!(Jws::parse(&none).unwrap().algorithm(), None);
        let symmetric = format!("{}.{}.", part(r#"{"alg":"HS256"}"#), part("{}"));
        assert_eq!(Jws::parse(&symmetric).unwrap().algorithm(), None);
    }
}
