//! Keys that sign: those of clients that prove who they are by a token, and those of DPoP.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair,
    RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512,
    RsaEncoding, RsaKeyPair,
};
use serde_json::{Value, json};

use super::JwsAlgorithm;
use super::jwk::Jwk;
use crate::auth::encoding::base64url;

/// A private key that signs tokens. It is never shown.
#[derive(Clone)]
pub struct SigningKey {
    pair: Arc<Pair>,
    algorithm: JwsAlgorithm,
    id: Option<String>,
}

enum Pair {
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
    Rsa(RsaKeyPair),
}

impl SigningKey {
    /// A key in PEM: PKCS#8 (`BEGIN PRIVATE KEY`), or for RSA also PKCS#1 (`BEGIN RSA PRIVATE KEY`).
    pub fn from_pem(pem: &str, algorithm: JwsAlgorithm) -> Result<Self, String> {
        let (kind, der) = from_pem(pem).ok_or("the key is not in PEM")?;
        if kind != "PRIVATE KEY" && kind != "RSA PRIVATE KEY" {
            return Err(format!(
                "a `{kind}` is not taken: write it as PKCS#8 with `openssl pkcs8 -topk8 -nocrypt`"
            ));
        }
        let unfit = |error: ring::error::KeyRejected| {
            format!("the key is not a private key for {}: {error}", algorithm.name())
        };
        let pair = match algorithm {
            JwsAlgorithm::Es256 | JwsAlgorithm::Es384 => ec(algorithm, &der).map_err(unfit)?,
            JwsAlgorithm::EdDsa => Pair::Ed(Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).map_err(unfit)?),
            _ if kind == "RSA PRIVATE KEY" => Pair::Rsa(RsaKeyPair::from_der(&der).map_err(unfit)?),
            _ => Pair::Rsa(RsaKeyPair::from_pkcs8(&der).map_err(unfit)?),
        };
        Ok(SigningKey { pair: Arc::new(pair), algorithm, id: None })
    }

    /// Says which key it is, where an authorization server knows several.
    #[must_use]
    pub fn key_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// A new key for ES256, as PKCS#8.
    pub(crate) fn generate() -> Result<Vec<u8>, String> {
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        document.map(|document| document.as_ref().to_vec()).map_err(|_| "no key could be made".to_owned())
    }

    /// A key for ES256 that [`generate`](Self::generate) made.
    pub(crate) fn from_generated(der: &[u8]) -> Result<Self, String> {
        let pair =
            ec(JwsAlgorithm::Es256, der).map_err(|error| format!("the stored key is broken: {error}"))?;
        Ok(SigningKey { pair: Arc::new(pair), algorithm: JwsAlgorithm::Es256, id: None })
    }

    /// The public half of a key for ES256.
    pub(crate) fn public(&self) -> Option<Jwk> {
        let Pair::Ec(pair) = &*self.pair else { return None };
        let point = pair.public_key().as_ref().strip_prefix(&[4])?;
        let (x, y) = point.split_at_checked(32)?;
        let (crv, x, y) = (Some("P-256".to_owned()), Some(base64url(x)), Some(base64url(y)));
        Some(Jwk { kty: "EC".to_owned(), crv, x, y, ..Jwk::default() })
    }

    /// A token with these claims, and these members of the header beside the algorithm.
    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> Result<String, String> {
        let mut head = json!({"alg": self.algorithm.name()});
        if let (Some(head), Some(more)) = (head.as_object_mut(), header.as_object()) {
            head.extend(more.clone());
            if let Some(id) = &self.id {
                head.insert("kid".to_owned(), json!(id));
            }
        }
        let message = format!("{}.{}", base64url(head.to_string()), base64url(claims.to_string()));
        let signature = self.signature(message.as_bytes()).map_err(|_| "the token could not be signed")?;
        Ok(format!("{message}.{}", base64url(signature)))
    }

    fn signature(&self, message: &[u8]) -> Result<Vec<u8>, ring::error::Unspecified> {
        let random = SystemRandom::new();
        match &*self.pair {
            Pair::Ec(pair) => Ok(pair.sign(&random, message)?.as_ref().to_vec()),
            Pair::Ed(pair) => Ok(pair.sign(message).as_ref().to_vec()),
            Pair::Rsa(pair) => {
                let padding: &dyn RsaEncoding = match self.algorithm {
                    JwsAlgorithm::Rs384 => &RSA_PKCS1_SHA384,
                    JwsAlgorithm::Rs512 => &RSA_PKCS1_SHA512,
                    JwsAlgorithm::Ps256 => &RSA_PSS_SHA256,
                    JwsAlgorithm::Ps384 => &RSA_PSS_SHA384,
                    JwsAlgorithm::Ps512 => &RSA_PSS_SHA512,
                    _ => &RSA_PKCS1_SHA256,
                };
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(padding, &random, message, &mut signature)?;
                Ok(signature)
            }
        }
    }
}

fn ec(algorithm: JwsAlgorithm, der: &[u8]) -> Result<Pair, ring::error::KeyRejected> {
    let curve = match algorithm {
        JwsAlgorithm::Es384 => &ECDSA_P384_SHA384_FIXED_SIGNING,
        _ => &ECDSA_P256_SHA256_FIXED_SIGNING,
    };
    EcdsaKeyPair::from_pkcs8(curve, der, &SystemRandom::new()).map(Pair::Ec)
}

/// The kind of the first block, and what is in it.
fn from_pem(pem: &str) -> Option<(&str, Vec<u8>)> {
    let (_, rest) = pem.split_once("-----BEGIN ")?;
    let (kind, rest) = rest.split_once("-----")?;
    let (body, _) = rest.split_once("-----END ")?;
    let text: String = body.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    Some((kind, STANDARD.decode(text).ok()?))
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}
