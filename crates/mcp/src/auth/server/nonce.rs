//! Nonces for proofs (RFC 9449, section 9) that nothing is kept for: a number of the time, and a code that only this server
//! can make of it.

use ring::hmac::{HMAC_SHA256, Key, sign, verify};

use crate::auth::encoding::{base64url, from_base64url};

/// How long a nonce is handed out, in seconds. It is taken for as long again.
const PERIOD: u64 = 300;

pub(super) struct Nonces(Key);

impl Nonces {
    pub(super) fn new() -> Result<Self, String> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| error.to_string())?;
        Ok(Nonces(Key::new(HMAC_SHA256, &key)))
    }

    /// The one that clients are told now.
    pub(super) fn current(&self, now: u64) -> String {
        let period = (now / PERIOD).to_be_bytes();
        base64url([&period[..], sign(&self.0, &period).as_ref()].concat())
    }

    /// Whether one is of this period or of the one before.
    pub(super) fn takes(&self, nonce: &str, now: u64) -> bool {
        let Some(bytes) = from_base64url(nonce) else { return false };
        let Some((period, code)) = bytes.split_first_chunk::<8>() else { return false };
        let age = (now / PERIOD).checked_sub(u64::from_be_bytes(*period));
        age.is_some_and(|age| age <= 1) && verify(&self.0, period, code).is_ok()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may")]

    use super::*;

    #[test]
    fn a_nonce_is_good_for_its_time_and_its_server() {
        let (nonces, others) = (Nonces::new().unwrap(), Nonces::new().unwrap());
        let nonce = nonces.current(3000);
        for (at, want) in [(2999, false), (3000, true), (3299, true), (3599, true), (3600, false)] {
            assert_eq!(nonces.takes(&nonce, at), want, "{at}");
        }
        for wrong in
            [others.current(3000), String::new(), "!".to_owned(), nonce[1..].to_owned(), format!("{nonce}AA")]
        {
            assert!(!nonces.takes(&wrong, 3000), "{wrong}");
        }
        assert_ne!(nonces.current(3299), nonces.current(3300));
    }
}
