//! The tokens for one server: read from the store, got by a login, renewed, kept. Whatever many requests wait for is done once.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::StatusCode;
use sabir::Fetch;
use sabir::internal::lock;
use sabir::transport::Url;

use super::dpop::DpopKey;
use super::grant::Attempt;
use super::metadata::{Discovered, authorization_server, discover};
use super::step_up::{MOST_STEP_UPS, NoStepUp, Operation, StepUps};
use super::store::{StoreLock, Tokens};
use super::{AuthError, Grant, OAuth};
use crate::auth::challenge::{Challenge, challenges};
use crate::auth::place;

/// How long before it expires a token is renewed, in seconds.
const EARLY: u64 = 10;
/// How often, and after which pauses, this program waits for another one that renews the same tokens.
const LOCK_TRIES: u32 = 600;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// What is known of one server. No other one ever sees its tokens.
pub(super) struct Login {
    pub(super) config: Arc<OAuth>,
    pub(super) state: Mutex<State>,
    /// Held by whoever gets tokens.
    pub(super) flight: tokio::sync::Mutex<Flight>,
}

#[derive(Default)]
pub(super) struct State {
    /// The stored tokens have been looked for.
    pub(super) loaded: bool,
    pub(super) tokens: Option<Arc<Tokens>>,
    pub(super) key: Option<Arc<DpopKey>>,
    /// Logins since the server has last taken a token.
    pub(super) untried: u32,
    /// What the MCP server wants in the next proof.
    pub(super) nonce: Option<String>,
    pub(super) step_ups: StepUps,
}

#[derive(Default)]
pub(super) struct Flight {
    found: Option<Discovered>,
    /// The access token that a refresh gave.
    refreshed: Option<String>,
}

/// Why a token is wanted.
pub(super) enum Cause {
    /// The user wants to log in, whatever there is.
    Login,
    /// There is none, or it was refused.
    Unauthorized,
    Expired,
    /// It does not allow enough for this.
    Scope(Operation),
}

pub(super) struct Wanted {
    pub(super) server: Url,
    pub(super) cause: Cause,
    /// The token that will not do.
    pub(super) token: Option<String>,
    pub(super) challenge: Option<Challenge>,
}

impl Login {
    pub(super) fn new(config: Arc<OAuth>) -> Self {
        Login { config, state: Mutex::default(), flight: tokio::sync::Mutex::default() }
    }

    pub(super) fn current(&self) -> Option<Arc<Tokens>> {
        lock(&self.state).tokens.clone()
    }

    /// Looks for tokens of an earlier run, once.
    pub(super) fn load(&self, server: &Url) -> Result<(), AuthError> {
        if std::mem::replace(&mut lock(&self.state).loaded, true) {
            return Ok(());
        }
        if let Some(tokens) = self.config.store.tokens(server.as_str()).map_err(AuthError::store)? {
            self.take(tokens)?;
        }
        Ok(())
    }

    pub(super) fn take(&self, tokens: Tokens) -> Result<(), AuthError> {
        let key = tokens.dpop_key.as_deref().map(DpopKey::stored).transpose().map_err(AuthError::new)?;
        let mut state = lock(&self.state);
        state.tokens = Some(Arc::new(tokens));
        state.key = key.map(Arc::new);
        state.step_ups.replaced();
        Ok(())
    }

    /// Kept before it is used: a rotated refresh token that is lost ends the login.
    fn keep(&self, server: &Url, tokens: Tokens) -> Result<(), AuthError> {
        self.config.store.set_tokens(server.as_str(), Some(&tokens)).map_err(AuthError::store)?;
        self.take(tokens)
    }

    pub(super) fn forget(&self, server: &Url) -> Result<(), AuthError> {
        let mut state = lock(&self.state);
        state.tokens = None;
        state.key = None;
        state.step_ups = StepUps::default();
        self.config.store.set_tokens(server.as_str(), None).map_err(AuthError::store)
    }

    pub(super) fn fetch(&self, server: &Url) -> Fetch {
        Fetch {
            private_addresses: self.config.private_addresses
                || place::is_private(server)
                || self.current().is_some_and(|tokens| tokens.private_addresses),
            root_certificates: self.config.root_certificates.clone(),
            ..Fetch::default()
        }
    }

    /// What a server answers to a request without a token.
    pub(super) async fn first_challenge(&self, server: &Url) -> Result<Option<Challenge>, AuthError> {
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

    pub(super) async fn renew(&self, wanted: Wanted) -> Result<(), AuthError> {
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
        if let (Some(stored), false) = (stored.filter(is_newer), matches!(wanted.cause, Cause::Scope(_))) {
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
                let told = wanted.challenge.as_ref().and_then(Challenge::reason);
                let told = told.map_or_else(String::new, |told| format!(": {told}"));
                return Err(AuthError::new(format!(
                    "{} refuses the token that {issuer} has just issued{told}",
                    wanted.server
                )));
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
        let scopes = self.scopes(wanted, &found, tokens.as_deref())?;
        let key = self.key(&found)?;
        let attempt = self.attempt(&fetch, &found, scopes.iter().cloned().collect(), key.as_deref());
        // Whoever logs in by hand may do so because the earlier registration is not good any more.
        let reuses_registration = !matches!(wanted.cause, Cause::Login);
        let granted = Attempt { reuses_registration, ..attempt }.run().await?;
        flight.refreshed = None;
        lock(&self.state).untried += 1;
        self.keep(&wanted.server, granted)?;
        lock(&self.state).step_ups.granted(scopes);
        Ok(())
    }

    fn attempt<'a>(
        &'a self,
        fetch: &'a Fetch,
        found: &'a Discovered,
        scopes: Vec<String>,
        dpop: Option<&'a DpopKey>,
    ) -> Attempt<'a> {
        Attempt {
            config: &self.config,
            fetch,
            found,
            scopes,
            dpop,
            reuses_registration: true,
            now: self.config.now(),
        }
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
    pub(super) async fn hold(&self, server: &Url) -> Result<StoreLock, AuthError> {
        for _ in 0..LOCK_TRIES {
            if let Some(held) = self.config.store.try_lock(server.as_str()).map_err(AuthError::store)? {
                return Ok(held);
            }
            tokio::time::sleep(LOCK_PAUSE).await;
        }
        Err(AuthError::new(format!("another program does not finish renewing the tokens of {server}")))
    }

    pub(super) fn lasts(&self, tokens: &Tokens) -> bool {
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
        wanted: &Wanted,
        found: &Discovered,
        tokens: Option<&Tokens>,
    ) -> Result<BTreeSet<String>, AuthError> {
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
        if let Cause::Scope(operation) = &wanted.cause
            && let Err(refused) = lock(&self.state).step_ups.begin(operation, &scopes)
        {
            let scopes = scopes.into_iter().collect::<Vec<_>>().join(" ");
            let why = match refused {
                NoStepUp::Repeated => format!("although `{scopes}` was asked for already"),
                NoStepUp::TooMany => format!("after {MOST_STEP_UPS} logins for wider scopes: now `{scopes}`"),
            };
            let reason = format!("{} still wants more {why}", wanted.server);
            return Err(AuthError::coded(reason, Some("insufficient_scope".to_owned())));
        }
        Ok(scopes)
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
