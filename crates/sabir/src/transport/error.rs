//! Why a connection could not be opened.

use std::fmt;
use std::io;
use std::sync::Arc;

/// Why a connection could not be opened: in [`Error::Connect`](crate::Error::Connect).
///
/// ```no_run
/// # async fn run() {
/// use sabir::{ConnectErrorKind, Error, Router};
///
/// match sabir::connect("https://example.org/rpc", Router::new()).await {
///     Err(Error::Connect(error)) if error.kind() == ConnectErrorKind::Resolve => eprintln!("is the name right?"),
///     Err(error) => eprintln!("{error}"),
///     Ok(peer) => drop(peer),
/// }
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ConnectError {
    kind: ConnectErrorKind,
    url: String,
    reason: String,
    received: Box<[u8]>,
    /// What the system said.
    source: Option<Arc<io::Error>>,
}

/// Which step went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectErrorKind {
    /// The host's name leads nowhere.
    Resolve,
    /// Nobody listens there.
    Refused,
    /// It took too long.
    Timeout,
    /// The way there is blocked: no route, no such socket, no permission.
    Unreachable,
    /// The server does not speak TLS.
    NotTls,
    /// TLS could not be set up, most often because of the certificate.
    Tls,
    /// The server refused in the language of HTTP, with this status.
    Status(u16),
    /// The server speaks something else.
    Protocol,
    /// The server knows no such name, password or token.
    Credentials,
}

impl ConnectErrorKind {
    /// What to try.
    pub fn hint(self) -> &'static str {
        match self {
            ConnectErrorKind::Resolve => "check the spelling of the host's name, and that the network is up",
            ConnectErrorKind::Refused => "check the address, and that the server runs",
            ConnectErrorKind::Timeout => "check the address, and that no firewall is in between",
            ConnectErrorKind::Unreachable => {
                "check the address or path, that the server runs, and the permissions"
            }
            ConnectErrorKind::NotTls => "check the scheme of the URL and its port: TLS is not served there",
            ConnectErrorKind::Tls => {
                "check the certificate; a private authority must be given as a root certificate"
            }
            ConnectErrorKind::Status(401 | 403) => "check the token or the headers that the server wants",
            ConnectErrorKind::Status(404) => "check the path of the URL",
            ConnectErrorKind::Status(300..=399) => "redirects are not followed: use the new URL",
            ConnectErrorKind::Status(500..=599) => "the server failed: see its log, or try again later",
            ConnectErrorKind::Status(_) => "check the URL",
            ConnectErrorKind::Protocol => {
                "check the scheme of the URL and its port: something else answers there"
            }
            ConnectErrorKind::Credentials => {
                "check the name and the password, or the token, that the server wants"
            }
        }
    }
}

impl ConnectError {
    pub(crate) fn new(kind: ConnectErrorKind, url: &str, reason: impl fmt::Display) -> Self {
        let (url, reason) = (url.to_owned(), reason.to_string());
        ConnectError { kind, url, reason, source: None, received: Box::default() }
    }

    /// The same, with the first bytes that the server sent.
    #[cfg(feature = "http")]
    pub(crate) fn received_bytes(self, received: Box<[u8]>) -> Self {
        ConnectError { received, ..self }
    }

    /// A socket that could not be connected.
    pub(crate) fn socket(url: &str, error: io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::ConnectionRefused => ConnectErrorKind::Refused,
            io::ErrorKind::TimedOut => ConnectErrorKind::Timeout,
            _ => ConnectErrorKind::Unreachable,
        };
        let new = ConnectError::new(kind, url, &error);
        ConnectError { source: Some(Arc::new(error)), ..new }
    }

    /// Which step went wrong.
    pub fn kind(&self) -> ConnectErrorKind {
        self.kind
    }

    /// What it was to connect to.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What went wrong, in words.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The first bytes that the server sent, if it speaks something else than the URL says
    /// ([`ConnectErrorKind::Protocol`]).
    pub fn received(&self) -> &[u8] {
        &self.received
    }

    /// What to try.
    pub fn hint(&self) -> &'static str {
        self.kind.hint()
    }

    /// Whether a retry may succeed.
    pub(crate) fn may_pass(&self) -> bool {
        !matches!(
            self.kind,
            ConnectErrorKind::NotTls
                | ConnectErrorKind::Tls
                | ConnectErrorKind::Protocol
                | ConnectErrorKind::Credentials
                | ConnectErrorKind::Status(300..=499)
        )
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot connect to {}: {}: {}", self.url, self.reason, self.hint())
    }
}

impl std::error::Error for ConnectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|error| error as _)
    }
}

impl ConnectErrorKind {
    /// The nearest that the system's own errors have.
    pub(crate) fn io_kind(self) -> io::ErrorKind {
        match self {
            ConnectErrorKind::Resolve => io::ErrorKind::HostUnreachable,
            ConnectErrorKind::Refused => io::ErrorKind::ConnectionRefused,
            ConnectErrorKind::Timeout => io::ErrorKind::TimedOut,
            ConnectErrorKind::Unreachable => io::ErrorKind::AddrNotAvailable,
            ConnectErrorKind::Status(401 | 403) | ConnectErrorKind::Credentials => {
                io::ErrorKind::PermissionDenied
            }
            ConnectErrorKind::NotTls
            | ConnectErrorKind::Tls
            | ConnectErrorKind::Status(_)
            | ConnectErrorKind::Protocol => io::ErrorKind::InvalidData,
        }
    }
}
