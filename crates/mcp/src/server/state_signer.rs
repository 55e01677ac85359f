//! What a server gives its client to bring back: signed, since it comes back from a stranger, and good only for the
//! call that it was given out for.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::server::digest::JsonDigest;

/// How long a state is good for, unless the server says otherwise.
pub(crate) const TIME_TO_LIVE: Duration = Duration::from_secs(15 * 60);
/// The first thing that is signed, so that the key may sign other things elsewhere.
const CONTEXT: &[u8] = b"sabir-mcp request state 2";

/// Signs and checks. What is signed can be read by the client; it cannot be changed, nor be used for another call.
#[derive(Clone)]
pub(crate) struct StateSigner {
    key: [u8; 32],
}

/// The call that a state belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Binding {
    /// The server that gave it out. Others may have the same key.
    pub(crate) audience: String,
    /// Who calls, as far as that is known.
    pub(crate) identity: Option<Vec<u8>>,
    pub(crate) method: &'static str,
    /// The tool or prompt, or the URI of the resource.
    pub(crate) name: String,
    pub(crate) arguments: JsonDigest,
}

/// Why a state is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rejected {
    /// It was not given out for this call, or was changed.
    Forged,
    /// It was given out for this call too long ago.
    Expired,
}

impl StateSigner {
    /// With a key that nobody else has.
    pub(crate) fn random() -> Self {
        let mut key = [0; 32];
        getrandom::fill(&mut key).expect("the system has a source of random numbers");
        StateSigner { key }
    }

    pub(crate) fn with_key(key: [u8; 32]) -> Self {
        StateSigner { key }
    }

    /// Seals a payload for one call, until a point in time.
    pub(crate) fn seal(&self, binding: &Binding, payload: &[u8], expires: SystemTime) -> String {
        let mut sealed = seconds(expires).to_be_bytes().to_vec();
        sealed.extend_from_slice(payload);
        let tag = self.mac(binding, &sealed).finalize().into_bytes();
        format!("{}.{}", URL_SAFE_NO_PAD.encode(sealed), URL_SAFE_NO_PAD.encode(tag))
    }

    /// What was sealed for this call, if it is still good.
    pub(crate) fn open(&self, binding: &Binding, sealed: &str, now: SystemTime) -> Result<Vec<u8>, Rejected> {
        let decoded = sealed.split_once('.').and_then(|(payload, tag)| {
            Some((URL_SAFE_NO_PAD.decode(payload).ok()?, URL_SAFE_NO_PAD.decode(tag).ok()?))
        });
        let (payload, tag) = decoded.ok_or(Rejected::Forged)?;
        // The comparison takes the same time wherever the difference is.
        self.mac(binding, &payload).verify_slice(&tag).map_err(|_| Rejected::Forged)?;
        let (expires, payload) = payload.split_first_chunk().ok_or(Rejected::Forged)?;
        match seconds(now) < u64::from_be_bytes(*expires) {
            true => Ok(payload.to_vec()),
            false => Err(Rejected::Expired),
        }
    }

    fn mac(&self, binding: &Binding, payload: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("a key of any length will do");
        let Binding { audience, identity, method, name, arguments } = binding;
        let known = [u8::from(identity.is_some())];
        let identity = identity.as_deref().unwrap_or_default();
        // The lengths keep the parts apart.
        for part in
            [CONTEXT, audience.as_bytes(), &known, identity, method.as_bytes(), name.as_bytes(), arguments]
        {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac.update(payload);
        mac
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl std::fmt::Debug for StateSigner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StateSigner")
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may")]

    use super::*;

    fn binding() -> Binding {
        Binding {
            audience: "a".into(),
            identity: Some(b"alice".to_vec()),
            method: "tools/call",
            name: "pay".into(),
            arguments: [1; 32],
        }
    }

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn a_state_is_good_for_one_call_only() {
        let state_signer = StateSigner::random();
        let sealed = state_signer.seal(&binding(), b"payload", at(100));
        assert_eq!(state_signer.open(&binding(), &sealed, at(99)).as_deref(), Ok(&b"payload"[..]));
        assert_eq!(state_signer.open(&binding(), &sealed, at(100)), Err(Rejected::Expired));
        for other in [
            Binding { audience: "b".into(), ..binding() },
            Binding { identity: Some(b"mallory".to_vec()), ..binding() },
            Binding { identity: Some(Vec::new()), ..binding() },
            Binding { identity: None, ..binding() },
            Binding { method: "prompts/get", ..binding() },
            Binding { name: "refund".into(), ..binding() },
            Binding { arguments: [2; 32], ..binding() },
            // Moving a byte from one part to the next makes another call.
            Binding { audience: "aa".into(), identity: Some(b"lice".to_vec()), ..binding() },
        ] {
            assert_eq!(state_signer.open(&other, &sealed, at(0)), Err(Rejected::Forged), "{other:?}");
        }
        assert_eq!(StateSigner::random().open(&binding(), &sealed, at(0)), Err(Rejected::Forged));
    }

    #[test]
    fn a_changed_state_is_refused() {
        let state_signer = StateSigner::random();
        let sealed = state_signer.seal(&binding(), b"payload", at(100));
        let forged = |sealed: &str| {
            assert_eq!(state_signer.open(&binding(), sealed, at(0)), Err(Rejected::Forged), "{sealed}");
        };
        for end in 0..sealed.len() {
            forged(&sealed[..end]);
        }
        forged(&format!("{sealed}A"));
        forged(&format!("A{sealed}"));
        let (payload, tag) = sealed.split_once('.').unwrap();
        let payload = URL_SAFE_NO_PAD.decode(payload).unwrap();
        for bit in 0..payload.len() * 8 {
            let mut changed = payload.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            forged(&format!("{}.{tag}", URL_SAFE_NO_PAD.encode(changed)));
        }
    }
}
