//! What an answer of HTTP says that is not a message of JSON-RPC, in a line for people.

use std::borrow::Cow;

use http::header::{CONTENT_ENCODING, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use http::{HeaderMap, HeaderValue};
use sabir_proto::{DeliveryFailure, JsonKind, RawJson, Undelivered, escape_controls};

/// Characters of a header or a body that are reported.
const TOLD: usize = 200;

/// How deep in a body the reason is looked for.
const DEPTH: usize = 4;

/// Members that say why, the most telling ones first: those of OAuth, of problem details (RFC 9457) and of common frameworks.
const MEMBERS: [&str; 9] =
    ["message", "msg", "detail", "error_description", "description", "reason", "errors", "error", "title"];

/// An answer of HTTP whose status is not a success, or which is not JSON-RPC.
#[derive(Debug)]
pub struct HttpFailure<'a> {
    /// The status.
    pub status: http::StatusCode,
    /// All headers.
    pub headers: &'a HeaderMap,
    /// The body, or its first 256 KiB.
    pub body: &'a [u8],
}

impl HttpFailure<'_> {
    /// What it says beside its status, in one short line without control characters: the new URL of a redirect, the message
    /// of a JSON-RPC error, the member of another JSON text that holds the reason, the title of a page, or the first line of
    /// a text. `None` if that is nothing, or only repeats the status.
    pub fn reason(&self) -> Option<String> {
        if let Some(location) = self.location() {
            return Some(format!("moved to {}", escape_controls(&location)));
        }
        if self.headers.get(CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
            return None;
        }
        let said = match RawJson::from_bytes(self.body) {
            Ok(json) => found(&json, DEPTH).unwrap_or_else(|| json.to_string()),
            Err(_) => self.line()?.into_owned(),
        };
        let line: String = said.trim().lines().next()?.chars().take(TOLD).collect();
        (!self.is_status(&line)).then(|| escape_controls(&line).into_owned())
    }

    /// The failure of the message that it answers.
    pub fn undelivered(&self, url: &str) -> Undelivered {
        let mut reason = format!("HTTP {} from {url}", self.name());
        if let Some(why) = self.reason() {
            reason = format!("{reason}: {why}");
        }
        let failure = match (self.location(), self.headers.get(RETRY_AFTER)) {
            (Some(location), _) => DeliveryFailure::Redirected(location.into()),
            (None, Some(time)) => DeliveryFailure::RetryAfter(shown(time).into()),
            (None, None) => DeliveryFailure::Refused,
        };
        Undelivered { status: Some(self.status.as_u16()), ..Undelivered::new(failure, reason) }
    }

    /// For one that has no WebSocket, or no stream of events: `HTTP 400 Bad Request instead of a WebSocket: why`.
    pub fn instead_of(&self, what: &str) -> String {
        let why = self.reason().map_or_else(String::new, |why| format!(": {why}"));
        format!("HTTP {} instead of {what}{why}", self.name())
    }

    /// `404 Not Found`.
    fn name(&self) -> String {
        match self.status.canonical_reason() {
            Some(reason) => format!("{} {reason}", self.status.as_str()),
            None => self.status.as_str().to_owned(),
        }
    }

    fn location(&self) -> Option<String> {
        self.headers.get(LOCATION).filter(|_| self.status.is_redirection()).map(shown)
    }

    /// The title of a page, or the first line of a text.
    fn line(&self) -> Option<Cow<'_, str>> {
        let kind = self.headers.get(CONTENT_TYPE).map(shown).unwrap_or_default().to_ascii_lowercase();
        let text = match (kind.starts_with("text/"), std::str::from_utf8(self.body)) {
            (_, Ok(text)) => Cow::Borrowed(text),
            (true, Err(_)) => String::from_utf8_lossy(self.body),
            (false, Err(_)) => return None,
        };
        if kind.starts_with("text/html") || text.trim_start().starts_with('<') {
            let lower = text.to_ascii_lowercase();
            let start = lower.find("<title>")? + "<title>".len();
            let end = start + lower[start..].find('<')?;
            return Some(Cow::Owned(text[start..end].to_owned()));
        }
        Some(text)
    }

    fn is_status(&self, line: &str) -> bool {
        let reason = self.status.canonical_reason().unwrap_or_default();
        line.is_empty()
            || line == self.status.as_str()
            || line.eq_ignore_ascii_case(reason)
            || line.eq_ignore_ascii_case(&self.name())
    }
}

/// The text that says why.
fn found(json: &RawJson<'_>, depth: usize) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    match json.kind() {
        JsonKind::String => json.parse::<String>().ok().filter(|text| !text.trim().is_empty()),
        JsonKind::Array => found(&json.elements().next()?, depth),
        JsonKind::Object => {
            let code = json.get("code").and_then(|code| code.parse::<i64>().ok());
            let message = json.get("message").and_then(|message| message.parse::<String>().ok());
            if let (Some(code), Some(message)) = (code, message) {
                return Some(format!("{code}: {message}"));
            }
            MEMBERS.iter().find_map(|member| found(&json.get(member)?, depth))
        }
        _ => None,
    }
}

fn shown(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).chars().take(TOLD).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_says_why() {
        let long = "x".repeat(1000);
        let cut = "x".repeat(TOLD);
        for (kind, body, want) in [
            ("", "", None),
            ("", "\n\n", None),
            ("text/plain", "no \u{1b}[31m host\nmore", Some("no \\u001b[31m host")),
            ("text/plain", "Bad Request", None),
            ("text/plain", "400 bad request\n", None),
            ("text/plain", long.as_str(), Some(cut.as_str())),
            ("application/json", r#"{"detail":"Bad Request"}"#, None),
            (
                "application/json",
                r#"{"error":{"code":-32600,"message":"no session"}}"#,
                Some("-32600: no session"),
            ),
            (
                "application/json",
                r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Missing session ID"}}"#,
                Some("-32600: Missing session ID"),
            ),
            ("", r#"{"error":"invalid_token","error_description":"it has expired"}"#, Some("it has expired")),
            ("", r#"{"error":"invalid_token"}"#, Some("invalid_token")),
            ("", r#"{"errors":[{"message":"wrong key"}]}"#, Some("wrong key")),
            ("", r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#, Some("field required")),
            (
                "application/problem+json",
                r#"{"title":"Bad Request","detail":"no such chain"}"#,
                Some("no such chain"),
            ),
            ("", r#""say \u001b why""#, Some("say \\u001b why")),
            ("", r#"{"ok":false}"#, Some(r#"{"ok":false}"#)),
            ("text/html", "<html><head><TITLE>Down for maintenance</TITLE>", Some("Down for maintenance")),
            ("text/html", "<html><title>400 Bad Request</title>", None),
            ("text/html", "<html><p>no", None),
        ] {
            let mut headers = HeaderMap::new();
            if let Ok(kind) = kind.parse() {
                headers.insert(CONTENT_TYPE, kind);
            }
            let failure = HttpFailure {
                status: http::StatusCode::BAD_REQUEST,
                headers: &headers,
                body: body.as_bytes(),
            };
            assert_eq!(failure.reason().as_deref(), want, "{kind} {body}");
        }
        let headers = HeaderMap::new();
        let binary =
            HttpFailure { status: http::StatusCode::BAD_REQUEST, headers: &headers, body: b"\xff\x00" };
        assert_eq!(binary.reason(), None);
    }
}
