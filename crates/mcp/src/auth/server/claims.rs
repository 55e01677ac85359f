//! What a token must say to be taken: the rules that JWTs and introspected tokens share.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::identity::Identity;

/// What is expected of a token.
pub(super) struct Expected<'a> {
    pub(super) resource: &'a str,
    pub(super) issuer: &'a str,
    pub(super) now: u64,
    pub(super) leeway: u64,
}

impl Expected<'_> {
    /// The caller, or why the token is not taken.
    pub(super) fn identity(&self, claims: Map<String, Value>) -> Result<Identity, &'static str> {
        let text = |name: &str| claims.get(name).and_then(Value::as_str).map(str::to_owned);
        let number = |name: &str| claims.get(name).and_then(seconds);
        let expires_at = number("exp").ok_or("the token has no expiry")?;
        if expires_at.saturating_add(self.leeway) <= self.now {
            return Err("the token has expired");
        }
        let starts = |name: &str| {
            claims.get(name).is_some_and(|value| {
                seconds(value).is_none_or(|time| time > self.now.saturating_add(self.leeway))
            })
        };
        if starts("nbf") || starts("iat") {
            return Err("the token is not valid yet");
        }
        if !is_for(claims.get("aud"), self.resource) {
            return Err("the token is not for this server");
        }
        let subject = text("sub").filter(|subject| !subject.is_empty());
        let client_id = text("client_id").or_else(|| text("azp")).filter(|id| !id.is_empty());
        if subject.is_none() && client_id.is_none() {
            return Err("the token does not say whose it is");
        }
        let scopes = scopes(&claims);
        Ok(Identity {
            issuer: self.issuer.to_owned(),
            subject,
            client_id,
            scopes,
            expires_at,
            claims,
            ends: None,
        })
    }
}

/// Some issuers have fractions.
fn seconds(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64().filter(|number| *number >= 0.0 && *number < 1e15)?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in range")]
        Some(number as u64)
    })
}

fn is_for(audience: Option<&Value>, resource: &str) -> bool {
    match audience {
        Some(Value::String(audience)) => audience == resource,
        Some(Value::Array(audiences)) => audiences.iter().any(|audience| audience == resource),
        _ => false,
    }
}

/// `scope` of OAuth, or `scp` as some write it: a text with blanks, or a list.
fn scopes(claims: &Map<String, Value>) -> BTreeSet<String> {
    let split = |text: &str| text.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let mut found = BTreeSet::new();
    for name in ["scope", "scp"] {
        match claims.get(name) {
            Some(Value::String(text)) => found.extend(split(text)),
            Some(Value::Array(list)) => found.extend(list.iter().filter_map(Value::as_str).flat_map(split)),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(change: &Value) -> Result<Identity, &'static str> {
        let mut claims = json!({"aud": "https://a", "exp": 1000, "sub": "ada", "scope": "x y"});
        for (name, value) in change.as_object().into_iter().flatten() {
            claims[name] = value.clone();
        }
        let expected = Expected { resource: "https://a", issuer: "https://as", now: 900, leeway: 60 };
        expected.identity(claims.as_object().cloned().unwrap_or_default())
    }

    #[test]
    fn a_token_is_judged_by_what_it_says() {
        for (change, want) in [
            (json!({}), None),
            (json!({"exp": 841}), None),
            (json!({"exp": 840}), Some("the token has expired")),
            (json!({"exp": null}), Some("the token has no expiry")),
            (json!({"exp": "1000"}), Some("the token has no expiry")),
            (json!({"exp": -1}), Some("the token has no expiry")),
            (json!({"nbf": 960}), None),
            (json!({"nbf": 961}), Some("the token is not valid yet")),
            (json!({"nbf": "soon"}), Some("the token is not valid yet")),
            (json!({"iat": 961.5}), Some("the token is not valid yet")),
            (json!({"aud": ["https://b", "https://a"]}), None),
            (json!({"aud": "https://a/"}), Some("the token is not for this server")),
            (json!({"aud": "https://b"}), Some("the token is not for this server")),
            (json!({"aud": []}), Some("the token is not for this server")),
            (json!({"aud": null}), Some("the token is not for this server")),
            (json!({"sub": ""}), Some("the token does not say whose it is")),
            (json!({"sub": 7, "azp": "app"}), None),
        ] {
            assert_eq!(judged(&change).err(), want, "{change}");
        }
    }

    #[test]
    fn scopes_are_read_in_every_spelling() {
        for (change, want) in [
            (json!({}), vec!["x", "y"]),
            (json!({"scope": ["a b", "c"]}), vec!["a", "b", "c"]),
            (json!({"scope": null, "scp": "a"}), vec!["a"]),
            (json!({"scope": 1}), vec![]),
        ] {
            let found = judged(&change).map(|identity| identity.scopes);
            assert_eq!(found, Ok(want.into_iter().map(str::to_owned).collect()), "{change}");
        }
    }
}
