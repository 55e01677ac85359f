//! One request of HTTP by itself, for documents and tokens rather than messages: a whole response within limits, and never
//! from an address that the caller does not want to reach.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use bytes::Bytes;
use http::header::{HOST, USER_AGENT};
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use sabir_proto::ByteSize;

use crate::transport::endpoint::Endpoint;
use crate::transport::error::{ConnectError, ConnectErrorKind};
use crate::transport::step::Steps;
use crate::transport::{Duplex, Url};

/// Bytes of a response's head.
const HEAD: usize = 32 * 1024;

/// Sends single requests of HTTP, each over a connection of its own. Redirects are not followed, and no proxy is used.
///
/// ```no_run
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use sabir::Fetch;
/// use sabir::http::Request;
///
/// let fetch = Fetch { private_addresses: false, ..Fetch::default() };
/// let response = fetch.send(Request::get("https://example.org/keys.json").body("")?).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Fetch {
    /// Bytes of a body. 256 KiB.
    pub max_bytes: usize,
    /// How long all of it may take. 10 s.
    pub timeout: Duration,
    /// Whether addresses of this machine and of private networks may be reached. It is the address that decides, after
    /// the name has been resolved. True.
    pub private_addresses: bool,
    /// Whom to trust, in PEM, instead of the system's authorities.
    pub root_certificates: Vec<Vec<u8>>,
}

impl Default for Fetch {
    fn default() -> Self {
        Fetch {
            max_bytes: 256 * 1024,
            timeout: Duration::from_secs(10),
            private_addresses: true,
            root_certificates: Vec::new(),
        }
    }
}

impl Fetch {
    /// Sends a request with a whole URL, and reads the whole response, whatever its status.
    pub async fn send(&self, request: Request<impl Into<Bytes>>) -> Result<Response<Bytes>, ConnectError> {
        let request = request.map(Into::into);
        let text = request.uri().to_string();
        let failed = |kind, reason: String| ConnectError::new(kind, &text, reason);
        let url = Url::parse(&text).map_err(|error| failed(ConnectErrorKind::Protocol, error.to_string()))?;
        if !url.scheme().is_http() {
            return Err(failed(ConnectErrorKind::Protocol, "it is not a URL of HTTP".to_owned()));
        }
        let fetching = self.fetch(&url, request);
        tokio::time::timeout(self.timeout, fetching).await.unwrap_or_else(|_| {
            let reason = format!("no whole response within {} s", self.timeout.as_secs());
            Err(failed(ConnectErrorKind::Timeout, reason))
        })
    }

    async fn fetch(&self, url: &Url, request: Request<Bytes>) -> Result<Response<Bytes>, ConnectError> {
        let failed = |kind, reason: String| ConnectError::new(kind, url.as_str(), reason);
        let steps = Steps::default();
        let (host, port) = (url.host().to_owned(), url.port());
        let endpoint = Endpoint { url: url.to_string(), host, port, steps };
        let private = self.private_addresses;
        let stream = endpoint.connect_where(|address| private || is_public(address)).await?;
        let stream = self.secure(url, &endpoint, stream).await?;
        let broken = |error: &hyper::Error| failed(ConnectErrorKind::Protocol, error.to_string());
        let (mut sender, connection) = http1::Builder::new()
            .max_header_size(HEAD)
            .max_buf_size(2 * HEAD)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| broken(&error))?;
        let connection = tokio::spawn(connection);
        let (mut parts, body) = request.into_parts();
        parts.uri = url
            .path()
            .parse::<Uri>()
            .map_err(|error| failed(ConnectErrorKind::Protocol, error.to_string()))?;
        let authority = HeaderValue::from_str(url.authority());
        parts.headers.insert(HOST, authority.unwrap_or(HeaderValue::from_static("")));
        let agent = HeaderValue::from_static(concat!("sabir/", env!("CARGO_PKG_VERSION")));
        parts.headers.entry(USER_AGENT).or_insert(agent);
        let response = sender.send_request(Request::from_parts(parts, Full::new(body))).await;
        let (head, body) = response.map_err(|error| broken(&error))?.into_parts();
        let body = Limited::new(body, self.max_bytes).collect().await.map_err(|error| {
            let reason = match error.downcast::<hyper::Error>() {
                Ok(error) => format!("its response is incomplete: {error}"),
                Err(_) => format!("its response is larger than {}", ByteSize(self.max_bytes)),
            };
            failed(ConnectErrorKind::Protocol, reason)
        });
        connection.abort();
        Ok(Response::from_parts(head, body?.to_bytes()))
    }

    #[cfg(feature = "tls")]
    async fn secure(
        &self,
        url: &Url,
        endpoint: &Endpoint,
        stream: tokio::net::TcpStream,
    ) -> Result<Box<dyn Duplex>, ConnectError> {
        if !url.scheme().is_secure() {
            return Ok(Box::new(stream));
        }
        let roots = self.root_certificates.clone();
        let settings = crate::transport::tls::Settings { roots, ..Default::default() };
        let connector = settings
            .connector(&[b"http/1.1"])
            .map_err(|reason| ConnectError::new(ConnectErrorKind::Tls, url.as_str(), reason))?;
        Ok(Box::new(crate::transport::tls::wrap(&connector, endpoint, stream).await?))
    }

    #[cfg(not(feature = "tls"))]
    async fn secure(
        &self,
        url: &Url,
        _: &Endpoint,
        stream: tokio::net::TcpStream,
    ) -> Result<Box<dyn Duplex>, ConnectError> {
        match url.scheme().is_secure() {
            true => Err(ConnectError::new(ConnectErrorKind::Tls, url.as_str(), "it needs the feature `tls`")),
            false => Ok(Box::new(stream)),
        }
    }
}

/// Whether an address is one of the public internet: not of this machine, of a private or shared network, or reserved.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let reserved = matches!(
        (a, b, c),
        (0 | 10 | 127 | 240.., ..)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 168, _)
            | (192, 0, 0 | 2)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    );
    !reserved && !address.is_multicast()
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| is_public_v4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match (a, b, c, d, e, f) {
        // Addresses of IPv4 in another dress: mapped, translated (NAT64), and 6to4.
        (0, 0, 0, 0, 0, 0xffff) | (0x64, 0xff9b, 0, 0, 0, 0) => v4(g, h),
        (0x2002, ..) => v4(b, c),
        // Teredo, documentation, and what is not global unicast.
        (0x2001, 0 | 0xdb8, ..) => false,
        _ => a & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_known_in_every_spelling() {
        for (address, public) in [
            ("8.8.8.8", true),
            ("2606:4700::1111", true),
            ("::ffff:8.8.8.8", true),
            ("127.0.0.1", false),
            ("127.9.9.9", false),
            ("0.0.0.0", false),
            ("10.1.2.3", false),
            ("172.16.0.1", false),
            ("172.32.0.1", true),
            ("192.168.1.1", false),
            ("169.254.169.254", false),
            ("100.64.0.1", false),
            ("100.128.0.1", true),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("::1", false),
            ("::", false),
            ("fe80::1", false),
            ("fd00::1", false),
            ("ff02::1", false),
            ("::ffff:127.0.0.1", false),
            ("64:ff9b::10.0.0.1", false),
            ("2002:7f00:1::", false),
            ("2001:db8::1", false),
        ] {
            assert_eq!(is_public(address.parse().expect("an address")), public, "{address}");
        }
    }
}
