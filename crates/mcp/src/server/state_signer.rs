//! What a server gives its client to bring back: signed, since it comes back from a stranger.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Signs and checks. What is signed can be read by the client; it cannot be changed, nor be used for another
/// purpose.
#[derive(Clone)]
pub(crate) struct Keeper {
    key: [u8; 32],
}

impl Keeper {
    /// With a key that nobody else has.
    pub(crate) fn random() -> Self {
        let mut key = [0; 32];
        getrandom::fill(&mut key).expect("the system has a source of random numbers");
        Keeper { key }
    }

    pub(crate) fn with_key(key: [u8; 32]) -> Self {
        Keeper { key }
    }

    pub(crate) fn seal(&self, purpose: &str, payload: &[u8]) -> String {
        let tag = self.mac(purpose, payload).finalize().into_bytes();
        format!("{}.{}", URL_SAFE_NO_PAD.encode(payload), URL_SAFE_NO_PAD.encode(tag))
    }

    /// What was sealed for this purpose; `None` if it was not, or was changed.
    pub(crate) fn open(&self, purpose: &str, sealed: &str) -> Option<Vec<u8>> {
        let (payload, tag) = sealed.split_once('.')?;
        let payload = URL_SAFE_NO_PAD.decode(payload).ok()?;
        let tag = URL_SAFE_NO_PAD.decode(tag).ok()?;
        self.mac(purpose, &payload).verify_slice(&tag).ok()?;
        Some(payload)
    }

    fn mac(&self, purpose: &str, payload: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("a key of any length will do");
        // The length keeps the purpose and the payload apart.
        mac.update(&(purpose.len() as u64).to_le_bytes());
        mac.update(purpose.as_bytes());
        mac.update(payload);
        mac
    }
}

impl std::fmt::Debug for Keeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keeper")
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may")]

    use super::*;

    #[test]
    fn only_what_was_sealed_is_opened() {
        let keeper = Keeper::random();
        let sealed = keeper.seal("a", b"payload");
        assert_eq!(keeper.open("a", &sealed).as_deref(), Some(&b"payload"[..]));
        let (payload, tag) = sealed.split_once('.').unwrap();
        let other = URL_SAFE_NO_PAD.encode(b"Payload");
        for (keeper, purpose, sealed) in [
            (&keeper, "b", sealed.clone()),
            (&Keeper::random(), "a", sealed.clone()),
            (&keeper, "a", format!("{other}.{tag}")),
            (&keeper, "a", format!("{payload}.")),
            (&keeper, "a", payload.to_owned()),
            (&keeper, "a", format!("{sealed}x")),
            (&keeper, "a", String::new()),
        ] {
            assert_eq!(keeper.open(purpose, &sealed), None, "{purpose} {sealed}");
        }
    }
}
