//! Requests to the endpoints of an authorization server that answer with tokens, or with a registration.

use http::{HeaderMap, Request, StatusCode};
use sabir::Fetch;
use serde::Deserialize;
use serde_json::Value;

use super::AuthError;
use super::dpop::DpopKey;
use crate::auth::encoding::form;
use crate::auth::place;
use crate::error::shown;

/// A request for a token.
pub(crate) struct TokenRequest<'a> {
    pub(crate) endpoint: &'a str,
    pub(crate) form: Vec<(&'static str, String)>,
    /// A client's `Authorization`.
    pub(crate) authorization: Option<String>,
    pub(crate) dpop: Option<&'a DpopKey>,
    pub(crate) now: u64,
}

/// What an authorization server grants.
#[derive(Deserialize)]
pub(crate) struct Granted {
    pub(crate) access_token: String,
    #[serde(default)]
    pub(crate) token_type: Option<String>,
    #[serde(default)]
    expires_in: Option<Value>,
    #[serde(default)]
    pub(crate) refresh_token: Option<String>,
    #[serde(default)]
    pub(crate) scope: Option<String>,
}

impl Granted {
    /// In seconds. Some servers write the number as a text.
    pub(crate) fn expires_in(&self) -> Option<u64> {
        let value = self.expires_in.as_ref()?;
        // What is over already is not what never ends.
        let number = value.as_f64().or_else(|| value.as_str()?.parse().ok())?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "`as` keeps to the range"
        )]
        Some(number as u64)
    }
}

#[derive(Deserialize, Default)]
struct Refused {
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    error_description: Option<String>,
}

impl TokenRequest<'_> {
    /// Asks, and once more where the server wants its nonce in the proof.
    pub(crate) async fn send(self, fetch: &Fetch) -> Result<Granted, AuthError> {
        place::secure(self.endpoint, "the token endpoint").map_err(AuthError::new)?;
        let mut nonce = None;
        loop {
            let (status, headers, body) = self.once(fetch, nonce.as_deref()).await?;
            if status.is_success() {
                // What is wrong with it is not repeated: it has secrets in it.
                return serde_json::from_slice(&body).map_err(|_| {
                    AuthError::new(format!("the answer of {} is not a token response", self.endpoint))
                });
            }
            let error = refused(self.endpoint, status, &body);
            let given = headers.get("dpop-nonce").and_then(|nonce| nonce.to_str().ok());
            match given {
                Some(given) if error.code() == Some("use_dpop_nonce") && nonce.is_none() => {
                    nonce = Some(given.to_owned());
                }
                _ => return Err(error),
            }
        }
    }

    async fn once(
        &self,
        fetch: &Fetch,
        nonce: Option<&str>,
    ) -> Result<(StatusCode, HeaderMap, Vec<u8>), AuthError> {
        let mut request = Request::post(self.endpoint)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("accept", "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        if let Some(dpop) = self.dpop {
            let proof = dpop.proof("POST", self.endpoint, None, nonce, self.now).map_err(AuthError::new)?;
            request = request.header("dpop", proof);
        }
        answer(fetch, self.endpoint, request.body(form(&self.form))).await
    }
}

/// Posts a form whose answer says nothing.
pub(crate) async fn post_form(
    fetch: &Fetch,
    url: &str,
    pairs: &[(&'static str, String)],
    authorization: Option<String>,
) -> Result<(), AuthError> {
    place::secure(url, "the revocation endpoint").map_err(AuthError::new)?;
    let mut request = Request::post(url).header("content-type", "application/x-www-form-urlencoded");
    if let Some(authorization) = authorization {
        request = request.header("authorization", authorization);
    }
    let (status, _, body) = answer(fetch, url, request.body(form(pairs))).await?;
    if status.is_success() { Ok(()) } else { Err(refused(url, status, &body)) }
}

/// Posts a document of JSON.
pub(crate) async fn post_json(fetch: &Fetch, url: &str, body: &Value) -> Result<Value, AuthError> {
    place::secure(url, "the registration endpoint").map_err(AuthError::new)?;
    let request = Request::post(url)
        .header("content-type", "application/json")
        .header("accept", "application/json")
        .body(body.to_string());
    let (status, _, body) = answer(fetch, url, request).await?;
    if !status.is_success() {
        return Err(refused(url, status, &body));
    }
    serde_json::from_slice(&body).map_err(|_| AuthError::new(format!("the answer of {url} is not JSON")))
}

async fn answer(
    fetch: &Fetch,
    url: &str,
    request: http::Result<Request<String>>,
) -> Result<(StatusCode, HeaderMap, Vec<u8>), AuthError> {
    let request = request.map_err(|error| AuthError::new(format!("{url}: {error}")))?;
    let response = fetch.send(request).await.map_err(|error| AuthError::new(error.to_string()))?;
    let (head, body) = response.into_parts();
    Ok((head.status, head.headers, body.to_vec()))
}

fn refused(url: &str, status: StatusCode, body: &[u8]) -> AuthError {
    let Refused { error, error_description } = serde_json::from_slice(body).unwrap_or_default();
    let mut reason = format!("{url} refuses with HTTP {}", status.as_str());
    for said in [&error, &error_description].into_iter().flatten() {
        reason = format!("{reason}: {}", sabir_proto::escape_controls(&shown(said)));
    }
    AuthError::coded(reason, error)
}
