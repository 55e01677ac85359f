//! The encodings of OAuth: base64url, forms and queries, random texts.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};

pub(crate) fn base64url(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn from_base64url(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// The SHA-256 of a text, in base64url: a PKCE challenge, an `ath`, a thumbprint.
pub(crate) fn sha256(text: &str) -> String {
    base64url(digest(&SHA256, text.as_bytes()))
}

/// A text that nobody can guess, of 256 random bits.
pub(crate) fn random_text() -> String {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("the system has a source of random numbers");
    base64url(bytes)
}

/// All but the unreserved characters as `%XX`.
pub(crate) fn percent(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// `application/x-www-form-urlencoded`.
pub(crate) fn form<K: AsRef<str>, V: AsRef<str>>(pairs: &[(K, V)]) -> String {
    let pair = |(name, value): &(K, V)| format!("{}={}", percent(name.as_ref()), percent(value.as_ref()));
    pairs.iter().map(pair).collect::<Vec<_>>().join("&")
}

/// The first value of a member of a query or form, decoded. `None` if it is not there, or not UTF-8.
pub(crate) fn query_value(query: &str, name: &str) -> Option<String> {
    query.split('&').find_map(|pair| {
        let (found, value) = pair.split_once('=').unwrap_or((pair, ""));
        if unescape(found)? == name { unescape(value) } else { None }
    })
}

/// Whether a query has the state of a login. By digests, so that the time it takes says nothing about the state: whoever is on
/// this machine may try some.
pub(crate) fn has_state(query: &str, state: &str) -> bool {
    query_value(query, "state").is_some_and(|found| sha256(&found) == sha256(state))
}

fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
                u8::try_from(high * 16 + low).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_read_as_they_are_written() {
        let text = form(&[("a b", "c&d=e"), ("ü", "1+1%")]);
        assert_eq!(text, "a%20b=c%26d%3De&%C3%BC=1%2B1%25");
        assert_eq!(query_value(&text, "a b").as_deref(), Some("c&d=e"));
        assert_eq!(query_value(&text, "ü").as_deref(), Some("1+1%"));
        for (query, want) in
            [("x=a+b", Some("a b")), ("y=1", None), ("x", Some("")), ("x=%zz", None), ("x=%ff", None)]
        {
            assert_eq!(query_value(query, "x").as_deref(), want, "{query}");
        }
    }

    #[test]
    fn a_challenge_is_that_of_rfc_7636() {
        let challenge = sha256("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }
}
