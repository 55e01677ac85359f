//! The tokens of a client's connections: sent with each request to the server that they are for, and got or renewed when that
//! refuses one.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use sabir::internal::lock;
use sabir::transport::Url;
use sabir::{Authorized, Authorizer, Verdict};

use super::dpop::nonce_of;
use super::login::{Cause, Login, Wanted};
use super::revocation::{LoggedOut, revoke};
use super::step_up::Operation;
use super::{AuthError, Grant, OAuth};
use crate::auth::challenge::{Challenge, challenges};

/// The authorization of a client. [`McpClient::auth`](crate::McpClient::auth) makes one from an [`OAuth`]; a program that opens
/// connections itself gives it to [`Transport::authorizer`](sabir::Transport::authorizer). Connections to the same server share
/// their tokens and logins; those to another one have their own.
#[derive(Clone)]
pub struct OAuthSession(Arc<Session>);

struct Session {
    config: Arc<OAuth>,
    /// By the server's URL.
    logins: Mutex<HashMap<String, Arc<Login>>>,
}

impl From<OAuth> for OAuthSession {
    fn from(config: OAuth) -> Self {
        OAuthSession(Arc::new(Session { config: Arc::new(config), logins: Mutex::default() }))
    }
}

impl OAuthSession {
    /// Gets tokens for a server now, instead of when it asks for them. Stored ones are not looked at.
    pub async fn login(&self, server: &str) -> Result<(), AuthError> {
        let url = parsed(server)?;
        let login = self.at(&url);
        lock(&login.state).loaded = true;
        let challenge = login.first_challenge(&url).await?;
        renew(&login, Wanted { server: url, cause: Cause::Login, token: None, challenge }).await
    }

    /// Forgets the tokens of a server, and tells their issuer so, where it wants to know (RFC 7009): whoever has a copy of
    /// them cannot use it any more.
    pub async fn logout(&self, server: &str) -> Result<LoggedOut, AuthError> {
        let url = parsed(server)?;
        let login = self.at(&url);
        let _flight = login.flight.lock().await;
        let _held = login.hold(&url).await?;
        let Some(tokens) = login.config.store.tokens(url.as_str()).map_err(AuthError::store)? else {
            return Ok(LoggedOut::NotLoggedIn);
        };
        login.take(tokens.clone())?;
        let told = revoke(&login.config, &login.fetch(&url), &tokens).await;
        login.forget(&url)?;
        Ok(told)
    }

    /// Whether a login is under way.
    pub fn is_busy(&self) -> bool {
        lock(&self.0.logins).values().any(|login| login.flight.try_lock().is_err())
    }

    /// Waits until no login is under way.
    pub async fn idle(&self) {
        let logins: Vec<_> = lock(&self.0.logins).values().cloned().collect();
        for login in logins {
            drop(login.flight.lock().await);
        }
    }

    pub(crate) fn config(&self) -> &OAuth {
        &self.0.config
    }

    /// What is known of a server.
    fn at(&self, server: &Url) -> Arc<Login> {
        let mut logins = lock(&self.0.logins);
        let login = logins.entry(server.as_str().to_owned());
        Arc::clone(login.or_insert_with(|| Arc::new(Login::new(Arc::clone(&self.0.config)))))
    }

    async fn prepare(&self, method: &Method, url: &str, headers: &mut HeaderMap) -> Result<(), AuthError> {
        if headers.contains_key(AUTHORIZATION) {
            return Ok(());
        }
        let server = parsed(url)?;
        let login = self.at(&server);
        login.load(&server)?;
        let expired = login.current().filter(|tokens| {
            !login.lasts(tokens)
                && (tokens.refresh_token.is_some() || !matches!(login.config.grant, Grant::Code(_)))
        });
        if let Some(tokens) = expired {
            let token = Some(tokens.access_token.clone());
            // If it fails, the server says what it wants.
            let _ = renew(&login, Wanted { server, cause: Cause::Expired, token, challenge: None }).await;
        }
        let (tokens, key, nonce) = {
            let state = lock(&login.state);
            (state.tokens.clone(), state.key.clone(), state.nonce.clone())
        };
        let Some(tokens) = tokens else { return Ok(()) };
        let token = &tokens.access_token;
        let scheme = match &key {
            Some(key) => {
                let now = login.config.now();
                let proof = key.proof(method.as_str(), url, Some(token), nonce.as_deref(), now);
                headers.insert("dpop", secret(&proof.map_err(AuthError::new)?)?);
                "DPoP"
            }
            None => "Bearer",
        };
        headers.insert(AUTHORIZATION, secret(&format!("{scheme} {token}"))?);
        Ok(())
    }

    async fn judge(
        &self,
        url: &str,
        sent: &HeaderMap,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Result<Verdict, AuthError> {
        let server = parsed(url)?;
        let login = self.at(&server);
        let nonce = headers.get("dpop-nonce").and_then(|nonce| nonce.to_str().ok());
        if let Some(nonce) = nonce {
            lock(&login.state).nonce = Some(nonce.to_owned());
        }
        let token = sent.get(AUTHORIZATION);
        // Only what is set here is marked: another token is the user's own.
        let is_ours = token.is_none_or(HeaderValue::is_sensitive);
        let token = token.and_then(|value| value.to_str().ok()?.split_once(' '));
        let token = token.map(|(_, token)| token.to_owned());
        if status != StatusCode::UNAUTHORIZED && token.is_some() {
            lock(&login.state).untried = 0;
        }
        if status.is_success() && token.is_some() && is_ours {
            lock(&login.state).step_ups.accepted(&Operation::of(sent));
        }
        if status != StatusCode::UNAUTHORIZED && status != StatusCode::FORBIDDEN || !is_ours {
            return Ok(Verdict::Done);
        }
        let found = challenges(headers);
        let wants_nonce = found.iter().any(|challenge| challenge.get("error") == Some("use_dpop_nonce"));
        if wants_nonce && nonce.is_some() {
            let proof = sent.get("dpop").and_then(|proof| proof.to_str().ok());
            let used = proof.and_then(nonce_of);
            return Ok(if used.as_deref() == nonce { Verdict::Done } else { Verdict::Again });
        }
        let named = |challenge: &&Challenge| challenge.get("resource_metadata").is_some();
        let ours = |challenge: &&Challenge| challenge.scheme == "bearer" || challenge.scheme == "dpop";
        let challenge = found.iter().filter(ours).find(named).or_else(|| found.iter().find(ours)).cloned();
        let cause = match status {
            StatusCode::UNAUTHORIZED => Cause::Unauthorized,
            _ => {
                let narrow = |challenge: &Challenge| {
                    challenge.get("error") == Some("insufficient_scope") && challenge.scopes().is_some()
                };
                if !challenge.as_ref().is_some_and(narrow) {
                    return Ok(Verdict::Done);
                }
                Cause::Scope(Operation::of(sent))
            }
        };
        renew(&login, Wanted { server, cause, token, challenge }).await?;
        Ok(Verdict::Again)
    }
}

/// In a task of its own: a login goes on although the request that began it has timed out.
async fn renew(login: &Arc<Login>, wanted: Wanted) -> Result<(), AuthError> {
    let login = Arc::clone(login);
    let renewing = tokio::spawn(async move { login.renew(wanted).await });
    renewing.await.unwrap_or_else(|_| Err(AuthError::new("the login has failed")))
}

/// A header's value that nobody prints.
fn secret(text: &str) -> Result<HeaderValue, AuthError> {
    let mut value =
        HeaderValue::from_str(text).map_err(|_| AuthError::new("the token cannot stand in a header"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn parsed(url: &str) -> Result<Url, AuthError> {
    Url::parse(url.split('#').next().unwrap_or(url)).map_err(|error| AuthError::new(error.to_string()))
}

impl Authorizer for OAuthSession {
    fn authorize<'a>(
        &'a self,
        method: &'a Method,
        url: &'a str,
        headers: &'a mut HeaderMap,
    ) -> Authorized<'a, ()> {
        Box::pin(async move { self.prepare(method, url, headers).await.map_err(|error| error.to_string()) })
    }

    fn answered<'a>(
        &'a self,
        url: &'a str,
        sent: &'a HeaderMap,
        status: StatusCode,
        headers: &'a HeaderMap,
    ) -> Authorized<'a, Verdict> {
        Box::pin(
            async move { self.judge(url, sent, status, headers).await.map_err(|error| error.to_string()) },
        )
    }
}

impl fmt::Debug for OAuthSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OAuthSession").field(&self.0.config).finish()
    }
}
