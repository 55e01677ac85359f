//! What a request comes with, and why it is refused.

use http::StatusCode;
use http::header::AUTHORIZATION;
use http::request::Parts;
use serde_json::{Map, Value};

use super::proof::Unproved;
use crate::auth::encoding::query_value;

/// What a client is told that has to prove itself with a nonce of the server.
pub(super) const USE_NONCE: &str = "use_dpop_nonce";

/// A request that is refused.
pub(super) struct Refused {
    pub(super) status: StatusCode,
    pub(super) error: Option<&'static str>,
    pub(super) reason: String,
}

impl Refused {
    pub(super) fn invalid(reason: impl Into<String>) -> Self {
        Refused { status: StatusCode::UNAUTHORIZED, error: Some("invalid_token"), reason: reason.into() }
    }

    pub(super) fn malformed(reason: &str) -> Self {
        let reason = reason.to_owned();
        Refused { status: StatusCode::BAD_REQUEST, error: Some("invalid_request"), reason }
    }

    pub(super) fn unproved(unproved: Unproved) -> Self {
        let refused = |error, reason: &str| Refused { error: Some(error), ..Refused::invalid(reason) };
        match unproved {
            Unproved::Invalid(reason) => refused("invalid_dpop_proof", reason),
            Unproved::Nonce => refused(USE_NONCE, "the DPoP proof needs the nonce in DPoP-Nonce"),
            Unproved::TooMany => Refused {
                status: StatusCode::SERVICE_UNAVAILABLE,
                error: None,
                reason: "too many DPoP proofs at once: try again later".to_owned(),
            },
        }
    }
}

/// A token as it was sent.
pub(super) struct Sent {
    pub(super) token: String,
    /// With the scheme of DPoP.
    pub(super) is_proved: bool,
}

/// The one token of a request, in its header.
pub(super) fn sent_token(parts: &Parts) -> Result<Sent, Refused> {
    let query = parts.uri.query().unwrap_or_default();
    if query_value(query, "access_token").is_some() {
        return Err(Refused::invalid(
            "a token in the query is not taken: send it in the header Authorization",
        ));
    }
    let mut headers = parts.headers.get_all(AUTHORIZATION).iter();
    let none =
        |reason: &str| Refused { status: StatusCode::UNAUTHORIZED, error: None, reason: reason.to_owned() };
    let value = headers.next().ok_or_else(|| none("a token is needed"))?;
    if headers.next().is_some() {
        return Err(Refused::malformed("the header Authorization must come once"));
    }
    let text = value.to_str().map_err(|_| Refused::malformed("the header Authorization is not text"))?;
    let (scheme, token) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    let is_proved = scheme.eq_ignore_ascii_case("DPoP");
    if !is_proved && !scheme.eq_ignore_ascii_case("Bearer") {
        return Err(none("a token is needed, of the scheme Bearer"));
    }
    let token = token.trim();
    if token.is_empty() || token.contains(|c: char| !c.is_ascii_graphic()) {
        return Err(Refused::malformed("the header Authorization has no token"));
    }
    Ok(Sent { token: token.to_owned(), is_proved })
}

/// The key that a token is bound to. One that is bound to something else is good for nobody who cannot show that.
pub(super) fn bound_to(claims: &Map<String, Value>) -> Result<Option<String>, Refused> {
    match claims.get("cnf") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(confirmation)) if confirmation.len() == 1 => match confirmation.get("jkt") {
            Some(Value::String(thumbprint)) => Ok(Some(thumbprint.clone())),
            _ => Err(Refused::invalid("the token is bound to something that cannot be checked here")),
        },
        Some(_) => Err(Refused::invalid("the token is bound to something that cannot be checked here")),
    }
}
