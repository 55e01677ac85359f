//! What can go wrong with a connection, from its start to its end.

use std::fmt;
use std::io;

use sabir_proto::{Cause, SendError};

use crate::CallError;
use crate::transport::{ConnectError, UrlError};

/// What can go wrong with a connection: the error of [`connect`](crate::connect), [`serve`](crate::serve),
/// [`listen`](crate::listen), [`Server::run`](crate::Server::run), [`Reconnect`](crate::Reconnect), the
/// [transports](crate::transport) and [`blocking`](crate::blocking).
///
/// Its text is a whole sentence that says what happened and, where that is known, what to try. `source` has the
/// system's error. A program may return it from `main`: both `Display` and `Debug` print the sentence.
///
/// ```no_run
/// use sabir::{Error, Router};
///
/// #[tokio::main(flavor = "current_thread")]
/// async fn main() -> Result<(), Error> {
///     let peer = sabir::connect("tcp://127.0.0.1:4000", Router::new()).await?;
///     let sum: i64 = peer.call("add", (1, 2)).await?; // a `CallError` becomes an `Error`
///     println!("{sum}");
///     Ok(())
/// }
/// ```
#[non_exhaustive]
pub enum Error {
    /// The peer could not be reached.
    Connect(ConnectError),
    /// The process to talk to could not be started.
    Start {
        /// The program.
        program: String,
        /// What the system says.
        source: io::Error,
    },
    /// The server could not listen.
    Bind {
        /// Where.
        url: String,
        /// What the system says.
        source: io::Error,
    },
    /// A setting is invalid: an invalid URL, a header that cannot be sent, a certificate that is missing.
    Config(ConfigError),
    /// The connection ended badly.
    Closed(Cause),
    /// A call failed.
    Call(CallError),
    /// Anything else that the system refused.
    Io(io::Error),
}

/// What is wrong with a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError(ConfigReason);

#[derive(Debug, Clone, PartialEq, Eq)]
enum ConfigReason {
    Text(String),
    Url(UrlError),
}

impl Error {
    pub(crate) fn config(reason: impl Into<String>) -> Self {
        Error::Config(ConfigError(ConfigReason::Text(reason.into())))
    }

    /// Whether a retry may succeed.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Error::Connect(error) => error.may_pass(),
            Error::Config(_) => false,
            _ => true,
        }
    }

    fn io_kind(&self) -> io::ErrorKind {
        match self {
            Error::Connect(error) => error.kind().io_kind(),
            Error::Start { source, .. } | Error::Bind { source, .. } | Error::Io(source) => source.kind(),
            Error::Config(_) => io::ErrorKind::InvalidInput,
            Error::Closed(_) => io::ErrorKind::ConnectionAborted,
            Error::Call(_) => io::ErrorKind::Other,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Connect(error) => error.fmt(f),
            Error::Start { program, source } => write!(f, "cannot start `{program}`: {source}"),
            Error::Bind { url, source } => write!(f, "cannot listen at `{url}`: {source}"),
            Error::Config(error) => error.fmt(f),
            Error::Closed(cause) => cause.fmt(f),
            Error::Call(error) => error.fmt(f),
            Error::Io(error) => error.fmt(f),
        }
    }
}

/// The same as `Display`: this is what is printed when `main` returns it.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Connect(error) => Some(error),
            Error::Start { source, .. } | Error::Bind { source, .. } => Some(source),
            Error::Config(error) => Some(error),
            Error::Closed(cause) => Some(cause),
            Error::Call(error) => Some(error),
            Error::Io(error) => Some(error),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ConfigReason::Text(reason) => f.write_str(reason),
            ConfigReason::Url(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ConfigError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            ConfigReason::Text(_) => None,
            ConfigReason::Url(error) => Some(error),
        }
    }
}

impl From<ConnectError> for Error {
    fn from(error: ConnectError) -> Self {
        Error::Connect(error)
    }
}

impl From<UrlError> for Error {
    fn from(error: UrlError) -> Self {
        Error::Config(ConfigError(ConfigReason::Url(error)))
    }
}

impl From<Cause> for Error {
    fn from(cause: Cause) -> Self {
        Error::Closed(cause)
    }
}

impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        Error::Call(error)
    }
}

impl From<SendError> for Error {
    fn from(error: SendError) -> Self {
        Error::Call(CallError::NotSent(error))
    }
}

/// Recovers an `Error` that was wrapped in an `io::Error`.
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        error.downcast::<Error>().unwrap_or_else(Error::Io)
    }
}

/// For functions that return `io::Result`: the error is inside, and the kind is the nearest that there is.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Io(error) => error,
            error => io::Error::new(error.io_kind(), error),
        }
    }
}
