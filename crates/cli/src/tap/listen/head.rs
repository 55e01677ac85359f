//! The heads of requests and responses as text, for the record: the first line, and the headers in the lines below. What lets
//! others in is left out, whatever rules there are for secrets.

use std::fmt::Write;

use hyper::header::{AUTHORIZATION, COOKIE, HeaderMap, HeaderName, PROXY_AUTHORIZATION, SET_COOKIE};
use hyper::{Method, StatusCode};

/// Bytes of a head that are recorded.
const LONGEST: usize = 8 << 10;

const HIDDEN: &str = "[redacted]";

pub(super) fn request(method: &Method, path: &str, headers: &HeaderMap) -> String {
    with(format!("{method} {path}"), headers)
}

/// `asked` is the method and the path.
pub(super) fn response(asked: &str, status: StatusCode, headers: &HeaderMap) -> String {
    let name = status.canonical_reason().unwrap_or_default();
    with(format!("{} {name} {asked}", status.as_u16()), headers)
}

fn with(mut text: String, headers: &HeaderMap) -> String {
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        let value = if is_secret(name) { HIDDEN } else { &value };
        if text.len() + name.as_str().len() + value.len() > LONGEST {
            text.push_str("\n…: more headers, or longer ones, than are recorded");
            break;
        }
        let _ = write!(text, "\n{name}: {value}");
    }
    text
}

/// Whether whoever has the value may do what the client may.
fn is_secret(name: &HeaderName) -> bool {
    let is_known = [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE, SET_COOKIE].contains(name) || name == "dpop";
    let name = name.as_str();
    is_known || name.ends_with("token") || name.ends_with("api-key") || name.contains("secret")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn heads_have_no_secrets_and_an_end() {
        let mut headers = HeaderMap::new();
        for name in [
            "authorization",
            "cookie",
            "set-cookie",
            "proxy-authorization",
            "dpop",
            "x-api-key",
            "x-csrf-token",
        ] {
            headers.insert(HeaderName::from_static(name), "HUNTER2".parse().unwrap());
        }
        headers.insert("mcp-session-id", "s1".parse().unwrap());
        let text = request(&Method::POST, "/mcp", &headers);
        assert!(text.starts_with("POST /mcp\n") && text.contains("\nmcp-session-id: s1"), "{text}");
        assert!(!text.contains("HUNTER2") && text.matches(HIDDEN).count() == 7, "{text}");
        let mut long = HeaderMap::new();
        long.insert("x-long", "a".repeat(LONGEST).parse().unwrap());
        let text = response("GET /", StatusCode::OK, &long);
        assert_eq!(text, "200 OK GET /\n…: more headers, or longer ones, than are recorded");
    }
}
