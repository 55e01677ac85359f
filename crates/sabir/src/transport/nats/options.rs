//! The settings of NATS, for callers and workers.

use std::fmt;
use std::time::Duration;

use crate::transport::tls::Settings;

/// How NATS is used: credentials, inboxes, heartbeats. For [`Transport::nats`](crate::Transport::nats) and
/// [`ServerBuilder::nats`](crate::ServerBuilder::nats).
///
/// ```no_run
/// # async fn run() -> Result<(), sabir::Error> {
/// use sabir::{Nats, Router, transport};
///
/// let nats = Nats::new().user("caller", "secret").inbox_prefix("_INBOX_caller");
/// let peer = sabir::connect(transport::url("nats://127.0.0.1/demo").nats(nats), Router::new()).await?;
/// let sum: i64 = peer.call("add", (1, 2)).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Nats {
    pub(crate) credentials: Option<Credentials>,
    pub(crate) inbox_prefix: String,
    pub(crate) sticky: Option<bool>,
    pub(crate) version: String,
    pub(crate) description: String,
    pub(crate) accept_after: Duration,
    pub(crate) beat_every: Duration,
    pub(crate) accept_within: Duration,
    pub(crate) ping_every: Duration,
    pub(crate) tls: Settings,
}

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Credentials {
    User {
        name: String,
        password: String,
    },
    Token(String),
    /// The seed of a key pair.
    #[cfg(feature = "nkeys")]
    Nkey(String),
    /// The text of a credentials file: a JWT, and the seed of the key that it is for.
    #[cfg(feature = "nkeys")]
    File(String),
}

impl Default for Nats {
    fn default() -> Self {
        Nats {
            credentials: None,
            inbox_prefix: "_INBOX".to_owned(),
            sticky: None,
            version: "0.0.0".to_owned(),
            description: String::new(),
            accept_after: Duration::from_secs(1),
            beat_every: Duration::from_secs(5),
            accept_within: Duration::from_secs(15),
            ping_every: Duration::from_secs(5),
            tls: Settings::default(),
        }
    }
}

impl Nats {
    /// The usual settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Signs in with a name and a password. In a URL they are `nats://NAME:PASSWORD@HOST/SERVICE`.
    #[must_use]
    pub fn user(mut self, name: impl Into<String>, password: impl Into<String>) -> Self {
        self.credentials = Some(Credentials::User { name: name.into(), password: password.into() });
        self
    }

    /// Signs in with a token. In a URL it is `nats://TOKEN@HOST/SERVICE`.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.credentials = Some(Credentials::Token(token.into()));
        self
    }

    /// Signs in with a key pair, of which this is the seed (`SU…`). The server learns its public key alone.
    #[cfg(feature = "nkeys")]
    #[must_use]
    pub fn nkey(mut self, seed: impl Into<String>) -> Self {
        self.credentials = Some(Credentials::Nkey(seed.into()));
        self
    }

    /// Signs in with the text of a credentials file (`.creds`), as `nsc` writes it: a JWT and the seed of its key.
    #[cfg(feature = "nkeys")]
    #[must_use]
    pub fn credentials(mut self, text: impl Into<String>) -> Self {
        self.credentials = Some(Credentials::File(text.into()));
        self
    }

    /// Trusts servers whose certificate is signed by one of these, in PEM, instead of the system's authorities.
    #[must_use]
    pub fn root_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.tls.roots.push(pem.into());
        self
    }

    /// Shows a certificate to the server: its chain and its private key, in PEM.
    #[must_use]
    pub fn client_certificate(mut self, chain: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        self.tls.identity = Some((chain.into(), key.into()));
        self
    }

    /// Sets what the caller's inbox begins with. A server can be told that each user may read its own inbox alone.
    /// `_INBOX`.
    #[must_use]
    pub fn inbox_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.inbox_prefix = prefix.into();
        self
    }

    /// Sets whether all messages of a connection go to the worker that takes the first one. Without it, those of LSP and
    /// MCP do, which have sessions, and all others go to any worker.
    #[must_use]
    pub fn sticky(mut self, sticky: bool) -> Self {
        self.sticky = Some(sticky);
        self
    }

    /// Sets the version that a worker tells tools, by the rules of SemVer. `0.0.0`.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// Sets the description that a worker tells tools.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Sets how long a worker works on a call before it says that it does, and how often it then says that it is alive.
    /// A worker that is silent for three times the latter is lost to its callers. 1 s, 5 s.
    #[must_use]
    pub fn heartbeat(mut self, accept_after: Duration, beat_every: Duration) -> Self {
        // It travels in milliseconds, and 0 would be no pace at all.
        (self.accept_after, self.beat_every) = (accept_after, beat_every.max(Duration::from_millis(1)));
        self
    }

    /// Sets how long a caller waits until a worker has said that it works on a call. After that the call has failed, and
    /// may have run. 15 s.
    #[must_use]
    pub fn accept_within(mut self, accept_within: Duration) -> Self {
        self.accept_within = accept_within;
        self
    }

    /// Sets how often a silent server of NATS is pinged. One that leaves two pings unanswered is given up. 5 s.
    #[must_use]
    pub fn ping_every(mut self, ping_every: Duration) -> Self {
        self.ping_every = ping_every.max(Duration::from_millis(1));
        self
    }

    /// With the credentials of a URL, unless others were set.
    pub(crate) fn with_userinfo(mut self, userinfo: Option<&str>) -> Self {
        if let (None, Some(userinfo)) = (&self.credentials, userinfo) {
            self.credentials = Some(match userinfo.split_once(':') {
                Some((name, password)) => {
                    Credentials::User { name: unescape(name), password: unescape(password) }
                }
                None => Credentials::Token(unescape(userinfo)),
            });
        }
        self
    }
}

/// What `%41` and the like stand for. What is not such an escape stays.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| byte == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Without the credentials.
impl fmt::Debug for Nats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nats")
            .field("has_credentials", &self.credentials.is_some())
            .field("inbox_prefix", &self.inbox_prefix)
            .field("sticky", &self.sticky)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_credentials_unless_others_were_set() {
        let user = |name: &str, password: &str| {
            Some(Credentials::User { name: name.to_owned(), password: password.to_owned() })
        };
        let token = |token: &str| Some(Credentials::Token(token.to_owned()));
        for (userinfo, want) in [
            (None, None),
            (Some("me:secret"), user("me", "secret")),
            (Some("m%65:a%3ab%40%"), user("me", "a:b@%")),
            (Some("secret"), token("secret")),
        ] {
            assert!(Nats::new().with_userinfo(userinfo).credentials == want, "{userinfo:?}");
        }
        let set = Nats::new().token("mine").with_userinfo(Some("me:secret"));
        assert!(set.credentials == token("mine"));
        assert!(!format!("{set:?}").contains("mine"));
    }
}
