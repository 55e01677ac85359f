//! Who may ask: nobody but the person who started the program.
//!
//! A page on the network can make a browser send requests to this machine, under any name that it points here, and read
//! the answers of those that it may. So every request must name a host that is this machine, must not come from another
//! site, and for data must have the token, which only the printed address has. The page itself has no data.

use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderValue, ORIGIN};
use hyper::{Method, StatusCode};

use crate::loopback::is_here;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// Which requests are answered.
pub(super) struct Guard {
    pub(super) port: u16,
    pub(super) token: String,
}

impl Guard {
    /// Asks for this token or, if there is none, for one of 128 bits that nobody can guess.
    pub(super) fn new(port: u16, token: Option<String>) -> std::io::Result<Self> {
        if let Some(token) = token {
            return Ok(Guard { port, token });
        }
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        Ok(Guard { port, token: bytes.iter().map(|byte| format!("{byte:02x}")).collect() })
    }

    /// Whether a request may come at all.
    pub(super) fn admit(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
    ) -> Result<(), (StatusCode, &'static str)> {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        if !is_here(host, Some(self.port)) {
            return Err((StatusCode::FORBIDDEN, "this page is only at the address that sabir printed"));
        }
        let site = headers.get("sec-fetch-site");
        let is_foreign = site.is_some_and(|site| site != "same-origin" && site != "none");
        let origin = headers.get(ORIGIN).map(|origin| origin.to_str().unwrap_or_default());
        let is_strange = origin.is_some_and(|origin| origin.strip_prefix("http://") != Some(host));
        // A link to the page may be followed: it has no data without the token.
        let is_page = method == Method::GET && path == "/" && origin.is_none();
        if (is_foreign || is_strange) && !is_page {
            return Err((StatusCode::FORBIDDEN, "not from another site"));
        }
        if path.starts_with("/api/") && !self.knows(headers) {
            return Err((StatusCode::UNAUTHORIZED, "open the address that sabir printed: it has the token"));
        }
        Ok(())
    }

    /// Whether the token is there. It takes the same time wherever they differ.
    pub(super) fn knows(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(AUTHORIZATION).map_or(&b""[..], HeaderValue::as_bytes);
        let given = given.strip_prefix(b"Bearer ").unwrap_or_default();
        let token = self.token.as_bytes();
        given.len() == token.len() && given.iter().zip(token).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
    }
}

/// What browsers must not do with an answer.
pub(super) fn secure(headers: &mut HeaderMap) {
    for (name, value) in [
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cache-control", "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn requests_need_the_host_the_site_and_the_token() {
        let guard = Guard { port: 4000, token: "secret".to_owned() };
        let here = ("host", "127.0.0.1:4000");
        let token = ("authorization", "Bearer secret");
        let own = ("origin", "http://127.0.0.1:4000");
        for (method, path, headers, want) in [
            ("GET", "/", &[here][..], 200),
            ("GET", "/", &[("host", "evil.example:4000")], 403),
            ("GET", "/", &[], 403),
            ("GET", "/", &[here, ("sec-fetch-site", "cross-site")], 200),
            ("GET", "/app.js", &[here, ("sec-fetch-site", "cross-site")], 403),
            ("GET", "/api/rows", &[here], 401),
            ("GET", "/api/rows", &[here, ("authorization", "Bearer secre7")], 401),
            ("GET", "/api/rows", &[here, ("authorization", "Bearer ")], 401),
            ("GET", "/api/rows", &[here, token], 200),
            ("GET", "/api/rows", &[here, token, own, ("sec-fetch-site", "same-origin")], 200),
            ("GET", "/api/rows", &[("host", "evil.example:4000"), token], 403),
            ("POST", "/api/send", &[here, token, ("origin", "http://evil.example")], 403),
            ("POST", "/api/send", &[here, token, ("origin", "null")], 403),
            ("POST", "/api/send", &[here, token, ("sec-fetch-site", "same-site")], 403),
            ("POST", "/", &[here, ("origin", "http://evil.example")], 403),
        ] {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.insert(*name, HeaderValue::from_static(value));
            }
            let got = guard
                .admit(&method.parse().unwrap(), path, &map)
                .map_or_else(|(no, _)| no.as_u16(), |()| 200);
            assert_eq!(got, want, "{method} {path} {headers:?}");
        }
    }
}
