//! Reaching the host that a URL names: its name, its socket, and TLS on top.

use std::net::IpAddr;
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};

use crate::transport::error::{ConnectError, ConnectErrorKind};
use crate::transport::socket;
use crate::transport::step::{Step, Steps};
use crate::transport::url::Url;

/// How long it may take until a connection is there.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// How to open a connection to a URL.
#[derive(Default)]
pub(crate) struct Dial {
    /// The first invalid setting: reported when the connection is opened.
    pub(crate) fault: Option<String>,
    pub(crate) steps: Steps,
    #[cfg(feature = "http")]
    pub(crate) headers: http::HeaderMap,
    #[cfg(feature = "http")]
    pub(crate) on_post: Option<crate::client::http::OnPost>,
    #[cfg(feature = "http")]
    pub(crate) on_failure: Option<crate::client::http::OnFailure>,
    #[cfg(feature = "http")]
    pub(crate) authorizer: Option<Box<dyn crate::client::http::Authorizer>>,
    /// All answers come on one stream of events.
    #[cfg(feature = "http")]
    pub(crate) event_stream: bool,
    #[cfg(feature = "tls")]
    pub(crate) tls: crate::transport::tls::Settings,
    #[cfg(feature = "http")]
    pub(crate) limits: sabir_proto::Limits,
    #[cfg(feature = "nats")]
    pub(crate) nats: crate::transport::nats::Nats,
    /// Streams are wanted, and no messages.
    #[cfg(feature = "nats")]
    pub(crate) as_streams: bool,
    /// What is spoken has sessions: all of it is for one peer.
    #[cfg(feature = "nats")]
    pub(crate) has_sessions: bool,
}

/// A host to connect to, and the URL that names it.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    /// For people.
    pub(crate) url: String,
    /// Without the brackets of an IPv6 address.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) steps: Steps,
}

impl Endpoint {
    /// What a URL names. It is not the URL of a Unix socket.
    pub(crate) fn of(url: &Url, dial: &Dial) -> Endpoint {
        let steps = dial.steps.clone();
        Endpoint { url: url.to_string(), host: url.host().to_owned(), port: url.port(), steps }
    }

    /// Connects its socket.
    pub(crate) async fn connect(&self) -> Result<TcpStream, ConnectError> {
        self.connect_where(|_| true).await
    }

    /// Connects its socket to one of its addresses that may be reached.
    pub(crate) async fn connect_where(
        &self,
        is_allowed: impl Fn(IpAddr) -> bool,
    ) -> Result<TcpStream, ConnectError> {
        let resolve = |error: &dyn std::fmt::Display| {
            let reason = format!("the name `{}` cannot be resolved: {error}", self.host);
            ConnectError::new(ConnectErrorKind::Resolve, &self.url, reason)
        };
        self.steps.tell(&Step::Connecting { host: &self.host });
        let addresses =
            lookup_host((self.host.as_str(), self.port)).await.map_err(|error| resolve(&error))?;
        self.steps.tell(&Step::Resolved { host: &self.host });
        let mut failed = None;
        for address in addresses {
            if !is_allowed(address.ip()) {
                let reason = format!("`{}` leads to a private address, which is not allowed here", self.host);
                return Err(ConnectError::new(ConnectErrorKind::Unreachable, &self.url, reason));
            }
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    socket::prepare(&stream).map_err(|error| ConnectError::socket(&self.url, error))?;
                    self.steps.tell(&Step::Connected { address });
                    return Ok(stream);
                }
                Err(error) => failed = Some(error),
            }
        }
        Err(failed
            .map_or_else(|| resolve(&"it has no address"), |error| ConnectError::socket(&self.url, error)))
    }
}

/// Gives up in time.
pub(crate) async fn in_time<T>(
    url: &str,
    dialling: impl Future<Output = Result<T, ConnectError>>,
) -> Result<T, ConnectError> {
    tokio::time::timeout(CONNECT_TIMEOUT, dialling).await.unwrap_or_else(|_| {
        let reason = format!("nothing within {} s", CONNECT_TIMEOUT.as_secs());
        Err(ConnectError::new(ConnectErrorKind::Timeout, url, reason))
    })
}
