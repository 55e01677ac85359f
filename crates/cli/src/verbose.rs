//! `-v`: the steps to a server, how long each takes, and the heads of HTTP.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use sabir::http::{HeaderMap, Uri};
use sabir::transport::Step;

use crate::peer::PeerOptions;
use crate::print::Printer;
use crate::target::Target;

/// Headers whose values give access to a session.
const SECRET: [&str; 7] =
    ["authorization", "cookie", "dpop", "mcp-session-id", "proxy-authorization", "set-cookie", "x-api-key"];

/// Parts of the names in a query whose values give access.
const SECRET_PARTS: [&str; 6] = ["auth", "key", "password", "secret", "session", "token"];

/// Shows each step of the connections to a peer. The values of headers that the user gave are not shown, nor those that give
/// access to a session; neither is a path with values of variables in it.
pub(crate) fn show(peer: &mut PeerOptions, printer: &Printer) {
    let secret: Vec<String> = peer.web.headers().map(|(name, _)| name.to_owned()).collect();
    let hides_path = matches!(&peer.target, Target::Url(url) if url.is_secret());
    let (printer, last) = (printer.clone(), Mutex::new(Instant::now()));
    let shown = move |step: &Step<'_>| {
        let took = {
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *last, Instant::now()).elapsed()
        };
        let ms = format!("{:.1} ms", took.as_secs_f64() * 1e3);
        let headers = |sign: char, headers: &HeaderMap| {
            for (name, value) in headers {
                let is_secret = SECRET.contains(&name.as_str())
                    || secret.iter().any(|secret| secret.eq_ignore_ascii_case(name.as_str()));
                let value = match is_secret {
                    true => "…".to_owned(),
                    false => String::from_utf8_lossy(value.as_bytes()).into_owned(),
                };
                printer.note(&format!("{sign} {name}: {value}"));
            }
        };
        match step {
            Step::Resolved { host } => printer.note(&format!("* resolved {host} in {ms}")),
            Step::Connected { address } => printer.note(&format!("* connected to {address} in {ms}")),
            Step::Secured { version, cipher, protocol } => {
                let over = protocol.map_or_else(String::new, |protocol| format!(", {protocol}"));
                printer.note(&format!("* {version}, {cipher}{over} in {ms}"));
            }
            Step::Request { method, uri, headers: sent } => {
                match hides_path {
                    true => printer.note(&format!("> {method} …")),
                    false => printer.note(&format!("> {method} {}", path(uri))),
                }
                headers('>', sent);
            }
            Step::Response { version, status, headers: came } => {
                printer.note(&format!("< {version:?} {status} in {ms}"));
                headers('<', came);
            }
            _ => {}
        }
    };
    peer.web = std::mem::take(&mut peer.web).on_step(shown);
}

/// What a request asks for, as its first line has it: the host is in a header.
fn path(uri: &Uri) -> String {
    let Some(query) = uri.query() else { return uri.path().to_owned() };
    let parts = query.split('&').map(|part| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let lower = name.to_ascii_lowercase();
        match !value.is_empty() && SECRET_PARTS.iter().any(|secret| lower.contains(secret)) {
            true => format!("{name}=…"),
            false => part.to_owned(),
        }
    });
    format!("{}?{}", uri.path(), parts.collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_out_of_the_path() {
        for (uri, want) in [
            ("http://h:1/mcp", "/mcp"),
            ("ws://h:1", "/"),
            ("/messages?sessionId=4d2&a=1", "/messages?sessionId=…&a=1"),
            ("/x?API_KEY=1&token=&b", "/x?API_KEY=…&token=&b"),
        ] {
            assert_eq!(path(&uri.parse().expect(uri)), want, "{uri}");
        }
    }
}
