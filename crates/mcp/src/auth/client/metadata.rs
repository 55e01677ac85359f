//! What a protected server and its authorization server say about themselves: found, read and checked.

use http::{Request, StatusCode};
use sabir::Fetch;
use sabir::transport::Url;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::AuthError;
use crate::auth::challenge::Challenge;
use crate::auth::place;
use crate::error::reason;

pub(crate) const PROTECTED_RESOURCE: &str = "oauth-protected-resource";
const AUTHORIZATION_SERVER: &str = "oauth-authorization-server";
const OPENID: &str = "openid-configuration";

/// RFC 9728.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ProtectedResource {
    pub(crate) resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    pub(crate) scopes_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) dpop_bound_access_tokens_required: bool,
}

/// RFC 8414, and what OpenID Connect and MCP add.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AuthorizationServer {
    pub(crate) issuer: String,
    pub(crate) authorization_endpoint: Option<String>,
    pub(crate) token_endpoint: Option<String>,
    pub(crate) registration_endpoint: Option<String>,
    pub(crate) revocation_endpoint: Option<String>,
    pub(crate) jwks_uri: Option<String>,
    pub(crate) code_challenge_methods_supported: Option<Vec<String>>,
    pub(crate) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    pub(crate) revocation_endpoint_auth_methods_supported: Option<Vec<String>>,
    pub(crate) scopes_supported: Option<Vec<String>>,
    pub(crate) client_id_metadata_document_supported: bool,
    pub(crate) authorization_response_iss_parameter_supported: bool,
    pub(crate) dpop_signing_alg_values_supported: Option<Vec<String>>,
}

/// Where tokens for a server come from.
#[derive(Debug, Clone)]
pub(crate) struct Discovered {
    /// `None` for a server of 2025-03-26, which is its own authorization server.
    pub(crate) resource: Option<ProtectedResource>,
    pub(crate) server: AuthorizationServer,
}

impl AuthorizationServer {
    /// The endpoints of a server of 2025-03-26 that has no metadata.
    fn by_default(origin: &str) -> Self {
        AuthorizationServer {
            issuer: origin.to_owned(),
            authorization_endpoint: Some(format!("{origin}/authorize")),
            token_endpoint: Some(format!("{origin}/token")),
            registration_endpoint: Some(format!("{origin}/register")),
            code_challenge_methods_supported: Some(vec!["S256".to_owned()]),
            ..AuthorizationServer::default()
        }
    }
}

/// Finds out where tokens for a server come from. Nothing is sent anywhere that a document names before the document has
/// been checked.
pub(crate) async fn discover(
    fetch: &Fetch,
    server: &Url,
    challenge: Option<&Challenge>,
) -> Result<Discovered, AuthError> {
    let named = challenge.and_then(|challenge| challenge.get("resource_metadata"));
    let Some(resource) = protected_resource(fetch, server, named).await? else {
        return own_authorization_server(fetch, server).await;
    };
    let covered = Url::parse(&resource.resource).is_ok_and(|resource| place::covers(&resource, server));
    if !covered {
        let reason = format!(
            "the metadata of {server} are for another resource, `{}`",
            sabir_proto::escape_controls(&resource.resource)
        );
        return Err(AuthError::new(reason));
    }
    let issuer = resource.authorization_servers.first();
    let issuer = issuer
        .ok_or_else(|| AuthError::new(format!("the metadata of {server} name no authorization server")))?;
    let metadata = authorization_server(fetch, issuer).await?;
    Ok(Discovered { resource: Some(resource), server: metadata })
}

/// The document that the challenge names, or else the one at either of the usual places.
async fn protected_resource(
    fetch: &Fetch,
    server: &Url,
    named: Option<&str>,
) -> Result<Option<ProtectedResource>, AuthError> {
    if let Some(named) = named {
        let url = Url::parse(named).map_err(|error| AuthError::new(format!("resource_metadata: {error}")))?;
        if !place::is_same_origin(&url, server) {
            place::secure(named, "resource_metadata").map_err(AuthError::new)?;
        }
        let found = document(fetch, named).await?;
        return found.map(Some).ok_or_else(|| AuthError::new(format!("there are no metadata at {named}")));
    }
    let by_path = place::well_known(server, PROTECTED_RESOURCE);
    if let Some(found) = document(fetch, &by_path).await? {
        return Ok(Some(found));
    }
    let at_root = format!("{}/.well-known/{PROTECTED_RESOURCE}", place::origin(server));
    match at_root == by_path {
        true => Ok(None),
        false => document(fetch, &at_root).await,
    }
}

/// The rules of 2025-03-26: the server's origin is the authorization server.
async fn own_authorization_server(fetch: &Fetch, server: &Url) -> Result<Discovered, AuthError> {
    let origin = place::origin(server);
    let url = format!("{origin}/.well-known/{AUTHORIZATION_SERVER}");
    let server = match document::<AuthorizationServer>(fetch, &url).await? {
        Some(found) if found.issuer.trim_end_matches('/') == origin => found,
        Some(found) => return Err(mismatch(&found.issuer, &origin)),
        None => AuthorizationServer::by_default(&origin),
    };
    Ok(Discovered { resource: None, server })
}

/// The metadata of an issuer, which must name that very issuer.
pub(crate) async fn authorization_server(
    fetch: &Fetch,
    issuer: &str,
) -> Result<AuthorizationServer, AuthError> {
    let url = place::secure(issuer, "the authorization server").map_err(AuthError::new)?;
    let mut places = vec![place::well_known(&url, AUTHORIZATION_SERVER), place::well_known(&url, OPENID)];
    if !place::path(&url).is_empty() {
        places.push(format!("{}{}/.well-known/{OPENID}", place::origin(&url), place::path(&url)));
    }
    for place in &places {
        let Some(found) = document::<AuthorizationServer>(fetch, place).await? else { continue };
        if found.issuer != issuer {
            return Err(mismatch(&found.issuer, issuer));
        }
        return Ok(found);
    }
    Err(AuthError::new(format!("the authorization server {issuer} has no metadata at {}", places.join(", "))))
}

fn mismatch(found: &str, wanted: &str) -> AuthError {
    let found = sabir_proto::escape_controls(found).into_owned();
    AuthError::new(format!(
        "the metadata of the authorization server {wanted} are those of another one, `{found}`"
    ))
}

/// A document, or `None` if there is none.
async fn document<T: DeserializeOwned>(fetch: &Fetch, url: &str) -> Result<Option<T>, AuthError> {
    let request = Request::get(url).header("accept", "application/json").body("");
    let request = request.map_err(|error| AuthError::new(format!("{url}: {error}")))?;
    let response = fetch.send(request).await.map_err(|error| AuthError::new(error.to_string()))?;
    match response.status() {
        StatusCode::OK => serde_json::from_slice(response.body()).map(Some).map_err(|error| {
            AuthError::new(format!("the document at {url} is not what it should be: {}", reason(&error)))
        }),
        status if status.is_client_error() => Ok(None),
        status => Err(AuthError::new(format!("HTTP {} from {url}", status.as_str()))),
    }
}

/// The URLs in metadata of either kind, for fuzzers.
#[cfg(feature = "fuzzing")]
pub(crate) fn urls_of_metadata(text: &str) -> Vec<String> {
    let mut urls = Vec::new();
    if let Ok(resource) = serde_json::from_str::<ProtectedResource>(text) {
        urls.push(resource.resource);
        urls.extend(resource.authorization_servers);
    }
    if let Ok(server) = serde_json::from_str::<AuthorizationServer>(text) {
        urls.push(server.issuer);
        urls.extend(server.authorization_endpoint);
        urls.extend(server.token_endpoint);
        urls.extend(server.jwks_uri);
    }
    urls
}
