//! Authorization over HTTP: a client that gets itself tokens, and a server that takes only valid ones.
//!
//! The two share how challenges, URLs and signed tokens are written and read. Cryptography is that of `ring`; here are
//! only encodings and rules.

pub(crate) mod challenge;
mod client;
pub(crate) mod encoding;
pub(crate) mod jose;
pub(crate) mod place;
mod server;

#[cfg(feature = "fuzzing")]
pub(crate) use client::urls_of_metadata;
pub use client::{
    AuthError, ClientCredentials, CredentialStore, FileStore, IdentityProvider, LoggedOut, LoopbackBrowser,
    MemoryStore, OAuth, OAuthSession, Registration, StoreLock, Tokens, UserAgent, Visit,
};
pub use jose::{JwsAlgorithm, SigningKey};
pub use server::{Identity, Introspection, ProtectedServer, ResourceServer};
