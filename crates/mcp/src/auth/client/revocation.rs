//! The end of a login: tokens that their issuer is told to forget (RFC 7009).

use sabir::Fetch;

use super::metadata::authorization_server;
use super::registration::known_client;
use super::store::Tokens;
use super::token::post_form;
use super::{AuthError, OAuth};

/// What became of the tokens of a server, which are forgotten here in any case.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoggedOut {
    /// There were none.
    NotLoggedIn,
    /// Their issuer takes them back.
    Revoked,
    /// Their issuer takes nothing back: they are good until they expire.
    NotOffered,
    /// Their issuer could not be told, or refuses.
    NotRevoked(AuthError),
}

/// Tells the issuer that these tokens are not used any more.
pub(crate) async fn revoke(config: &OAuth, fetch: &Fetch, tokens: &Tokens) -> LoggedOut {
    match try_revoke(config, fetch, tokens).await {
        Ok(true) => LoggedOut::Revoked,
        Ok(false) => LoggedOut::NotOffered,
        Err(error) => LoggedOut::NotRevoked(error),
    }
}

async fn try_revoke(config: &OAuth, fetch: &Fetch, tokens: &Tokens) -> Result<bool, AuthError> {
    let mut server = authorization_server(fetch, &tokens.issuer).await?;
    let Some(endpoint) = server.revocation_endpoint.clone() else { return Ok(false) };
    if let Some(methods) = server.revocation_endpoint_auth_methods_supported.take() {
        server.token_endpoint_auth_methods_supported = Some(methods);
    }
    let client = known_client(config, &server, Some(tokens))?;
    let revoke = async |token: &str, kind: &str| {
        let mut form = vec![("token", token.to_owned()), ("token_type_hint", kind.to_owned())];
        let authorization = client.prove(&server, &mut form, config.now()).map_err(AuthError::new)?;
        post_form(fetch, &endpoint, &form, authorization).await
    };
    // The refresh token first: with it, most servers take back what came from it.
    let mut revoked = false;
    if let Some(token) = &tokens.refresh_token {
        revoke(token, "refresh_token").await?;
        revoked = true;
    }
    match revoke(&tokens.access_token, "access_token").await {
        // Access tokens that nobody has to be asked about cannot be taken back.
        Err(error) if revoked && error.code() == Some("unsupported_token_type") => Ok(true),
        Err(error) if error.code() == Some("unsupported_token_type") => Ok(false),
        other => other.map(|()| true),
    }
}
