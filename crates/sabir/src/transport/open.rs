//! Transports by their URL.

#[cfg(feature = "nats")]
use super::endpoint::CONNECT_TIMEOUT;
use super::endpoint::{Dial, Endpoint, in_time};
use super::error::ConnectError;
#[cfg(feature = "nats")]
use super::error::ConnectErrorKind;
use super::net::tcp_io;
use super::network::Network;
use super::url::{Scheme, Url};
use super::{ByteTransport, OpenTransport, Transport, local};
use crate::Error;

/// Whatever a URL names. It is connected to when it is used; [`connect`](crate::connect) takes the URL itself.
///
/// | URL | speaks |
/// |---|---|
/// | `tcp://HOST:PORT`, `unix:PATH`, on Windows `pipe:NAME` | lines, or another [framing](Transport::framing) |
/// | `tls://HOST:PORT` | the same over TLS (feature `tls`) |
/// | `http://HOST/PATH`, `https://…` | each message posted by itself; answers as JSON or as a stream of events (feature `http`) |
/// | `ws://HOST/PATH`, `wss://…` | WebSocket (feature `http`) |
/// | `nats://HOST/SERVICE`, `nats+tls://…` | a service behind NATS, with several hosts as `HOST,HOST` (feature `nats`) |
///
/// Over HTTP the server can ask back and tell things where it answers with a stream of events, or has a session
/// (`Mcp-Session-Id`): what is asked is answered by a request of its own. Dropping a call closes its connection,
/// or with a session tells the server. Redirects are not followed, and no proxy is used.
///
/// ```no_run
/// # #[cfg(all(feature = "http", feature = "tls"))]
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use sabir::{Router, transport};
///
/// let server = transport::url("https://example.org/rpc").bearer("secret");
/// let peer = sabir::connect(server, Router::new()).await?;
/// let sum: i64 = peer.call("add", (1, 2)).await?;
/// # Ok(())
/// # }
/// ```
pub fn url(url: impl Into<String>) -> Transport {
    let url = url.into();
    match Url::parse(&url) {
        Ok(url) => url.into(),
        Err(wrong) => Transport::dialled(move |_| Box::pin(async move { Err(wrong.into()) })),
    }
}

impl From<Url> for Transport {
    fn from(url: Url) -> Self {
        let network = Network::of(&url);
        Transport::dialled(move |dial| Box::pin(async move { open(&url, dial).await })).over(network)
    }
}

impl From<&str> for Transport {
    fn from(text: &str) -> Self {
        url(text)
    }
}

impl From<String> for Transport {
    fn from(text: String) -> Self {
        url(text)
    }
}

async fn open(url: &Url, dial: Dial) -> Result<OpenTransport, Error> {
    if let Some(fault) = dial.fault {
        return Err(Error::config(fault));
    }
    check_settings(url, &dial)?;
    match url.scheme() {
        Scheme::Unix | Scheme::Pipe => {
            let address = local::address(url.as_str()).map_err(Error::config)?.unwrap_or_default();
            let connected = local::connect(address).await;
            let stream = connected.map_err(|error| ConnectError::socket(url.as_str(), error))?;
            Ok(OpenTransport::Bytes(ByteTransport::over(Box::new(stream))))
        }
        Scheme::Tcp | Scheme::Tls => stream(&Endpoint::of(url, &dial), url.scheme(), &dial).await,
        #[cfg(feature = "nats")]
        Scheme::Nats | Scheme::NatsTls => {
            let timed_out =
                |_| ConnectError::new(ConnectErrorKind::Timeout, url.as_str(), "nothing came in time");
            if dial.as_streams {
                let opening = super::nats::streams::open(url, &dial);
                let opened = tokio::time::timeout(CONNECT_TIMEOUT, opening).await.map_err(timed_out)?;
                return Ok(OpenTransport::Bytes(opened?));
            }
            let opening = super::nats::link::NatsLink::open(url, &dial);
            let link = tokio::time::timeout(CONNECT_TIMEOUT, opening).await.map_err(timed_out)??;
            let headers = Some(std::sync::Arc::clone(link.headers()));
            Ok(OpenTransport::Messages { link: Box::new(link), headers })
        }
        #[cfg(not(feature = "nats"))]
        Scheme::Nats | Scheme::NatsTls => Err(Error::config(format!("`{url}` needs the feature `nats`"))),
        _ => web::open(url, dial).await,
    }
}

/// A setting that would be ignored is a mistake: a token that is never sent, a certificate never looked at.
fn check_settings(url: &Url, dial: &Dial) -> Result<(), Error> {
    let has_headers = url.scheme().is_web();
    #[cfg(feature = "http")]
    if !has_headers && !dial.headers.is_empty() {
        return Err(Error::config(format!("`{url}` has no headers: only http(s):// and ws(s):// have")));
    }
    #[cfg(feature = "http")]
    if !url.scheme().is_http() && dial.authorizer.is_some() {
        return Err(Error::config(format!("`{url}` has no requests to authorize: only http(s):// has")));
    }
    let is_secure = url.scheme().is_secure();
    #[cfg(feature = "tls")]
    if !is_secure && !url.scheme().is_nats() && !dial.tls.is_default() {
        return Err(Error::config(format!(
            "`{url}` has no certificates: only https://, wss:// and tls:// have"
        )));
    }
    #[cfg(not(feature = "tls"))]
    if is_secure {
        return Err(Error::config(format!("`{url}` needs the feature `tls`")));
    }
    let _ = (url, dial, has_headers, is_secure);
    Ok(())
}

/// A stream of bytes, bare or over TLS.
async fn stream(endpoint: &Endpoint, scheme: Scheme, dial: &Dial) -> Result<OpenTransport, Error> {
    let _ = (scheme, dial);
    #[cfg(feature = "tls")]
    if scheme.is_secure() {
        let connector = dial.tls.connector(&[]).map_err(Error::config)?;
        let dialling = async { super::tls::wrap(&connector, endpoint, endpoint.connect().await?).await };
        let (read, write) = tokio::io::split(in_time(&endpoint.url, dialling).await?);
        return Ok(OpenTransport::Bytes(ByteTransport::new(read, write)));
    }
    Ok(OpenTransport::Bytes(tcp_io(in_time(&endpoint.url, endpoint.connect()).await?)?))
}

#[cfg(not(feature = "http"))]
mod web {
    use super::*;

    pub(super) async fn open(url: &Url, _: Dial) -> Result<OpenTransport, Error> {
        Err(Error::config(format!("`{url}` needs the feature `http`")))
    }
}

/// What begins with a request of HTTP.
#[cfg(feature = "http")]
mod web {
    use http::Uri;
    use tokio_tungstenite::client_async_with_config;
    use tokio_tungstenite::tungstenite::Error as WebSocketError;
    use tokio_tungstenite::tungstenite::client::IntoClientRequest;
    use tokio_tungstenite::tungstenite::protocol::Role;

    use super::*;
    use crate::client::http::{Http, HttpFailure};
    #[cfg(not(feature = "nats"))]
    use crate::transport::ConnectErrorKind;
    use crate::transport::Duplex;
    use crate::transport::first_bytes::FirstBytes;
    use crate::transport::step::Step;
    use crate::transport::websocket::{Socket, WebSocket};

    type Stream = FirstBytes<Box<dyn Duplex>>;

    pub(super) async fn open(url: &Url, dial: Dial) -> Result<OpenTransport, Error> {
        let (endpoint, secure) = (Endpoint::of(url, &dial), url.scheme().is_secure());
        let name = if secure { "https" } else { "http" };
        let uri = Uri::builder().scheme(name).authority(url.authority()).path_and_query(url.path()).build();
        let uri = uri.map_err(|error| Error::config(format!("`{url}` is not a URL of HTTP: {error}")))?;
        match url.scheme().is_websocket() {
            true => websocket(&endpoint, &uri, dial, secure).await,
            false => {
                #[cfg(feature = "tls")]
                let http = {
                    let protocols: &[&[u8]] = &[b"h2", b"http/1.1"];
                    let tls = match secure {
                        true => Some(dial.tls.connector(protocols).map_err(Error::config)?),
                        false => None,
                    };
                    Http::open(endpoint, uri, dial, tls).await?
                };
                #[cfg(not(feature = "tls"))]
                let http = Http::open(endpoint, uri, dial).await?;
                let headers = Some(http.headers());
                Ok(OpenTransport::Messages { link: Box::new(http), headers })
            }
        }
    }

    async fn websocket(
        endpoint: &Endpoint,
        uri: &Uri,
        dial: Dial,
        secure: bool,
    ) -> Result<OpenTransport, Error> {
        #[cfg(feature = "tls")]
        let tls = match secure {
            true => Some(dial.tls.connector(&[b"http/1.1"]).map_err(Error::config)?),
            false => None,
        };
        let _ = secure;
        let dialling = async {
            let stream = endpoint.connect().await?;
            #[cfg(feature = "tls")]
            let stream: Box<dyn Duplex> = match &tls {
                Some(tls) => Box::new(crate::transport::tls::wrap(tls, endpoint, stream).await?),
                None => Box::new(stream),
            };
            #[cfg(not(feature = "tls"))]
            let stream: Box<dyn Duplex> = Box::new(stream);
            shake_hands(endpoint, uri, &dial, stream).await
        };
        let socket = in_time(&endpoint.url, dialling).await?;
        Ok(OpenTransport::Messages { link: Box::new(socket), headers: None })
    }

    async fn shake_hands(
        endpoint: &Endpoint,
        uri: &Uri,
        dial: &Dial,
        stream: Box<dyn Duplex>,
    ) -> Result<Socket<Stream>, ConnectError> {
        let failed = |failure, reason: String| ConnectError::new(failure, &endpoint.url, reason);
        let mut parts = uri.clone().into_parts();
        parts.scheme = "ws".parse().ok();
        let uri = Uri::from_parts(parts).unwrap_or_else(|_| uri.clone());
        let mut request = uri
            .into_client_request()
            .map_err(|error| failed(ConnectErrorKind::Protocol, error.to_string()))?;
        for (name, value) in &dial.headers {
            request.headers_mut().insert(name, value.clone());
        }
        let (method, uri, headers) = (request.method(), request.uri(), request.headers());
        endpoint.steps.tell(&Step::Request { method, uri, headers });
        let config = Socket::<Stream>::config(dial.limits.message_bytes);
        let (stream, received) = FirstBytes::new(stream);
        match client_async_with_config(request, stream, Some(config)).await {
            Ok((stream, response)) => {
                let (version, status) = (response.version(), response.status());
                endpoint.steps.tell(&Step::Response { version, status, headers: response.headers() });
                Ok(Socket::over(stream, Role::Client, WebSocket::default()))
            }
            Err(WebSocketError::Http(response)) => {
                let status = response.status();
                let body = response.body().as_deref().unwrap_or_default();
                let failure = HttpFailure { status, headers: response.headers(), body };
                let reason = failure.instead_of("a WebSocket");
                Err(failed(ConnectErrorKind::Status(status.as_u16()), reason))
            }
            Err(error) => {
                let received = received.bytes();
                let reason = match (received.is_empty(), received.starts_with(b"HTTP/")) {
                    (true, _) => "the server closed the connection without an answer".to_owned(),
                    (false, true) => error.to_string(),
                    (false, false) => "the server does not speak HTTP".to_owned(),
                };
                Err(failed(ConnectErrorKind::Protocol, reason).received_bytes(received))
            }
        }
    }
}
