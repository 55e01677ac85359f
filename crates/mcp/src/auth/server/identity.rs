//! Who calls: what a valid token says.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Instant;

use serde_json::{Map, Value};

/// Who a caller has proved to be by a token. [`McpCtx::caller`](crate::McpCtx::caller) gives it to functions.
///
/// Two identities are equal if they are of the same user and client at the same issuer, whatever else their tokens say.
/// Sessions and request states belong to one identity.
#[derive(Clone)]
#[non_exhaustive]
pub struct Identity {
    /// The authorization server that issued the token.
    pub issuer: String,
    /// The user, or the client itself where it acts for none.
    pub subject: Option<String>,
    /// The client.
    pub client_id: Option<String>,
    /// What the token allows.
    pub scopes: BTreeSet<String>,
    /// When it expires, in seconds since 1970.
    pub expires_at: u64,
    /// All that the token says.
    pub claims: Map<String, Value>,
    /// When it is no longer taken, by the clock that streams end by.
    pub(crate) ends: Option<Instant>,
}

impl Identity {
    /// What tells this caller from all others, to bind things to it. It stays the same when a token is renewed.
    pub fn key(&self) -> Vec<u8> {
        let mut key = Vec::new();
        for part in [Some(&self.issuer), self.subject.as_ref(), self.client_id.as_ref()] {
            key.push(u8::from(part.is_some()));
            let part = part.map(String::as_bytes).unwrap_or_default();
            key.extend_from_slice(&(part.len() as u64).to_be_bytes());
            key.extend_from_slice(part);
        }
        key
    }
}

impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        (&self.issuer, &self.subject, &self.client_id) == (&other.issuer, &other.subject, &other.client_id)
    }
}

impl Eq for Identity {}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("issuer", &self.issuer)
            .field("subject", &self.subject)
            .field("client_id", &self.client_id)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}
