//! Checks `Host` and `Origin`: which host names are served, and which pages may call.

use std::net::IpAddr;

use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version, header};

use crate::server::http::config::{Bound, Http};
use crate::server::http::response::Refusal;
use crate::transport::Scheme;

/// A host as it stands in a URL: `example.com`, `127.0.0.1:8080`, `[::1]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Host {
    /// In lower case, without a dot at its end.
    name: String,
    port: Option<u16>,
}

impl Host {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.contains('@') {
            return None;
        }
        let authority: Authority = text.parse().ok()?;
        let port = match text.strip_prefix(authority.host())? {
            // The port may be empty (RFC 3986, 3.2.3), which is the same as none.
            "" | ":" => None,
            // A number for Rust may have a sign.
            port => Some(port.strip_prefix(':').filter(|port| !port.starts_with('+'))?.parse().ok()?),
        };
        let name = authority.host().trim_end_matches('.').to_ascii_lowercase();
        (!name.is_empty()).then_some(Host { name, port })
    }

    fn is_loopback(&self) -> bool {
        let name = self.name.trim_start_matches('[').trim_end_matches(']');
        name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
    }

    /// Whether this, as it was allowed, covers what was called.
    fn covers(&self, called: &Host) -> bool {
        self.name == called.name && (self.port.is_none() || self.port == called.port)
    }
}

/// Where a page comes from: `https://app.example`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    scheme: String,
    host: Host,
}

impl Origin {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (scheme, host) = text.split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        let mut host = Host::parse(host)?;
        host.port = host.port.or(default_port(&scheme));
        Some(Origin { scheme, host })
    }

    /// Whether the page comes from the host that it calls. What the scheme is, a server behind a proxy
    /// cannot know.
    fn is_of(&self, called: &Host) -> bool {
        self.host.name == called.name
            && called.port.or(default_port(&self.scheme)).is_some_and(|port| Some(port) == self.host.port)
    }
}

/// Only these schemes have pages that call.
fn default_port(scheme: &str) -> Option<u16> {
    Scheme::parse(scheme).filter(|scheme| scheme.is_http()).and_then(Scheme::default_port)
}

/// A request whose host and origin are right: an allowed origin, if it came from one.
pub(crate) fn check(http: &Http, bound: Bound, parts: &Parts) -> Result<Option<HeaderValue>, Refusal> {
    let called = called_host(parts)?;
    if let Some(called) = &called {
        check_host(http, called)?;
    }
    let mut origins = parts.headers.get_all(header::ORIGIN).iter();
    let Some(text) = origins.next() else { return Ok(None) };
    let origin = text.to_str().ok().and_then(Origin::parse).filter(|_| origins.next().is_none());
    let Some(origin) = origin else { return Err(Refusal::ORIGIN) };
    if http.origins.contains(&origin) {
        return Ok(Some(text.clone()));
    }
    let same = called.is_some_and(|called| origin.is_of(&called));
    // Pages on this machine are let in by default, but not beside those that were named.
    let local = bound == Bound::Loopback && http.origins.is_empty() && origin.host.is_loopback();
    if same || local { Ok(None) } else { Err(Refusal::ORIGIN) }
}

fn check_host(http: &Http, called: &Host) -> Result<(), Refusal> {
    let allowed = match &http.hosts[..] {
        [] => called.is_loopback() || http.own_host.as_ref().is_some_and(|own| own.covers(called)),
        hosts => hosts.iter().any(|host| host.covers(called)),
    };
    let is_public = http.public_hosts.iter().any(|host| host.covers(called));
    if allowed || is_public { Ok(()) } else { Err(Refusal::HOST) }
}

/// The host that was called. HTTP/1.0 knows none.
fn called_host(parts: &Parts) -> Result<Option<Host>, Refusal> {
    let mut headers = parts.headers.get_all(header::HOST).iter();
    let named = match (parts.uri.authority(), headers.next(), headers.next()) {
        (_, _, Some(_)) => return Err(Refusal::HOSTS),
        // What stands in the target is what was called; the header must not say anything else.
        (Some(target), Some(header), None) if header.as_bytes() != target.as_str().as_bytes() => {
            return Err(Refusal::HOSTS);
        }
        (Some(target), _, None) => Some(target.as_str()),
        (None, Some(header), None) => Some(header.to_str().map_err(|_| Refusal::HOSTS)?),
        (None, None, None) if parts.version == Version::HTTP_10 => None,
        (None, None, None) => return Err(Refusal::HOSTS),
    };
    named.map(|host| Host::parse(host).ok_or(Refusal::HOSTS)).transpose()
}

/// Lets the page that called see the answer.
pub(crate) fn allow(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    const EXPOSED: HeaderValue = HeaderValue::from_static("Mcp-Session-Id, WWW-Authenticate");
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
}

/// The answer to the question whether a page may call, which only those that may get.
pub(crate) fn preflight(asked: &HeaderMap, methods: &'static str) -> (StatusCode, HeaderMap) {
    const PRIVATE: &str = "access-control-request-private-network";
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(methods));
    // The origin is trusted, and so are the headers that it wants to send.
    if let Some(wanted) = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    if asked.contains_key(PRIVATE) {
        let allowed = HeaderName::from_static("access-control-allow-private-network");
        headers.insert(allowed, HeaderValue::from_static("true"));
    }
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    (StatusCode::NO_CONTENT, headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_host_is_one_more() {
        let public = Http::new().public_host("mcp.example");
        let both = Http::new().public_host("mcp.example").allow_host("rpc.example");
        for (host, want) in [
            ("mcp.example", (true, true)),
            ("MCP.example:8443", (true, true)),
            ("localhost:1", (true, false)),
            ("rpc.example", (false, true)),
            ("evil.example", (false, false)),
        ] {
            let mut parts = http::Request::new(()).into_parts().0;
            parts.headers.insert(header::HOST, HeaderValue::from_static(host));
            let checked = |http| check(http, Bound::Loopback, &parts).is_ok();
            assert_eq!((checked(&public), checked(&both)), want, "{host}");
        }
    }

    #[test]
    fn a_host_is_right_whichever_way_it_is_read() {
        let usual = Http::new();
        let mut bound = Http::new();
        bound.name_host(Some("192.0.2.7"));
        let named = Http::new().allow_host("rpc.example:8080");
        for (host, local, own, allowed) in [
            ("127.0.0.1", true, true, false),
            ("127.0.0.1:8080", true, true, false),
            ("127.0.0.1:65535", true, true, false),
            ("localhost:1", true, true, false),
            ("LOCALHOST.", true, true, false),
            ("[::1]:80", true, true, false),
            ("127.0.0.1:65536", false, false, false),
            ("127.0.0.1:", true, true, false),
            ("[::1]:", true, true, false),
            ("192.0.2.7:", false, true, false),
            ("rpc.example:", false, false, false),
            ("evil.example:", false, false, false),
            (":", false, false, false),
            ("127.0.0.1::", false, false, false),
            ("127.0.0.1::80", false, false, false),
            ("127.0.0.1:+1", false, false, false),
            ("127.0.0.1:8x", false, false, false),
            ("127.0.0.1x", false, false, false),
            ("localhost.example", false, false, false),
            ("user@localhost", false, false, false),
            ("rpc.example", false, false, false),
            ("192.0.2.7:8080", false, true, false),
            ("192.0.2.8:8080", false, false, false),
            ("RPC.example:8080", false, false, true),
            ("", false, false, false),
        ] {
            let mut parts = http::Request::new(()).into_parts().0;
            parts.headers.insert(header::HOST, HeaderValue::from_static(host));
            for bind in [Bound::Loopback, Bound::Open] {
                let checked = |http| check(http, bind, &parts).is_ok();
                let got = (checked(&usual), checked(&bound), checked(&named));
                assert_eq!(got, (local, own, allowed), "{host}");
            }
        }
    }
}
