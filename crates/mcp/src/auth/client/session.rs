//! The tokens of one connection: sent with each request, and renewed when the server refuses them. Whatever many requests
//! wait for is done once.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use sabir::internal::lock;
use sabir::transport::Url;
use sabir::{Authorized, Authorizer, Fetch, Verdict};

use super::dpop::{DpopKey, nonce_of};
use super::grant::Attempt;
use super::metadata::{Discovered, authorization_server, discover};
use super::revocation::{LoggedOut, revoke};
use super::store::{StoreLock, Tokens};
use super::{AuthError, Grant, OAuth};
use crate::auth::challenge::{Challenge, challenges};
use crate::auth::place;

/// How often a wider scope is asked for.
const MOST_STEP_UPS: usize = 3;
/// How long before it expires a token is renewed, in seconds.
const EARLY: u64 = 10;
/// How often, and after which pauses, this program waits for another one that renews the same tokens.
const LOCK_TRIES: u32 = 600;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// The authorization of one connection. [`McpClient::auth`](crate::McpClient::auth) makes one from an [`OAuth`]; a program
/// that opens connections itself gives it to [`Transport::authorizer`](sabir::Transport::authorizer).
#[derive(Clone)]
pub struct OAuthSession(Arc<Session>);

struct Session {
    config: OAuth,
    state: Mutex<State>,
    /// Held by whoever gets tokens.
    flight: tokio::sync::Mutex<Flight>,
}

#[derive(Default)]
struct State {
    /// The stored tokens have been looked for.
    loaded: bool,
    tokens: Option<Arc<Tokens>>,
    key: Option<Arc<DpopKey>>,
    /// Logins since the server has last taken a token.
    untried: u32,
    /// What the MCP server wants in the next proof.
    nonce: Option<String>,
}

#[derive(Default)]
struct Flight {
    found: Option<Discovered>,
    /// Scopes that were asked for already.
    asked: Vec<BTreeSet<String>>,
    step_ups: usize,
    /// The access token that a refresh gave.
    refreshed: Option<String>,
}

/// Why a token is wanted.
enum Cause {
    /// There is none, or it was refused.
    Unauthorized,
    Expired,
    /// It does not allow enough.
    Scope,
}

struct Wanted {
    server: Url,
    cause: Cause,
    /// The token that will not do.
    token: Option<String>,
    challenge: Option<Challenge>,
}

impl From<OAuth> for OAuthSession {
    fn from(config: OAuth) -> Self {
        OAuthSession(Arc::new(Session { config, state: Mutex::default(), flight: Default::default() }))
    }
}

impl OAuthSession {
    /// Gets tokens for a server now, instead of when it asks for them. Stored ones are not looked at.
    pub async fn login(&self, server: &str) -> Result<(), AuthError> {
        let url = parsed(server)?;
        lock(&self.0.state).loaded = true;
        let challenge = self.0.first_challenge(&url).await?;
        self.renew(Wanted { server: url, cause: Cause::Unauthorized, token: None, challenge }).await
    }

    /// Forgets the tokens of a server, and tells their issuer so, where it wants to know (RFC 7009): whoever has a copy of
    /// them cannot use it any more.
    pub async fn logout(&self, server: &str) -> Result<LoggedOut, AuthError> {
        let session = &self.0;
        let url = parsed(server)?;
        let _flight = session.flight.lock().await;
        let _held = session.hold(&url).await?;
        let Some(tokens) = session.config.store.tokens(url.as_str()).map_err(AuthError::store)? else {
            return Ok(LoggedOut::NotLoggedIn);
        };
        session.take(tokens.clone())?;
        let told = revoke(&session.config, &session.fetch(&url), &tokens).await;
        session.forget(&url)?;
        Ok(told)
    }

    /// Whether a login is under way.
    pub fn is_busy(&self) -> bool {
        self.0.flight.try_lock().is_err()
    }

    /// Waits until no login is under way.
    pub async fn idle(&self) {
        drop(self.0.flight.lock().await);
    }

    pub(crate) fn config(&self) -> &OAuth {
        &self.0.config
    }

    /// In a task of its own: a login goes on although the request that began it has timed out.
    async fn renew(&self, wanted: Wanted) -> Result<(), AuthError> {
        let session = Arc::clone(&self.0);
        let renewing = tokio::spawn(async move { session.renew(wanted).await });
        renewing.await.unwrap_or_else(|_| Err(AuthError::new("the login has failed")))
    }

    async fn prepare(&self, method: &Method, url: &str, headers: &mut HeaderMap) -> Result<(), AuthError> {
        if headers.contains_key(AUTHORIZATION) {
            return Ok(());
        }
        let server = parsed(url)?;
        self.0.load(&server)?;
        let expired = self.0.current().filter(|tokens| {
            !self.0.lasts(tokens)
                && (tokens.refresh_token.is_some() || !matches!(self.0.config.grant, Grant::Code(_)))
        });
        if let Some(tokens) = expired {
            let token = Some(tokens.access_token.clone());
            // If it fails, the server says what it wants.
            let _ = self.renew(Wanted { server, cause: Cause::Expired, token, challenge: None }).await;
        }
        let (tokens, key, nonce) = {
            let state = lock(&self.0.state);
            (state.tokens.clone(), state.key.clone(), state.nonce.clone())
        };
        let Some(tokens) = tokens else { return Ok(()) };
        let token = &tokens.access_token;
        let scheme = match &key {
            Some(key) => {
                let now = self.0.config.now();
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
        let nonce = headers.get("dpop-nonce").and_then(|nonce| nonce.to_str().ok());
        if let Some(nonce) = nonce {
            lock(&self.0.state).nonce = Some(nonce.to_owned());
        }
        let token = sent.get(AUTHORIZATION);
        // Only what is set here is marked: another token is the user's own.
        let is_ours = token.is_none_or(HeaderValue::is_sensitive);
        let token = token.and_then(|value| value.to_str().ok()?.split_once(' '));
        let token = token.map(|(_, token)| token.to_owned());
        if status != StatusCode::UNAUTHORIZED && token.is_some() {
            lock(&self.0.state).untried = 0;
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
        let server = parsed(url)?;
        let cause = match status {
            StatusCode::UNAUTHORIZED => Cause::Unauthorized,
            _ => {
                let narrow = |challenge: &Challenge| {
                    challenge.get("error") == Some("insufficient_scope") && challenge.scopes().is_some()
                };
                if !challenge.as_ref().is_some_and(narrow) {
                    return Ok(Verdict::Done);
                }
                Cause::Scope
            }
        };
        self.renew(Wanted { server, cause, token, challenge }).await?;
        Ok(Verdict::Again)
    }
}

impl Session {
    fn current(&self) -> Option<Arc<Tokens>> {
        lock(&self.state).tokens.clone()
    }

    /// Looks for tokens of an earlier run, once.
    fn load(&self, server: &Url) -> Result<(), AuthError> {
        if std::mem::replace(&mut lock(&self.state).loaded, true) {
            return Ok(());
        }
        if let Some(tokens) = self.config.store.tokens(server.as_str()).map_err(AuthError::store)? {
            self.take(tokens)?;
        }
        Ok(())
    }

    fn take(&self, tokens: Tokens) -> Result<(), AuthError> {
        let key = tokens.dpop_key.as_deref().map(DpopKey::stored).transpose().map_err(AuthError::new)?;
        let mut state = lock(&self.state);
        state.tokens = Some(Arc::new(tokens));
        state.key = key.map(Arc::new);
        Ok(())
    }

    /// Kept before it is used: a rotated refresh token that is lost ends the login.
    fn keep(&self, server: &Url, tokens: Tokens) -> Result<(), AuthError> {
        self.config.store.set_tokens(server.as_str(), Some(&tokens)).map_err(AuthError::store)?;
        self.take(tokens)
    }

    fn forget(&self, server: &Url) -> Result<(), AuthError> {
        let mut state = lock(&self.state);
        state.tokens = None;
        state.key = None;
        self.config.store.set_tokens(server.as_str(), None).map_err(AuthError::store)
    }

    fn fetch(&self, server: &Url) -> Fetch {
        Fetch {
            private_addresses: self.config.private_addresses
                || place::is_private(server)
                || self.current().is_some_and(|tokens| tokens.private_addresses),
            root_certificates: self.config.root_certificates.clone(),
            ..Fetch::default()
        }
    }

    /// What a server answers to a request without a token.
    async fn first_challenge(&self, server: &Url) -> Result<Option<Challenge>, AuthError> {
        let request = http::Request::post(server.as_str())
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .body(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
        let request = request.map_err(|error| AuthError::new(error.to_string()))?;
        // The server itself was named by the user.
        let fetch = Fetch { private_addresses: true, ..self.fetch(server) };
        let response = fetch.send(request).await.map_err(|error| AuthError::new(error.to_string()))?;
        if response.status() != StatusCode::UNAUTHORIZED {
            let status = response.status();
            return Err(AuthError::new(format!(
                "{server} asks for no login: it answers with HTTP {}",
                status.as_str()
            )));
        }
        Ok(challenges(response.headers()).into_iter().find(|challenge| challenge.scheme != "basic"))
    }

    async fn renew(&self, wanted: Wanted) -> Result<(), AuthError> {
        let mut flight = self.flight.lock().await;
        let current = self.current();
        if current.as_ref().map(|tokens| &tokens.access_token) != wanted.token.as_ref() && current.is_some() {
            // Somebody has got one meanwhile.
            return Ok(());
        }
        // Or another program has, that uses the same store.
        let stored = self.config.store.tokens(wanted.server.as_str()).map_err(AuthError::store)?;
        let is_newer = |stored: &Tokens| {
            wanted.token.is_some()
                && self.lasts(stored)
                && wanted.token.as_ref() != Some(&stored.access_token)
        };
        if let (Some(stored), false) = (stored.filter(is_newer), matches!(wanted.cause, Cause::Scope)) {
            return self.take(stored);
        }
        let once_more = self.try_renew(&mut flight, &wanted).await;
        match once_more {
            Err(error) if error.code() == Some("invalid_client") => {
                // It was registered, and is not known any more.
                let issuer = flight.found.as_ref().map(|found| found.server.issuer.clone());
                let stored = issuer.filter(|_| {
                    self.config.clients.is_empty() && matches!(self.config.grant, Grant::Code(_))
                });
                let Some(issuer) = stored else { return Err(error) };
                self.forget(&wanted.server)?;
                self.config.store.set_registration(&issuer, None).map_err(AuthError::store)?;
                self.try_renew(&mut flight, &wanted).await
            }
            other => other,
        }
    }

    async fn try_renew(&self, flight: &mut Flight, wanted: &Wanted) -> Result<(), AuthError> {
        let fetch = self.fetch(&wanted.server);
        let tokens = self.current();
        if let (Cause::Expired, Some(tokens)) = (&wanted.cause, &tokens)
            && tokens.refresh_token.is_some()
        {
            let found = match flight.found.clone() {
                Some(found) => found,
                None => self.remembered(&fetch, tokens).await?,
            };
            return self.refresh(flight, wanted, &fetch, &found, tokens).await;
        }
        let found = discover(&fetch, &wanted.server, wanted.challenge.as_ref()).await?;
        flight.found = Some(found.clone());
        let issuer = &found.server.issuer;
        let (tokens, moved) = match tokens {
            Some(tokens) if tokens.issuer != *issuer => {
                // What the old authorization server gave is nothing to the new one.
                self.forget(&wanted.server)?;
                (None, true)
            }
            tokens => (tokens, false),
        };
        if let (Cause::Unauthorized, false) = (&wanted.cause, moved) {
            if lock(&self.state).untried > 0 {
                let reason = format!("{} refuses the token that {issuer} has just issued", wanted.server);
                return Err(AuthError::new(reason));
            }
            if let Some(tokens) = &tokens
                && tokens.refresh_token.is_some()
                && flight.refreshed != wanted.token
            {
                match self.refresh(flight, wanted, &fetch, &found, tokens).await {
                    // The login has ended; a new one begins.
                    Err(_) if self.current().is_none() => {}
                    other => return other,
                }
            }
        }
        let scopes = self.scopes(flight, wanted, &found, tokens.as_deref())?;
        let key = self.key(&found)?;
        let attempt = self.attempt(&fetch, &found, scopes, key.as_deref());
        let granted = attempt.run().await?;
        flight.refreshed = None;
        lock(&self.state).untried += 1;
        self.keep(&wanted.server, granted)
    }

    fn attempt<'a>(
        &'a self,
        fetch: &'a Fetch,
        found: &'a Discovered,
        scopes: Vec<String>,
        dpop: Option<&'a DpopKey>,
    ) -> Attempt<'a> {
        Attempt { config: &self.config, fetch, found, scopes, dpop, now: self.config.now() }
    }

    async fn refresh(
        &self,
        flight: &mut Flight,
        wanted: &Wanted,
        fetch: &Fetch,
        found: &Discovered,
        tokens: &Tokens,
    ) -> Result<(), AuthError> {
        let server = &wanted.server;
        let _held = self.hold(server).await?;
        // Another program may have renewed them meanwhile, and with that have used up the refresh token.
        let Some(stored) = self.config.store.tokens(server.as_str()).map_err(AuthError::store)? else {
            self.forget(server)?;
            return Err(AuthError::new(format!("another program has logged out of {server}")));
        };
        let is_same = stored.access_token == tokens.access_token;
        if !is_same {
            self.take(stored.clone())?;
            if self.lasts(&stored) || stored.issuer != found.server.issuer {
                return Ok(());
            }
        }
        let Some(refresh) = stored.refresh_token.as_deref() else {
            return Err(AuthError::new(format!("the login to {server} has ended")));
        };
        let key = lock(&self.state).key.clone();
        let attempt = self.attempt(fetch, found, Vec::new(), key.as_deref());
        let fresh = match attempt.refresh(&stored, refresh).await {
            Ok(fresh) => fresh,
            Err(error) => {
                // Without a reason of OAuth nobody has refused it: it may be good the next time.
                if error.code().is_some_and(|code| code != "invalid_client") {
                    self.forget(server)?;
                }
                return Err(error);
            }
        };
        flight.refreshed = Some(fresh.access_token.clone());
        self.keep(server, fresh)
    }

    /// Keeps other programs from renewing the tokens of this server.
    async fn hold(&self, server: &Url) -> Result<StoreLock, AuthError> {
        for _ in 0..LOCK_TRIES {
            if let Some(held) = self.config.store.try_lock(server.as_str()).map_err(AuthError::store)? {
                return Ok(held);
            }
            tokio::time::sleep(LOCK_PAUSE).await;
        }
        Err(AuthError::new(format!("another program does not finish renewing the tokens of {server}")))
    }

    fn lasts(&self, tokens: &Tokens) -> bool {
        tokens.expires_at.is_none_or(|ends| ends > self.config.now().saturating_add(EARLY))
    }

    /// Where stored tokens came from.
    async fn remembered(&self, fetch: &Fetch, tokens: &Tokens) -> Result<Discovered, AuthError> {
        let server = authorization_server(fetch, &tokens.issuer).await?;
        Ok(Discovered { resource: None, server })
    }

    /// What to ask for: what the server asks for now, and what was asked for before.
    fn scopes(
        &self,
        flight: &mut Flight,
        wanted: &Wanted,
        found: &Discovered,
        tokens: Option<&Tokens>,
    ) -> Result<Vec<String>, AuthError> {
        let asked = wanted.challenge.as_ref().and_then(Challenge::scopes);
        let listed = || found.resource.as_ref().and_then(|resource| resource.scopes_supported.clone());
        let mut scopes: BTreeSet<String> = asked.or_else(listed).unwrap_or_default().into_iter().collect();
        scopes.extend(tokens.map(|tokens| tokens.scopes.clone()).unwrap_or_default());
        scopes.extend(self.config.scopes.iter().cloned());
        let offline = "offline_access";
        let offers = found.server.scopes_supported.as_ref();
        match offers.is_some_and(|offers| offers.iter().any(|offer| offer == offline)) {
            true if matches!(self.config.grant, Grant::Code(_)) => drop(scopes.insert(offline.to_owned())),
            _ => drop(scopes.remove(offline)),
        }
        if let Cause::Scope = wanted.cause {
            if flight.step_ups == MOST_STEP_UPS || flight.asked.contains(&scopes) {
                let scopes = scopes.into_iter().collect::<Vec<_>>().join(" ");
                return Err(AuthError::coded(
                    format!("{} still wants more although `{scopes}` was granted", wanted.server),
                    Some("insufficient_scope".to_owned()),
                ));
            }
            flight.step_ups += 1;
        }
        if !flight.asked.contains(&scopes) {
            flight.asked.push(scopes.clone());
        }
        Ok(scopes.into_iter().collect())
    }

    /// The key that tokens are bound to, where they are.
    fn key(&self, found: &Discovered) -> Result<Option<Arc<DpopKey>>, AuthError> {
        let demanded =
            found.resource.as_ref().is_some_and(|resource| resource.dpop_bound_access_tokens_required);
        if !self.config.dpop && !demanded {
            return Ok(None);
        }
        let algorithms = found.server.dpop_signing_alg_values_supported.as_ref();
        if algorithms.is_some_and(|algorithms| !algorithms.iter().any(|name| name == "ES256")) {
            return Err(AuthError::new(format!("{} supports DPoP only without ES256", found.server.issuer)));
        }
        if let Some(key) = lock(&self.state).key.clone() {
            return Ok(Some(key));
        }
        Ok(Some(Arc::new(DpopKey::generate().map_err(AuthError::new)?)))
    }
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
