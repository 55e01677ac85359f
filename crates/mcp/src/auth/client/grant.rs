//! The ways to a token: the user's browser, the client's own credentials, a company's identity provider, a workload's
//! identity, and a refresh token.

use sabir::Fetch;

use super::dpop::DpopKey;
use super::metadata::{AuthorizationServer, Discovered};
use super::registration::{client_at, known_client};
use super::store::Tokens;
use super::token::{Granted, TokenRequest};
use super::{AuthError, ClientCredentials, Grant, IdentityProvider, OAuth};
use crate::auth::encoding::{form, has_state, query_value, random_text, sha256};
use crate::auth::place;

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// One attempt to get tokens.
pub(crate) struct Attempt<'a> {
    pub(crate) config: &'a OAuth,
    pub(crate) fetch: &'a Fetch,
    pub(crate) found: &'a Discovered,
    pub(crate) scopes: Vec<String>,
    pub(crate) dpop: Option<&'a DpopKey>,
    /// An earlier registration of the client is used again.
    pub(crate) reuses_registration: bool,
    pub(crate) now: u64,
}

type Form = Vec<(&'static str, String)>;

impl Attempt<'_> {
    /// Gets tokens by whichever grant is configured. No other one is tried if it fails.
    pub(crate) async fn run(&self) -> Result<Tokens, AuthError> {
        match &self.config.grant {
            Grant::Code(_) => self.by_browser().await,
            Grant::Client => {
                let form = self.with_target(vec![("grant_type", "client_credentials".to_owned())]);
                self.ask(&self.known_client(None)?, form).await
            }
            Grant::Enterprise(provider) => self.by_identity_provider(provider).await,
            Grant::Workload(token) => {
                let client = self.known_client(None)?;
                let assertion = token().await.map_err(AuthError::new)?;
                let form = vec![("grant_type", JWT_BEARER.to_owned()), ("assertion", assertion)];
                self.ask(&client, self.with_target(form)).await
            }
        }
    }

    /// New tokens for a refresh token. Its scopes stay as they are.
    pub(crate) async fn refresh(&self, tokens: &Tokens, refresh_token: &str) -> Result<Tokens, AuthError> {
        let mut form: Form =
            vec![("grant_type", "refresh_token".to_owned()), ("refresh_token", refresh_token.to_owned())];
        form.extend(tokens.resource.clone().map(|resource| ("resource", resource)));
        let client = self.known_client(Some(tokens))?;
        let mut fresh = self.ask(&client, form).await?;
        fresh.resource.clone_from(&tokens.resource);
        fresh.client.clone_from(&tokens.client);
        // A server that does not rotate sends none.
        fresh.refresh_token = fresh.refresh_token.or_else(|| Some(refresh_token.to_owned()));
        if fresh.scopes.is_empty() {
            fresh.scopes.clone_from(&tokens.scopes);
        }
        Ok(fresh)
    }

    fn server(&self) -> &AuthorizationServer {
        &self.found.server
    }

    fn resource(&self) -> Option<&str> {
        self.found.resource.as_ref().map(|resource| resource.resource.as_str())
    }

    /// A client that nobody registers now.
    fn known_client(&self, tokens: Option<&Tokens>) -> Result<ClientCredentials, AuthError> {
        known_client(self.config, self.server(), tokens)
    }

    /// What the token is for.
    fn with_target(&self, mut form: Form) -> Form {
        form.extend(self.resource().map(|resource| ("resource", resource.to_owned())));
        if !self.scopes.is_empty() {
            form.push(("scope", self.scopes.join(" ")));
        }
        form
    }

    async fn by_browser(&self) -> Result<Tokens, AuthError> {
        let Grant::Code(browser) = &self.config.grant else {
            return Err(AuthError::new("there is no browser".to_owned()));
        };
        let server = self.server();
        let methods = server.code_challenge_methods_supported.as_deref().unwrap_or_default();
        if !methods.iter().any(|method| method == "S256") {
            let issuer = &server.issuer;
            return Err(AuthError::new(format!(
                "the authorization server {issuer} does not say that it supports PKCE with S256"
            )));
        }
        let endpoint = server.authorization_endpoint.as_deref();
        let endpoint = endpoint
            .ok_or_else(|| AuthError::new(format!("{} has no authorization endpoint", server.issuer)))?;
        place::secure(endpoint, "the authorization endpoint").map_err(AuthError::new)?;
        let query = endpoint.split_once('?').map_or("", |(_, query)| query);
        if query_value(query, "state").is_some() {
            return Err(AuthError::new(format!(
                "the authorization endpoint of {} has a state already",
                server.issuer
            )));
        }
        let redirect_uri = browser.redirect_uri().await.map_err(AuthError::new)?;
        let reuses = self.reuses_registration;
        let client = client_at(self.config, self.fetch, server, &redirect_uri, reuses).await?;
        let (state, verifier) = (random_text(), random_text());
        let asked = self.with_target(vec![
            ("response_type", "code".to_owned()),
            ("client_id", client.credentials.id.clone()),
            ("redirect_uri", redirect_uri.clone()),
            ("state", state.clone()),
            ("code_challenge", sha256(&verifier)),
            ("code_challenge_method", "S256".to_owned()),
        ]);
        let joint = if endpoint.contains('?') { '&' } else { '?' };
        let returned =
            browser.visit(&format!("{endpoint}{joint}{}", form(&asked))).await.map_err(AuthError::new)?;
        let code = self.code(&returned, &state)?;
        let mut form: Form = vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code),
            ("redirect_uri", redirect_uri),
            ("code_verifier", verifier),
        ];
        form.extend(self.resource().map(|resource| ("resource", resource.to_owned())));
        let mut tokens = self.ask(&client.credentials, form).await?;
        if let Some(registration) = &client.registration {
            let store = &self.config.store;
            store.set_registration(&server.issuer, Some(registration)).map_err(AuthError::store)?;
        }
        tokens.client = client.registration;
        Ok(tokens)
    }

    /// The code in the URL that the browser was sent back to: an answer to this very question, from this very server.
    fn code(&self, returned: &str, state: &str) -> Result<String, AuthError> {
        let query = returned.split_once('?').map_or("", |(_, query)| query);
        let query = query.split('#').next().unwrap_or_default();
        let value = |name| query_value(query, name);
        if !has_state(query, state) {
            return Err(AuthError::new(
                "the browser came back from another login: its state is not ours".to_owned(),
            ));
        }
        let server = self.server();
        match value("iss") {
            Some(issuer) if issuer != server.issuer => {
                let issuer = sabir_proto::escape_controls(&issuer).into_owned();
                let reason = format!("the browser came back from `{issuer}`, not from {}", server.issuer);
                return Err(AuthError::new(reason));
            }
            None if server.authorization_response_iss_parameter_supported => {
                let reason = format!("the answer of {} does not say who it is from (`iss`)", server.issuer);
                return Err(AuthError::new(reason));
            }
            _ => {}
        }
        if let Some(error) = value("error") {
            let told = value("error_description").map_or_else(String::new, |told| format!(": {told}"));
            let reason = format!("the authorization server refuses: {error}{told}");
            return Err(AuthError::coded(sabir_proto::escape_controls(&reason).into_owned(), Some(error)));
        }
        value("code")
            .filter(|code| !code.is_empty())
            .ok_or_else(|| AuthError::new("the browser came back without a code".to_owned()))
    }

    /// The company's identity provider vouches for the user, and the authorization server believes it.
    async fn by_identity_provider(&self, provider: &IdentityProvider) -> Result<Tokens, AuthError> {
        // First: if the client is not known there, nobody needs to be asked.
        let client = self.known_client(None)?;
        let id_token = (provider.id_token)().await.map_err(AuthError::new)?;
        let mut exchange: Form = vec![
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange".to_owned()),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:id-jag".to_owned()),
            ("audience", self.server().issuer.clone()),
            ("subject_token", id_token),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token".to_owned()),
        ];
        exchange = self.with_target(exchange);
        let known =
            AuthorizationServer { issuer: provider.token_endpoint.clone(), ..AuthorizationServer::default() };
        let authorization = provider.client.prove(&known, &mut exchange, self.now).map_err(AuthError::new)?;
        if !exchange.iter().any(|(name, _)| *name == "client_id") {
            exchange.push(("client_id", provider.client.id.clone()));
        }
        // The address of one's own provider is one's own business.
        let fetch = Fetch { private_addresses: true, ..self.fetch.clone() };
        let endpoint = &provider.token_endpoint;
        let request = TokenRequest { endpoint, form: exchange, authorization, dpop: None, now: self.now };
        let vouched = request.send(&fetch).await?.access_token;
        let form = vec![("grant_type", JWT_BEARER.to_owned()), ("assertion", vouched)];
        self.ask(&client, form).await
    }

    /// Asks the token endpoint.
    async fn ask(&self, client: &ClientCredentials, mut form: Form) -> Result<Tokens, AuthError> {
        let server = self.server();
        let endpoint = server.token_endpoint.as_deref();
        let endpoint =
            endpoint.ok_or_else(|| AuthError::new(format!("{} has no token endpoint", server.issuer)))?;
        let authorization = client.prove(server, &mut form, self.now).map_err(AuthError::new)?;
        let request = TokenRequest { endpoint, form, authorization, dpop: self.dpop, now: self.now };
        let granted = request.send(self.fetch).await?;
        self.tokens(&granted)
    }

    fn tokens(&self, granted: &Granted) -> Result<Tokens, AuthError> {
        let kind = granted.token_type.as_deref().unwrap_or("Bearer");
        let wanted = if self.dpop.is_some() { "DPoP" } else { "Bearer" };
        if !kind.eq_ignore_ascii_case(wanted) {
            let kind = sabir_proto::escape_controls(kind).into_owned();
            return Err(AuthError::new(format!(
                "{} has issued a token of type `{kind}`, not {wanted}",
                self.server().issuer
            )));
        }
        if http::HeaderValue::from_str(&granted.access_token).is_err() || granted.access_token.is_empty() {
            return Err(AuthError::new(format!(
                "{} has issued a token that cannot be sent",
                self.server().issuer
            )));
        }
        let scopes = match &granted.scope {
            Some(scope) => scope.split_ascii_whitespace().map(str::to_owned).collect(),
            None => self.scopes.clone(),
        };
        Ok(Tokens {
            issuer: self.server().issuer.clone(),
            resource: self.resource().map(str::to_owned),
            access_token: granted.access_token.clone(),
            refresh_token: granted.refresh_token.clone(),
            expires_at: granted.expires_in().map(|life| self.now.saturating_add(life)),
            scopes,
            private_addresses: self.fetch.private_addresses,
            dpop_key: self.dpop.map(DpopKey::to_store),
            client: None,
        })
    }
}
