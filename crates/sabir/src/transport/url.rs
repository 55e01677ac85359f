//! Transports by their URL.

use super::endpoint::{Dial, Place, in_time, unusable};
use super::error::DialError;
use super::net::tcp_io;
use super::{Io, Transport, Way, local};

/// Whatever a URL names. It is connected to when it is used; [`connect`](crate::connect) takes the URL itself.
///
/// | URL | speaks |
/// |---|---|
/// | `tcp://HOST:PORT`, `unix:PATH`, on Windows `pipe:NAME` | lines, or another [framing](Transport::framing) |
/// | `tls://HOST:PORT` | the same over TLS (feature `tls`) |
/// | `http://HOST/PATH`, `https://…` | each message posted by itself; answers as JSON or as a stream of events (feature `http`) |
/// | `ws://HOST/PATH`, `wss://…` | WebSocket (feature `http`) |
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
    Transport::dialled(move |dial| Box::pin(async move { open(&url, dial).await }))
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

/// The schemes that are known, with the port that goes without saying.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Tcp,
    Tls,
    Http { port: u16, secure: bool },
    WebSocket { port: u16, secure: bool },
}

impl Scheme {
    fn parse(scheme: &str) -> Option<Scheme> {
        Some(match scheme.to_ascii_lowercase().as_str() {
            "tcp" => Scheme::Tcp,
            "tls" => Scheme::Tls,
            "http" => Scheme::Http { port: 80, secure: false },
            "https" => Scheme::Http { port: 443, secure: true },
            "ws" => Scheme::WebSocket { port: 80, secure: false },
            "wss" => Scheme::WebSocket { port: 443, secure: true },
            _ => return None,
        })
    }

    fn is_secure(self) -> bool {
        matches!(
            self,
            Scheme::Tls | Scheme::Http { secure: true, .. } | Scheme::WebSocket { secure: true, .. }
        )
    }

    fn has_headers(self) -> bool {
        matches!(self, Scheme::Http { .. } | Scheme::WebSocket { .. })
    }
}

async fn open(url: &str, dial: Dial) -> std::io::Result<Way> {
    if let Some(fault) = dial.fault {
        return Err(unusable(fault));
    }
    if let Some(address) = local::address(url)? {
        check_settings(url, None, &dial)?;
        let connected = local::connect(address).await;
        let stream = connected.map_err(|error| DialError::socket(url, &error))?;
        return Ok(Way::Bytes(Io::over(Box::new(stream))));
    }
    let known = url.split_once("://").and_then(|(name, rest)| Some((Scheme::parse(name)?, rest)));
    let Some((scheme, rest)) = known else {
        let wanted =
            format!("expected http(s)://, ws(s)://, tcp://HOST:PORT, tls://HOST:PORT or {}", local::WRITTEN);
        return Err(unusable(format!("cannot connect to `{url}`: {wanted}")));
    };
    check_settings(url, Some(scheme), &dial)?;
    match scheme {
        Scheme::Tcp | Scheme::Tls => {
            let wanted = || unusable(format!("`{url}` must name a host and a port, and nothing else"));
            let place = Place::parse(url, rest.strip_suffix('/').unwrap_or(rest)).ok_or_else(wanted)?;
            stream(scheme, &place, &dial).await
        }
        Scheme::Http { port, .. } | Scheme::WebSocket { port, .. } => {
            web::open(scheme, url, rest, port, dial).await
        }
    }
}

/// A setting that would be ignored is a mistake: a token that is never sent, a certificate never looked at.
fn check_settings(url: &str, scheme: Option<Scheme>, dial: &Dial) -> std::io::Result<()> {
    let has_headers = scheme.is_some_and(Scheme::has_headers);
    #[cfg(feature = "http")]
    if !has_headers && !dial.headers.is_empty() {
        return Err(unusable(format!("`{url}` has no headers: only http(s):// and ws(s):// have")));
    }
    let is_secure = scheme.is_some_and(Scheme::is_secure);
    #[cfg(feature = "tls")]
    if !is_secure && !dial.tls.is_default() {
        return Err(unusable(format!("`{url}` has no certificates: only https://, wss:// and tls:// have")));
    }
    #[cfg(not(feature = "tls"))]
    if is_secure {
        return Err(unusable(format!("`{url}` needs the feature `tls`")));
    }
    let _ = (url, dial, has_headers, is_secure);
    Ok(())
}

/// A stream of bytes, bare or over TLS.
async fn stream(scheme: Scheme, place: &Place, dial: &Dial) -> std::io::Result<Way> {
    let _ = (scheme, dial);
    #[cfg(feature = "tls")]
    if scheme.is_secure() {
        let connector = dial.tls.connector(&[]).map_err(unusable)?;
        let dialling = async { super::tls::wrap(&connector, place, place.connect().await?).await };
        let (read, write) = tokio::io::split(in_time(&place.url, dialling).await?);
        return Ok(Way::Bytes(Io::new(read, write)));
    }
    tcp_io(in_time(&place.url, place.connect()).await?).map(Way::Bytes)
}

#[cfg(not(feature = "http"))]
mod web {
    use super::*;

    pub(super) async fn open(_: Scheme, url: &str, _: &str, _: u16, _: Dial) -> std::io::Result<Way> {
        Err(unusable(format!("`{url}` needs the feature `http`")))
    }
}

/// What begins with a request of HTTP.
#[cfg(feature = "http")]
mod web {
    use http::Uri;
    use tokio_tungstenite::client_async_with_config;
    use tokio_tungstenite::tungstenite::Error;
    use tokio_tungstenite::tungstenite::client::IntoClientRequest;
    use tokio_tungstenite::tungstenite::protocol::Role;

    use super::*;
    use crate::client::http::Http;
    use crate::transport::DialFailure;
    use crate::transport::Duplex;
    use crate::transport::websocket::{Socket, WebSocket};

    pub(super) async fn open(
        scheme: Scheme,
        url: &str,
        rest: &str,
        port: u16,
        dial: Dial,
    ) -> std::io::Result<Way> {
        // What stands behind a # never goes out.
        let rest = rest.split('#').next().unwrap_or_default();
        let name = if scheme.is_secure() { "https" } else { "http" };
        let uri: Uri =
            format!("{name}://{rest}").parse().map_err(|error| unusable(format!("`{url}`: {error}")))?;
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        if authority.contains('@') {
            let reason = "a name and a password belong in an `Authorization` header, not in the URL";
            return Err(unusable(reason));
        }
        let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        let port_given = !authority.trim_end_matches(host).trim_end_matches(']').is_empty();
        if host.is_empty() || (port_given && authority.ends_with(':')) {
            return Err(unusable(format!("`{url}` names no host")));
        }
        let place =
            Place { url: url.to_owned(), host: host.to_owned(), port: uri.port_u16().unwrap_or(port) };
        match scheme {
            Scheme::WebSocket { .. } => websocket(&place, &uri, dial, scheme.is_secure()).await,
            _ => {
                #[cfg(feature = "tls")]
                let http = {
                    let protocols: &[&[u8]] = &[b"h2", b"http/1.1"];
                    let tls = match scheme.is_secure() {
                        true => Some(dial.tls.connector(protocols).map_err(unusable)?),
                        false => None,
                    };
                    Http::open(place, uri, dial, tls).await?
                };
                #[cfg(not(feature = "tls"))]
                let http = Http::open(place, uri, dial).await?;
                let headers = Some(http.headers());
                Ok(Way::Messages { link: Box::new(http), headers })
            }
        }
    }

    async fn websocket(place: &Place, uri: &Uri, dial: Dial, secure: bool) -> std::io::Result<Way> {
        #[cfg(feature = "tls")]
        let tls = match secure {
            true => Some(dial.tls.connector(&[b"http/1.1"]).map_err(unusable)?),
            false => None,
        };
        let _ = secure;
        let dialling = async {
            let stream = place.connect().await?;
            #[cfg(feature = "tls")]
            let stream: Box<dyn Duplex> = match &tls {
                Some(tls) => Box::new(crate::transport::tls::wrap(tls, place, stream).await?),
                None => Box::new(stream),
            };
            #[cfg(not(feature = "tls"))]
            let stream: Box<dyn Duplex> = Box::new(stream);
            shake_hands(place, uri, &dial, stream).await
        };
        let socket = in_time(&place.url, dialling).await?;
        Ok(Way::Messages { link: Box::new(socket), headers: None })
    }

    async fn shake_hands(
        place: &Place,
        uri: &Uri,
        dial: &Dial,
        stream: Box<dyn Duplex>,
    ) -> Result<Socket<Box<dyn Duplex>>, DialError> {
        let failed = |failure, reason: String| DialError::new(failure, &place.url, reason);
        let mut parts = uri.clone().into_parts();
        parts.scheme = "ws".parse().ok();
        let uri = Uri::from_parts(parts).unwrap_or_else(|_| uri.clone());
        let mut request =
            uri.into_client_request().map_err(|error| failed(DialFailure::Protocol, error.to_string()))?;
        for (name, value) in &dial.headers {
            request.headers_mut().insert(name, value.clone());
        }
        let config = Socket::<Box<dyn Duplex>>::config(dial.limits.message_bytes);
        match client_async_with_config(request, stream, Some(config)).await {
            Ok((stream, _)) => Ok(Socket::over(stream, Role::Client, WebSocket::default())),
            Err(Error::Http(response)) => {
                let status = response.status();
                let mut reason = format!("HTTP {status} instead of a WebSocket");
                if let Some(location) = response.headers().get("location").and_then(|l| l.to_str().ok()) {
                    reason = format!("{reason}: the server says it moved to {location}");
                }
                Err(failed(DialFailure::Status(status.as_u16()), reason))
            }
            Err(error) => Err(failed(DialFailure::Protocol, error.to_string())),
        }
    }
}
