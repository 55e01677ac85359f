//! Public keys as JSON (RFC 7517), and what they verify.

use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, EcdsaVerificationAlgorithm,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::{Deserialize, Serialize};

use super::JwsAlgorithm;
use crate::auth::encoding::{from_base64url, sha256};

/// A public key. Members of other kinds of keys are not read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Jwk {
    pub(crate) kty: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) alg: Option<String>,
    #[serde(rename = "use", skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) crv: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) x: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) y: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) n: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) e: Option<String>,
    /// Only private and symmetric keys have one.
    #[serde(skip_serializing)]
    pub(crate) d: Option<String>,
    /// A symmetric key.
    #[serde(skip_serializing)]
    pub(crate) k: Option<String>,
}

impl Jwk {
    /// Whether it may verify tokens of an algorithm: of its kind, and not set aside for something else.
    pub(crate) fn is_for(&self, algorithm: JwsAlgorithm) -> bool {
        let (kty, crv) = match algorithm {
            JwsAlgorithm::Es256 => ("EC", Some("P-256")),
            JwsAlgorithm::Es384 => ("EC", Some("P-384")),
            JwsAlgorithm::EdDsa => ("OKP", Some("Ed25519")),
            _ => ("RSA", None),
        };
        self.kty == kty
            && (crv.is_none() || self.crv.as_deref() == crv)
            && self.usage.as_deref().is_none_or(|usage| usage == "sig")
            && self.alg.as_deref().is_none_or(|alg| JwsAlgorithm::parse(alg) == Some(algorithm))
    }

    /// Whether this key made the signature of a message.
    pub(crate) fn verifies(&self, algorithm: JwsAlgorithm, message: &[u8], signature: &[u8]) -> bool {
        self.is_for(algorithm) && self.checked(algorithm, message, signature).is_some()
    }

    fn checked(&self, algorithm: JwsAlgorithm, message: &[u8], signature: &[u8]) -> Option<()> {
        let bytes = |member: &Option<String>| from_base64url(member.as_deref()?);
        let rsa = |parameters: &RsaParameters| {
            let (n, e) = (bytes(&self.n)?, bytes(&self.e)?);
            let key = RsaPublicKeyComponents { n: unpadded(&n), e: unpadded(&e) };
            key.verify(parameters, message, signature).ok()
        };
        let ec = |curve: &'static EcdsaVerificationAlgorithm, size: usize| {
            let (x, y) = (bytes(&self.x)?, bytes(&self.y)?);
            if x.len() != size || y.len() != size {
                return None;
            }
            let point = [&[4], &x[..], &y[..]].concat();
            UnparsedPublicKey::new(curve, point).verify(message, signature).ok()
        };
        match algorithm {
            JwsAlgorithm::Rs256 => rsa(&RSA_PKCS1_2048_8192_SHA256),
            JwsAlgorithm::Rs384 => rsa(&RSA_PKCS1_2048_8192_SHA384),
            JwsAlgorithm::Rs512 => rsa(&RSA_PKCS1_2048_8192_SHA512),
            JwsAlgorithm::Ps256 => rsa(&RSA_PSS_2048_8192_SHA256),
            JwsAlgorithm::Ps384 => rsa(&RSA_PSS_2048_8192_SHA384),
            JwsAlgorithm::Ps512 => rsa(&RSA_PSS_2048_8192_SHA512),
            JwsAlgorithm::Es256 => ec(&ECDSA_P256_SHA256_FIXED, 32),
            JwsAlgorithm::Es384 => ec(&ECDSA_P384_SHA384_FIXED, 48),
            JwsAlgorithm::EdDsa => {
                UnparsedPublicKey::new(&ED25519, bytes(&self.x)?).verify(message, signature).ok()
            }
        }
    }

    /// The name of a key by what it is (RFC 7638).
    pub(crate) fn thumbprint(&self) -> Option<String> {
        let text = |member: &Option<String>| serde_json::to_string(member.as_deref()?).ok();
        let canonical = match self.kty.as_str() {
            "EC" => {
                let (crv, x, y) = (text(&self.crv)?, text(&self.x)?, text(&self.y)?);
                format!(r#"{{"crv":{crv},"kty":"EC","x":{x},"y":{y}}}"#)
            }
            "OKP" => format!(r#"{{"crv":{},"kty":"OKP","x":{}}}"#, text(&self.crv)?, text(&self.x)?),
            "RSA" => format!(r#"{{"e":{},"kty":"RSA","n":{}}}"#, text(&self.e)?, text(&self.n)?),
            _ => return None,
        };
        Some(sha256(&canonical))
    }
}

/// Numbers of some issuers begin with zeros, which `ring` refuses.
fn unpadded(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thumbprint_is_that_of_rfc_7638() {
        let n = "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw";
        let key = Jwk { kty: "RSA".into(), n: Some(n.into()), e: Some("AQAB".into()), ..Jwk::default() };
        assert_eq!(key.thumbprint().as_deref(), Some("NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"));
    }
}
