//! URLs of authorization: which belong together, which are safe to use, and where documents about them are.

use std::net::IpAddr;

use sabir::transport::{Scheme, Url};

/// `https://example.com:8443`.
pub(crate) fn origin(url: &Url) -> String {
    format!("{}://{}", url.scheme().name(), url.authority())
}

/// The host without its port, as it stands in a URL.
pub(crate) fn host(url: &Url) -> String {
    match url.host().contains(':') {
        true => format!("[{}]", url.host()),
        false => url.host().to_owned(),
    }
}

/// The path without a query, and without slashes at its end.
pub(crate) fn path(url: &Url) -> &str {
    url.path().split('?').next().unwrap_or_default().trim_end_matches('/')
}

pub(crate) fn is_same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.port() == other.port()
        && one.host().eq_ignore_ascii_case(other.host())
}

/// Whether a protected resource covers a URL: the same origin, and a path that is the same or lies above.
pub(crate) fn covers(resource: &Url, url: &Url) -> bool {
    let behind = path(url).strip_prefix(path(resource));
    is_same_origin(resource, url) && behind.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Where the document of this name about a URL is: the name goes before the path.
pub(crate) fn well_known(url: &Url, name: &str) -> String {
    format!("{}/.well-known/{name}{}", origin(url), path(url))
}

/// Whether a host is this machine, by its name or address alone.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host().trim_end_matches('.').to_ascii_lowercase();
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether a host is this machine or on a private network, by its name or address alone. What a name resolves to does
/// not count: whoever owns it could change that for a moment.
pub(crate) fn is_private(url: &Url) -> bool {
    is_loopback(url) || url.host().parse::<IpAddr>().is_ok_and(|address| !sabir::is_public(address))
}

/// A URL that secrets may be sent to: over TLS, or inside this machine.
pub(crate) fn secure(text: &str, what: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("{what}: {error}"))?;
    match url.scheme() {
        Scheme::Https => Ok(url),
        Scheme::Http if is_loopback(&url) => Ok(url),
        _ => Err(format!("{what} `{url}` must be https://")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    #[test]
    fn a_resource_covers_what_lies_below() {
        for (resource, server, want) in [
            ("https://a.example", "https://a.example/mcp", true),
            ("https://a.example/", "https://a.example/mcp", true),
            ("https://A.example:443/mcp", "https://a.example/mcp?x=1", true),
            ("https://a.example/mcp", "https://a.example/mcp/", true),
            ("https://a.example/mcp", "https://a.example/mcp/v2", true),
            ("https://a.example/mc", "https://a.example/mcp", false),
            ("https://a.example/mcp/v2", "https://a.example/mcp", false),
            ("http://a.example/mcp", "https://a.example/mcp", false),
            ("https://a.example:8443", "https://a.example/mcp", false),
            ("https://a.example.evil", "https://a.example/mcp", false),
        ] {
            assert_eq!(covers(&url(resource), &url(server)), want, "{resource} {server}");
        }
    }

    #[test]
    fn documents_are_before_the_path() {
        for (server, want) in [
            ("https://a.example", "https://a.example/.well-known/x"),
            ("https://a.example/", "https://a.example/.well-known/x"),
            ("https://a.example:1/public/mcp/?q", "https://a.example:1/.well-known/x/public/mcp"),
        ] {
            assert_eq!(well_known(&url(server), "x"), want);
        }
    }

    #[test]
    fn secrets_go_over_tls_or_stay_here() {
        for (text, fine) in [
            ("https://a.example/token", true),
            ("http://localhost:1/token", true),
            ("http://127.0.0.1/token", true),
            ("http://[::1]:8/token", true),
            ("http://a.example/token", false),
            ("http://10.0.0.1/token", false),
            ("ws://localhost/token", false),
            ("javascript:alert(1)", false),
        ] {
            assert_eq!(secure(text, "the token endpoint").is_ok(), fine, "{text}");
        }
    }
}
