//! `-v`: the steps to a server, how long each takes, and the heads of HTTP.

use std::sync::Mutex;
use std::time::Instant;

use sabir::transport::Step;

use crate::print::Printer;

/// Headers whose values give access to a session.
const SECRET: [&str; 7] =
    ["authorization", "cookie", "dpop", "mcp-session-id", "proxy-authorization", "set-cookie", "x-api-key"];

/// Shows each step. The values of `secret` headers, which the user gave, are not shown, and those that give access to a
/// session. With `hides_path`, neither is the path: it has values of variables in it.
pub(crate) fn shown(
    printer: &Printer,
    secret: Vec<String>,
    hides_path: bool,
) -> impl Fn(&Step<'_>) + Send + Sync + 'static {
    let (printer, last) = (printer.clone(), Mutex::new(Instant::now()));
    move |step| {
        let took = {
            let mut last = last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            std::mem::replace(&mut *last, Instant::now()).elapsed()
        };
        let ms = format!("{:.1} ms", took.as_secs_f64() * 1e3);
        let headers = |sign: char, headers: &sabir::http::HeaderMap| {
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
                    false => printer.note(&format!("> {method} {uri}")),
                }
                headers('>', sent);
            }
            Step::Response { version, status, headers: came } => {
                printer.note(&format!("< {version:?} {status} in {ms}"));
                headers('<', came);
            }
            _ => {}
        }
    }
}
