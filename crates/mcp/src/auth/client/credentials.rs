//! Who a client is at an authorization server, and how it proves that.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::metadata::AuthorizationServer;
use super::store::Registration;
use crate::auth::encoding::{percent, random_text};
use crate::auth::jose::SigningKey;

/// How long the token is good for with which a client proves who it is.
const ASSERTION_LIFE: u64 = 300;

/// A client that an authorization server knows already: by its name, and mostly by something that only the two have.
#[derive(Clone)]
pub struct ClientCredentials {
    pub(crate) id: String,
    pub(crate) proof: Proof,
    pub(crate) issuer: KnownAt,
}

/// Which authorization server knows a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KnownAt {
    /// Nobody has said.
    Unsaid,
    /// Whichever the MCP server names, secrets included.
    Any,
    Issuer(String),
}

#[derive(Clone)]
pub(crate) enum Proof {
    None,
    Secret(String, Option<String>),
    Key(SigningKey),
}

impl ClientCredentials {
    /// A client that has no secret.
    pub fn public(id: impl Into<String>) -> Self {
        ClientCredentials { id: id.into(), proof: Proof::None, issuer: KnownAt::Unsaid }
    }

    /// A client with a secret. Say by [`issuer`](Self::issuer) who knows it: it is sent to nobody else, and without that to
    /// nobody at all.
    pub fn secret(id: impl Into<String>, secret: impl Into<String>) -> Self {
        ClientCredentials {
            id: id.into(),
            proof: Proof::Secret(secret.into(), None),
            issuer: KnownAt::Unsaid,
        }
    }

    /// A client that signs a token (`private_key_jwt`). It does not need an [`issuer`](Self::issuer): the key stays here, and
    /// each token names the one authorization server that may take it.
    pub fn key(id: impl Into<String>, key: SigningKey) -> Self {
        ClientCredentials { id: id.into(), proof: Proof::Key(key), issuer: KnownAt::Unsaid }
    }

    /// The authorization server that knows this client. With another one there is no login: a secret is never sent to a
    /// server that the MCP server alone has chosen. Say it whenever you know it.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = KnownAt::Issuer(issuer.into());
        self
    }

    /// Whichever authorization server the MCP server names gets to see the secret. Only for MCP servers that are trusted
    /// with it.
    #[must_use]
    pub fn any_issuer(mut self) -> Self {
        self.issuer = KnownAt::Any;
        self
    }

    /// Whether this client may show itself to an authorization server that only the MCP server has named.
    pub(crate) fn trusts_strangers(&self) -> bool {
        match self.issuer {
            KnownAt::Any => true,
            KnownAt::Unsaid => !matches!(self.proof, Proof::Secret(..)),
            KnownAt::Issuer(_) => false,
        }
    }

    pub(crate) fn registered(registration: Registration) -> Self {
        let Registration { client_id, client_secret, token_endpoint_auth_method, .. } = registration;
        let proof = match (client_secret, token_endpoint_auth_method.as_deref()) {
            (Some(_), Some("none")) | (None, _) => Proof::None,
            (Some(secret), _) => Proof::Secret(secret, token_endpoint_auth_method),
        };
        ClientCredentials { id: client_id, proof, issuer: KnownAt::Unsaid }
    }

    /// Adds what proves who it is to a request of a token: members of its form, or a header.
    pub(crate) fn prove(
        &self,
        server: &AuthorizationServer,
        form: &mut Vec<(&'static str, String)>,
        now: u64,
    ) -> Result<Option<String>, String> {
        let listed = |method: &str| {
            let methods = server.token_endpoint_auth_methods_supported.as_ref();
            methods.is_none_or(|methods| methods.iter().any(|listed| listed == method))
        };
        match &self.proof {
            Proof::None => form.push(("client_id", self.id.clone())),
            Proof::Secret(secret, method) => {
                let method = method.as_deref().unwrap_or(match () {
                    () if listed("client_secret_basic") => "client_secret_basic",
                    () if listed("client_secret_post") => "client_secret_post",
                    () if listed("none") => "none",
                    () => "client_secret_basic",
                });
                match method {
                    "client_secret_post" => {
                        form.push(("client_id", self.id.clone()));
                        form.push(("client_secret", secret.clone()));
                    }
                    "none" => form.push(("client_id", self.id.clone())),
                    _ => {
                        let pair = format!("{}:{}", percent(&self.id), percent(secret));
                        return Ok(Some(format!("Basic {}", STANDARD.encode(pair))));
                    }
                }
            }
            Proof::Key(key) => {
                let claims = json!({
                    "iss": self.id, "sub": self.id, "aud": server.issuer,
                    "iat": now, "exp": now + ASSERTION_LIFE, "jti": random_text(),
                });
                let assertion = key.sign(&json!({"typ": "JWT"}), &claims)?;
                let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
                form.push(("client_id", self.id.clone()));
                form.push(("client_assertion_type", kind.to_owned()));
                form.push(("client_assertion", assertion));
            }
        }
        Ok(None)
    }
}

impl fmt::Debug for ClientCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCredentials")
            .field("id", &self.id)
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}
