//! Signed tokens: their encoding. What signs and verifies is `ring`.

pub(crate) mod jwk;
mod sign;
pub(crate) mod unique;
mod verify;

pub use sign::SigningKey;
pub(crate) use verify::Jws;

/// An algorithm that tokens are signed with. There is no symmetric one, and no `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JwsAlgorithm {
    /// RSA with PKCS#1 padding and SHA-256.
    Rs256,
    /// The same with SHA-384.
    Rs384,
    /// The same with SHA-512.
    Rs512,
    /// RSA-PSS with SHA-256.
    Ps256,
    /// The same with SHA-384.
    Ps384,
    /// The same with SHA-512.
    Ps512,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384.
    Es384,
    /// Ed25519.
    EdDsa,
}

impl JwsAlgorithm {
    /// All of them.
    pub const ALL: [JwsAlgorithm; 9] = [
        JwsAlgorithm::Rs256,
        JwsAlgorithm::Rs384,
        JwsAlgorithm::Rs512,
        JwsAlgorithm::Ps256,
        JwsAlgorithm::Ps384,
        JwsAlgorithm::Ps512,
        JwsAlgorithm::Es256,
        JwsAlgorithm::Es384,
        JwsAlgorithm::EdDsa,
    ];

    /// The algorithm of this name.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "Ed25519" => Some(JwsAlgorithm::EdDsa),
            _ => JwsAlgorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name),
        }
    }

    /// Its name in the header of a token.
    pub fn name(self) -> &'static str {
        match self {
            JwsAlgorithm::Rs256 => "RS256",
            JwsAlgorithm::Rs384 => "RS384",
            JwsAlgorithm::Rs512 => "RS512",
            JwsAlgorithm::Ps256 => "PS256",
            JwsAlgorithm::Ps384 => "PS384",
            JwsAlgorithm::Ps512 => "PS512",
            JwsAlgorithm::Es256 => "ES256",
            JwsAlgorithm::Es384 => "ES384",
            JwsAlgorithm::EdDsa => "EdDSA",
        }
    }
}
