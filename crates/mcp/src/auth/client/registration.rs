//! Who this client is at an authorization server: known before, by a document of its own, or registered now.

use sabir::Fetch;
use serde_json::json;

use super::credentials::KnownAt;
use super::metadata::AuthorizationServer;
use super::store::{Registration, Tokens};
use super::token::post_json;
use super::{AuthError, ClientCredentials, OAuth};
use crate::auth::place;

/// A client, and what is kept of it once it has got tokens: one that gets none may be wrong, or not known there any more.
pub(crate) struct Client {
    pub(crate) credentials: ClientCredentials,
    pub(crate) registration: Option<Registration>,
}

/// The client that sends a user to this server, whose browser comes back to `redirect_uri`. An earlier registration is used
/// again if `reuses` says so.
pub(crate) async fn client_at(
    config: &OAuth,
    fetch: &Fetch,
    server: &AuthorizationServer,
    redirect_uri: &str,
    reuses: bool,
) -> Result<Client, AuthError> {
    if let Some(credentials) = given_client(config, server)? {
        return Ok(Client { credentials, registration: None });
    }
    let issuer = &server.issuer;
    let registered = |registration: Registration| Client {
        credentials: ClientCredentials::registered(registration.clone()),
        registration: Some(registration),
    };
    match config.store.registration(issuer).map_err(AuthError::store)? {
        // One without a place to come back to was not registered by itself, but named by the user.
        Some(stored) if stored.redirect_uri.is_empty() => return Ok(registered(stored)),
        Some(stored) if reuses && stored.redirect_uri == redirect_uri => {
            // It is kept again when it has got tokens. A server that has dropped it shows the user an error, and the browser
            // never comes back: the next login registers anew.
            config.store.set_registration(issuer, None).map_err(AuthError::store)?;
            return Ok(registered(stored));
        }
        _ => {}
    }
    let Some(endpoint) = &server.registration_endpoint else {
        return Err(AuthError::new(format!(
            "the authorization server {issuer} registers no clients by itself: give a client id that it knows"
        )));
    };
    register(config, fetch, endpoint, redirect_uri).await.map(registered)
}

/// The client at this server, if it is known there already: the one that these tokens were issued to.
pub(crate) fn known_client(
    config: &OAuth,
    server: &AuthorizationServer,
    tokens: Option<&Tokens>,
) -> Result<ClientCredentials, AuthError> {
    if let Some(client) = given_client(config, server)? {
        return Ok(client);
    }
    let issuer = &server.issuer;
    let client = match tokens.and_then(|tokens| tokens.client.clone()) {
        Some(client) => Some(client),
        None => config.store.registration(issuer).map_err(AuthError::store)?,
    };
    client.map(ClientCredentials::registered).ok_or_else(|| {
        let reason = format!("this client is not registered at {issuer} any more");
        AuthError::coded(reason, Some("invalid_client".to_owned()))
    })
}

/// The client that the program says it is.
fn given_client(
    config: &OAuth,
    server: &AuthorizationServer,
) -> Result<Option<ClientCredentials>, AuthError> {
    let issuer = &server.issuer;
    if !config.clients.is_empty() {
        let known_at = KnownAt::Issuer(issuer.clone());
        let exact = config.clients.iter().find(|client| client.issuer == known_at);
        let any = || config.clients.iter().find(|client| client.trusts_strangers());
        return exact.or_else(any).cloned().map(Some).ok_or_else(|| {
            let why = match config.clients.iter().any(|client| client.issuer == KnownAt::Unsaid) {
                true => "its secret is not sent there: `.issuer(url)` says which one knows the client",
                false => "no client is given for that",
            };
            AuthError::new(format!("the server names the authorization server {issuer}, and {why}"))
        });
    }
    if let Some(document) = &config.metadata_document
        && server.client_id_metadata_document_supported
    {
        return Ok(Some(ClientCredentials::public(document)));
    }
    Ok(None)
}

async fn register(
    config: &OAuth,
    fetch: &Fetch,
    endpoint: &str,
    redirect_uri: &str,
) -> Result<Registration, AuthError> {
    let native = sabir::transport::Url::parse(redirect_uri).is_ok_and(|url| place::is_loopback(&url))
        || !redirect_uri.starts_with("https://");
    let asked = json!({
        "client_name": config.name,
        "redirect_uris": [redirect_uri],
        "application_type": if native { "native" } else { "web" },
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
    });
    let answer = post_json(fetch, endpoint, &asked).await?;
    let text = |member: &str| answer.get(member).and_then(|value| value.as_str()).map(str::to_owned);
    let client_id = text("client_id").filter(|id| !id.is_empty());
    Ok(Registration {
        client_id: client_id
            .ok_or_else(|| AuthError::new(format!("{endpoint} has registered no client id")))?,
        client_secret: text("client_secret"),
        token_endpoint_auth_method: text("token_endpoint_auth_method"),
        redirect_uri: redirect_uri.to_owned(),
    })
}
