//! Authorization over HTTP: a client that gets itself tokens, and a server that takes only valid ones.
//!
//! The two share how challenges, URLs and signed tokens are written and read. Cryptography is that of `ring`; here are
//! only encodings and rules.

mod challenge;
mod client;
pub(crate) mod encoding;
mod jose;
mod place;
mod server;

pub use client::{
    AuthError, ClientCredentials, CredentialStore, FileStore, IdentityProvider, LoggedOut, LoopbackBrowser,
    MemoryStore, OAuth, OAuthSession, Registration, StoreLock, Tokens, UserAgent, Visit,
};
pub use jose::{JwsAlgorithm, SigningKey};
pub use server::{Identity, Introspection, ProtectedServer, ResourceServer};
