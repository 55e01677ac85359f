//! What is kept of a login, and where: in memory, in a [file](super::FileStore), or wherever a program likes.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// Tokens for one server, and where they come from.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Tokens {
    /// The authorization server that issued them. They are never sent to another one.
    pub issuer: String,
    /// What they were issued for, as the server's metadata names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Sent with each request.
    pub access_token: String,
    /// Gets a new access token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    /// When the access token expires, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// What they allow, as far as it is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// Whether their issuer may be at a private address, as
    /// [`OAuth::allow_private_addresses`](crate::OAuth::allow_private_addresses) said when they were got.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub private_addresses: bool,
    /// The private key that they are bound to by DPoP, as PKCS#8 in base64url.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dpop_key: Option<String>,
    /// The client that they were issued to, if it has been registered: no other one can renew them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Registration>,
}

/// This client, as an authorization server has registered it.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Registration {
    /// Its name at that server.
    pub client_id: String,
    /// What it proves its identity with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// How it does that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_method: Option<String>,
    /// Where the user's browser may be sent back to.
    #[serde(default)]
    pub redirect_uri: String,
}

/// Keeps tokens and registrations. Its functions may block for a moment, as a file does.
pub trait CredentialStore: Send + Sync + 'static {
    /// The tokens for a server, by its URL.
    fn tokens(&self, server: &str) -> io::Result<Option<Tokens>>;
    /// Keeps tokens for a server, or forgets them.
    fn set_tokens(&self, server: &str, tokens: Option<&Tokens>) -> io::Result<()>;
    /// The registration at an authorization server, by its issuer.
    fn registration(&self, issuer: &str) -> io::Result<Option<Registration>>;
    /// Keeps a registration, or forgets it.
    fn set_registration(&self, issuer: &str, registration: Option<&Registration>) -> io::Result<()>;

    /// Keeps other programs from renewing the tokens of a server until the result is dropped. `None`: another one does
    /// that now. A store that several programs share must have it: a refresh token that is sent twice may end the login.
    fn try_lock(&self, _server: &str) -> io::Result<Option<StoreLock>> {
        Ok(Some(Box::new(())))
    }
}

/// What [`CredentialStore::try_lock`] returns: whatever gives the lock back when it is dropped.
pub type StoreLock = Box<dyn Send + Sync>;

#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Contents {
    #[serde(default)]
    pub(super) tokens: BTreeMap<String, Tokens>,
    #[serde(default)]
    pub(super) registrations: BTreeMap<String, Registration>,
}

pub(super) fn put<T: Clone>(map: &mut BTreeMap<String, T>, key: &str, value: Option<&T>) {
    match value {
        Some(value) => drop(map.insert(key.to_owned(), value.clone())),
        None => drop(map.remove(key)),
    }
}

/// Keeps credentials as long as the program runs.
#[derive(Default)]
pub struct MemoryStore(Mutex<Contents>);

impl MemoryStore {
    fn contents<T>(&self, look: impl FnOnce(&mut Contents) -> T) -> io::Result<T> {
        Ok(look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl CredentialStore for MemoryStore {
    fn tokens(&self, server: &str) -> io::Result<Option<Tokens>> {
        self.contents(|contents| contents.tokens.get(server).cloned())
    }

    fn set_tokens(&self, server: &str, tokens: Option<&Tokens>) -> io::Result<()> {
        self.contents(|contents| put(&mut contents.tokens, server, tokens))
    }

    fn registration(&self, issuer: &str) -> io::Result<Option<Registration>> {
        self.contents(|contents| contents.registrations.get(issuer).cloned())
    }

    fn set_registration(&self, issuer: &str, registration: Option<&Registration>) -> io::Result<()> {
        self.contents(|contents| put(&mut contents.registrations, issuer, registration))
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens")
            .field("issuer", &self.issuer)
            .field("resource", &self.resource)
            .field("expires_at", &self.expires_at)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").field("client_id", &self.client_id).finish_non_exhaustive()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryStore")
    }
}
