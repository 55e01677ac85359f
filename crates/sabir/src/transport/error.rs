//! Why a connection could not be opened.

use std::fmt;
use std::io;

/// Why a connection to a URL could not be opened. It is inside the `io::Error` that
/// [`connect`](crate::connect) returns:
///
/// ```no_run
/// # async fn run() {
/// use sabir::{DialError, DialFailure, Router};
///
/// if let Err(error) = sabir::connect("https://example.org/rpc", Router::new()).await {
///     match DialError::of(&error).map(DialError::failure) {
///         Some(DialFailure::Resolve) => eprintln!("is the name right?"),
///         Some(DialFailure::Tls) => eprintln!("is the certificate right?"),
///         _ => eprintln!("{error}"),
///     }
/// }
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DialError {
    failure: DialFailure,
    url: String,
    reason: String,
    received: Box<[u8]>,
}

/// Which step went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DialFailure {
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
}

impl DialFailure {
    /// What to try.
    pub fn hint(self) -> &'static str {
        match self {
            DialFailure::Resolve => "check the spelling of the host's name, and that the network is up",
            DialFailure::Refused => "check the address, and that the server runs",
            DialFailure::Timeout => "check the address, and that no firewall is in between",
            DialFailure::Unreachable => {
                "check the address or path, that the server runs, and the permissions"
            }
            DialFailure::NotTls => "check the scheme of the URL and its port: TLS is not served there",
            DialFailure::Tls => {
                "check the certificate; a private authority must be given as a root certificate"
            }
            DialFailure::Status(401 | 403) => "check the token or the headers that the server wants",
            DialFailure::Status(404) => "check the path of the URL",
            DialFailure::Status(300..=399) => "redirects are not followed: use the new URL",
            DialFailure::Status(500..=599) => "the server failed: see its log, or try again later",
            DialFailure::Status(_) => "check the URL",
            DialFailure::Protocol => "check the scheme of the URL and its port: something else answers there",
        }
    }
}

impl DialError {
    pub(crate) fn new(failure: DialFailure, url: &str, reason: impl fmt::Display) -> Self {
        DialError { failure, url: url.to_owned(), reason: reason.to_string(), received: Box::default() }
    }

    /// The same, with the first bytes that the server sent.
    #[cfg(feature = "http")]
    pub(crate) fn received_bytes(self, received: Box<[u8]>) -> Self {
        DialError { received, ..self }
    }

    /// A socket that could not be connected.
    pub(crate) fn socket(url: &str, error: &io::Error) -> Self {
        let failure = match error.kind() {
            io::ErrorKind::ConnectionRefused => DialFailure::Refused,
            io::ErrorKind::TimedOut => DialFailure::Timeout,
            _ => DialFailure::Unreachable,
        };
        DialError::new(failure, url, error)
    }

    /// What is inside an error of [`connect`](crate::connect), if it came from dialling.
    pub fn of(error: &io::Error) -> Option<&DialError> {
        error.get_ref()?.downcast_ref()
    }

    /// Which step went wrong.
    pub fn failure(&self) -> DialFailure {
        self.failure
    }

    /// What went wrong, in words.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The first bytes that the server sent, if it speaks something else than the URL says
    /// ([`DialFailure::Protocol`]).
    pub fn received(&self) -> &[u8] {
        &self.received
    }

    /// What to try.
    pub fn hint(&self) -> &'static str {
        self.failure.hint()
    }

    /// Whether another attempt may fare better.
    pub(crate) fn may_pass(&self) -> bool {
        !matches!(
            self.failure,
            DialFailure::NotTls | DialFailure::Tls | DialFailure::Protocol | DialFailure::Status(300..=499)
        )
    }
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot connect to {}: {}: {}", self.url, self.reason, self.hint())
    }
}

impl std::error::Error for DialError {}

impl From<DialError> for io::Error {
    fn from(error: DialError) -> Self {
        let kind = match error.failure {
            DialFailure::Resolve => io::ErrorKind::HostUnreachable,
            DialFailure::Refused => io::ErrorKind::ConnectionRefused,
            DialFailure::Timeout => io::ErrorKind::TimedOut,
            DialFailure::Unreachable => io::ErrorKind::AddrNotAvailable,
            DialFailure::Status(401 | 403) => io::ErrorKind::PermissionDenied,
            DialFailure::NotTls | DialFailure::Tls | DialFailure::Status(_) | DialFailure::Protocol => {
                io::ErrorKind::InvalidData
            }
        };
        io::Error::new(kind, error)
    }
}
